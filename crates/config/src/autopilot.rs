//! What the autopilot may do by itself, and the slots that are always there.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_core::{CliEngine, ReviewGate, SlotName};
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};
use crate::quiet_hours::QuietHours;

key_types! { Tables: Vec<SlotConfig>; }

section! {
    pub struct AutopilotConfig: "autopilot." {
        /// The agent CLI of tasks that name none: claude, codex, gemini, opencode or the
        /// name of a manifest.
        live engine: CliEngine = CliEngine::Claude;
        /// Agents that may work on tasks at once.
        live max_agents: u32 = 4, in 1..=1000;
        /// Agents of one engine that may work on tasks at once, for example
        /// `["claude=2"]`.
        live engine_limits: Vec<String> = Vec::new();
        /// Whether a person looks at verified work before it is merged, for tasks and
        /// repositories that do not say: `merge_at_once` or `after_approval`.
        live review: ReviewGate = ReviewGate::MergeAtOnce,
            one of ["merge_at_once", "after_approval"];
        /// Repositories whose own git configuration may name programs that the daemon's git
        /// runs: filters, merge drivers, a command for ssh. Of others it runs none.
        live trusted_repositories: Vec<String> = Vec::new();
        /// Rounds of checks an attempt may fail before a person is asked.
        live check_rounds: u32 = 3, in 1..=100;
        /// Rounds of failed checks in a row without a change by the agent before a person
        /// is asked.
        live unchanged_rounds: u32 = 2, in 1..=100;
        /// Seconds between two looks at a pull request that is open; longer while its host
        /// cannot be asked.
        live pull_request_secs: u64 = 180, in 1..=86_400;
        /// Milliseconds an agent that has worked must rest until its turn counts as over;
        /// ten times as long when nobody saw it work.
        live settle_ms: u64 = 2000, in 50..=600_000;
        /// Seconds without a sign of an agent that works before its attempt is given up.
        live stall_secs: u64 = 1800, in 1..=86_400;
        /// Seconds a claim lasts without a sign of the daemon that holds it.
        live lease_secs: u64 = 60, in 1..=86_400;
        /// How often a task goes on by itself after a vendor's usage limit; then a person
        /// is asked.
        live limit_resumes: u32 = 1, in 0..=100;
        /// Tokens all agents of tasks may use in a day (UTC), without what came from a
        /// cache; 0 means no budget.
        live tokens_per_day: u64 = 0;
        /// The same for the agents of one engine.
        live engine_tokens_per_day: u64 = 0;
        /// Parts of the day in which no task is begun, by this machine's clock, for
        /// example `["22:00-06:30"]`.
        live quiet_hours: Vec<String> = Vec::new();
    }
}

/// A slot of the configuration: tasks of its engine run in it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    pub name: SlotName,
    pub engine: CliEngine,
    /// 0 means no budget.
    #[serde(default)]
    pub tokens_per_day: u64,
    /// Of other people's MCP servers; as `mcp.agents` says when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
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
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let limits = &mut self.engine_limits.iter();
        if let Some(text) = limits.find(|text| engine_limit(text).is_none()) {
            let message = format!("`{text}` is no limit of an engine: write it as claude=2");
            return Err(InvalidValue::new("autopilot.engine_limits", message));
        }
        if let Err(error) = QuietHours::parse(&self.quiet_hours) {
            return Err(InvalidValue::new(
                "autopilot.quiet_hours",
                error.to_string(),
            ));
        }
        Ok(())
    }
}

fn engine_limit(text: &str) -> Option<(CliEngine, u32)> {
    let (engine, limit) = text.split_once('=')?;
    Some((engine.trim().parse().ok()?, limit.trim().parse().ok()?))
}

/// What is wrong with the slots, if anything.
pub(crate) fn check_slots(slots: &[SlotConfig]) -> Result<(), InvalidValue> {
    for (index, slot) in slots.iter().enumerate() {
        if slots[..index].iter().any(|other| other.name == slot.name) {
            let message = format!("two slots are called `{}`", slot.name);
            return Err(InvalidValue::new("slots", message));
        }
    }
    Ok(())
}
