//! The words of conversations with agents: what is known of one, its turns, and
//! what was said and done in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BoardTaskId, CliEngine, ConversationId, Cost, ExecutionId, Limit, SlotId, Timestamp,
    TokenCounts,
};

/// How many turns of conversations are wanted.
pub type TurnLimit = Limit<50, 10>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    pub id: ConversationId,
    pub engine: CliEngine,
    /// The CLI's own name of it.
    pub session: String,
    /// The folder of the repository it was about.
    pub project: String,
    pub cwd: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// The newest execution it was led in; none for a person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
    pub started_at: Timestamp,
    pub last_at: Timestamp,
    pub turns: u64,
    pub messages: u64,
    pub tool_calls: u64,
    pub tokens: TokenCounts,
    pub cost: Cost,
    /// Lines of its transcript that could not be taken in.
    pub skipped: u64,
    /// What was wrong with the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
}

/// A person's prompt and what followed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationTurn {
    pub number: i64,
    pub prompt: String,
    /// The beginning of what the agent said last.
    pub answer: String,
    pub messages: u64,
    pub tool_calls: u64,
    /// Calls that failed or were denied.
    pub failed: u64,
    /// `answered` or `interrupted`, when something says that it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
    /// What the requests to the model from its prompt to the next used.
    pub tokens: TokenCounts,
    pub cost: Cost,
    pub began_at: Timestamp,
    pub last_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SaidBy {
    Person,
    Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    Succeeded,
    Failed,
    // The person did not allow it, or stopped it.
    Denied,
}

/// One thing in a conversation. Texts are masked; long ones have lost their
/// middle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConversationItem {
    Message {
        place: i64,
        turn: i64,
        at: Timestamp,
        role: SaidBy,
        text: String,
        /// It was longer.
        cut: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Why it is no part of the talk: `command`, `program`, `summary`,
        /// `failure`, `binary` or `empty`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise: Option<String>,
    },
    ToolCall {
        place: i64,
        turn: i64,
        at: Timestamp,
        tool: String,
        input: String,
        /// None until it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
        output: String,
        /// The output was longer.
        cut: bool,
        /// `overlong`, `binary` or `empty`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_at: Option<Timestamp>,
    },
    Event {
        place: i64,
        turn: i64,
        at: Timestamp,
        /// `turn_ended`, `interrupted` or `compacted`.
        event: String,
    },
}

impl ConversationItem {
    /// Where it stands in its conversation.
    #[must_use]
    pub const fn sort_key(&self) -> i64 {
        match self {
            Self::Message { place, .. }
            | Self::ToolCall { place, .. }
            | Self::Event { place, .. } => *place,
        }
    }

    #[must_use]
    pub const fn turn(&self) -> i64 {
        match self {
            Self::Message { turn, .. } | Self::ToolCall { turn, .. } | Self::Event { turn, .. } => {
                *turn
            }
        }
    }

    /// How long its texts are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Message { text, .. } => text.len(),
            Self::ToolCall { input, output, .. } => input.len() + output.len(),
            Self::Event { .. } => 0,
        }
    }
}
