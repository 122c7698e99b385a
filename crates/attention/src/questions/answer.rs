//! Bringing an answer back to where the question came from.

use std::time::Duration;

use missiond_core::{
    AnswerText, Controller, ExecutionId, ObservationId, Question, QuestionOrigin, QuestionRef,
    QuestionStatus, SlotId, TraceContext,
};
use missiond_executions::{Accepted, Sender};
use missiond_semantic::AnswerOutcome;
use missiond_slots::{Answer, InputError};
use missiond_store::StoreError;
use missiond_store::questions::{self, Closing};

use super::{QuestionError, Questions, identity};

/// A dialog that was just seen is there; one that is drawn anew takes a moment.
const DIALOG_WAIT: Duration = Duration::from_secs(2);

/// Who answers.
#[derive(Debug, Clone)]
pub struct Answerer<'a> {
    /// As the question remembers them.
    pub name: &'a str,
    /// As the journal of the agent has them.
    pub sender: Sender,
}

impl Questions {
    /// Answers a question. For one with options, `text` is an option: its
    /// number, its words or how they begin.
    pub async fn answer(
        &self,
        reference: QuestionRef,
        text: &AnswerText,
        by: Answerer<'_>,
        trace: TraceContext,
    ) -> Result<Question, QuestionError> {
        if text.trim().is_empty() {
            return Err(QuestionError::EmptyAnswer);
        }
        let question = self.find(reference).await?;
        if question.status != QuestionStatus::Pending {
            return Err(already_closed(&question));
        }
        match &question.origin {
            QuestionOrigin::Dialog {
                slot,
                dialog,
                permission,
                ..
            } => {
                let digest = permission
                    .as_ref()
                    .and_then(|asked| asked.digest.as_deref());
                if digest.is_some_and(|digest| self.is_over(*slot, digest)) {
                    return Err(QuestionError::Gone {
                        number: question.number,
                        why: "its agent does not ask for that any more".to_owned(),
                    });
                }
                let option = self.answer_dialog(&question, *slot, dialog, text).await?;
                if let Some(digest) = digest {
                    self.announced.answered(*slot, digest);
                }
                self.answered(&question, option, by.name, trace).await
            }
            QuestionOrigin::NeedsInput {
                execution, request, ..
            } => {
                let (execution, request) = (*execution, Some(*request));
                self.answer_input(execution, request, text, None, by, trace)
                    .await?;
                self.find(QuestionRef::Id(question.id)).await
            }
            QuestionOrigin::Task { .. } | QuestionOrigin::Tool { .. } => {
                let answer = chosen(&question, text)?;
                let answered = self.answered(&question, answer, by.name, trace).await?;
                self.settle_drift(&answered).await?;
                Ok(answered)
            }
        }
    }

