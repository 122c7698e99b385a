//! JSON-RPC lines as an editor writes and reads them. Parameters stay text until
//! somebody knows their type, so a line is never a tree of values of the editor's
//! making. An error is told in the protocol's numbers and in one sentence.

use missiond_api::{ClientError, RequestId};
use missiond_core::ErrorCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What an editor is told when something cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    code: i32,
    message: String,
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// The line is no JSON.
    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    /// It cannot be asked now, or not so.
    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        let method: String = method.chars().take(64).collect();
        Self::new(
            -32601,
            format!("there is no method `{}`", method.escape_debug()),
        )
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// With what to do where something is not there.
    pub(crate) fn with_hint_if_missing(mut self, hint: &str) -> Self {
        if self.code == -32002 {
            self.message = format!("{}; {hint}", self.message);
        }
        self
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(-32002, message)
    }
}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error.code() {
            ErrorCode::NotFound => Self::not_found(message),
            ErrorCode::InvalidParams => Self::invalid_params(message),
            _ => Self::internal(message),
        }
    }
}

/// A line that could be read.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        id: RequestId,
        method: String,
        params: Params,
    },
    Notification {
        method: String,
        params: Params,
    },
    /// An answer to what we asked; `None` where the editor answered with an error.
    Answer {
        id: RequestId,
        result: Option<Params>,
    },
}

/// Parameters or a result, not looked at yet.
#[derive(Debug)]
pub(crate) struct Params(Option<Box<RawValue>>);

impl Params {
    /// As the type that is expected; what is left out is an empty object.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let text = self.0.as_deref().map_or("{}", RawValue::get);
        serde_json::from_str(text)
            .map_err(|error| Refusal::invalid_params(format!("the parameters are wrong: {error}")))
    }
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: String,
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Box<RawValue>>,
}

impl Message {
    /// Reads one line, or says what is wrong with it.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let invalid = |why: &str| Refusal::invalid_request(format!("this is no message: {why}"));
        let text = std::str::from_utf8(line)
            .map_err(|error| Refusal::unreadable(format!("the line is not UTF-8: {error}")))?;
        if text.trim_start().starts_with('[') {
            return Err(invalid("send one message a line, not several in a list"));
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|error| {
            if error.is_data() {
                invalid(&error.to_string())
            } else {
                Refusal::unreadable(format!("the line is not JSON: {error}"))
            }
        })?;
        if envelope.jsonrpc != "2.0" {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let params = Params(envelope.params);
        match (
            envelope.method,
            envelope.id,
            envelope.result,
            envelope.error,
        ) {
            (Some(method), Some(id), None, None) => Ok(Self::Request { id, method, params }),
            (Some(method), None, None, None) => Ok(Self::Notification { method, params }),
            (None, Some(id), Some(result), None) => Ok(Self::Answer {
                id,
                result: Some(Params(Some(result))),
            }),
            (None, Some(id), None, Some(_)) => Ok(Self::Answer { id, result: None }),
            _ => Err(invalid("it is neither a request nor an answer")),
        }
    }
}

#[derive(Serialize)]
struct Written<'a, P: Serialize> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    params: &'a P,
}

pub(crate) fn request_line(id: &RequestId, method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&Written {
        jsonrpc: "2.0",
        id: Some(id),
        method,
        params,
    })
}

pub(crate) fn notification_line(method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&Written {
        jsonrpc: "2.0",
        id: None,
        method,
        params,
    })
}

pub(crate) fn result_line(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Answer<'a, R: Serialize> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        result: &'a R,
    }
    line(&Answer {
        jsonrpc: "2.0",
        id,
        result,
    })
}

/// Without an id it is about a line whose id could not be read.
pub(crate) fn refusal_line(id: Option<&RequestId>, refusal: &Refusal) -> Vec<u8> {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'static str,
        id: Option<&'a RequestId>,
        error: &'a Refusal,
    }
    line(&Answer {
        jsonrpc: "2.0",
        id,
        error: refusal,
    })
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // Only a map with keys that are not text cannot be written; nothing here has one.
    let mut bytes = serde_json::to_vec(message).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[u8]) -> i32 {
        Message::parse(line).unwrap_err().code
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_number() {
        for (line, code) in [
            (&b"hello"[..], -32700),
            (b"{\"jsonrpc\":\"2.0\",", -32700),
            (b"\xff\xfe", -32700),
            (b"[]", -32600),
            (b"{}", -32600),
            (b"3", -32600),
            (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", -32600),
        ] {
            assert_eq!(refused(line), code, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn absurdly_deep_parameters_are_refused_where_they_are_read() {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{open}{close}}}"#);
        let Ok(Message::Request { params, .. }) = Message::parse(line.as_bytes()) else {
            panic!("not a request");
        };
        assert_eq!(params.read::<serde_json::Value>().unwrap_err().code, -32602);
    }

    #[test]
    fn an_answer_with_an_error_of_any_shape_is_an_answer() {
        let line = br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"x","data":"y"}}"#;
        let Ok(Message::Answer { id, result: None }) = Message::parse(line) else {
            panic!("not an answer");
        };
        assert_eq!(id, RequestId::Number(7));
    }
}
