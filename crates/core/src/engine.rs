//! Which agent CLI runs in a slot.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An agent CLI. The named ones have adapters; any other is known by the name
/// of its manifest, so that a new engine needs a manifest and no new code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", inline, extend("maxLength" = 32))]
pub enum CliEngine {
    Claude,
    Gemini,
    Codex,
    OpenCode,
    Copilot,
    Qwen,
    Aider,
    Other(EngineName),
}

/// Whether an agent CLI is logged in, as far as can be told without asking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoginState {
    /// It has what it logs in with.
    Known,
    /// Nothing tells.
    Unknown,
    /// It has to be logged in first.
    Absent,
}

/// A manifest's name: lower-case letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EngineName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an engine name: use 1 to 32 lower-case letters, digits, `-`, `_` or `.`, \
     beginning with a letter"
)]
pub struct InvalidEngineName(String);

impl CliEngine {
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Copilot => "copilot",
            Self::Qwen => "qwen",
            Self::Aider => "aider",
            Self::Other(name) => &name.0,
        }
    }
}

impl FromStr for CliEngine {
    type Err = InvalidEngineName;

    fn from_str(text: &str) -> Result<Self, InvalidEngineName> {
        match text {
            "claude" => Ok(Self::Claude),
            "gemini" => Ok(Self::Gemini),
            "codex" => Ok(Self::Codex),
            "opencode" => Ok(Self::OpenCode),
            "copilot" => Ok(Self::Copilot),
            "qwen" => Ok(Self::Qwen),
            "aider" => Ok(Self::Aider),
            other => {
                let allowed =
                    |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
                let valid = (1..=32).contains(&other.len())
                    && other.as_bytes()[0].is_ascii_lowercase()
                    && other.bytes().all(allowed);
                if valid {
                    Ok(Self::Other(EngineName(other.to_owned())))
                } else {
                    Err(InvalidEngineName(other.chars().take(64).collect()))
                }
            }
        }
    }
}

impl fmt::Display for CliEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for CliEngine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for CliEngine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::from_text::deserialize(deserializer, "the name of an engine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_name_is_never_the_other_variant() {
        for engine in [
            CliEngine::Claude,
            CliEngine::Gemini,
            CliEngine::Codex,
            CliEngine::OpenCode,
            CliEngine::Copilot,
            CliEngine::Qwen,
            CliEngine::Aider,
        ] {
            assert_eq!(engine.name().parse(), Ok(engine));
        }
        assert!(matches!("goose".parse(), Ok(CliEngine::Other(_))));
    }

    #[test]
    fn a_name_cannot_leave_the_manifest_folder() {
        for bad in ["", "../x", "A", "a/b", ".a", "a b", &"a".repeat(33)] {
            assert!(bad.parse::<CliEngine>().is_err(), "{bad}");
        }
    }
}
