//! One conversation with a model, whichever format it is spoken in.
//!
//! What a member means is typed where somebody here uses it. What only the
//! provider understands (a signature, encrypted reasoning) is kept as it came and
//! goes back to the same format unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::Format;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    pub model: String,
    pub system: Option<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    /// The most tokens of the answer.
    pub max_output: Option<u32>,
    pub temperature: Option<f64>,
    /// The answer is to be JSON of this schema.
    pub schema: Option<Value>,
    pub caching: Caching,
}

/// Whether the provider may keep the beginning of a prompt for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// As the provider does by itself.
    #[default]
    Automatic,
    /// The system text and the tools are marked, where the format has a mark.
    Marked,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub role: Role,
    pub items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Text(String),
    Reasoning(Reasoning),
    Call(Call),
    Result(CallResult),
    Image(Image),
}

/// What a model thought, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasoning {
    pub text: String,
    /// What the provider wants back with it, in its own words.
    pub opaque: Option<Opaque>,
}

/// Something only one format understands.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque {
    pub format: Format,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Arguments,
    /// What the provider wants back with the call: Gemini's thought signature.
    pub opaque: Option<Opaque>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    Json(Value),
    /// What the model wrote is no JSON, or was cut.
    Broken(String),
}

impl Arguments {
    /// From the text a model wrote; nothing stands for an empty object.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Json(Value::Object(serde_json::Map::new()));
        }
        match serde_json::from_str(text) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Broken(text.to_owned()),
        }
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Broken(text) => Value::String(text.clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub id: String,
    /// The tool's name, which Gemini finds results by.
    pub name: String,
    pub text: String,
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// `image/png`.
    pub media_type: String,
    /// In base64.
    pub data: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    End,
    /// It waits for the results of its calls.
    Tool,
    /// The answer was longer than allowed.
    Length,
    /// The provider or the model would not answer.
    Refusal,
    /// The answer broke off.
    Cut,
}

impl Stop {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Tool => "tool",
            Self::Length => "length",
            Self::Refusal => "refusal",
            Self::Cut => "cut",
        }
    }
}

/// What was used. None is "the provider did not say", which is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Without what came from or went to the cache.
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    /// Both kinds together.
    pub cache_write: Option<u64>,
    /// Of these, what is kept for an hour.
    pub cache_write_1h: Option<u64>,
    /// With the reasoning.
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Takes over what `newer` says; what it does not say stays.
    pub(crate) fn update(&mut self, newer: Self) {
        for (mine, theirs) in [
            (&mut self.input, newer.input),
            (&mut self.cache_read, newer.cache_read),
            (&mut self.cache_write, newer.cache_write),
            (&mut self.cache_write_1h, newer.cache_write_1h),
            (&mut self.output, newer.output),
            (&mut self.reasoning, newer.reasoning),
        ] {
            *mine = theirs.or(*mine);
        }
    }
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub id: String,
    /// The model that answered, as it names itself.
    pub model: String,
    pub items: Vec<Item>,
    pub stop: Stop,
    pub usage: Usage,
    /// What the provider said was wrong in the middle of the answer.
    pub error: Option<String>,
}

impl Answer {
    /// Its text, without reasoning and calls.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.items.iter().filter_map(|item| match item {
            Item::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Something an answer is made of, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Reasoning(String),
    /// A call begins; its arguments may still come.
    Call {
        name: String,
    },
    /// Nothing comes any more.
    End(Stop),
}
