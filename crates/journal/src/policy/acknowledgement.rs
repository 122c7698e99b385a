//! What the sender of an observation or a message is told. An acknowledgement
//! says that it was recorded and how it was taken; it is no proof that anything
//! is done.

use missiond_core::{ExecutionId, MessageId, ObservationId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reason, Verdict};
use crate::frame::Sequence;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledgement {
    pub execution: ExecutionId,
    /// How it was taken.
    #[serde(flatten)]
    pub outcome: Outcome,
    pub reason: Reason,
    /// The reason as a sentence.
    pub detail: String,
    /// The observation, as recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservationId>,
}

/// How an observation was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    Accepted {
        sequence: Sequence,
    },
    Promoted {
        sequence: Sequence,
    },
    RecordedOnly {
        sequence: Sequence,
    },
    /// It was recorded before, at this place, and was not applied again.
    Duplicate {
        original: Sequence,
    },
    /// Nothing came of it. With a place when the refusal itself was recorded.
    Rejected {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<Sequence>,
    },
}

impl Acknowledgement {
    /// For what was decided and recorded at `sequence`.
    #[must_use]
    pub fn decided(
        execution: ExecutionId,
        observation: ObservationId,
        sequence: Sequence,
        verdict: Verdict,
        reason: Reason,
    ) -> Self {
        let outcome = match verdict {
            Verdict::ChangedState => Outcome::Accepted { sequence },
            Verdict::Promoted => Outcome::Promoted { sequence },
            Verdict::RecordedOnly => Outcome::RecordedOnly { sequence },
            Verdict::Refused => Outcome::Rejected {
                sequence: Some(sequence),
            },
        };
        Self {
            execution,
            outcome,
            reason,
            detail: reason.sentence().to_owned(),
            observation: Some(observation),
        }
    }

    /// For what never reached a journal: no such execution, no right, no sense.
    #[must_use]
    pub fn rejected(execution: ExecutionId, reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            execution,
            outcome: Outcome::Rejected { sequence: None },
            reason,
            detail: detail.into(),
            observation: None,
        }
    }

    pub(crate) fn duplicate(
        execution: ExecutionId,
        observation: ObservationId,
        original: Sequence,
        reason: Reason,
    ) -> Self {
        Self {
            execution,
            outcome: Outcome::Duplicate { original },
            reason,
            detail: format!(
                "a duplicate of record {original}, which was {}; nothing was done again",
                reason.sentence()
            ),
            observation: Some(observation),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAcknowledgement {
    pub execution: ExecutionId,
    #[serde(flatten)]
    pub outcome: MessageOutcome,
}

/// How a message was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum MessageOutcome {
    Accepted {
        message: MessageId,
        sequence: Sequence,
    },
    /// It was accepted before and will not be sent twice.
    Duplicate {
        message: MessageId,
        original: Sequence,
    },
    Rejected {
        reason: Reason,
    },
}
