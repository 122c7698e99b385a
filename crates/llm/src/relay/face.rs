//! The formats that agents speak to the daemon, and what of a request must be known to
//! pass it on.

use missiond_net::http::{Bytes, Method};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::Incoming;
use crate::formats::Format;
use crate::price::USUAL_OUTPUT;

/// A family of wire formats, by the name in the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Anthropic,
    OpenAi,
    Gemini,
}

impl Face {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            "gemini" => Some(Self::Gemini),
            _ => None,
        }
    }
}

/// What an address is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) format: Format,
    /// A model answers, and it costs something.
    pub(super) generates: bool,
    /// Where the address names it.
    pub(super) model: Option<String>,
}

impl Endpoint {
    /// Only these are passed on: with the key of a provider more could be done than
    /// asking a model.
    pub(super) fn of(face: Face, method: &Method, path: &str) -> Option<Self> {
        let plain = |format, generates| {
            Some(Self {
                format,
                generates,
                model: None,
            })
        };
        let posts = *method == Method::POST;
        match (face, path) {
            (Face::Anthropic, "/v1/messages") if posts => plain(Format::Anthropic, true),
            (Face::Anthropic, "/v1/messages/count_tokens") if posts => {
                plain(Format::Anthropic, false)
            }
            (Face::Anthropic, "/v1/models") if *method == Method::GET => {
                plain(Format::Anthropic, false)
            }
            (Face::OpenAi, "/v1/responses") if posts => plain(Format::Responses, true),
            (Face::OpenAi, "/v1/chat/completions") if posts => plain(Format::Chat, true),
            (Face::OpenAi, "/v1/models") if *method == Method::GET => {
                plain(Format::Responses, false)
            }
            (Face::Gemini, path) if posts => {
                let rest = path
                    .strip_prefix("/v1beta/models/")
                    .or_else(|| path.strip_prefix("/v1/models/"))?;
                let (model, verb) = rest.split_once(':')?;
                let generates = match verb {
                    "streamGenerateContent" | "generateContent" => true,
                    "countTokens" => false,
                    _ => return None,
                };
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                (!model.is_empty() && model.chars().all(is_name)).then(|| Self {
                    format: Format::Gemini,
                    generates,
                    model: Some(model.to_owned()),
                })
            }
            _ => None,
        }
    }
}

/// What must be known of a body; the rest is only passed on.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Sketch {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    tools: Option<Vec<IgnoredAny>>,
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    max_output_tokens: Option<u64>,
    #[serde(default)]
    max_completion_tokens: Option<u64>,
    #[serde(default, rename = "generationConfig")]
    generation: Option<Generation>,
    /// How many answers are asked for at once, in Chat Completions.
    #[serde(default, rename = "n")]
    answers: Option<u64>,
    #[serde(skip)]
    tail: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Generation {
    #[serde(default, rename = "maxOutputTokens")]
    most: Option<u64>,
    #[serde(default, rename = "candidateCount")]
    answers: Option<u64>,
}

/// The end of a body, which is nearly always what was said last.
const TAIL: usize = 16 << 10;

impl Sketch {
    pub(super) fn of(body: &[u8]) -> Self {
        let mut sketch: Self = serde_json::from_slice(body).unwrap_or_default();
        let from = body.len().saturating_sub(TAIL);
        sketch.tail = Some(String::from_utf8_lossy(&body[from..]).into_owned());
        sketch
    }

    /// Whether it is a step of the conversation. What CLIs want for themselves (titles,
    /// summaries) comes without tools.
    pub(super) fn has_tools(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| !tools.is_empty())
    }

    /// The tokens of all the answers that are asked for.
    pub(super) fn max_output(&self) -> Option<u64> {
        let generation = self.generation.as_ref();
        let of_each = self
            .max_tokens
            .or(self.max_output_tokens)
            .or(self.max_completion_tokens)
            .or(generation.and_then(|one| one.most));
        let answers = self.answers.or(generation.and_then(|one| one.answers));
        match answers {
            Some(answers @ 2..) => Some(of_each.unwrap_or(USUAL_OUTPUT).saturating_mul(answers)),
            _ => of_each,
        }
    }

    pub(super) fn last_words(&self) -> Option<String> {
        self.tail.clone()
    }
}

