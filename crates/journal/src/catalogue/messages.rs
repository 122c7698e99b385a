//! What may be sent to an agent.

use missiond_core::ObservationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{family, limits};
use missiond_core::{List, SendWhen, Text};

/// What a message does to the agent's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextEffect {
    /// It becomes part of the conversation.
    Adds,
    /// It acts on the program; the conversation stays as it is.
    Leaves,
}

family! {
    /// What a message to an agent says.
    "message" MessageContent MessageType MESSAGES ContextEffect {
        Prompt = "prompt", "Prompt", "Give the agent work.", ContextEffect::Adds;
        Answer = "answer", "Answer", "Answer a question the agent asked.", ContextEffect::Adds;
        Nudge = "nudge", "Nudge", "Remind an agent that has stopped without saying why.", ContextEffect::Adds;
        Review = "review", "Review", "Tell the agent what a person thinks of its work, line by line.", ContextEffect::Adds;
        Checkpoint = "checkpoint", "Checkpoint", "Ask the agent to say where it stands.", ContextEffect::Adds;
        Interrupt = "interrupt", "Interrupt", "Stop what the agent is doing now.", ContextEffect::Leaves;
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    pub text: Text<{ limits::PROMPT_TEXT }>,
    /// Files that are shown with it, by their absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Text<{ limits::PATH }>>,
    /// Whether it waits for the end of a turn.
    #[serde(default, skip_serializing_if = "SendWhen::is_idle")]
    pub when: SendWhen,
}

impl Prompt {
    /// Words alone.
    #[must_use]
    pub fn new(text: Text<{ limits::PROMPT_TEXT }>) -> Self {
        Self {
            text,
            files: Vec::new(),
            when: SendWhen::Idle,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The input request it answers.
    pub request: ObservationId,
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nudge {
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

/// What a person says of an agent's work. The text is what the agent is given;
/// the rest is what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Review {
    pub text: Text<{ limits::PROMPT_TEXT }>,
    /// About all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Text<{ limits::MESSAGE_TEXT }>>,
    /// The commit that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Text<{ limits::LABEL }>>,
    pub comments: List<LineComment, 0, { limits::REVIEW_COMMENTS }>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineComment {
    pub file: Text<{ limits::PATH }>,
    pub side: CommentSide,
    /// The whole file when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Text<{ limits::SIGNAL_TEXT }>>,
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

/// Which of the two files of a difference a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommentSide {
    Old,
    New,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {}
