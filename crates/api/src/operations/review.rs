//! Reviews: what a person says to an agent about its work, line by line.

use missiond_core::{Bounded, ExecutionId, List, MessageId, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::execution::MessageOutcome;
use super::operations;

operations! {
    Compute;

    ReviewSend = "review_send" (Additive, "review", People):
        ReviewSendParams => ReviewSent,
        "Send an agent your comments on lines of its work and a remark, as one message that it is \
         given when it waits for one.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewSendParams {
    /// Whose work: a task (`T-12`), an execution's id, or the name of its open
    /// slot. Its agent must still run.
    pub to: String,
    /// About all of it. A review has a remark or comments, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<Text<8000, 0>>,
    #[serde(default)]
    pub comments: List<ReviewComment, 0, 100>,
    /// The commit that was looked at, so that the agent can tell what changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A name for this review: sent again with the same one, it is not given again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<200>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewComment {
    /// From the top of the repository.
    pub file: Text<4096>,
    #[serde(default)]
    pub side: ReviewSide,
    /// The line's number on that side; the whole file when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Bounded<1, { u32::MAX as i64 }>>,
    /// What the line says, for the case that it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    pub text: Text<8000>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewSide {
    /// As the file was before the work.
    Old,
    /// As the work left it.
    #[default]
    New,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewSent {
    pub execution: ExecutionId,
    pub message: MessageId,
    pub outcome: MessageOutcome,
    /// The message as the agent is given it.
    pub text: String,
}
