//! Random but repeatable lives of an execution: the same seed always does the
//! same things, whatever the store.

use missiond_core::{DeliveryStatus, PtyState};

use super::{at, observation};
use crate::catalogue::{
    Answer, Artifact, ArtifactActivity, Blocked, Choice, CompletedClaim, Control, Diagnostic,
    DiagnosticCode, Dialog, Edge, Fact, FailedClaim, Message, NeedsInput, Process, Progress,
    Prompt, Reading, ReadyForVerification, Session, Signal, Speaker, Speech, Target, TargetKind,
    Thinking, ToolUse, Turn, Usage,
};
use crate::journal::{Journal, JournalError, NewMessage};
use crate::observation::{MessageKey, Observed, Source};
use crate::record::{
    ActivityUpdated, CapabilitySnapshot, EffectStatus, Projection, Sender, Telemetry,
};
use crate::timeline::Zone;
use missiond_core::List;

/// A source of numbers that are the same every time (xorshift64*).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    pub const fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub const fn below(&mut self, sides: u64) -> u64 {
        self.roll() % sides
    }
}

/// One life, step by step.
#[derive(Debug)]
pub struct History {
    dice: Dice,
    step: i64,
    /// The run may end only when the story is to end.
    mortal: bool,
}

impl History {
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            step: 0,
            mortal: seed.is_multiple_of(4),
        }
    }

    /// Does the next thing. Whatever the journal answers is fine with it, except
    /// that it cannot be written.
    pub fn step(&mut self, journal: &Journal) -> Result<(), JournalError> {
        self.step += 1;
        let now = at(self.step);
        if self.step == 1 {
            let started = Fact::Process(Process::Started { pid: 4711 });
            return self.observe(journal, Source::Process, started.into());
        }
        match self.dice.below(12) {
            0..=4 => {
                let signal = self.signal();
                let source = [Source::Marker, Source::McpTool][self.dice.below(2) as usize];
                self.observe(journal, source, Observed::Signal(signal))
            }
            5..=7 => {
                let (source, fact) = self.fact();
                self.observe(journal, source, fact.into())
            }
            8 => self.message(journal),
            9 => self.delivery(journal),
            10 => {
                let due = journal.peek(|state| state.due.keys().next().copied())?;
                match due {
                    Some(key) => journal
                        .settle_effect(now, key, EffectStatus::Applied)
                        .map(drop),
                    None => journal.project(now, note(self.step)).map(drop),
                }
            }
            _ => {
                let update = self.update();
                journal.update_activity(now, update).map(drop)
            }
        }
    }

    fn observe(
        &mut self,
        journal: &Journal,
        source: Source,
        observed: Observed,
    ) -> Result<(), JournalError> {
        // Now and then a key comes a second time.
        let number = if self.dice.below(6) == 0 {
            self.step / 2
        } else {
            self.step
        };
        let key = format!("signal:e{number}");
        let observation = observation(journal.execution(), &key, source, observed);
        journal.observe(at(self.step), observation).map(drop)
    }

    fn signal(&mut self) -> Signal {
        let text = format!("step {} of the story", self.step);
        let text = text.as_str();
        let artifacts = List::new(vec![Artifact {
            path: "src/lib.rs".try_into().unwrap(),
            label: None,
            activity: ArtifactActivity::Edit,
        }])
        .unwrap();
        match self.dice.below(8) {
            0 | 1 => Progress {
                summary: text.try_into().unwrap(),
                detail: None,
                percent: (self.dice.below(101) as u8).try_into().ok(),
                artifacts,
            }
            .into(),
            2 => NeedsInput {
                question: text.try_into().unwrap(),
                choices: List::new(vec![Choice {
                    label: "yes".try_into().unwrap(),
                    value: None,
                }])
                .unwrap(),
            }
            .into(),
            3 => Blocked {
                reason: text.try_into().unwrap(),
            }
            .into(),
            4 => ReadyForVerification {
                summary: text.try_into().unwrap(),
                artifacts,
            }
            .into(),
            5 => CompletedClaim {
                summary: text.try_into().unwrap(),
                artifacts,
            }
            .into(),
            6 => FailedClaim {
                reason: text.try_into().unwrap(),
            }
            .into(),
            _ => Message {
                text: text.try_into().unwrap(),
            }
            .into(),
        }
    }

    fn fact(&mut self) -> (Source, Fact) {
        let edge = [Edge::Began, Edge::Ended][self.dice.below(2) as usize];
        let states = [
            PtyState::Idle,
            PtyState::Thinking,
            PtyState::Responding,
            PtyState::ToolRunning,
            PtyState::Confirming,
            PtyState::Unknown,
        ];
        match self.dice.below(12) {
            0..=2 => {
                let state = states[self.dice.below(6) as usize];
                let reading = Reading {
                    state,
                    evidence: None,
                };
                (Source::Terminal, reading.into())
            }
            3 => (Source::Hook, Turn { edge }.into()),
            4 => {
                let tool = ToolUse {
                    edge,
                    tool: "Edit".try_into().unwrap(),
                    target: Some(Target {
                        kind: TargetKind::File,
                        label: "src/main.rs".try_into().unwrap(),
                    }),
                    input_digest: None,
                    outcome: None,
                };
                (Source::Hook, tool.into())
            }
            5 => {
                let dialog = Dialog {
                    edge,
                    question: None,
                    input_digest: None,
                };
                (Source::Terminal, dialog.into())
            }
            6 => {
                let said = Speech {
                    by: Speaker::Agent,
                    text: "words".try_into().unwrap(),
                };
                (Source::Transcript, said.into())
            }
            7 => (Source::Transcript, Thinking { edge }.into()),
            8 => {
                let usage = Usage {
                    model: None,
                    input_tokens: self.dice.below(1000),
                    output_tokens: self.dice.below(1000),
                    cache_read_tokens: 0,
                    cache_write_tokens: 0,
                };
                (Source::Transcript, usage.into())
            }
            9 => {
                let session = Session {
                    id: "session-1".try_into().unwrap(),
                    transcript: None,
                };
                (Source::Hook, session.into())
            }
            10 => {
                let diagnostic = Diagnostic {
                    code: DiagnosticCode::Unauthorised,
                    detail: "a marker from a file".try_into().unwrap(),
                };
                (Source::Marker, diagnostic.into())
            }
            _ => self.turning_point(),
        }
    }

    fn turning_point(&mut self) -> (Source, Fact) {
        match self.dice.below(if self.mortal { 5 } else { 2 }) {
            0 => (Source::Daemon, Control::Paused.into()),
            1 => (Source::Daemon, Control::Resumed.into()),
            2 => {
                let exited = Process::Exited {
                    code: Some(0),
                    signal: None,
                };
                (Source::Process, exited.into())
            }
            // A source that may not say so.
            3 => (Source::Terminal, Process::Started { pid: 1 }.into()),
            _ => {
                let reason = "no longer wanted".try_into().unwrap();
                (Source::Daemon, Control::Cancelled { reason }.into())
            }
        }
    }

    fn message(&mut self, journal: &Journal) -> Result<(), JournalError> {
        let request = journal.peek(|state| state.current_request().map(|request| request.id))?;
        let content = match request {
            Some(request) if self.dice.below(2) == 0 => Answer {
                request,
                text: "yes".try_into().unwrap(),
            }
            .into(),
            _ => Prompt::new("go on".try_into().unwrap()).into(),
        };
        let message = NewMessage {
            key: MessageKey::new(format!("m{}", self.step - self.dice.below(3) as i64)).unwrap(),
            from: Sender::Operator,
            content,
        };
        journal.accept(at(self.step), message).map(drop)
    }

    fn delivery(&mut self, journal: &Journal) -> Result<(), JournalError> {
        let open = journal.peek(|state| {
            state
                .undelivered()
                .next()
                .map(|(id, message)| (id, message.status))
        })?;
        let Some((id, status)) = open else {
            return journal.project(at(self.step), note(self.step)).map(drop);
        };
        let (to, reason) = match (status, self.dice.below(3)) {
            (DeliveryStatus::Queued | DeliveryStatus::Held, 0..=1) => {
                (DeliveryStatus::Delivering, None)
            }
            (DeliveryStatus::Queued, _) => (DeliveryStatus::Held, Some("a dialog is open")),
            (DeliveryStatus::Held, _) => (DeliveryStatus::Queued, None),
            (_, 0) => (DeliveryStatus::Queued, None),
            _ => (DeliveryStatus::Delivered, None),
        };
        let reason = reason.map(|reason| reason.try_into().unwrap());
        journal.deliver(at(self.step), id, to, reason).map(drop)
    }

    fn update(&mut self) -> ActivityUpdated {
        let mut update = ActivityUpdated::default();
        if self.dice.below(2) == 0 {
            update.telemetry = Some(Telemetry {
                requests: self.step as u64,
                ..Telemetry::default()
            });
        }
        if update.telemetry.is_none() || self.dice.below(2) == 0 {
            update.capabilities = Some(CapabilitySnapshot {
                streaming: self.dice.below(2) == 0,
                ..CapabilitySnapshot::default()
            });
        }
        update
    }
}

impl From<Fact> for Observed {
    fn from(fact: Fact) -> Self {
        Self::Fact(fact)
    }
}

fn note(step: i64) -> Projection {
    Projection {
        zone: Zone::Runtime,
        title: format!("note {step}").as_str().try_into().unwrap(),
        text: None,
    }
}
