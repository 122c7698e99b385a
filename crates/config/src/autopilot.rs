//! What the autopilot may do by itself, and the slots that are always there.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_core::{CliEngine, SlotName};
use serde::{Deserialize, Serialize};

use super::quiet_hours::QuietHours;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutopilotConfig {
    pub engine: CliEngine,
    pub max_agents: u32,
    /// `engine=number`.
    pub engine_limits: Vec<String>,
    pub check_rounds: u32,
    pub unchanged_rounds: u32,
    pub settle_ms: u64,
    pub stall_secs: u64,
    pub lease_secs: u64,
    pub limit_resumes: u32,
    /// 0 means no budget.
    pub tokens_per_day: u64,
    pub engine_tokens_per_day: u64,
    /// `22:00-06:30`.
    pub quiet_hours: Vec<String>,
}

/// A slot of the configuration: tasks of its engine run in it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    pub name: String,
    pub engine: CliEngine,
    /// 0 means no budget.
    #[serde(default)]
    pub tokens_per_day: u64,
    /// Of other people's MCP servers; as `mcp.agents` says when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

impl Default for AutopilotConfig {
    fn default() -> Self {
        Self {
            engine: CliEngine::Claude,
            max_agents: 4,
            engine_limits: Vec::new(),
            check_rounds: 3,
            unchanged_rounds: 2,
            settle_ms: 2000,
            stall_secs: 1800,
            lease_secs: 60,
            limit_resumes: 1,
            tokens_per_day: 0,
            engine_tokens_per_day: 0,
            quiet_hours: Vec::new(),
        }
    }
}

impl AutopilotConfig {
    pub const fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_secs)
    }

    /// How many agents of an engine may run at once; what cannot be read was
    /// refused when the file was.
    pub fn per_engine(&self) -> BTreeMap<CliEngine, u32> {
        self.engine_limits
            .iter()
            .filter_map(|text| engine_limit(text))
            .collect()
    }

    pub fn quiet(&self) -> QuietHours {
        QuietHours::parse(&self.quiet_hours).unwrap_or_default()
    }

    /// What is wrong with the texts among the values.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(text) = self
            .engine_limits
            .iter()
            .find(|text| engine_limit(text).is_none())
        {
            let message = format!("`{text}` is no limit of an engine: write it as claude=2");
            return Err(("autopilot.engine_limits", message));
        }
        let quiet = QuietHours::parse(&self.quiet_hours);
        quiet.map_err(|error| ("autopilot.quiet_hours", error.to_string()))?;
        Ok(())
    }
}

fn engine_limit(text: &str) -> Option<(CliEngine, u32)> {
    let (engine, limit) = text.split_once('=')?;
    Some((engine.trim().parse().ok()?, limit.trim().parse().ok()?))
}

/// What is wrong with the slots, if anything.
pub(super) fn check_slots(slots: &[SlotConfig]) -> Result<(), (&'static str, String)> {
    for (index, slot) in slots.iter().enumerate() {
        if let Err(error) = slot.name.parse::<SlotName>() {
            return Err(("slots", error.to_string()));
        }
        if slots[..index].iter().any(|other| other.name == slot.name) {
            return Err(("slots", format!("two slots are called `{}`", slot.name)));
        }
    }
    Ok(())
}
