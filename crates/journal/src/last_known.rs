//! What an agent said of its work, what its screen showed and how its program
//! ended: the newest of each that was believed, for whoever decides what comes next.

use missiond_core::{ClaimKind, ObservationId, PtyState, Timestamp};
use serde::{Deserialize, Serialize};

use crate::catalogue::{DiagnosticCode, Edge, Fact, Process, Signal, Speaker};
use crate::observation::{Observation, Observed};
use crate::policy::Verdict;
use crate::record::DecisionRecorded;

/// So many characters of the last words are kept.
const EXCERPT_CHARS: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LastKnown {
    /// The last claim that was handed on to the owner.
    pub claim: Option<StatedClaim>,
    pub end: Option<ProgramEnd>,
    /// The last thing that was found wrong with the program.
    pub trouble: Option<String>,
    /// How the agent's or its program's last words begin, and when they came.
    pub last_words: Option<(String, Timestamp)>,
    /// What its screen was last read as.
    #[serde(default)]
    pub screen: Option<PtyState>,
    /// The limit of the vendor's that ended the last turn, in the agent's words.
    #[serde(default)]
    pub limit: Option<(String, Timestamp)>,
    /// When the limits that are used up are open again, as told last.
    #[serde(default)]
    pub limit_resets_at: Option<Timestamp>,
    /// Observed last, and not decided on.
    undecided: Option<(ObservationId, Update)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedClaim {
    pub kind: ClaimKind,
    pub text: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramEnd {
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
    /// Nobody saw how.
    Lost { reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Update {
    Claim(StatedClaim),
    End(ProgramEnd),
    Trouble(String),
    Words(String, Timestamp),
    Screen(PtyState),
    TurnBegan,
    Limit {
        ended_turn: Option<(String, Timestamp)>,
        resets_at: Option<Timestamp>,
    },
}

impl LastKnown {
    pub(crate) fn observe(&mut self, observation: &Observation, at: Timestamp) {
        let update = match &observation.observed {
            Observed::Signal(signal) => of_signal(signal, at),
            Observed::Fact(fact) => of_fact(fact, at),
        };
        self.undecided = update.map(|update| (observation.id, update));
    }

    pub(crate) fn decide(&mut self, decision: &DecisionRecorded) {
        let Some((_, update)) = self
            .undecided
            .take_if(|(observation, _)| *observation == decision.observation)
        else {
            return;
        };
        match (update, decision.verdict) {
            (_, Verdict::Refused) => {}
            (Update::Claim(claim), Verdict::Promoted) => self.claim = Some(claim),
            // A claim that was not handed on is none to act on.
            (Update::Claim(_), _) => {}
            (Update::End(end), _) => self.end = Some(end),
            (Update::Trouble(trouble), _) => self.trouble = Some(trouble),
            (Update::Words(words, at), _) => self.last_words = Some((words, at)),
            (Update::Screen(state), _) => self.screen = Some(state),
            (Update::TurnBegan, _) => self.limit = None,
            (
                Update::Limit {
                    ended_turn,
                    resets_at,
                },
                _,
            ) => {
                self.limit = ended_turn.or(self.limit.take());
                self.limit_resets_at = resets_at;
            }
        }
    }
}

fn of_signal(signal: &Signal, at: Timestamp) -> Option<Update> {
    let (kind, text) = match signal {
        Signal::CompletedClaim(claim) => (ClaimKind::Completed, claim.summary.as_str()),
        Signal::ReadyForVerification(ready) => {
            (ClaimKind::ReadyForVerification, ready.summary.as_str())
        }
        Signal::FailedClaim(claim) => (ClaimKind::Failed, claim.reason.as_str()),
        Signal::Blocked(blocked) => (ClaimKind::Blocked, blocked.reason.as_str()),
        Signal::Progress(_) | Signal::NeedsInput(_) | Signal::Message(_) => return None,
    };
    Some(Update::Claim(StatedClaim {
        kind,
        text: text.to_owned(),
        at,
    }))
}

fn of_fact(fact: &Fact, at: Timestamp) -> Option<Update> {
    match fact {
        Fact::Speech(said) if said.by != Speaker::Operator => {
            let words = said.text.chars().take(EXCERPT_CHARS).collect();
            Some(Update::Words(words, at))
        }
        Fact::Reading(reading) => Some(Update::Screen(reading.state)),
        Fact::Turn(turn) if turn.edge == Edge::Began => Some(Update::TurnBegan),
        Fact::RateLimits(limits) => {
            let words = limits.reached.as_ref().filter(|_| limits.ended_turn);
            let words = words.map(|words| words.chars().take(EXCERPT_CHARS).collect());
            Some(Update::Limit {
                ended_turn: words.map(|words| (words, at)),
                resets_at: limits.resets_at(),
            })
        }
        Fact::Process(Process::Exited { code, signal }) => Some(Update::End(ProgramEnd::Exited {
            code: *code,
            signal: *signal,
        })),
        Fact::Process(Process::Lost { reason }) => Some(Update::End(ProgramEnd::Lost {
            reason: reason.as_str().to_owned(),
        })),
        Fact::Diagnostic(found) if found.code == DiagnosticCode::Program => {
            Some(Update::Trouble(found.detail.as_str().to_owned()))
        }
        _ => None,
    }
}
