//! One record of the audit: what was decided, called, changed or refused, for whom, by
//! which rule, and what came of it. It is the same where it is stored and where it is shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExecutionId, Principal, PrincipalKind, Seq, Timestamp, TraceId};

/// What sort of thing a record is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// A permission of an agent was decided, by a rule, a hook or a person.
    Decision,
    /// An operation that changes something was called.
    Call,
    /// An agent used a tool, as its program or its protocol told.
    Tool,
    /// A request went to a provider of models.
    Model,
    /// A call was refused: whoever asked may not.
    Refusal,
    /// What the configuration says was taken over, or refused.
    Configuration,
    /// The daemon started or stopped.
    Daemon,
    /// Where journals ended.
    Journals,
    /// What stood in the timeline.
    Timeline,
    /// The key that signs was made, or another took its place.
    Key,
    /// What was found on opening was not what had been left.
    Integrity,
}

impl AuditKind {
    pub const ALL: [Self; 11] = [
        Self::Decision,
        Self::Call,
        Self::Tool,
        Self::Model,
        Self::Refusal,
        Self::Configuration,
        Self::Daemon,
        Self::Journals,
        Self::Timeline,
        Self::Key,
        Self::Integrity,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Call => "call",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Refusal => "refusal",
            Self::Configuration => "configuration",
            Self::Daemon => "daemon",
            Self::Journals => "journals",
            Self::Timeline => "timeline",
            Self::Key => "key",
            Self::Integrity => "integrity",
        }
    }
}

impl fmt::Display for AuditKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose doing it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditWho {
    pub kind: PrincipalKind,
    /// The token of a program, the slot of an agent, the part of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The run of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
}

impl From<&Principal> for AuditWho {
    fn from(principal: &Principal) -> Self {
        let (id, execution) = match principal {
            Principal::Program { access, .. } => (Some(access.to_string()), None),
            Principal::Agent { slot, execution } => (Some(slot.to_string()), *execution),
            Principal::Daemon { component } => (Some((*component).to_owned()), None),
            Principal::Person
            | Principal::Commander
            | Principal::ToolServer
            | Principal::Untold => (None, None),
        };
        Self {
            kind: principal.kind(),
            id,
            execution,
        }
    }
}

impl fmt::Display for AuditWho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            PrincipalKind::Person => "person",
            PrincipalKind::Program => "program",
            PrincipalKind::Commander => "a person's own agent",
            PrincipalKind::Agent => "agent",
            PrincipalKind::ToolServer => "tool server",
            PrincipalKind::Daemon => "daemon",
            PrincipalKind::Untold => "unknown process",
        };
        f.write_str(kind)?;
        match &self.id {
            Some(id) => write!(f, " {id}"),
            None => Ok(()),
        }
    }
}

/// Where a journal ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedJournal {
    pub execution: ExecutionId,
    /// The number of its last record.
    pub sequence: u64,
    /// What that record is chained by.
    pub hash: String,
}

/// Events of the timeline, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedEvents {
    pub first: Seq,
    pub last: Seq,
    /// SHA-256 of their rows, in hexadecimal digits.
    pub hash: String,
}

impl AuditedEvents {
    #[must_use]
    pub fn count(&self) -> u64 {
        let count = self.last.0.checked_sub(self.first.0);
        count.map_or(0, |count| u64::try_from(count).map_or(0, |count| count + 1))
    }
}

/// A decision as it stands in the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedDecision {
    pub number: i64,
    /// SHA-256 of its row but for what came of it, in hexadecimal digits.
    pub hash: String,
}

/// A key that signs from here on, with what proves that its holder and the holder of the
/// one before wanted that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditedKey {
    /// The public key, in hexadecimal digits.
    pub key: String,
    /// By this key.
    pub signature: String,
    /// The key before, unless this is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// By the key before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_before: Option<String>,
}

/// One record of the audit, in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// Its number: 1, 2, 3 and so on.
    pub seq: u64,
    pub at: Timestamp,
    pub kind: AuditKind,
    pub who: AuditWho,
    /// The operation, the tool, or what the daemon did.
    pub action: String,
    /// What it was about, in a few words, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// SHA-256 of the exact bytes it was about, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The rules that decided, or what else did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journals: Vec<AuditedJournal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<AuditedEvents>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<AuditedDecision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<AuditedKey>,
}
