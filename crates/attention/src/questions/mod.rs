//! Questions to people: raised by dialogs, agents, tasks and tools, kept until
//! they are answered, dismissed or gone.
//!
//! A question is raised once, however often what asks it is seen or told again.
//! Its answer goes back where it came from: into the dialog, if that is still
//! the same one, as a message to the agent, or, by the event of the answer, to
//! whoever works on the task.

mod answer;
mod dialog;
mod drift;
mod error;
mod inputs;
mod reach;
mod under_way;

use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_core::{
    BoardTaskId, Clock, DaemonId, Event, Question, QuestionId, QuestionOrigin, QuestionRef,
    TraceContext,
};
use missiond_executions::Executions;
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_slots::Slots;
use missiond_store::questions::{self, Closing, QuestionFilter, RaisedQuestion};
use missiond_store::{MissionDb, NewEvent, StoreError, board, timeline};
use missiond_timeline::Timeline;
use tokio::sync::watch;

use crate::announced::Announced;
pub use answer::Answerer;
pub use dialog::{Wording, identity, wording};
pub use error::QuestionError;
pub use missiond_store::questions::NewQuestion;
pub(crate) use reach::{ReachFor, reach_asked, reach_for, reach_origin};
use under_way::UnderWay;

/// Who closes what nobody needs to answer any more.
pub const DAEMON: &str = "missiond";

/// The longest question and context that are kept; more is cut.
const LONGEST_QUESTION: usize = 2_000;
const LONGEST_CONTEXT: usize = 16_000;
const MOST_OPTIONS: usize = 50;

#[derive(Debug)]
pub struct Questions {
    daemon: DaemonId,
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    slots: Arc<Slots>,
    executions: Arc<Executions>,
    /// Counts what makes the dialogs worth another look: an answer that did not
    /// arrive, a rule that changed.
    rechecks: watch::Sender<u64>,
    /// Requests of agents that are being answered from here.
    under_way: UnderWay,
    announced: Announced,
    tasks: Tasks,
}

impl Component for Questions {
    fn name(&self) -> &'static str {
        "questions"
    }

    /// Takes up the questions of agents, and follows what they ask from then on.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            // Before the first look, so that nothing asked in between is missed.
            let mut first = Some(self.timeline.follow());
            let reconciled = self.reconcile_inputs().await;
            reconciled.map_err(|error| StartError::new(error.code(), error))?;
            let asked = self.reconcile_drifts().await;
            asked.map_err(|error| StartError::new(error.code(), error))?;
            let this = Arc::clone(&self);
            self.tasks.spawn_restarting("questions", move || {
                inputs::follow(Arc::clone(&this), first.take())
            });
            Ok(())
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tasks.stop())
    }
}

