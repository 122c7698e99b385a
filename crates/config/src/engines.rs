//! How agent CLIs are driven, and the agents that were added to those that are known.

use std::collections::BTreeMap;

use missiond_core::{CliEngine, Controller};
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Tables: Vec<AddedEngine>; }

section! {
    pub struct EnginesConfig: "engines." {
        /// Engines that are driven by their own protocol where nobody chooses, for example
        /// `["rehearsal"]`, beside those whose protocol is proven by tests.
        live structured: Vec<String> = Vec::new();
        /// Seconds after which an agent whose terminal a person has left is driven by its
        /// protocol again, where that drove it before.
        live return_secs: u64 = 3, in 0..=86_400;
        /// Seconds after which an agent that has not answered its greeting, or has not opened
        /// its session, is taken to be broken.
        live answer_secs: u64 = 180, in 1..=86_400;
        /// Engines that are driven by their terminal where nobody chooses, for example
        /// `["codex"]`.
        live terminal: Vec<String> = Vec::new();
        /// Agents that speak the Agent Client Protocol: `[[engines.added]]` with `name`,
        /// `command` and, if wanted, `args` and `env`. `mission engine add` writes them.
        live added: Vec<AddedEngine> = Vec::new();
    }
}

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedEngine {
    pub name: CliEngine,
    pub command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl EnginesConfig {
    /// By what an engine is driven where nobody chooses, if the configuration says it.
    #[must_use]
    pub fn controller(&self, engine: &CliEngine) -> Option<Controller> {
        let names = |names: &[String]| names.iter().any(|name| name == engine.name());
        if names(&self.terminal) {
            Some(Controller::Terminal)
        } else {
            names(&self.structured).then_some(Controller::Structured)
        }
    }

    /// The command of an agent that was added.
    #[must_use]
    pub fn added(&self, engine: &CliEngine) -> Option<&AddedEngine> {
        self.added.iter().find(|added| added.name == *engine)
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let lists = [
            ("engines.structured", &self.structured),
            ("engines.terminal", &self.terminal),
        ];
        for (key, names) in lists {
            for name in names {
                if let Err(error) = name.parse::<CliEngine>() {
                    return Err(InvalidValue::new(key, error.to_string()));
                }
            }
        }
        if let Some(name) = self
            .terminal
            .iter()
            .find(|name| self.structured.contains(name))
        {
            let message = format!("`{name}` is in `engines.structured` too");
            return Err(InvalidValue::new("engines.terminal", message));
        }
        for (index, added) in self.added.iter().enumerate() {
            let name = &added.name;
            let wrong = if !matches!(name, CliEngine::Other(_)) || name.name() == "rehearsal" {
                format!("`{name}` is known already: give yours another name")
            } else if added.command.trim().is_empty() {
                format!("`{name}` has no command")
            } else if self.added[..index].iter().any(|other| other.name == *name) {
                format!("two engines are called `{name}`")
            } else {
                continue;
            };
            return Err(InvalidValue::new("engines.added", wrong));
        }
        Ok(())
    }
}
