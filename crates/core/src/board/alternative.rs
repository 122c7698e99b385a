//! One more engine for a task: the same work tried beside it, so that a person can
//! compare what came of them and keep one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TaskDraft;
use crate::{CliEngine, Controller, InvalidEngineName, List};

/// The further engines a new task is given to.
pub type Alternatives = List<Alternative, 0, { MOST_ALTERNATIVES - 1 }>;

/// The longest name of an engine with its model.
const LONGEST: usize = 300;

/// As many tasks may be alternatives of each other.
pub const MOST_ALTERNATIVES: usize = 4;

// An engine that tries a task too, sent as it is written on the command line: `codex` or
// `codex:gpt-5`. Agents read what a task may have before they add one, and a word costs
// them less than an object and its description.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String", inline, extend("maxLength" = LONGEST))]
pub struct Alternative {
    pub engine: CliEngine,
    pub model: Option<String>,
    /// What drives it, where that is chosen. It is no part of the text.
    pub control: Option<Controller>,
}

/// The text names no engine with a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAlternative {
    #[error(transparent)]
    Engine(#[from] InvalidEngineName),
    #[error("the engine and its model are longer than {LONGEST} characters")]
    Long,
}

impl Alternative {
    /// The same task for this engine. Arguments and what drives it are for one program
    /// alone: another engine is given none that were not chosen for it.
    #[must_use]
    pub fn of(self, task: &TaskDraft) -> TaskDraft {
        let same = task.engine.as_ref() == Some(&self.engine);
        TaskDraft {
            args: task.args.clone().filter(|_| same),
            control: self.control.or(task.control.filter(|_| same)),
            engine: Some(self.engine),
            model: self.model,
            ..task.clone()
        }
    }
}

impl FromStr for Alternative {
    type Err = InvalidAlternative;

    /// `codex`, or `codex:gpt-5` with a model.
    fn from_str(text: &str) -> Result<Self, InvalidAlternative> {
        if text.chars().count() > LONGEST {
            return Err(InvalidAlternative::Long);
        }
        let (engine, model) = match text.split_once(':') {
            Some((engine, model)) => (engine, Some(model.trim()).filter(|model| !model.is_empty())),
            None => (text, None),
        };
        Ok(Self {
            engine: engine.trim().parse()?,
            model: model.map(str::to_owned),
            control: None,
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

impl Serialize for Alternative {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Alternative {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::from_text::deserialize(deserializer, "an engine, maybe with a model: codex:gpt-5")
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
        assert!(read(&format!("codex:{}", "x".repeat(LONGEST))).is_err());
        let sent = serde_json::json!("claude:opus");
        let one: Alternative = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(serde_json::to_value(&one).unwrap(), sent);
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

    #[test]
    fn what_drives_it_is_chosen_for_it_or_that_of_the_same_engine() {
        use Controller::{Structured, Terminal};
        let task = TaskDraft {
            engine: Some(CliEngine::Claude),
            control: Some(Terminal),
            ..TaskDraft::default()
        };
        let control = |engine: &str, control| {
            let one: Alternative = engine.parse().unwrap();
            Alternative { control, ..one }.of(&task).control
        };
        assert_eq!(control("claude:haiku", None), Some(Terminal));
        assert_eq!(control("claude", Some(Structured)), Some(Structured));
        assert_eq!(control("codex", None), None);
        assert_eq!(control("codex", Some(Terminal)), Some(Terminal));
    }
}
