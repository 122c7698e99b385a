//! The wire formats of providers: a request is written, the events of an answer
//! are read as they come, an error is read for what it means.
//!
//! A reader is given bytes in whatever pieces the network made of them and comes
//! to the same answer. It holds no more than [`MAX_ANSWER`] bytes, and what it
//! does not know it passes over.

mod anthropic;
mod assembly;
mod chat;
mod failure;
mod gemini;
mod ollama;
mod reader;
mod responses;
pub(crate) use anthropic::is_answer_tool;
#[cfg(test)]
mod tests;

use missiond_net::http::{HeaderMap, header};
use serde_json::Value;

use crate::format::Written;
use crate::items::Request;

pub use crate::format::Format;
pub(crate) use failure::written_duration;
pub use failure::{Failure, FailureKind, read_failure};
pub use reader::{MAX_ANSWER, MAX_EVENT, ReadError, Reader};

impl Format {
    /// A request whose answer streams.
    #[must_use]
    pub fn write(self, request: &Request) -> Written {
        match self {
            Self::Anthropic => anthropic::write(request),
            Self::Responses => responses::write(request),
            Self::Chat => chat::write(request),
            Self::Gemini => gemini::write(request),
            Self::Ollama => ollama::write(request),
        }
    }

    /// Where the models of a provider are listed.
    #[must_use]
    pub const fn models_path(self) -> &'static str {
        match self {
            Self::Anthropic | Self::Responses | Self::Chat => "/v1/models",
            Self::Gemini => "/v1beta/models",
            Self::Ollama => "/api/tags",
        }
    }

    /// The header that shows a key, and its value.
    #[must_use]
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
            Self::Responses | Self::Chat | Self::Ollama => {
                ("authorization", format!("Bearer {key}"))
            }
        }
    }

    /// Headers each request has, beside its key.
    #[must_use]
    pub const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        }
    }

    /// The names of models in a list of them.
    #[must_use]
    pub fn model_names(self, list: &Value) -> Vec<String> {
        let (member, name) = match self {
            Self::Gemini => ("models", "name"),
            Self::Ollama => ("models", "model"),
            _ => ("data", "id"),
        };
        let entries = list[member].as_array().map_or(&[][..], Vec::as_slice);
        let names = entries.iter().filter_map(|entry| entry[name].as_str());
        let bare = |name: &str| name.strip_prefix("models/").unwrap_or(name).to_owned();
        names.map(bare).collect()
    }
}

/// Whether an answer with these headers comes in events.
#[must_use]
pub fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.starts_with("text/event-stream") || kind.starts_with("application/x-ndjson")
}
