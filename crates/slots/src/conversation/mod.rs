//! A slot that is driven by a protocol: what the agent's lines come to, what is asked
//! of it, and what a person is shown of the conversation.
//!
//! Nothing here reads or writes: bytes and times go in, lines to write and text to show
//! come out. The same lines of a recording give the same conversation, so the next
//! daemon goes on where this one died.

mod jobs;
mod reading;
mod request;
mod tail;
mod told;
mod transcript;

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use missiond_adapters::ControlSetup;
use missiond_control::{
    Announced, Client, Connection, ControlEvent, ControlRequest, ControlState, MismatchAt,
    OpenPermission, OptionKind, Output, PermissionAnswer, Refusal, ToolInput, TurnEnd, Waiting,
};
use missiond_core::{AgentTold, PtyState, Timestamp};
use missiond_pty::CastError;
use missiond_pty::host::Recording;
use missiond_semantic::Reading;

use crate::typing::{Ended, Job};
use jobs::Jobs;
use reading::{Progress, is_needed};
pub use tail::{ProtocolTail, TailedEvent};
use told::Told;
use transcript::Transcript;

/// Bytes of what was shown that are drawn again.
const MOST_SHOWN: usize = 4 << 20;

/// What is to be done after something happened.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// For the agent, each without its newline.
    pub(super) lines: Vec<String>,
    /// For whoever looks.
    pub(super) shown: String,
    pub(super) ended: Vec<Ended>,
    /// Where an input was not the one that was announced or permitted: both.
    pub(super) mismatches: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Conversation {
    setup: ControlSetup,
    client: Client,
    transcript: Transcript,
    told: Told,
    progress: Progress,
    jobs: Jobs,
    /// Lines of ours that were written since the agent began.
    written: u64,
    /// What must be chosen before the first prompt, and was not asked for yet.
    choices: Vec<ControlRequest>,
    /// How long it may take to answer what no session is open without.
    patience: Duration,
    /// When that is over, on the clock of the slot.
    silent_at: Option<Duration>,
}

/// A conversation as a recording left it.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) conversation: Conversation,
    /// What was shown, and when.
    pub(super) shown: Vec<(Duration, String)>,
    /// Number of the first byte that belongs to no whole line.
    pub(super) offset: u64,
}

/// The end of what was shown: no screen keeps more.
#[derive(Debug, Default)]
struct Shown {
    texts: VecDeque<(Duration, String)>,
    bytes: usize,
}

impl Shown {
    fn push(&mut self, at: Duration, text: String) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        self.texts.push_back((at, text));
        while self.bytes > MOST_SHOWN
            && let Some((_, oldest)) = self.texts.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }
}

impl Conversation {
    pub(super) fn new(setup: ControlSetup) -> Self {
        let mode = setup.mode.clone();
        let model = setup.model.clone();
        let mode = mode.map(|mode| ControlRequest::SetMode { mode });
        let model = model.map(|model| ControlRequest::SetModel { model });
        Self {
            client: Client::new(setup.options()),
            setup,
            transcript: Transcript::default(),
            told: Told::default(),
            progress: Progress::default(),
            jobs: Jobs::default(),
            written: 0,
            choices: mode.into_iter().chain(model).collect(),
            patience: Duration::MAX,
            silent_at: None,
        }
    }

