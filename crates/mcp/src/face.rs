//! The protocol of one server: which lines it answers, and how.
//!
//! Nothing is remembered between lines. What a client sees hangs on who it is,
//! never on what it said before, so a connection that is lost and made again is
//! the same to it.

use std::sync::Arc;

use missiond_api::{Incoming, Request, RequestId, Response};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::{
    Era, INVALID_PARAMS, INVALID_REQUEST, LEGACY, METHOD_NOT_FOUND, MODERN, SERVER_KEY,
    UNSUPPORTED_VERSION, era, failure, shown,
};

/// The tools of a server never change, so a client may keep them for a day; but
/// another client of the same machine may not be shown them.
const CACHE_MS: u64 = 24 * 3600 * 1000;

/// Who a server says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub version: String,
    /// What its tools are for, for the model that will use them.
    pub instructions: String,
}

/// A server with a fixed set of tools.
#[derive(Debug, Clone)]
pub struct Face {
    identity: Arc<Identity>,
    tools: Arc<[Value]>,
}

/// What to do after a line.
#[derive(Debug)]
pub enum Step {
    /// Send this line.
    Say(Vec<u8>),
    /// Do this, then send what [`ToolCall::line`] makes of the outcome.
    Call(ToolCall),
    Nothing,
}

/// A tool is to be called.
#[derive(Debug)]
pub struct ToolCall {
    id: RequestId,
    era: Era,
    pub name: String,
    /// A JSON object, as it was sent.
    pub arguments: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    pub verdict: Verdict,
    /// For programs.
    pub structured: Value,
    /// For the model.
    pub text: String,
}

/// Whether the tool did what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Done,
    Failed,
}

impl Face {
    /// `tools` are the entries of `tools/list`, in the order they are shown.
    #[must_use]
    pub fn new(identity: Identity, tools: Vec<Value>) -> Self {
        Self {
            identity: Arc::new(identity),
            tools: tools.into(),
        }
    }

    /// Takes one line of the client.
    #[must_use]
    pub fn read(&self, line: &[u8]) -> Step {
        match Incoming::parse(line) {
            Ok(Incoming::Request(request)) => self.request(request),
            // `initialized`, `cancelled` and the like need no answer: a call is
            // over before anybody could change their mind.
            Ok(Incoming::Notification(_) | Incoming::Response(_)) => Step::Nothing,
            Err(error) => Step::Say(failure(None, INVALID_REQUEST, &error.message, None)),
        }
    }

    fn request(&self, request: Request) -> Step {
        let Request { id, method, params } = request;
        let params: Value = match params
            .as_deref()
            .map(RawValue::get)
            .map(serde_json::from_str)
        {
            None => Value::Null,
            Some(Ok(params)) => params,
            Some(Err(error)) => {
                return Step::Say(failure(Some(&id), INVALID_PARAMS, &error.to_string(), None));
            }
        };
        let era = match era(&params) {
            Ok(era) => era,
            Err(asked) => {
                let detail = json!({ "supported": [MODERN], "requested": asked });
                let message = format!("protocol version {asked} is not supported");
                return Step::Say(failure(
                    Some(&id),
                    UNSUPPORTED_VERSION,
                    &message,
                    Some(detail),
                ));
            }
        };
        let result = match method.as_str() {
            "initialize" => self.initialize(&params),
            "server/discover" => self.discover(),
            "ping" => json!({}),
            "tools/list" => self.list(era),
            "tools/call" => return self.call(id, era, params),
            _ => {
                let message = format!("there is no method `{}`", shown(&method));
                return Step::Say(failure(Some(&id), METHOD_NOT_FOUND, &message, None));
            }
        };
        Step::Say(Response::result_line(&id, &result))
    }

    fn initialize(&self, params: &Value) -> Value {
        let asked = params["protocolVersion"].as_str();
        let version = asked
            .filter(|asked| LEGACY.contains(asked))
            .unwrap_or(LEGACY[0]);
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {} },
            "serverInfo": self.server_info(),
            "instructions": self.identity.instructions,
        })
    }

    fn discover(&self) -> Value {
        json!({
            "resultType": "complete",
            "supportedVersions": [MODERN],
            "capabilities": { "tools": {} },
            "serverInfo": self.server_info(),
            "instructions": self.identity.instructions,
            "ttlMs": CACHE_MS,
            "cacheScope": "private",
            "_meta": { SERVER_KEY: self.server_info() },
        })
    }

    fn list(&self, era: Era) -> Value {
        match era {
            Era::Legacy => json!({ "tools": &*self.tools }),
            Era::Modern => json!({
                "resultType": "complete",
                "tools": &*self.tools,
                "ttlMs": CACHE_MS,
                "cacheScope": "private",
            }),
        }
    }

    fn call(&self, id: RequestId, era: Era, mut params: Value) -> Step {
        let refuse = |message: &str| Step::Say(failure(Some(&id), INVALID_PARAMS, message, None));
        let Some(name) = params["name"].as_str().map(str::to_owned) else {
            return refuse("`name` must say which tool to call");
        };
        if !self.tools.iter().any(|tool| tool["name"] == name.as_str()) {
            return refuse(&format!("there is no tool `{}`", shown(&name)));
        }
        let arguments = match params["arguments"].take() {
            Value::Null => json!({}),
            arguments @ Value::Object(_) => arguments,
            _ => return refuse("`arguments` must be an object"),
        };
        Step::Call(ToolCall {
            id,
            era,
            name,
            arguments: arguments.to_string(),
        })
    }

    fn server_info(&self) -> Value {
        json!({ "name": self.identity.name, "version": self.identity.version })
    }
}