impl Questions {
    pub fn new(
        daemon: DaemonId,
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        slots: Arc<Slots>,
        executions: Arc<Executions>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            daemon,
            db,
            timeline,
            clock,
            slots,
            executions,
            rechecks: watch::Sender::new(0),
            under_way: UnderWay::default(),
            announced: Announced::default(),
            tasks: Tasks::new(supervisor),
        }
    }

    /// What the programs of agents are about to do.
    pub fn announced(&self) -> &Announced {
        &self.announced
    }

    /// Asks a person. What stands already is not asked again; the one that is
    /// there is returned, answered or not.
    pub async fn raise(
        &self,
        new: NewQuestion,
        trace: TraceContext,
    ) -> Result<QuestionId, QuestionError> {
        let new = bounded(new);
        let cause = cause_of(&new.origin, &self.executions).unwrap_or(trace);
        let (daemon, now) = (self.daemon, self.clock.now());
        let raised = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let raised = questions::raise(tx, &new, now).await?;
                    if let RaisedQuestion::New(question) = &raised {
                        let created = Event::QuestionCreated {
                            question: question.id,
                            task: question.origin.task(),
                            slot: question.origin.slot(),
                        };
                        let trace = cause.began(question.id);
                        let event = NewEvent::new(now, daemon, trace, created)?;
                        timeline::append(tx, &[event]).await?;
                    }
                    Ok(raised)
                })
            })
            .await?;
        if let RaisedQuestion::New(question) = &raised {
            tracing::info!(question = %question.number, key = question.origin.key(), "question asked");
        }
        Ok(raised.question().id)
    }

    /// How many tasks wait for this one, beside itself: they cannot begin before it is
    /// done.
    pub async fn waiting_for(&self, task: Option<BoardTaskId>) -> Result<u32, QuestionError> {
        let Some(task) = task else {
            return Ok(0);
        };
        let waiting = self
            .db
            .read(move |tx| Box::pin(board::waiting_for(tx, task)))
            .await?;
        Ok(waiting)
    }

    /// The open questions: those first that have waited longest and block most.
    pub async fn attention(&self) -> Result<Vec<Question>, QuestionError> {
        let mut open = self.list(QuestionFilter::Open).await?;
        let now = self.clock.now();
        open.sort_by_key(|question| {
            let weight = std::cmp::Reverse(question.weight(now));
            (weight, question.number)
        });
        Ok(open)
    }

    pub async fn list(&self, filter: QuestionFilter) -> Result<Vec<Question>, QuestionError> {
        let listed = self
            .db
            .read(move |tx| Box::pin(questions::list(tx, filter)))
            .await?;
        Ok(listed)
    }

    pub async fn find(&self, reference: QuestionRef) -> Result<Question, QuestionError> {
        let found = self
            .db
            .read(move |tx| Box::pin(questions::find(tx, reference)))
            .await?;
        found.ok_or_else(|| QuestionError::NotFound(reference.to_string()))
    }

    /// Closes a question without an answer. Whoever waits goes on waiting: a
    /// dialog stays open for whoever sits at its terminal.
    pub async fn dismiss(
        &self,
        reference: QuestionRef,
        reason: Option<String>,
        by: &str,
        trace: TraceContext,
    ) -> Result<Question, QuestionError> {
        let question = self.find(reference).await?;
        self.close(question.id, Closing::Dismissed { reason }, by, trace)
            .await
    }

    /// What asked is gone: nobody can answer any more, or needs to.
    pub async fn close_gone(&self, id: QuestionId, reason: &str) -> Result<(), QuestionError> {
        let closing = Closing::Dismissed {
            reason: Some(reason.to_owned()),
        };
        match self.close(id, closing, DAEMON, TraceContext::root()).await {
            // Somebody was faster.
            Ok(_) | Err(QuestionError::Store(StoreError::Conflict { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A task asks nothing any more.
    pub async fn close_of_task(
        &self,
        task: BoardTaskId,
        reason: &str,
    ) -> Result<(), QuestionError> {
        for question in self.list(QuestionFilter::Open).await? {
            let asks = match &question.origin {
                QuestionOrigin::Task { task: asked, .. } => *asked == task,
                origin => reach_for(origin) == Some(ReachFor::Task(task)),
            };
            if asks {
                self.close_gone(question.id, reason).await?;
            }
        }
        Ok(())
    }

    /// It was answered elsewhere: by a rule, or at the terminal.
    pub async fn settle(
        &self,
        id: QuestionId,
        answer: String,
        by: &str,
    ) -> Result<(), QuestionError> {
        let closing = Closing::Answered { answer };
        match self.close(id, closing, by, TraceContext::root()).await {
            // Somebody was faster.
            Ok(_) | Err(QuestionError::Store(StoreError::Conflict { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Has every dialog looked at once more.
    pub fn recheck_dialogs(&self) {
        self.rechecks.send_modify(|count| *count += 1);
    }

    pub fn rechecks(&self) -> watch::Receiver<u64> {
        self.rechecks.subscribe()
    }

    /// Closes a question and tells so, in one transaction.
    async fn close(
        &self,
        id: QuestionId,
        closing: Closing,
        by: &str,
        trace: TraceContext,
    ) -> Result<Question, QuestionError> {
        let (daemon, now, by) = (self.daemon, self.clock.now(), by.to_owned());
        let executions = Arc::clone(&self.executions);
        let closed = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let closed = questions::close(tx, id, &closing, &by, now).await?;
                    let told = match closing {
                        Closing::Answered { .. } => Event::QuestionAnswered { question: id, by },
                        Closing::Dismissed { .. } => Event::QuestionDismissed { question: id, by },
                    };
                    let asked = cause_of(&closed.origin, &executions);
                    let trace = asked.map_or(trace, |cause| cause.began(id).child());
                    let event = NewEvent::new(now, daemon, trace, told)?;
                    timeline::append(tx, &[event]).await?;
                    Ok(closed)
                })
            })
            .await?;
        Ok(closed)
    }
}

/// What a question continues, as long as whoever asks is there.
fn cause_of(origin: &QuestionOrigin, executions: &Executions) -> Option<TraceContext> {
    match origin {
        QuestionOrigin::Task { task, .. } => Some(TraceContext::of(*task)),
        QuestionOrigin::NeedsInput { execution, .. } => executions.trace(*execution),
        QuestionOrigin::Dialog { execution, .. } | QuestionOrigin::Tool { execution, .. } => {
            executions.trace((*execution)?)
        }
    }
}

/// What an agent wrote is cut to a size that can be kept and shown.
fn bounded(new: NewQuestion) -> NewQuestion {
    let cut = |text: String, limit: usize| -> String {
        // The store holds no NUL.
        let text = text.replace('\0', " ");
        match text.char_indices().nth(limit) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    NewQuestion {
        question: cut(new.question, LONGEST_QUESTION),
        context: new.context.map(|context| cut(context, LONGEST_CONTEXT)),
        options: new
            .options
            .into_iter()
            .take(MOST_OPTIONS)
            .map(|option| cut(option, LONGEST_QUESTION))
            .collect(),
        ..new
    }
}
