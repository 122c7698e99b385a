//! Models: which there are, what was asked of them and what it cost, and conversations
//! with whichever of them the router chooses.

use missiond_core::{BoardTaskId, Bounded, ExecutionId, Limit, Text, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

operations! {
    System;

    LlmModels = "llm_models" (ReadOnly, "models"; Process):
        LlmModelsParams => LlmModelsPage,
        "List the providers of models with how each stands, and the models that needs come to.";

    LlmTest = "llm_test" (Additive, "models", Programs; Process):
        LlmTestParams => LlmTested,
        "Ask a model for one word, to see that its provider, key and name are right; a provider \
         that was parked and answers is used again.";

    LlmUsage = "llm_usage" (ReadOnly, "models"):
        LlmUsageParams => LlmUsagePage,
        "Sum up what requests to models used and cost, by provider and model.";

    LlmTrace = "llm_trace" (ReadOnly, "models", Programs):
        LlmTraceParams => LlmRequests,
        "List requests to models, the newest first: who asked, what was used, what it cost, how \
         it ended.";

    RouterChat = "router_chat" (Additive, "models", Programs; Agent):
        RouterChatParams => RouterChatReply,
        "Say something to a model, chosen by the router or named, in a conversation that is kept.";

    RouterChatList = "router_chat_list" (ReadOnly, "models", Programs):
        RouterChatListParams => RouterChatSessions,
        "List the conversations with the router, the one used last first.";

    RouterChatShow = "router_chat_show" (ReadOnly, "models", Programs):
        RouterChatShowParams => RouterChatConversation,
        "Show what was said in a conversation with the router.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LlmModelsParams {
    /// Ask this provider which models it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Text<64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmModelsPage {
    pub providers: Vec<LlmProvider>,
    /// What each tier comes to now.
    pub tiers: Vec<LlmTier>,
    /// Those of the provider that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmProvider {
    pub name: String,
    /// `anthropic`, `responses`, `chat`, `gemini` or `ollama`.
    pub format: String,
    pub url: String,
    /// It runs on this machine and was found without being configured.
    pub found: bool,
    /// How its key is kept: `none`, `file`, `command` or `variable`.
    pub key: String,
    /// What is wrong with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_problem: Option<String>,
    /// `ready`, `parked`, `left_alone` or `probing`.
    pub standing: String,
    /// Until when it is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why it is parked, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Requests under way.
    pub running: u32,
    /// Requests that wait for their turn.
    pub waiting: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmTier {
    pub tier: ModelTier,
    /// As `provider/model`, the first is asked first.
    pub models: Vec<String>,
    /// Why these; what is missing where there are none.
    pub because: String,
}

/// How capable a model is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelTier {
    Fast,
    Default,
    Premium,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmTestParams {
    /// As `provider/model`.
    pub model: Text<300>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmTested {
    /// As `provider/model`.
    pub model: String,
    /// The model that answered, as it names itself.
    pub answered_by: String,
    pub said: String,
    /// Until the first word of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    /// In millionths of a dollar; absent when nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
    /// The request on record.
    pub request: String,
    /// It was parked until now.
    pub was_parked: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LlmUsageParams {
    /// Of so many days, today among them.
    pub days: Limit<365, 7>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmUsagePage {
    pub since: Timestamp,
    pub models: Vec<LlmModelUsage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmModelUsage {
    pub provider: String,
    pub model: String,
    pub requests: u64,
    pub failed: u64,
    pub input_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// Of requests whose cost is known.
    pub cost_microdollars: u64,
    /// Requests whose cost nobody knows.
    pub unpriced: u64,
    /// Held by requests under way, and by those whose end nobody saw.
    pub reserved_microdollars: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LlmTraceParams {
    /// This request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Text<64>>,
    /// Those of this run of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// Those of all runs for this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    /// Those to this provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Text<64>>,
    /// At most so many.
    pub limit: Limit<500, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmRequests {
    pub requests: Vec<LlmRequest>,
}

/// A request to a model. What the provider did not say is absent, which is not 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LlmRequest {
    pub id: String,
    pub provider: String,
    pub format: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    pub purpose: String,
    pub principal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// `answered`, `failed`, `cut`, `given_up` or `lost`; absent while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why the model stopped: `end`, `tool`, `length`, `refusal` or `cut`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
    /// What it may cost at most, as long as nobody knows better.
    pub reserved_microdollars: u64,
    /// Where `llm.keep` says so, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterChatParams {
    pub message: Text<200_000>,
    /// A conversation that goes on; a new one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<64>>,
    /// By its length when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<ModelTier>,
    /// This model and no other, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<300>>,
    /// The most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<Bounded<1, 1_000_000>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterChatReply {
    pub session: String,
    pub reply: String,
    /// The model that was asked, as `provider/model`.
    pub model: String,
    /// Why this one.
    pub because: String,
    /// What was tried before, with what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Why the model stopped.
    pub stop: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
    /// The request on record.
    pub request: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouterChatListParams {
    /// At most so many.
    pub limit: Limit<500, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterChatSessions {
    pub sessions: Vec<RouterChatSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterChatSession {
    pub session: String,
    /// The beginning of its first message.
    pub title: String,
    pub started_at: Timestamp,
    pub used_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterChatShowParams {
    pub session: Text<64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterChatConversation {
    pub session: RouterChatSession,
    /// In order; of a long conversation its end.
    pub messages: Vec<RouterChatMessage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterChatMessage {
    /// `user` or `assistant`.
    pub role: String,
    pub text: String,
    /// The request it is the answer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    pub at: Timestamp,
}