    /// Answers what an agent asked in structure: the one way for `execution
    /// answer` and for the question that stands for it.
    pub async fn answer_input(
        &self,
        execution: ExecutionId,
        request: Option<ObservationId>,
        text: &str,
        key: Option<String>,
        by: Answerer<'_>,
        trace: TraceContext,
    ) -> Result<Accepted, QuestionError> {
        let request = match request {
            Some(request) => Some(request),
            None => self.executions.only_request(execution)?,
        };
        // The journal keeps what the agent is told, which is not what the person
        // said: nobody else may close the question in between.
        let _giving = request.map(|request| self.under_way.begin(execution, request));
        // The same question is answered by one message, whoever sends it again.
        let key = key.or_else(|| request.map(|request| format!("answer/{request}")));
        let accepted = self
            .executions
            .answer(execution, request, text, key, by.sender)
            .await?;
        let open = questions::QuestionFilter::OpenOfExecution(execution);
        for question in self.list(open).await? {
            let is_it = matches!(question.origin,
                QuestionOrigin::NeedsInput { request: asked, .. } if Some(asked) == request);
            if is_it {
                match self
                    .answered(&question, text.to_owned(), by.name, trace)
                    .await
                {
                    // Somebody answered the same at the same time.
                    Ok(_) | Err(QuestionError::Store(StoreError::Conflict { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(accepted)
    }

    async fn answered(
        &self,
        question: &Question,
        answer: String,
        by: &str,
        trace: TraceContext,
    ) -> Result<Question, QuestionError> {
        let closing = Closing::Answered { answer };
        self.close(question.id, closing, by, trace).await
    }

    /// Takes an option of the dialog, if it is still the one that was asked
    /// about; returns which.
    async fn answer_dialog(
        &self,
        question: &Question,
        slot: SlotId,
        asked: &str,
        text: &str,
    ) -> Result<String, QuestionError> {
        let gone = |why: &str| QuestionError::Gone {
            number: question.number,
            why: why.to_owned(),
        };
        let open = self.slots.find(&slot.to_string());
        let open = open.ok_or_else(|| gone("its slot is closed"))?;
        let look = open
            .inspect()
            .await
            .ok_or_else(|| gone("its slot is closed"))?;
        let dialog = look.asked().filter(|dialog| identity(dialog) == asked);
        let dialog = dialog.ok_or_else(|| gone("its dialog has left the screen"))?;
        let id = question.id;
        let now = self.clock.now();
        self.db
            .write(move |tx| Box::pin(questions::begin_delivery(tx, id, now)))
            .await?;
        let answer = Answer {
            option: text.to_owned(),
            // All of its words: what is answered is what was asked.
            expect: Some(dialog.text),
            wait: DIALOG_WAIT,
        };
        let answered = self.slots.answer(&open, answer).await;
        match answered {
            Ok(answered) if answered.outcome == AnswerOutcome::Taken => Ok(answered.option.label),
            Ok(answered) => {
                self.give_up(question).await;
                Err(QuestionError::NotTaken {
                    number: question.number,
                    why: answered.evidence,
                })
            }
            Err(error) => {
                self.give_up(question).await;
                Err(refused(question, &error))
            }
        }
    }

    /// Whether what a hook announced has ended. A protocol takes its own questions back.
    fn is_over(&self, slot: SlotId, digest: &str) -> bool {
        let open = self.slots.find(&slot.to_string());
        let has_screen = open.is_some_and(|open| open.controller() == Controller::Terminal);
        has_screen && !self.announced.is_open(slot, digest)
    }

    async fn give_up(&self, question: &Question) {
        let id = question.id;
        let given_up = self
            .db
            .write(move |tx| Box::pin(questions::give_up(tx, id)))
            .await;
        if let Err(error) = given_up {
            tracing::error!(question = %question.number, %error, "question delivery mark not cleared");
        }
        self.recheck_dialogs();
    }
}

fn refused(question: &Question, error: &InputError) -> QuestionError {
    QuestionError::NotTaken {
        number: question.number,
        why: error.to_string(),
    }
}

fn already_closed(question: &Question) -> QuestionError {
    let by = question.closed_by.as_deref().unwrap_or("a person");
    QuestionError::Gone {
        number: question.number,
        why: match (&question.answer, &question.reason) {
            (Some(answer), _) => format!("{by} answered “{answer}”"),
            (None, Some(reason)) => reason.clone(),
            (None, None) => format!("{by} dismissed it"),
        },
    }
}

/// The option that is meant, or the words themselves where none are offered.
fn chosen(question: &Question, text: &str) -> Result<String, QuestionError> {
    let options = &question.options;
    if options.is_empty() {
        return Ok(text.to_owned());
    }
    let lower = text.trim().to_lowercase();
    let by_number = lower.parse::<usize>().ok();
    let by_number = by_number.and_then(|number| options.get(number.checked_sub(1)?));
    let exact = options.iter().find(|option| option.to_lowercase() == lower);
    let begins: Vec<_> = options
        .iter()
        .filter(|option| option.to_lowercase().starts_with(&lower))
        .collect();
    let beginning = match begins[..] {
        [one] => Some(one),
        _ => None,
    };
    exact
        .or(by_number)
        .or(beginning)
        .cloned()
        .ok_or_else(|| QuestionError::NoSuchOption {
            number: question.number,
            answer: text.trim().chars().take(80).collect(),
            options: options.clone(),
        })
}