    /// An agent that says nothing for so long, where it must, is broken.
    pub(super) fn expect_within(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Reads a recording back.
    pub(super) fn rebuild(
        recording: &Path,
        began: Timestamp,
        setup: ControlSetup,
    ) -> Result<Rebuilt, CastError> {
        let mut tail = ProtocolTail::new(recording, began, &setup);
        let mut conversation = Self::new(setup);
        let mut shown = Shown::default();
        loop {
            let events = tail.read()?;
            if events.is_empty() {
                break;
            }
            for TailedEvent { at, event, .. } in events {
                let at = since(began, at);
                let mut text = String::new();
                conversation.absorb(&event, at, &mut text);
                shown.push(at, text);
                // Chosen twice is chosen once; a prompt came after all of them.
                if matches!(event, ControlEvent::Prompted { .. }) {
                    conversation.choices.clear();
                }
            }
        }
        let (client, sent, offset) = tail.into_parts();
        (conversation.client, conversation.written) = (client, sent);
        Ok(Rebuilt {
            conversation,
            shown: shown.texts.into(),
            offset,
        })
    }

    /// A host has so many lines of ours: what an earlier daemon left to do, and what comes
    /// next.
    pub(super) fn go_on(&mut self, taken: u64, now: Moment) -> Effects {
        let owed = self.client.flush(now.wall);
        let mut effects = Effects {
            ended: self.jobs.taken(taken),
            ..Effects::default()
        };
        self.apply(owed, now, &mut effects);
        self.advance(now, &mut effects);
        effects
    }

    /// Takes in what the agent wrote.
    pub(super) fn receive(&mut self, bytes: &[u8], now: Moment) -> Effects {
        let mut effects = Effects::default();
        let output = self.client.receive(bytes, now.wall);
        self.apply(output, now, &mut effects);
        self.advance(now, &mut effects);
        effects
    }

    /// What the agent says beside its protocol.
    pub(super) fn show_errors(&mut self, bytes: &[u8]) -> String {
        self.transcript.errors(&String::from_utf8_lossy(bytes))
    }

    pub(super) fn accept(&mut self, job: Job, now: Moment) -> Effects {
        let mut effects = Effects::default();
        effects.ended.extend(self.jobs.accept(job, now.clock));
        self.advance(now, &mut effects);
        effects
    }

    /// So many lines of ours are on record.
    pub(super) fn lines_taken(&mut self, count: u64, now: Moment) -> Effects {
        let mut effects = Effects::default();
        effects.ended.extend(self.jobs.taken(count));
        self.advance(now, &mut effects);
        effects
    }

    /// Whether a host has the lines this conversation believes to be said.
    pub(super) fn is_in_step(&self, taken: u64) -> bool {
        taken == self.written
    }

    /// Time has passed.
    pub(super) fn tick(&mut self, now: Moment) -> Effects {
        let mut effects = Effects::default();
        self.advance(now, &mut effects);
        effects
    }

    /// When [`tick`](Self::tick) is due, on the clock of the slot.
    pub(super) fn deadline(&self) -> Option<Duration> {
        [self.jobs.deadline(), self.silent_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Ends the turn, and with it what it asks. No turn is no error.
    pub(super) fn cancel(&mut self, now: Moment) -> Effects {
        let mut effects = Effects::default();
        match self.client.ask(&ControlRequest::Cancel, now.wall) {
            Ok(output) => self.apply(output, now, &mut effects),
            Err(refusal) => tracing::debug!(%refusal, "nothing to cancel"),
        }
        effects
    }

    /// The agent's process has ended.
    pub(super) fn disconnect(&mut self, now: Moment) -> Effects {
        let mut effects = Effects::default();
        for event in self.client.disconnect(now.wall) {
            self.absorb(&event, now.clock, &mut effects.shown);
        }
        self.progress.exit(now.clock);
        self.advance(now, &mut effects);
        effects
    }

    /// The turn has ended, nothing is asked, and nothing is left to say.
    pub(super) fn rests(&self) -> bool {
        let state = self.client.state();
        let reading = self.reading_of(&state);
        matches!(reading.state, PtyState::Idle | PtyState::Error)
            && reading.dialog.is_none()
            && state.session.is_some()
            && state.waiting.is_empty()
            && self.jobs.is_empty()
    }

    /// Another program goes on: what still waits was not said.
    pub(super) fn refuse_jobs(self) {
        self.jobs.refuse();
    }

    /// Something for whoever looks, that the agent did not say.
    pub(super) fn notice(&mut self, text: &str) -> String {
        self.transcript.notice(text)
    }

    pub(super) fn reading(&self) -> Reading {
        self.reading_of(&self.client.state())
    }

    /// Nothing is said to an agent that is not in the mode it is wanted in.
    fn reading_of(&self, state: &ControlState) -> Reading {
        let reading = self.progress.reading(state);
        let is_set = |waiting: &Waiting| waiting.method.starts_with("session/set_");
        let chooses = !self.choices.is_empty() || state.waiting.iter().any(is_set);
        if reading.state != PtyState::Idle || !chooses {
            return reading;
        }
        Reading {
            state: PtyState::Starting,
            reason: "its mode and model are being chosen".to_owned(),
            ..reading
        }
    }

    /// What the agent tells of itself, as it is now.
    pub(super) fn told(&self) -> AgentTold {
        self.told.of(self.client.state().session.as_ref())
    }

    /// The last thing it said or did, on one line.
    pub(super) fn work_line(&self) -> Option<String> {
        self.transcript.last_line()
    }

    /// Takes over the jobs of the conversation that is rebuilt.
    pub(super) fn take_jobs(&mut self, before: Self) {
        self.jobs = before.jobs.not_taken_beyond(self.written);
    }

    fn apply(&mut self, output: Output, now: Moment, effects: &mut Effects) {
        for event in &output.events {
            self.absorb(event, now.clock, &mut effects.shown);
            effects.mismatches.extend(mismatch(event));
        }
        self.written += output.lines.len() as u64;
        effects.lines.extend(output.lines);
    }

    fn absorb(&mut self, event: &ControlEvent, at: Duration, shown: &mut String) {
        self.progress.absorb(event, at);
        self.told.absorb(event);
        shown.push_str(&self.transcript.show(event));
        if let ControlEvent::TurnEnded { end, .. } = event
            && let Some(why) = why_ended(end)
        {
            shown.push_str(&self.transcript.notice(&why));
        }
    }

    /// Does what can be done now: opens the session, then what was given to do.
    fn advance(&mut self, now: Moment, effects: &mut Effects) {
        self.advance_session(now, effects);
        self.watch_silence(now);
        self.advance_jobs(now, effects);
    }

    fn advance_session(&mut self, now: Moment, effects: &mut Effects) {
        while let Some(request) = self.next_request() {
            if self.ask(&request, now, effects).is_err() {
                break;
            }
        }
    }

    /// Notes what the agent should have answered by now.
    fn watch_silence(&mut self, now: Moment) {
        let state = self.client.state();
        let needed = state
            .waiting
            .iter()
            .find(|waiting| is_needed(&waiting.method));
        let Some(waiting) = needed else {
            self.silent_at = None;
            return;
        };
        let waited = since(waiting.since, now.wall);
        if waited >= self.patience {
            self.silent_at = None;
            self.progress
                .note_silence(&waiting.method, self.patience, now.clock);
        } else {
            self.silent_at = now.clock.checked_add(self.patience - waited);
        }
    }

    fn advance_jobs(&mut self, now: Moment, effects: &mut Effects) {
        loop {
            let state = self.client.state();
            let reading = self.reading_of(&state);
            let refused = match &state.connection {
                Connection::Refused(why) => Some(why.as_str()),
                _ => None,
            };
            let failure = refused.or(self.progress.failure());
            let mentions = self.setup.habits.files;
            let next = self
                .jobs
                .next(&reading, &state, failure, mentions, now.clock);
            let Some(step) = next else {
                return;
            };
            match step {
                jobs::Step::Ended(ended) => effects.ended.push(ended),
                jobs::Step::Ask(request) => {
                    let asked = self.ask(&request, now, effects);
                    effects.ended.extend(self.jobs.asked(asked, self.written));
                }
            }
        }
    }

    fn ask(
        &mut self,
        request: &ControlRequest,
        now: Moment,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        match self.client.ask(request, now.wall) {
            Ok(output) => {
                self.apply(output, now, effects);
                Ok(())
            }
            Err(refusal) => {
                self.progress.refuse(request, &refusal);
                Err(refusal)
            }
        }
    }

    /// Yes to a tool of our own server, which only reports to us: some engines cannot be
    /// told before that nobody is to be asked. By the name the engine gives the tool: a
    /// title may be the model's own words.
    fn own_tool(&self, open: &OpenPermission) -> Option<ControlRequest> {
        let request = &open.request;
        let name = request.tool_name.as_ref()?;
        let is_ours = self.setup.own_tools.contains(&name.text)
            && request.announced != Announced::Contradicts;
        let allow = request.option(&OptionKind::AllowOnce).filter(|_| is_ours)?;
        Some(ControlRequest::AnswerPermission {
            id: request.id.clone(),
            answer: PermissionAnswer::Option(allow.id.clone()),
        })
    }

    /// What comes next on the way to an open session.
    fn next_request(&mut self) -> Option<ControlRequest> {
        let state = self.client.state();
        if let Some(allowed) = state
            .permissions
            .iter()
            .find_map(|open| self.own_tool(open))
        {
            return Some(allowed);
        }
        match state.connection {
            Connection::New => Some(ControlRequest::Start),
            Connection::Ready(_)
                if !state.waiting.is_empty() || self.progress.failure().is_some() =>
            {
                None
            }
            Connection::Ready(_) if state.session.is_none() => {
                Some(ControlRequest::Open(self.setup.session.clone()))
            }
            Connection::Ready(_) => self.choices.pop(),
            Connection::Greeted | Connection::Refused(_) | Connection::Ended => None,
        }
    }
}

/// A structured conversation from its recording alone; none if it is of a terminal.
pub(super) fn recorded(recording: &Path) -> Option<Result<Rebuilt, CastError>> {
    let opened = match Recording::open(recording) {
        Ok(opened) => opened,
        Err(error) => return Some(Err(error)),
    };
    let setup = serde_json::from_value(opened.handover()?.clone()).ok()?;
    let seconds = opened.timestamp().unwrap_or_default();
    let began = Timestamp::from_micros(seconds.saturating_mul(1_000_000));
    Some(Conversation::rebuild(recording, began, setup))
}

/// The same instant on the wall and on the clock of the slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) wall: Timestamp,
    pub(super) clock: Duration,
}

fn since(began: Timestamp, at: Timestamp) -> Duration {
    let micros = at.as_micros() - began.as_micros();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Both sides of an input that is not the one that was announced or permitted.
fn mismatch(event: &ControlEvent) -> Option<String> {
    match event {
        ControlEvent::InputMismatch {
            at, first, second, ..
        } => {
            let before = match at {
                MismatchAt::Request => "announced",
                MismatchAt::AfterPermission => "allowed",
            };
            let words = |input: &ToolInput| match input {
                ToolInput::Said { json, .. } => json.to_string(),
                ToolInput::NotSaid => "nothing".to_owned(),
            };
            let (first, second) = (words(first), words(second));
            Some(format!("{before} was {first}, told is {second}"))
        }
        ControlEvent::SubAgent { event, .. } => mismatch(event),
        _ => None,
    }
}

/// What a person is told of a turn that did not simply end.
fn why_ended(end: &TurnEnd) -> Option<String> {
    Some(match end {
        TurnEnd::Done => return None,
        TurnEnd::Cancelled => "The turn was cancelled.".to_owned(),
        TurnEnd::Refused => "The model would not go on.".to_owned(),
        TurnEnd::MaxTokens => "The turn ended at its limit of tokens.".to_owned(),
        TurnEnd::MaxTurns => "The turn ended at its limit of requests.".to_owned(),
        TurnEnd::Limit(error) => format!("A usage limit was reached: {}", error.message),
        TurnEnd::AuthenticationRequired(error) => {
            format!("The agent must be signed in: {}", error.message)
        }
        TurnEnd::Failed(error) => format!("The turn failed: {}", error.message),
        TurnEnd::ConnectionLost => "The agent is gone.".to_owned(),
        TurnEnd::Unknown(word) => format!("The turn ended: {word}"),
    })
}

#[cfg(test)]
mod tests;
