//! Conversations with agents, as their CLIs' transcripts have them: listing,
//! reading, searching.

use missiond_core::{
    AbsolutePath, BoardTaskId, Bounded, BoundedOr, CliEngine, ConversationId, ExecutionId, Limit,
    MAX_EXACT, TaskRef, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

pub use missiond_core::{
    Conversation, ConversationItem, ConversationTurn, SaidBy, TokenCounts, ToolOutcome, TurnLimit,
};

operations! {
    Communication;

    ConversationList = "conversation_list" (ReadOnly, "conversations"):
        ConversationListParams => ConversationListResult,
        "List conversations with agents, the one in which something was said last first: what each \
         was about, whose it was and what it cost.";

    ConversationShow = "conversation_show" (ReadOnly, "conversations"):
        ConversationShowParams => ConversationShowResult,
        "Read a conversation in order: what was said, which tools were called and how they ended, \
         a window at a time.";

    ConversationSearch = "conversation_search" (ReadOnly, "conversations"):
        ConversationSearchParams => ConversationSearchResult,
        "Find what people and agents said to each other by its words, within an engine, a project, \
         a task or a time.";

    ConversationTurns = "conversation_turns" (ReadOnly, "conversations"):
        ConversationTurnsParams => ConversationTurnsResult,
        "Say what was asked and answered in a project lately, or about something: its newest turns, \
         or those a query is about, with source and age.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// A folder of the project, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<AbsolutePath>,
    /// A task of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// Something was said at or after this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// It began before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<200, 20>,
    /// `next` of an earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Text<200, 0>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationListResult {
    pub conversations: Vec<Conversation>,
    /// Where the rest of the list begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationShowParams {
    /// Its id, or enough of the CLI's own name of it.
    pub conversation: String,
    /// Behind this place; `next` of an earlier answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Bounded<0, MAX_EXACT>>,
    /// Of this turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Bounded<0, MAX_EXACT>>,
    /// At most so many. Long texts make an answer shorter.
    #[serde(default)]
    pub limit: Limit<500, 100>,
    /// The last items instead of the first.
    #[serde(default)]
    pub newest: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationShowResult {
    pub conversation: Conversation,
    /// The turns the items belong to.
    pub turns: Vec<ConversationTurn>,
    pub items: Vec<ConversationItem>,
    /// The place to go on behind; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationTurnsParams {
    /// A folder of the project, absolute.
    pub project: AbsolutePath,
    /// Only turns about this, the best first; the newest when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Text<2000, 0>>,
    /// At most so many.
    #[serde(default)]
    pub limit: TurnLimit,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationTurnsResult {
    pub turns: Vec<PastTurn>,
}

/// A turn of some conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastTurn {
    pub conversation: ConversationId,
    pub engine: CliEngine,
    pub number: i64,
    /// What was asked; empty when the agent began.
    pub prompt: String,
    /// The beginning of what the agent said last.
    pub answer: String,
    pub tool_calls: u64,
    /// Calls that failed or were denied.
    pub failed: u64,
    pub at: Timestamp,
    pub age_secs: u64,
    /// Where it is from, in words.
    pub source: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationSearchParams {
    /// Words, names, or a phrase in quotes.
    pub query: Text<2000, 0>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// A folder of the project, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<AbsolutePath>,
    /// A task of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// Said at or after this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Said before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<50, 10>,
    #[serde(default)]
    pub offset: BoundedOr<0, 1000, 0>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationSearchResult {
    pub hits: Vec<ConversationHit>,
    pub more: bool,
    /// How many messages and tool calls were looked at.
    pub searched: u64,
    /// What was said before this moment was not; none when everything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched_since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationHit {
    pub conversation: ConversationId,
    pub engine: CliEngine,
    pub session: String,
    pub project: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    pub place: i64,
    pub turn: i64,
    pub role: SaidBy,
    /// The tool this was said to; it is the input of a call then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    pub at: Timestamp,
    pub snippet: String,
    /// Byte ranges of the snippet that answer the query.
    pub highlights: Vec<(usize, usize)>,
    pub score: f32,
}
