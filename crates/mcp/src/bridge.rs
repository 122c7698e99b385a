//! What a bridge between a client's standard input and output and a server must
//! remember, so that a server that is restarted in between loses no call and
//! does none twice.
//!
//! Calls that were not answered are sent again to the next server. Each gets a
//! name of its own before it is sent for the first time, unless the client named
//! it, so the server can tell a repetition from a second call.

use std::collections::HashMap;

use missiond_api::{Incoming, RequestId};
use serde_json::{Value, json};

/// The argument by which a server knows a call again.
const EVENT_ID: &str = "event_id";
/// Unanswered requests beyond this are not kept; a client waits long before.
const MOST_PENDING: usize = 256;

/// The requests under way.
#[derive(Debug, Default)]
pub struct Bridge {
    pending: HashMap<RequestId, (u64, Vec<u8>)>,
    sent: u64,
}

/// What to do with a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub enum BridgeLine {
    /// Send this to the server.
    Forward(Vec<u8>),
    /// Too much is unanswered: say this to the client instead.
    Refuse(Vec<u8>),
}

impl Bridge {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A line from the client. `name` gives the name of a call that has none.
    pub fn from_client(&mut self, line: &[u8], name: impl FnOnce() -> String) -> BridgeLine {
        let Ok(Incoming::Request(request)) = Incoming::parse(line) else {
            // The server knows best what is wrong with it.
            return BridgeLine::Forward(ended(line.to_vec()));
        };
        if self.pending.len() >= MOST_PENDING {
            let refusal = json!({
                "jsonrpc": "2.0", "id": request.id,
                "error": { "code": -32000, "message": "too many requests are unanswered" },
            });
            return BridgeLine::Refuse(ended(refusal.to_string().into_bytes()));
        }
        let line = match request.method.as_str() {
            "tools/call" => named(line, name).unwrap_or_else(|| line.to_vec()),
            _ => line.to_vec(),
        };
        let line = ended(line);
        self.sent += 1;
        self.pending.insert(request.id, (self.sent, line.clone()));
        BridgeLine::Forward(line)
    }

    /// A line from the server: whether the client should see it. An answer to
    /// something nobody waits for (any more) is kept from it.
    pub fn from_server(&mut self, line: &[u8]) -> bool {
        match Incoming::parse(line) {
            Ok(Incoming::Response(response)) => match response.id {
                Some(id) => self.pending.remove(&id).is_some(),
                None => true,
            },
            _ => true,
        }
    }

    /// What a new server must be sent again, in the order it was first sent.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Vec<u8>> {
        let mut lines: Vec<_> = self.pending.values().collect();
        lines.sort_by_key(|(place, _)| *place);
        lines.into_iter().map(|(_, line)| line.clone()).collect()
    }

    /// Stops waiting for everything: what to say to the client instead.
    pub fn give_up(&mut self, why: &str) -> Vec<Vec<u8>> {
        let mut pending: Vec<_> = self.pending.drain().collect();
        pending.sort_by_key(|(_, (place, _))| *place);
        let refusal = |(id, _)| {
            let error = json!({ "code": -32000, "message": why });
            let line = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            ended(line.to_string().into_bytes())
        };
        pending.into_iter().map(refusal).collect()
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty()
    }
}

/// The call with a name, if it is one that can have it.
fn named(line: &[u8], name: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let params = message.get_mut("params")?.as_object_mut()?;
    let arguments = params.entry("arguments").or_insert_with(|| json!({}));
    let arguments = arguments.as_object_mut()?;
    if arguments.get(EVENT_ID).is_none_or(Value::is_null) {
        arguments.insert(EVENT_ID.to_owned(), json!(name()));
    }
    Some(message.to_string().into_bytes())
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    if line.last() != Some(&b'\n') {
        line.push(b'\n');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(bridge: &mut Bridge, line: &Value) -> Value {
        match bridge.from_client(line.to_string().as_bytes(), || "made-up".to_owned()) {
            BridgeLine::Forward(line) => serde_json::from_slice(&line).unwrap(),
            refused => panic!("{refused:?}"),
        }
    }

    fn call(id: u32, arguments: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": "progress", "arguments": arguments } })
    }

    #[test]
    fn a_call_gets_a_name_and_keeps_the_one_it_has() {
        let mut bridge = Bridge::new();
        let sent = forwarded(&mut bridge, &call(1, &json!({ "summary": "x" })));
        assert_eq!(sent["params"]["arguments"]["event_id"], "made-up");
        let sent = forwarded(&mut bridge, &call(2, &json!({ "event_id": "mine" })));
        assert_eq!(sent["params"]["arguments"]["event_id"], "mine");
        let listed = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        assert_eq!(forwarded(&mut bridge, &listed), listed);
    }

    #[test]
    fn what_was_not_answered_is_sent_again_unchanged_and_in_order() {
        let mut bridge = Bridge::new();
        let first = forwarded(&mut bridge, &call(9, &json!({})));
        let second = forwarded(&mut bridge, &call(2, &json!({})));
        forwarded(&mut bridge, &call(5, &json!({})));
        assert!(bridge.from_server(br#"{"jsonrpc":"2.0","id":5,"result":{}}"#));
        let again: Vec<Value> = bridge
            .unanswered()
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(again, [first, second]);
        assert!(!bridge.is_quiet());
    }

    #[test]
    fn an_answer_reaches_the_client_once() {
        let mut bridge = Bridge::new();
        forwarded(&mut bridge, &call(1, &json!({})));
        let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(bridge.from_server(answer));
        assert!(
            !bridge.from_server(answer),
            "the restarted server answered too"
        );
        assert!(bridge.from_server(br#"{"jsonrpc":"2.0","method":"notifications/message"}"#));
        assert!(bridge.is_quiet());
    }

    #[test]
    fn a_client_that_never_waits_is_stopped() {
        let mut bridge = Bridge::new();
        for id in 0..MOST_PENDING as u32 {
            forwarded(&mut bridge, &call(id, &json!({})));
        }
        let one_more = call(9999, &json!({})).to_string();
        let BridgeLine::Refuse(line) = bridge.from_client(one_more.as_bytes(), String::new) else {
            panic!("forwarded");
        };
        let refusal: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(refusal["id"], 9999);
    }

    #[test]
    fn what_is_given_up_is_refused_with_its_id_and_not_sent_again() {
        let mut bridge = Bridge::new();
        forwarded(&mut bridge, &call(4, &json!({})));
        forwarded(&mut bridge, &call(2, &json!({})));
        let refused: Vec<Value> = bridge
            .give_up("nobody is there")
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let ids: Vec<_> = refused.iter().map(|line| line["id"].clone()).collect();
        assert_eq!(ids, [json!(4), json!(2)]);
        assert_eq!(refused[0]["error"]["message"], "nobody is there");
        assert!(bridge.is_quiet() && bridge.unanswered().is_empty());
    }

    #[test]
    fn garbage_is_left_to_the_server() {
        let mut bridge = Bridge::new();
        let forwarded = bridge.from_client(b"{oops", String::new);
        assert_eq!(forwarded, BridgeLine::Forward(b"{oops\n".to_vec()));
        assert!(bridge.is_quiet());
    }
}
