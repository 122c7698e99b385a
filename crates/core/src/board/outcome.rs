//! What an agent claimed, what came of an attempt, and what follows from it
//! for the task.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machines::UnknownState;

/// What an agent said of its work. That it fell silent is no claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    ReadyForVerification,
    Completed,
    Failed,
    Blocked,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The checks passed; the work was taken, or waits for a review.
    Verified,
    /// The checks still failed after the last round.
    ChecksFailed,
    /// The work could not be put together with what others did.
    Conflict,
    /// The agent's program ended before its work did.
    AgentLost,
    /// The agent made no progress.
    Stalled,
    Cancelled,
    /// The lease ended without a sign of its holder.
    Expired,
    /// Only a person can say how it goes on.
    NeedsPerson,
    /// It was given back without a verdict.
    Superseded,
    /// missiond could not do its part.
    Error,
}

/// What an outcome means for the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    Done,
    /// Tried again after the backoff, until there were too many.
    TryAgain,
    /// Open again at once, as if nothing had been tried.
    Reopen,
    /// A person has to look.
    Block,
    Fail,
}

impl Outcome {
    #[must_use]
    pub const fn consequence(self) -> Consequence {
        match self {
            Self::Verified => Consequence::Done,
            Self::ChecksFailed | Self::Conflict | Self::NeedsPerson => Consequence::Block,
            Self::AgentLost | Self::Stalled | Self::Expired | Self::Error => Consequence::TryAgain,
            Self::Cancelled => Consequence::Fail,
            Self::Superseded => Consequence::Reopen,
        }
    }
}

macro_rules! words {
    ($type:ident, $what:literal, { $($variant:ident = $text:literal),* $(,)? }) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownState;

            fn from_str(text: &str) -> Result<Self, UnknownState> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    other => Err(UnknownState {
                        machine: $what,
                        text: other.chars().take(64).collect(),
                    }),
                }
            }
        }
    };
}

words!(ClaimKind, "claim", {
    ReadyForVerification = "ready_for_verification",
    Completed = "completed",
    Failed = "failed",
    Blocked = "blocked",
});

words!(Outcome, "outcome", {
    Verified = "verified",
    ChecksFailed = "checks_failed",
    Conflict = "conflict",
    AgentLost = "agent_lost",
    Stalled = "stalled",
    Cancelled = "cancelled",
    Expired = "expired",
    NeedsPerson = "needs_person",
    Superseded = "superseded",
    Error = "error",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_and_the_sent_word_are_one() {
        for &outcome in Outcome::ALL {
            assert_eq!(outcome.as_str().parse(), Ok(outcome));
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        for &kind in ClaimKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn only_verified_work_is_done() {
        let done = |outcome: &&Outcome| outcome.consequence() == Consequence::Done;
        let all: Vec<_> = Outcome::ALL.iter().filter(done).collect();
        assert_eq!(all, [&Outcome::Verified]);
    }
}
