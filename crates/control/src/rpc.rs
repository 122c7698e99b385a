//! JSON-RPC as both protocols write it: one message a line. The app-server of Codex
//! leaves out the member `jsonrpc`, which nobody here asks for.

use serde_json::{Value, json};

use crate::event::AgentError;
use crate::limits::Limits;
use crate::permission::AgentRequestId;
use crate::text::Clipped;

pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const REQUEST_CANCELLED: i64 = -32800;
pub(crate) const AUTHENTICATION_REQUIRED: i64 = -32000;

/// The longest method name and id that is kept.
const LONGEST_NAME: usize = 256;

/// One message, of either side.
#[derive(Debug)]
pub(crate) enum Message {
    Request {
        id: AgentRequestId,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
    Answer {
        id: AgentRequestId,
        outcome: Result<Value, Value>,
    },
}

impl Message {
    /// None: it is no JSON-RPC, or its method or id is none anyone would send.
    pub(crate) fn read(message: Value) -> Option<Self> {
        let Value::Object(mut members) = message else {
            return None;
        };
        let params = members.remove("params").unwrap_or(Value::Null);
        let id = match members.remove("id") {
            None => None,
            Some(Value::String(text)) if text.len() <= LONGEST_NAME => {
                Some(AgentRequestId::Text(text))
            }
            Some(Value::Number(number)) => Some(AgentRequestId::Number(number.as_i64()?)),
            Some(_) => return None,
        };
        match (members.remove("method"), id) {
            (Some(Value::String(method)), id) if method.len() <= LONGEST_NAME => Some(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notice { method, params },
            }),
            (Some(_), _) | (None, None) => None,
            (None, Some(id)) => {
                let outcome = match (members.remove("result"), members.remove("error")) {
                    (_, Some(error)) if !error.is_null() => Err(error),
                    (Some(result), _) => Ok(result),
                    (None, _) => return None,
                };
                Some(Self::Answer { id, outcome })
            }
        }
    }
}

/// Whether `jsonrpc` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Written,
    LeftOut,
}

pub(crate) fn request(marker: Marker, id: u64, method: &str, params: Value) -> Value {
    let params = Some(params).filter(|params| !params.is_null());
    message(marker, Some(json!(id)), Some(method), ("params", params))
}

pub(crate) fn notice(marker: Marker, method: &str, params: Option<Value>) -> Value {
    message(marker, None, Some(method), ("params", params))
}

pub(crate) fn answer(marker: Marker, id: &AgentRequestId, body: &Result<Value, Value>) -> Value {
    let id = match id {
        AgentRequestId::Number(number) => json!(number),
        AgentRequestId::Text(text) => json!(text),
    };
    let member = match body {
        Ok(result) => ("result", Some(result.clone())),
        Err(error) => ("error", Some(error.clone())),
    };
    message(marker, Some(id), None, member)
}

fn message(
    marker: Marker,
    id: Option<Value>,
    method: Option<&str>,
    body: (&str, Option<Value>),
) -> Value {
    let mut members = serde_json::Map::new();
    if marker == Marker::Written {
        members.insert("jsonrpc".into(), json!("2.0"));
    }
    if let Some(id) = id {
        members.insert("id".into(), id);
    }
    if let Some(method) = method {
        members.insert("method".into(), json!(method));
    }
    if let (name, Some(value)) = body {
        members.insert(name.into(), value);
    }
    Value::Object(members)
}

pub(crate) fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// An error of the agent, bounded.
pub(crate) fn agent_error(error: &Value, limits: &Limits) -> AgentError {
    let data = &error["data"];
    let sort = ["errorKind", "codex_error_info", "errorName", "code"]
        .iter()
        .find_map(|name| data[name].as_str());
    let message = error["message"].as_str().unwrap_or("no message");
    // Some have only the words of JSON-RPC there, and their own beside it.
    let details = data["details"].as_str();
    let message = match details.filter(|_| message == "Internal error") {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    };
    AgentError {
        code: error["code"].as_i64(),
        message: Clipped::new(&message, limits.raw),
        sort: sort.map(|sort| Clipped::new(sort, 64)),
        data: (!data.is_null()).then(|| Clipped::new(&data.to_string(), limits.raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_none() {
        for value in [
            json!(1),
            json!([]),
            json!({}),
            json!({"id": 1}),
            json!({"id": null, "result": {}}),
            json!({"id": 1.5, "method": "a"}),
            json!({"id": {}, "method": "a"}),
            json!({"method": 1}),
            json!({"method": "m".repeat(LONGEST_NAME + 1)}),
            json!({"id": "i".repeat(LONGEST_NAME + 1), "method": "a"}),
        ] {
            assert!(Message::read(value.clone()).is_none(), "{value}");
        }
    }

    #[test]
    fn an_error_beside_a_result_is_an_error() {
        let both = json!({"id": 1, "result": {}, "error": {"code": 1}});
        assert!(matches!(
            Message::read(both),
            Some(Message::Answer {
                outcome: Err(_),
                ..
            })
        ));
        let null = json!({"id": 1, "result": null, "error": null});
        assert!(matches!(
            Message::read(null),
            Some(Message::Answer { outcome: Ok(_), .. })
        ));
    }

    #[test]
    fn the_marker_is_written_only_where_the_dialect_has_it() {
        let with = request(Marker::Written, 1, "initialize", json!({}));
        assert_eq!(
            with,
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        );
        let without = notice(Marker::LeftOut, "initialized", None);
        assert_eq!(without, json!({"method": "initialized"}));
    }
}