/// The address and body that are sent: as they came, but for the name of a model that is
/// mapped and a key in the query.
pub(super) fn mapped(
    endpoint: &Endpoint,
    incoming: &Incoming,
    asked: &str,
    model: &str,
) -> (String, Bytes) {
    let mut path = incoming.path.clone();
    let mut body = incoming.body.clone();
    if asked != model {
        if endpoint.model.is_some() {
            path = path.replacen(
                &format!("/models/{asked}:"),
                &format!("/models/{model}:"),
                1,
            );
        } else if let Ok(mut whole) = serde_json::from_slice::<Value>(&body) {
            whole["model"] = Value::String(model.to_owned());
            body = Bytes::from(whole.to_string());
        }
    }
    let query = incoming.query.as_deref().unwrap_or_default();
    let kept: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("key="))
        .collect();
    if !kept.is_empty() {
        path = format!("{path}?{}", kept.join("&"));
    }
    (path, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_asks_a_model_is_passed_on() {
        let of = |face, method: Method, path| Endpoint::of(face, &method, path);
        let generates = |endpoint: Option<Endpoint>| endpoint.map(|one| one.generates);
        assert_eq!(
            generates(of(Face::Anthropic, Method::POST, "/v1/messages")),
            Some(true)
        );
        assert_eq!(
            generates(of(Face::OpenAi, Method::POST, "/v1/responses")),
            Some(true)
        );
        assert_eq!(
            generates(of(Face::OpenAi, Method::GET, "/v1/models")),
            Some(false)
        );
        let gemini = of(
            Face::Gemini,
            Method::POST,
            "/v1beta/models/gemini-3.5-pro:streamGenerateContent",
        );
        assert_eq!(gemini.unwrap().model.as_deref(), Some("gemini-3.5-pro"));
        for (face, method, path) in [
            (Face::Anthropic, Method::DELETE, "/v1/messages"),
            (Face::Anthropic, Method::POST, "/v1/files"),
            (Face::Anthropic, Method::POST, "/v1/messages/batches"),
            (Face::OpenAi, Method::POST, "/v1/messages"),
            (Face::OpenAi, Method::GET, "/v1/organization/api_keys"),
            (Face::OpenAi, Method::POST, "/v1/../v1/files"),
            (
                Face::Gemini,
                Method::POST,
                "/v1beta/models/a/../b:generateContent",
            ),
            (Face::Gemini, Method::POST, "/v1beta/models/a:deleteContent"),
            (Face::Gemini, Method::POST, "/v1beta/files"),
        ] {
            assert_eq!(of(face, method, path), None, "{path}");
        }
    }

    #[test]
    fn a_body_is_passed_as_it_came_unless_its_model_is_mapped() {
        let text = br#"{ "model":"a",  "max_tokens": 5, "tools":[{}], "x": 1.0 }"#;
        let incoming = Incoming {
            face: Face::Anthropic,
            method: Method::POST,
            path: "/v1/messages".to_owned(),
            query: Some("beta=true&key=secret".to_owned()),
            headers: missiond_net::http::HeaderMap::new(),
            body: Bytes::from_static(text),
        };
        let endpoint = Endpoint::of(Face::Anthropic, &Method::POST, "/v1/messages").unwrap();
        let (path, body) = mapped(&endpoint, &incoming, "a", "a");
        assert_eq!(
            (path.as_str(), &body[..]),
            ("/v1/messages?beta=true", &text[..])
        );
        let (_, body) = mapped(&endpoint, &incoming, "a", "b");
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (&value["model"], &value["max_tokens"]),
            (&"b".into(), &5.into())
        );
        let sketch = Sketch::of(text);
        assert_eq!((sketch.max_output(), sketch.has_tools()), (Some(5), true));
        assert!(!Sketch::of(b"no json").has_tools());
        let most = |text: &str| Sketch::of(text.as_bytes()).max_output();
        assert_eq!(most(r#"{"n":4,"max_completion_tokens":5}"#), Some(20));
        assert_eq!(most(r#"{"n":2}"#), Some(2 * USUAL_OUTPUT));
        let gemini = r#"{"generationConfig":{"candidateCount":3,"maxOutputTokens":7}}"#;
        assert_eq!(most(gemini), Some(21));
    }
}
