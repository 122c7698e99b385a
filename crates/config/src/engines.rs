//! How agent CLIs are driven.

use missiond_core::{CliEngine, Controller};

use crate::keys::{InvalidValue, section};

section! {
    pub struct EnginesConfig: "engines." {
        /// Engines that are driven by their own protocol instead of their terminal where
        /// nobody chooses, for example `["codex"]`.
        live structured: Vec<String> = Vec::new();
        /// Seconds after which an agent whose terminal a person has left is driven by its
        /// protocol again, where that drove it before.
        live return_secs: u64 = 3, in 0..=86_400;
    }
}

impl EnginesConfig {
    /// By what an engine is driven where nobody chooses.
    #[must_use]
    pub fn controller(&self, engine: &CliEngine) -> Controller {
        if self.structured.iter().any(|name| name == engine.name()) {
            Controller::Structured
        } else {
            Controller::Terminal
        }
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        for name in &self.structured {
            if let Err(error) = name.parse::<CliEngine>() {
                return Err(InvalidValue::new("engines.structured", error.to_string()));
            }
        }
        Ok(())
    }
}