impl ToolCall {
    /// The line that answers the call with a result as another server gave it.
    #[must_use]
    pub fn result_line(&self, mut result: Value) -> Vec<u8> {
        if self.era == Era::Modern && result["resultType"].is_null() {
            result["resultType"] = json!("complete");
        }
        Response::result_line(&self.id, &result)
    }

    /// The line that answers the call.
    #[must_use]
    pub fn line(&self, outcome: &ToolOutcome) -> Vec<u8> {
        let mut result = json!({
            "content": [{ "type": "text", "text": outcome.text }],
            "structuredContent": outcome.structured,
            "isError": outcome.verdict == Verdict::Failed,
        });
        if self.era == Era::Modern {
            result["resultType"] = json!("complete");
        }
        Response::result_line(&self.id, &result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::VERSION_KEY;

    fn face() -> Face {
        let identity = Identity {
            name: "mission-execution".to_owned(),
            version: "1.0".to_owned(),
            instructions: "Report what you do.".to_owned(),
        };
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        Face::new(identity, vec![tool("progress"), tool("blocked")])
    }

    fn say(message: &Value) -> Value {
        match face().read(message.to_string().as_bytes()) {
            Step::Say(line) => {
                assert_eq!(line.last(), Some(&b'\n'));
                serde_json::from_slice(&line).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    fn modern(method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({ VERSION_KEY: MODERN });
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    }

    #[test]
    fn a_client_of_the_older_era_shakes_hands_in_its_version() {
        for (asked, given) in [
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let answer = say(&json!({
                "jsonrpc": "2.0", "id": "a", "method": "initialize",
                "params": { "protocolVersion": asked, "capabilities": {}, "clientInfo": {} },
            }));
            assert_eq!(answer["id"], "a");
            assert_eq!(answer["result"]["protocolVersion"], given);
            assert_eq!(answer["result"]["instructions"], "Report what you do.");
        }
        let listed = say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        assert_eq!(listed["result"]["tools"][1]["name"], "blocked");
        assert_eq!(listed["result"].get("cacheScope"), None);
        assert_eq!(
            say(&json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }))["result"],
            json!({})
        );
    }

    #[test]
    fn a_client_of_the_newer_era_needs_no_handshake() {
        let found = say(&modern("server/discover", json!({})));
        assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
        assert_eq!(found["result"]["cacheScope"], "private");
        let listed = say(&modern("tools/list", json!({})));
        assert_eq!(listed["result"]["resultType"], "complete");
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);

        let mut unknown = modern("tools/list", json!({}));
        unknown["params"]["_meta"][VERSION_KEY] = json!("2030-01-01");
        let refused = say(&unknown);
        assert_eq!(refused["error"]["code"], UNSUPPORTED_VERSION);
        assert_eq!(refused["error"]["data"]["supported"], json!([MODERN]));
    }

    #[test]
    fn a_call_is_handed_out_and_its_outcome_answered() {
        let line = modern(
            "tools/call",
            json!({ "name": "progress", "arguments": { "summary": "x" } }),
        );
        let Step::Call(call) = face().read(line.to_string().as_bytes()) else {
            panic!("no call");
        };
        assert_eq!(
            (call.name.as_str(), call.arguments.as_str()),
            ("progress", r#"{"summary":"x"}"#)
        );
        let outcome = ToolOutcome {
            verdict: Verdict::Failed,
            structured: json!({ "outcome": "rejected" }),
            text: "refused".to_owned(),
        };
        let answer: Value = serde_json::from_slice(&call.line(&outcome)).unwrap();
        assert_eq!(
            answer,
            json!({ "jsonrpc": "2.0", "id": 1, "result": {
                "resultType": "complete",
                "content": [{ "type": "text", "text": "refused" }],
                "structuredContent": { "outcome": "rejected" },
                "isError": true,
            }})
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_id() {
        let refused = |method: &str, params: Value| {
            let answer =
                say(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }));
            assert_eq!(answer["id"], 7);
            (
                answer["error"]["code"].as_i64().unwrap(),
                answer["error"]["message"].as_str().unwrap().to_owned(),
            )
        };
        assert_eq!(refused("tools/call", json!({})).0, -32602);
        assert_eq!(
            refused("tools/call", json!({ "name": "rm" })),
            (-32602, "there is no tool `rm`".to_owned())
        );
        assert_eq!(
            refused(
                "tools/call",
                json!({ "name": "progress", "arguments": [1] })
            )
            .0,
            -32602
        );
        assert_eq!(refused("resources/list", json!({})).0, -32601);
        let Step::Say(line) = face().read(b"not json") else {
            panic!("silence");
        };
        let answer: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(-32600))
        );
        let note = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(face().read(note), Step::Nothing));
    }
}
