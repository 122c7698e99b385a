//! What a client is made with.

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::rpc::Marker;

/// The newest version of ACP to offer. Version 2 is a draft: an agent that has it is
/// spoken to in it only if it was offered, and one that has not answers with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AcpVersion {
    V1,
    V2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    Acp { newest: AcpVersion },
    CodexAppServer,
}

impl Dialect {
    pub(crate) fn marker(self) -> Marker {
        match self {
            Self::Acp { .. } => Marker::Written,
            Self::CodexAppServer => Marker::LeftOut,
        }
    }
}

/// What the usage in the answer to a prompt counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageScope {
    #[default]
    Turn,
    /// The session so far, from the start of the process.
    Session,
}

/// When an agent that loads a session has told all of its history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEnd {
    /// With the answer, as the protocol has it.
    #[default]
    Answer,
    /// It goes on after the answer; the list of its commands comes behind it.
    Commands,
}

/// Where an agent says what a tool is called. A permission may hang on it, so it is looked
/// for nowhere else: the id of a call is the model's own word with many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolNames {
    #[default]
    Meta,
    /// Or in the ids of its calls, which it makes itself.
    CallIds,
}

/// Who ends the questions of a turn that is cancelled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledQuestions {
    /// We answer them at once, as the protocol has it.
    #[default]
    AnsweredAtOnce,
    /// The agent takes them back. Inside of it an answer can be faster than the end of the
    /// turn, and the model would be asked what it does after a refusal.
    TakenBack,
}

/// How a file is named to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMentions {
    /// As a link, which the agent may read at once.
    #[default]
    Links,
    /// By its path in words. Such an agent makes one text of links and words with nothing
    /// between them, and may forget the pictures that come with a link.
    Words,
}

/// Where an engine does what others do not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Habits {
    pub usage: UsageScope,
    pub history_end: HistoryEnd,
    pub tool_names: ToolNames,
    pub cancelled_questions: CancelledQuestions,
    pub files: FileMentions,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    pub dialect: Dialect,
    pub limits: Limits,
    /// Who we say we are.
    pub client_name: String,
    pub client_version: String,
    /// Members of a tool's input that an engine writes for itself: times, process ids,
    /// the decisions it would take. They are left out of digests and comparisons, but
    /// only of an input that carries the id of its own call, which is how such an
    /// engine is known from a tool that happens to have an argument of that name.
    pub bookkeeping: Vec<String>,
    pub habits: Habits,
}

impl Options {
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            limits: Limits::default(),
            client_name: "missiond".into(),
            client_version: env!("CARGO_PKG_VERSION").into(),
            bookkeeping: Vec::new(),
            habits: Habits::default(),
        }
    }
}
