//! A turn while it goes on: the journal is read on and told, questions are asked in the
//! editor and answered, cancelling stops the agent, until the turn is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use missiond_api::RequestId;
use missiond_api::operations::execution::{ExecutionInterrupt, ExecutionParams};
use missiond_api::operations::overview::{Overview, OverviewParams};
use missiond_core::{ExecutionLifecycle, PtyState, Question, QuestionId};
use serde_json::{Value, json};

use crate::message::{Params, Refusal};
use crate::narrator::Playback;
use crate::protocol::{
    Content, FormAnswer, PermissionAnswer, StopReason, ToolCall, ToolStatus, Update,
};
use crate::question::{Chosen, asking, denial, in_words};
use crate::session::{Command, Session, mode_is_fixed};
use crate::turn::{Outcome, Turn};

/// How often the journal is looked at.
const POLL: Duration = Duration::from_millis(250);
/// How often is looked at what no record tells: the conversation, and questions of tools.
const POLL_ELSEWHERE: Duration = Duration::from_secs(1);
/// How long is waited for what a tool was told and answered.
const DETAILS_WITHIN: Duration = Duration::from_secs(2);
/// A keystroke that stops an agent may be lost: it is pressed again after this time.
const PRESS_AGAIN: Duration = Duration::from_secs(9);
/// An agent that does not stop within this time is left to the person.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// How serving a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Turn,
    /// The editor closes the session and waits for this answer.
    Closed(RequestId),
    EditorGone,
}

/// Why the loop is left.
enum Over {
    Stop(StopReason),
    Failed(Refusal),
}

struct Asked {
    question: Question,
    call: Option<String>,
}

struct Cancelling {
    since: Instant,
    pressed: Option<Instant>,
    denied: BTreeSet<QuestionId>,
}

pub(crate) struct TurnLoop<'a> {
    session: &'a mut Session,
    /// The prompt that waits for the end; none while the agent works on what somebody
    /// else began.
    id: Option<RequestId>,
    turn: Turn,
    asked: BTreeMap<i64, Asked>,
    seen: BTreeSet<QuestionId>,
    cancelling: Option<Cancelling>,
    closing: Option<RequestId>,
    /// Nobody chose when the editor asked this.
    left: Option<Question>,
    polled_elsewhere: Instant,
    /// The turn is over but for what the conversation says of its last calls.
    details_until: Option<Instant>,
}

impl<'a> TurnLoop<'a> {
    pub(crate) fn new(session: &'a mut Session, id: Option<RequestId>, turn: Turn) -> Self {
        Self {
            session,
            id,
            turn,
            asked: BTreeMap::new(),
            seen: BTreeSet::new(),
            cancelling: None,
            closing: None,
            left: None,
            polled_elsewhere: Instant::now(),
            details_until: None,
        }
    }

    pub(crate) fn run(mut self) -> Ended {
        loop {
            match self.session.commands.recv_timeout(POLL) {
                Ok(command) => self.handle_command(command),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ended::EditorGone,
            }
            let over = match self.poll() {
                Ok(None) => continue,
                Ok(Some(over)) => over,
                Err(refusal) => Over::Failed(refusal),
            };
            self.finish(over);
            return match self.closing {
                Some(id) => Ended::Closed(id),
                None => Ended::Turn,
            };
        }
    }

    fn handle_command(&mut self, command: Command) {
        let refuse = |session: &Session, id: &RequestId, refusal: &Refusal| {
            session.editor.refuse(Some(id), refusal);
        };
        match command {
            Command::Cancel => self.cancel(),
            Command::CancelRequest(id) if self.id.as_ref() == Some(&id) => self.cancel(),
            Command::CancelRequest(_) => {}
            Command::Answer(id, result) => self.answered(id, result),
            Command::Close(id) => {
                self.closing = Some(id);
                self.cancel();
            }
            Command::Prompt(id, blocks) if self.id.is_none() => {
                match self.session.send_blocks(&blocks) {
                    Ok(()) => self.id = Some(id),
                    Err(refusal) => refuse(self.session, &id, &refusal),
                }
            }
            Command::Prompt(id, _) | Command::Load(id, _) => refuse(
                self.session,
                &id,
                &Refusal::invalid_request(
                    "a turn is under way in this session: cancel it or wait for its end",
                ),
            ),
            Command::SetMode(id, _) => refuse(self.session, &id, &mode_is_fixed()),
        }
    }

