//! What an agent that is driven by its protocol tells of itself beside its words: the
//! same where it is kept, sent and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTold {
    /// Its own name and version, and the protocol it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What becomes of a message while it works; absent where that waits for the end of
    /// the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_working: Option<WhileWorking>,
    /// Its mode, its model and other settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<AgentSetting>,
    /// What it means to do, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<AgentStep>,
    /// What the conversation has cost so far, by its own count: `0.25 USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// How far the vendor's limits are used up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<AgentLimit>,
    /// Its words for the limit that ended its last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_reached: Option<String>,
    /// Slash commands that it understands in a prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<AgentCommand>,
    /// Agents that it has work for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_agents: Vec<SubAgent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhileWorking {
    /// It hears the message in the running turn.
    Steers,
    /// It keeps the message for its next turn.
    Queues,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSetting {
    pub name: String,
    pub current: String,
    /// All that it may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLimit {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u32>,
    /// Over how long it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStep {
    pub text: String,
    pub status: AgentStepStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStepStatus {
    Pending,
    Running,
    Done,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCommand {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubAgent {
    /// Its session, or what it was given to do.
    pub name: String,
    pub is_working: bool,
    /// How its last words begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
}
