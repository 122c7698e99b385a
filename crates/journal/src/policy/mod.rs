//! What an observation may do. The table says, by source, type and confidence,
//! whether it may change state, is handed on to the owner, is recorded only or
//! is refused; [`decide`] turns that into effects. Both are data in, data out:
//! nothing here reads a clock, a file or a random number.

mod acknowledgement;
mod decide;
mod table;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use acknowledgement::{Acknowledgement, MessageAcknowledgement, MessageOutcome, Outcome};
pub use decide::{Decision, decide};
pub use table::{Policy, Rule};

/// What was decided on an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Believed: state or activity changed.
    ChangedState,
    /// Handed on to the owner, who decides what it is worth.
    Promoted,
    /// Kept, and nothing more.
    RecordedOnly,
    /// Kept as refused, and nothing more.
    Refused,
}

/// Why it was decided so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The table lets this source do this.
    Allowed,
    /// Claims are for the owner to judge.
    ClaimForOwner,
    /// Nothing follows from an observation of this type.
    Informational,
    /// It was not believed enough to act on.
    LowConfidence,
    /// Everything already was as it says.
    NothingChanged,
    /// This source may not report this.
    SourceMayNotReport,
    /// It is about another execution.
    WrongExecution,
    /// The execution has ended.
    Stopped,
    /// The state it would lead to cannot follow the present one.
    IllegalMove,
    /// There is no such open request.
    NoSuchRequest,
    /// It does not prove that it comes from this execution's agent.
    Unauthorised,
    /// It is not what its type demands.
    Malformed,
    /// It is larger than allowed.
    Oversized,
    /// The catalogue has no such type.
    Unsupported,
    /// There is no such execution.
    UnknownExecution,
    /// The owner of the execution has no use for this type.
    NotOffered,
    /// The agent that sends it has sent this one too much already.
    TooMuchChatter,
}

impl Reason {
    /// One sentence for the one who sent it.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Allowed => "accepted",
            Self::ClaimForOwner => "recorded as a claim; the checks decide whether it is so",
            Self::Informational => "recorded",
            Self::LowConfidence => "recorded, but not certain enough to act on",
            Self::NothingChanged => "recorded; everything already was so",
            Self::SourceMayNotReport => "refused: this cannot be reported this way",
            Self::WrongExecution => "refused: it names another execution",
            Self::Stopped => "refused: the execution has ended",
            Self::IllegalMove => "refused: the execution cannot go there from where it is",
            Self::NoSuchRequest => "refused: there is no such open question",
            Self::Unauthorised => {
                "refused: it does not prove that it comes from this execution's agent"
            }
            Self::Malformed => "refused: it is not valid; see the schema of its type",
            Self::Oversized => "refused: it is larger than allowed",
            Self::Unsupported => "refused: there is no such type of signal",
            Self::UnknownExecution => "refused: there is no such execution",
            Self::NotOffered => "refused: this execution has no such report",
            Self::TooMuchChatter => {
                "refused: this agent has sent the other one too many messages within a minute; \
                 wait, or ask a person"
            }
        }
    }
}

#[cfg(test)]
mod tests;