    fn cancel(&mut self) {
        self.cancelling.get_or_insert_with(|| Cancelling {
            since: Instant::now(),
            pressed: None,
            denied: BTreeSet::new(),
        });
        // Whoever cancels answers what it was asked by itself.
        for id in std::mem::take(&mut self.asked).into_keys() {
            self.session.editor.forget(id);
        }
    }

    /// Looks at everything once; how the turn ended, if it has.
    fn poll(&mut self) -> Result<Option<Over>, Refusal> {
        if let Some(question) = self.left.take() {
            return Ok(Some(self.leave_to_next_prompt(question)));
        }
        let now = Instant::now();
        let turn = &mut self.turn;
        let session = &mut *self.session;
        session.reader.forward_records(
            &mut session.daemon,
            &session.editor,
            Playback::Live,
            |record| turn.record(record, now),
        )?;
        let elsewhere = now.duration_since(self.polled_elsewhere) >= POLL_ELSEWHERE;
        if elsewhere {
            self.polled_elsewhere = now;
            if session.reader.calls().lack_details() {
                session
                    .reader
                    .forward_details(&mut session.daemon, &session.editor)?;
            }
        }
        let mut waits = false;
        if elsewhere || self.turn.awaits_operator() || !self.asked.is_empty() {
            let open = self.session.open_questions()?;
            self.withdraw_closed(&open);
            waits = !open.is_empty();
            if let Some(over) = self.ask_questions(&open)? {
                return Ok(Some(over));
            }
        }
        let unclear = self.turn.is_unclear() || self.cancelling.is_some();
        let screen = if unclear {
            self.session.show()?.screen
        } else {
            None
        };
        if self.cancelling.is_some() {
            return self.stop(screen, waits);
        }
        let spoke = self.session.reader.spoke();
        match self.turn.outcome(screen, spoke, now) {
            None => Ok(None),
            Some(Outcome::Done | Outcome::Error) if waits => Ok(None),
            Some(Outcome::Done) if self.waits_for_details(now) => Ok(None),
            Some(outcome) => self.over(outcome).map(Some),
        }
    }

    /// The conversation has a call a moment after the journal, if it has it at all.
    fn waits_for_details(&mut self, now: Instant) -> bool {
        let until = *self.details_until.get_or_insert(now + DETAILS_WITHIN);
        now < until && self.session.reader.calls().lack_details()
    }

    /// Asks the editor what it was not asked yet. What it cannot ask ends the turn: the
    /// next prompt is the answer.
    fn ask_questions(&mut self, open: &[Question]) -> Result<Option<Over>, Refusal> {
        for question in open {
            if let Some(cancelling) = &mut self.cancelling {
                if let Some(denial) = denial(question)
                    && cancelling.denied.insert(question.id)
                {
                    self.session.answer(question, &denial)?;
                }
                continue;
            }
            if !self.seen.insert(question.id) {
                continue;
            }
            let session = &mut *self.session;
            let calls = session.reader.calls();
            match asking(&session.name, question, calls, session.editor.has_forms()) {
                Some(asking) => {
                    let id = session
                        .editor
                        .ask(&session.name, asking.method, &asking.params);
                    let asked = Asked {
                        question: question.clone(),
                        call: asking.call,
                    };
                    self.asked.insert(id, asked);
                }
                None => return Ok(Some(self.leave_to_next_prompt(question.clone()))),
            }
        }
        Ok(None)
    }

    fn leave_to_next_prompt(&mut self, question: Question) -> Over {
        self.say(&in_words(&question), &question);
        self.session.unasked = Some(question);
        Over::Stop(StopReason::EndTurn)
    }

    /// Somebody answered elsewhere, or the agent does not ask any more.
    fn withdraw_closed(&mut self, open: &[Question]) {
        let is_open = |asked: &Asked| open.iter().any(|one| one.id == asked.question.id);
        let closed: Vec<_> = self
            .asked
            .extract_if(.., |_, asked| !is_open(asked))
            .collect();
        for (id, asked) in closed {
            self.session.editor.withdraw(id);
            self.settle_call(asked.call, ToolStatus::Completed);
        }
    }

    /// The editor answered what it was asked under this number.
    fn answered(&mut self, id: i64, result: Option<Params>) {
        let Some(asked) = self.asked.remove(&id) else {
            return;
        };
        let chosen = result.and_then(|result| {
            if asked.call.is_some() {
                let answer = result.read::<PermissionAnswer>().ok()?;
                Chosen::of_permission(&asked.question, &answer)
            } else {
                Chosen::of_form(&result.read::<FormAnswer>().ok()?)
            }
        });
        let Some(chosen) = chosen else {
            self.left = Some(asked.question);
            return;
        };
        match self.session.answer(&asked.question, &chosen.answer) {
            Ok(()) => self.settle_call(asked.call, chosen.status),
            Err(refusal) => self.say(&format!("Not answered: {refusal}"), &asked.question),
        }
    }

