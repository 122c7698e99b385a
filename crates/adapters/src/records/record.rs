//! What the readers of all transcripts share: the records they make, and how they read
//! the values in a line.

use missiond_core::{Timestamp, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fnv::fnv;
use crate::transcript::TokenUsage;

/// One thing a transcript says.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What it is called in its transcript: of a call, the call.
    pub key: String,
    /// When, by the CLI's clock.
    pub at: Option<Timestamp>,
    pub what: RecordBody,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecordBody {
    Message {
        role: Role,
        text: String,
        model: Option<String>,
        written: MessageOrigin,
    },
    ToolStarted {
        tool: String,
        input: Value,
    },
    ToolEnded {
        outcome: ToolOutcome,
        output: String,
    },
    /// What one request to the model cost; the key is the request. It may be
    /// told again with a higher count.
    Used(TokenUsage),
    /// What the CLI says a request cost, by its key, or the whole conversation so
    /// far, in millionths of a US dollar.
    Cost(u64),
    TurnEnded,
    Interrupted,
    /// The CLI shortened what its model sees of the conversation.
    Compacted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Person,
    Agent,
}

/// How the transcript itself says that a message came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOrigin {
    /// Somebody said it.
    Said,
    /// The CLI added it.
    ByProgram,
    /// It stands for a conversation that was shortened.
    Summary,
    /// The request to the model failed.
    Failure,
}

/// What must be known of the lines before to read the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordMemory {
    pub(super) model: Option<String>,
    /// What follows was told before and is only written again.
    pub(super) retold: bool,
    /// Words come as items, so what older versions write beside them is the
    /// same again.
    pub(super) items: bool,
    /// As `items`, for what requests cost.
    pub(super) usage_records: bool,
}

/// A line of a transcript, parsed.
pub(super) struct Line<'a> {
    pub(super) entry: Value,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// The name something has in the transcript, or one made from its line.
    pub(super) fn key(&self, named: &Value) -> String {
        match named.as_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("line:{:016x}", fnv(self.text.as_bytes())),
        }
    }
}

/// When, from text as RFC 3339 writes it.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// When, from milliseconds since 1970.
pub(super) fn millis(value: &Value) -> Option<Timestamp> {
    let millis = value.as_i64()?;
    Some(Timestamp::from_micros(millis.checked_mul(1000)?))
}

/// What a number of US dollars is in millionths; none when it is no cost, as of a
/// model whose price the CLI does not know.
pub(super) fn microdollars(value: &Value) -> Option<u64> {
    let dollars = value.as_f64().filter(|dollars| *dollars > 0.0)?;
    Some((dollars * 1e6).round() as u64)
}

/// The words of a value that is a string or a list of blocks; private reasoning
/// among the blocks is left out.
pub(super) fn words(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let said = blocks.iter().filter(|block| {
                block["thought"] != true
                    && !matches!(
                        block["type"].as_str(),
                        Some("thinking" | "redacted_thinking" | "reasoning")
                    )
            });
            let texts: Vec<&str> = said
                .filter_map(|block| block.as_str().or(block["text"].as_str()))
                .collect();
            texts.join("\n")
        }
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
