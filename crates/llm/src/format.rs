//! The wire formats there are, by name, and the words that all of their code shares.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, which many servers speak.
    Chat,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// How a format cuts its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    ServerSentEvents,
    Lines,
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Behind the base URL of the provider.
    pub path: String,
    pub body: Value,
}

impl Format {
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::Responses,
        Self::Chat,
        Self::Gemini,
        Self::Ollama,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Responses => "responses",
            Self::Chat => "chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub(crate) const fn framing(self) -> Framing {
        match self {
            Self::Ollama => Framing::Lines,
            _ => Framing::ServerSentEvents,
        }
    }
}

/// The text of a member; nothing where it is none.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}