    /// What a question stood at has come to, where no record will tell: a call that the
    /// journal has is told by the journal.
    fn settle_call(&mut self, call: Option<String>, status: ToolStatus) {
        let own = call.filter(|call| call.starts_with("question-"));
        if let Some(tool_call_id) = own {
            self.session.editor.update(
                &self.session.name,
                &Update::ToolCallUpdate(ToolCall {
                    tool_call_id,
                    status: Some(status),
                    ..ToolCall::default()
                }),
            );
        }
    }

    fn say(&self, words: &str, about: &Question) {
        let update = Update::AgentMessageChunk {
            content: Content::text(format!("\n\n{words}")),
            message_id: format!("question-{}", about.number.0),
        };
        self.session.editor.update(&self.session.name, &update);
    }

    /// Stops the agent, as often as it takes.
    fn stop(&mut self, screen: Option<PtyState>, waits: bool) -> Result<Option<Over>, Refusal> {
        let Some(cancelling) = &mut self.cancelling else {
            return Ok(None);
        };
        let works = screen.is_some_and(PtyState::is_working);
        let over = cancelling.since.elapsed() >= STOPS_WITHIN
            || (self.turn.has_stopped() && !works && !waits);
        if over {
            return Ok(Some(Over::Stop(StopReason::Cancelled)));
        }
        let again = |pressed: Instant| pressed.elapsed() >= PRESS_AGAIN;
        if works && cancelling.pressed.is_none_or(again) {
            cancelling.pressed = Some(Instant::now());
            let execution = self.session.reader.execution().to_owned();
            self.session
                .daemon
                .call::<ExecutionInterrupt>(&ExecutionParams { execution })?;
        }
        Ok(None)
    }

    fn over(&mut self, outcome: Outcome) -> Result<Over, Refusal> {
        Ok(match outcome {
            Outcome::Done | Outcome::RunEnded(ExecutionLifecycle::Completed) => {
                let session = &mut *self.session;
                session
                    .reader
                    .forward_details(&mut session.daemon, &session.editor)?;
                Over::Stop(StopReason::EndTurn)
            }
            Outcome::NotDelivered(why) => Over::Failed(Refusal::internal(format!(
                "the prompt did not reach the agent: {why}"
            ))),
            Outcome::Error => Over::Failed(Refusal::internal(format!(
                "the agent's program shows an error{}",
                self.last_line()?
            ))),
            Outcome::RunEnded(lifecycle) => {
                let failure = self.session.show()?.summary.failure;
                let why = failure.map_or_else(String::new, |why| format!(": {why}"));
                Over::Failed(Refusal::internal(format!(
                    "the run is {}{why}",
                    lifecycle.as_str()
                )))
            }
        })
    }

    /// What the terminal of the agent shows last.
    fn last_line(&mut self) -> Result<String, Refusal> {
        let params = OverviewParams::default();
        let overview = self.session.daemon.call::<Overview>(&params)?;
        let execution = self.session.reader.execution();
        let mut lines = overview
            .needs_you
            .into_iter()
            .chain(overview.working)
            .chain(overview.idle);
        let line = lines.find(|line| {
            let of = line.execution.map(|of| of.to_string());
            of.as_deref() == Some(execution)
        });
        let last = line.and_then(|line| line.last_line);
        Ok(last.map_or_else(String::new, |last| format!(": {last}")))
    }

    fn finish(&mut self, over: Over) {
        for id in std::mem::take(&mut self.asked).into_keys() {
            self.session.editor.withdraw(id);
        }
        let Some(id) = self.id.take() else {
            return;
        };
        match over {
            Over::Stop(reason) => {
                let meta = self.used();
                let result = json!({ "stopReason": reason, "_meta": meta });
                self.session.editor.answer(&id, &result);
            }
            Over::Failed(refusal) => self.session.editor.refuse(Some(&id), &refusal),
        }
    }

    /// Which run it was and what it has used. The protocol's own report of usage wants
    /// the size of the model's window, which is not known here.
    fn used(&mut self) -> Value {
        let Ok(details) = self.session.show() else {
            return Value::Null;
        };
        let summary = details.summary;
        json!({ "missiond": {
            "execution": summary.execution,
            "tokens": summary.tokens,
            "cost": summary.cost,
        } })
    }
}
