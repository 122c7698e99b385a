//! What an agent CLI's own record of a conversation says, in words all of them
//! share. Private reasoning has no word here: it is never taken over.

use std::hash::{Hash, Hasher};

use missiond_core::ToolOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::subject::ToolSubject;

/// The longest text taken from a transcript.
const LONGEST_TEXT: usize = 8_000;

/// One thing a line of a transcript says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum TranscriptFact {
    /// A person's or our prompt arrived in the conversation.
    Prompted {
        text: String,
    },
    /// The agent said something to the person.
    Said {
        text: String,
    },
    ToolStarted {
        call: String,
        tool: String,
        /// Tells calls with other arguments apart; the arguments themselves may
        /// hold anything.
        arguments: u64,
        /// What it works on, for whoever compares it with what was asked for.
        #[serde(skip)]
        subject: Option<ToolSubject>,
    },
    ToolEnded {
        call: String,
        outcome: ToolOutcome,
    },
    /// What one request to the model cost. A transcript may repeat it; `request`
    /// tells repetitions apart from requests.
    Used {
        request: String,
        usage: TokenUsage,
    },
    TurnEnded,
    Interrupted,
}

/// What must be known of the lines before to read the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptMemory {
    /// What follows was told before and is only written again.
    pub(crate) retold: bool,
    /// The entry whose words were taken over last.
    pub(crate) said: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    pub model: Option<String>,
    /// Without what came from a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Those of `cache_write` that stay for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
}

/// The text of a value that is a string or a list of text blocks.
pub(crate) fn text_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(LONGEST_TEXT).collect())
}

/// A number for a value, the same for the same value.
pub(crate) fn fingerprint(value: &Value) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
