//! From the records of a journal to what an editor is told: words, tool calls, messages
//! that came from elsewhere. The same for a run that is watched and one that is told
//! again; only what the editor itself has said is left out of the first.

use std::collections::VecDeque;

use missiond_core::{ConversationItem, Timestamp};
use missiond_journal::catalogue::{Edge, Fact, MessageContent, Signal, Speaker};
use missiond_journal::record::{MessageAccepted, Sender};
use missiond_journal::{Observation, Observed, RecordBody, Verdict};

use crate::protocol::{Content, Update};
use crate::tool_calls::ToolCalls;

/// Messages whose echo in the transcript is waited for.
const REMEMBERED: usize = 64;

/// What the editor has seen already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Playback {
    /// The run is watched: the editor has shown what it sent.
    Live,
    /// The run is told again from its beginning.
    History,
}

#[derive(Debug, Default)]
pub(crate) struct Narrator {
    calls: ToolCalls,
    /// An observation counts when its decision does not refuse it.
    undecided: Option<(u64, Observation)>,
    /// Keys of messages the editor sent.
    own: VecDeque<String>,
    /// The first prompt is the editor's, and has a key of the daemon's making.
    own_start: bool,
    /// Texts of messages: a transcript has them again.
    accepted: VecDeque<String>,
    /// The last thing told was the end of a message.
    in_words: bool,
    /// The agent said something in this turn.
    spoke: bool,
}

impl Narrator {
    /// Of a run that this editor starts.
    pub(crate) fn of_own_start() -> Self {
        Self {
            own_start: true,
            ..Self::default()
        }
    }

    /// A turn begins with a message of the editor's, with this key if it has one.
    pub(crate) fn begin_turn(&mut self, key: Option<&str>) {
        self.calls.begin_turn();
        self.in_words = false;
        self.spoke = false;
        remember(&mut self.own, key.map(str::to_owned));
    }

    /// Whether the agent said anything since the turn began.
    pub(crate) fn spoke(&self) -> bool {
        self.spoke
    }

    pub(crate) fn calls(&self) -> &ToolCalls {
        &self.calls
    }

    pub(crate) fn details(&mut self, items: &[ConversationItem], since: Timestamp) -> Vec<Update> {
        self.calls.details(items, since)
    }

    /// What the editor is told because of this record.
    pub(crate) fn translate(
        &mut self,
        sequence: u64,
        body: &RecordBody,
        playback: Playback,
    ) -> Option<Update> {
        match body {
            RecordBody::MessageAccepted(message) => self.message(sequence, message, playback),
            RecordBody::Observation(observation) => {
                self.undecided = Some((sequence, observation.clone()));
                None
            }
            RecordBody::Decision(decision) => {
                let (sequence, observation) = self.undecided.take()?;
                let believed =
                    decision.observation == observation.id && decision.verdict != Verdict::Refused;
                if believed {
                    self.observation(sequence, &observation)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn message(
        &mut self,
        sequence: u64,
        message: &MessageAccepted,
        playback: Playback,
    ) -> Option<Update> {
        let text = match &message.content {
            MessageContent::Prompt(prompt) => prompt.text.as_str(),
            MessageContent::Answer(answer) => answer.text.as_str(),
            MessageContent::Nudge(nudge) => nudge.text.as_str(),
            MessageContent::Review(review) => review.text.as_str(),
            MessageContent::Checkpoint(checkpoint) => checkpoint.text.as_str(),
            MessageContent::Interrupt(_) => return None,
        };
        remember(&mut self.accepted, Some(squeezed(text)));
        let started = std::mem::take(&mut self.own_start);
        let own = started || self.own.iter().any(|key| key == message.key.as_str());
        if playback == Playback::History {
            self.calls.begin_turn();
        } else if own {
            return None;
        }
        self.in_words = false;
        let text = match &message.from {
            Sender::Operator => text.to_owned(),
            Sender::Execution(execution) => format!("{execution} says: {text}"),
            Sender::Slot(slot) => format!("{slot} says: {text}"),
            Sender::Program(name) => format!("the program {name} says: {text}"),
            Sender::Commander => format!("an agent of yours says: {text}"),
            Sender::Unknown => format!("an unknown process says: {text}"),
            Sender::Daemon | Sender::System | Sender::Owner => format!("missiond says: {text}"),
        };
        Some(Update::UserMessageChunk {
            content: Content::text(text),
            message_id: format!("message-{sequence}"),
        })
    }

    fn observation(&mut self, sequence: u64, observation: &Observation) -> Option<Update> {
        match &observation.observed {
            Observed::Fact(Fact::Speech(speech)) => match speech.by {
                Speaker::Agent => Some(self.words(sequence, &speech.text)),
                Speaker::Operator => self.typed(sequence, &speech.text),
                Speaker::Program => None,
            },
            Observed::Fact(Fact::ToolUse(used)) => {
                let source = observation.source;
                let update = match used.edge {
                    Edge::Began => self.calls.began(sequence, source, &used.tool),
                    Edge::Ended => self.calls.ended(sequence, source, &used.tool, used.outcome),
                };
                self.in_words &= update.is_none();
                update
            }
            Observed::Fact(_) => None,
            Observed::Signal(signal) => match signal {
                Signal::Message(message) => Some(self.words(sequence, &message.text)),
                Signal::CompletedClaim(claim) => Some(self.words(sequence, &claim.summary)),
                Signal::ReadyForVerification(ready) => Some(self.words(sequence, &ready.summary)),
                Signal::FailedClaim(claim) => Some(self.words(sequence, &claim.reason)),
                Signal::Blocked(blocked) => Some(self.words(sequence, &blocked.reason)),
                Signal::Progress(progress) => Some(Update::AgentThoughtChunk {
                    content: Content::text(format!("{}\n", progress.summary)),
                    message_id: format!("message-{sequence}"),
                }),
                // It becomes a question, and is asked as one.
                Signal::NeedsInput(_) => None,
            },
        }
    }

    /// A message of the agent. Editors that do not know where one ends put them all
    /// together, so a second one begins with an empty line.
    fn words(&mut self, sequence: u64, text: &str) -> Update {
        let apart = if self.in_words { "\n\n" } else { "" };
        self.in_words = true;
        self.spoke = true;
        Update::AgentMessageChunk {
            content: Content::text(format!("{apart}{text}")),
            message_id: format!("message-{sequence}"),
        }
    }

    /// What somebody typed at the agent's terminal. What came as a message is there too,
    /// with whatever the agent was told beside it.
    fn typed(&mut self, sequence: u64, text: &str) -> Option<Update> {
        let typed = squeezed(text);
        let echo = |sent: &String| typed.contains(sent.as_str()) || sent.contains(&typed);
        if self.accepted.iter().any(echo) {
            return None;
        }
        self.in_words = false;
        Some(Update::UserMessageChunk {
            content: Content::text(text),
            message_id: format!("message-{sequence}"),
        })
    }
}

fn remember(texts: &mut VecDeque<String>, text: Option<String>) {
    texts.extend(text);
    if texts.len() > REMEMBERED {
        texts.pop_front();
    }
}

/// Terminals break lines where they please.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
#[path = "narrator_tests.rs"]
mod tests;
