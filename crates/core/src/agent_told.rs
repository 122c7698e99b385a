//! What an agent that is driven by its protocol tells of itself beside its words: the
//! same where it is kept, sent and shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTold {
    /// Its own name and version, and the protocol it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its mode, its model and other settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<AgentSetting>,
    /// What it means to do, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<AgentStep>,
    /// Slash commands that it understands in a prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<AgentCommand>,
    /// Agents that it has work for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_agents: Vec<SubAgent>,
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
