//! A server with a fixed set of tools, whose calls its owner carries out: a line
//! in, a line or a call out. The protocol is [`Server`]'s; what is added is that
//! a call is handed out instead of being waited for, so that the owner can put it
//! on record before it is answered.
//!
//! Nothing is remembered between lines. What a client sees hangs on who it is,
//! never on what it said before, so a connection that is lost and made again is
//! the same to it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::offer::{Features, Identity, Offer, Outlet, Refusal, ToolRequest};
use crate::protocol::excerpt;
use crate::server::{Arrival, Dispatch, Server, ServerRequest};

/// The tools never change, so a client may keep them for a day.
const LISTS_LAST: Duration = Duration::from_secs(24 * 3600);

/// A server with a fixed set of tools.
#[derive(Debug, Clone)]
pub struct Face {
    server: Server,
    tools: Arc<[Value]>,
    /// Nothing is told unasked: nobody reads the other end.
    outlet: Outlet,
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
    asked: ServerRequest,
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
        let tools: Arc<[Value]> = tools.into();
        let offer = FixedTools {
            identity,
            tools: Arc::clone(&tools),
        };
        Self {
            server: Server::new(Arc::new(offer)),
            tools,
            outlet: mpsc::channel(1).0,
        }
    }

    /// Takes one line of the client.
    #[must_use]
    pub fn read(&self, line: &[u8]) -> Step {
        let taken = match self.server.read(line, Arrival::Line, &self.outlet) {
            Ok(asked) if asked.method() == "tools/call" => return self.call(asked),
            Ok(asked) => asked.route(),
            Err(taken) => taken,
        };
        match taken {
            Dispatch::Reply(answer) => Step::Say(answer.line),
            // A list that never changes is there at once.
            Dispatch::Work(work) => match work.answer.now_or_never() {
                Some(answer) => Step::Say(answer.line),
                None => Step::Nothing,
            },
            // `initialized`, `cancelled` and the like need no answer: a call is
            // over before anybody could change their mind.
            Dispatch::Nothing | Dispatch::Cancel(_) | Dispatch::Initialized => Step::Nothing,
        }
    }

    fn call(&self, mut asked: ServerRequest) -> Step {
        let request = asked.tool_request().and_then(|request| {
            let is_known = |tool: &Value| tool["name"] == request.name.as_str();
            if self.tools.iter().any(is_known) {
                Ok(request)
            } else {
                let name = excerpt(&request.name);
                Err(Refusal::invalid(format!("there is no tool `{name}`")))
            }
        });
        match request {
            Ok(ToolRequest {
                name, arguments, ..
            }) => Step::Call(ToolCall {
                asked,
                name,
                arguments: arguments.as_deref().map_or("{}", RawValue::get).to_owned(),
            }),
            Err(refusal) => Step::Say(asked.refuse(refusal).line),
        }
    }
}

impl ToolCall {
    /// The line that answers the call with a result as another server gave it.
    #[must_use]
    pub fn result_line(&self, result: Value) -> Vec<u8> {
        self.asked.complete(result).line
    }

    /// The line that answers the call.
    #[must_use]
    pub fn line(&self, outcome: &ToolOutcome) -> Vec<u8> {
        self.result_line(json!({
            "content": [{ "type": "text", "text": outcome.text }],
            "structuredContent": outcome.structured,
            "isError": outcome.verdict == Verdict::Failed,
        }))
    }
}

/// The offer of a face.
struct FixedTools {
    identity: Identity,
    tools: Arc<[Value]>,
}

impl Offer for FixedTools {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn features(&self) -> Features {
        Features::default()
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        Box::pin(async { Ok(self.tools.to_vec()) })
    }

    /// A face hands calls out, so none comes here.
    fn call(&self, call: ToolRequest) -> BoxFuture<'_, Result<Value, Refusal>> {
        let message = format!("the tool `{}` is not called here", excerpt(&call.name));
        Box::pin(async { Err(Refusal::internal(message)) })
    }

    fn lists_last(&self) -> Duration {
        LISTS_LAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{CAPABILITIES_KEY, MODERN, UNSUPPORTED_VERSION, VERSION_KEY};

    fn face() -> Face {
        let identity = Identity {
            name: "mission-execution".to_owned(),
            version: "1.0".to_owned(),
            instructions: "Report what you do.".to_owned(),
        };
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        Face::new(identity, vec![tool("progress"), tool("blocked")])
    }

    fn reply_to(message: &Value) -> Value {
        match face().read(message.to_string().as_bytes()) {
            Step::Say(line) => {
                assert_eq!(line.last(), Some(&b'\n'));
                serde_json::from_slice(&line).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    fn modern(method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({ VERSION_KEY: MODERN, CAPABILITIES_KEY: {} });
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    }

    #[test]
    fn a_client_of_the_older_era_shakes_hands_in_its_version() {
        for (asked, given) in [
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let answer = reply_to(&json!({
                "jsonrpc": "2.0", "id": "a", "method": "initialize",
                "params": { "protocolVersion": asked, "capabilities": {}, "clientInfo": {} },
            }));
            assert_eq!(answer["id"], "a");
            assert_eq!(answer["result"]["protocolVersion"], given);
            assert_eq!(answer["result"]["instructions"], "Report what you do.");
        }
        let listed = reply_to(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        assert_eq!(listed["result"]["tools"][1]["name"], "blocked");
        assert_eq!(listed["result"].get("cacheScope"), None);
        assert_eq!(
            reply_to(&json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }))["result"],
            json!({})
        );
    }

    #[test]
    fn a_client_of_the_newer_era_needs_no_handshake() {
        let found = reply_to(&modern("server/discover", json!({})));
        assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
        assert_eq!(found["result"]["cacheScope"], "private");
        let listed = reply_to(&modern("tools/list", json!({})));
        assert_eq!(listed["result"]["resultType"], "complete");
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);

        let mut unknown = modern("tools/list", json!({}));
        unknown["params"]["_meta"][VERSION_KEY] = json!("2030-01-01");
        let refused = reply_to(&unknown);
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
                reply_to(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }));
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
