//! One more engine for a task: the same work tried beside it, so that a person can
//! compare what came of them and keep one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskDraft;
use crate::{CliEngine, InvalidEngineName, List};

/// The further engines a new task is given to.
pub type Alternatives = List<Alternative, 0, 3>;

/// As many tasks may be alternatives of each other.
pub const MOST_ALTERNATIVES: usize = 4;

/// An engine that tries a task too.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    pub engine: CliEngine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Alternative {
    /// The same task for this engine. Arguments are for one program alone: another
    /// engine is given none.
    #[must_use]
    pub fn of(self, task: &TaskDraft) -> TaskDraft {
        let same = task.engine.as_ref() == Some(&self.engine);
        TaskDraft {
            args: task.args.clone().filter(|_| same),
            engine: Some(self.engine),
            model: self.model,
            ..task.clone()
        }
    }
}

impl FromStr for Alternative {
    type Err = InvalidEngineName;

    /// `codex`, or `codex:gpt-5` with a model.
    fn from_str(text: &str) -> Result<Self, InvalidEngineName> {
        let (engine, model) = match text.split_once(':') {
            Some((engine, model)) => (engine, Some(model.trim()).filter(|model| !model.is_empty())),
            None => (text, None),
        };
        Ok(Self {
            engine: engine.trim().parse()?,
            model: model.map(str::to_owned),
        })
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}:{model}", self.engine),
            None => write!(f, "{}", self.engine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternative_is_an_engine_and_maybe_a_model() {
        let read = |text: &str| text.parse::<Alternative>().map(|one| one.to_string());
        assert_eq!(read("codex").unwrap(), "codex");
        assert_eq!(read("claude:opus").unwrap(), "claude:opus");
        assert_eq!(
            read("opencode:ollama/qwen:7b").unwrap(),
            "opencode:ollama/qwen:7b"
        );
        assert_eq!(read("codex:").unwrap(), "codex");
        assert!(read("Not An Engine").is_err());
    }

    #[test]
    fn another_engine_is_not_given_the_arguments_of_the_first() {
        let task = TaskDraft {
            title: Some("x".into()),
            engine: Some(CliEngine::Claude),
            model: Some("opus".into()),
            args: Some(vec!["--verbose".into()]),
            ..TaskDraft::default()
        };
        let other: Alternative = "codex".parse().unwrap();
        let other = other.of(&task);
        assert_eq!(
            (other.engine, other.model, other.args),
            (Some(CliEngine::Codex), None, None)
        );
        let same: Alternative = "claude:haiku".parse().unwrap();
        let same = same.of(&task);
        assert_eq!(same.args, task.args);
        assert_eq!(same.model.as_deref(), Some("haiku"));
    }
}
