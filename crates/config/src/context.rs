//! What agents are told beside their first prompt.

use missiond_context::Source;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    pub enabled: bool,
    /// Of the whole, per prompt.
    pub tokens: u32,
    pub deadline_ms: u64,
    pub keep_days: u32,
    pub environment: bool,
    pub skills: bool,
    pub entries: bool,
    pub history: bool,
    pub map: bool,
    pub instructions: bool,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            tokens: 4000,
            deadline_ms: 1500,
            keep_days: 90,
            environment: true,
            skills: true,
            entries: true,
            history: true,
            map: true,
            instructions: true,
        }
    }
}

impl ContextConfig {
    /// Whether a source is asked.
    pub const fn asks(&self, source: Source) -> bool {
        match source {
            Source::Environment => self.environment,
            Source::Skills => self.skills,
            Source::Entries => self.entries,
            Source::History => self.history,
            Source::Map => self.map,
            Source::Instructions => self.instructions,
        }
    }
}
