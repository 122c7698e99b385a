//! What a bridge between a client's standard input and output and a server must
//! remember, so that a server that is restarted in between loses no call and
//! does none twice.
//!
//! What was not answered is sent again to the next server, as far as that cannot
//! do anything twice. Either each call gets a name of its own before it is sent
//! for the first time, unless the client named it, so the server can tell a
//! repetition from a second call; or a call is only repeated when it is known to
//! be harmless, and refused otherwise.

use std::collections::{BTreeMap, HashMap};

use missiond_api::{Incoming, Notification, Request, RequestId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The argument by which a server knows a call again.
const EVENT_ID: &str = "event_id";
/// In the name of a tool that somebody else's server has.
const OTHERS: &str = "__";
/// Unanswered requests beyond this are not kept; a client waits long before.
const MOST_PENDING: usize = 256;

/// Which calls the next server is sent again.
#[derive(Debug, Clone, Copy, Default)]
pub enum Repeat {
    /// All of the server's own tools: each call has a name by which it knows it
    /// again. What it passes on to others is sent once.
    #[default]
    Named,
    /// Those of tools of which this says that a second call changes nothing more.
    Harmless(fn(&str) -> bool),
}

/// The requests under way.
#[derive(Debug, Default)]
pub struct Bridge {
    repeat: Repeat,
    pending: HashMap<RequestId, Pending>,
    sent: u64,
    /// The end of an older handshake, which the next server must hear too.
    initialized: Option<Vec<u8>>,
    /// What a client of the older era watches, and how it asked for it.
    watched: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct Pending {
    order: u64,
    line: Vec<u8>,
    may_repeat: bool,
    /// A subscription, which is never answered as long as all is well.
    lasts: bool,
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
    pub fn new(repeat: Repeat) -> Self {
        Self {
            repeat,
            ..Self::default()
        }
    }

    /// A line from the client. `name` gives the name of a call that has none.
    pub fn from_client(&mut self, line: &[u8], name: impl FnOnce() -> String) -> BridgeLine {
        let request = match Incoming::parse(line) {
            Ok(Incoming::Request(request)) => request,
            Ok(Incoming::Notification(notice)) => {
                self.observe_notification(&notice, line);
                return BridgeLine::Forward(with_newline(line.to_vec()));
            }
            // The server knows best what is wrong with it.
            _ => return BridgeLine::Forward(with_newline(line.to_vec())),
        };
        if self.pending.len() >= MOST_PENDING {
            let refusal = json!({
                "jsonrpc": "2.0", "id": request.id,
                "error": { "code": -32000, "message": "too many requests are unanswered" },
            });
            return BridgeLine::Refuse(with_newline(refusal.to_string().into_bytes()));
        }
        let is_call = request.method == "tools/call";
        let tool = member(request.params.as_deref(), "name");
        let is_others = tool.as_deref().is_some_and(|tool| tool.contains(OTHERS));
        let (line, may_repeat) = match self.repeat {
            Repeat::Named if is_call && !is_others => (
                with_event_id(line, name).unwrap_or_else(|| line.to_vec()),
                true,
            ),
            // It knows nothing of names, and may have done something.
            Repeat::Named if is_call => (line.to_vec(), false),
            Repeat::Harmless(is_harmless) if is_call => {
                (line.to_vec(), tool.as_deref().is_some_and(is_harmless))
            }
            _ => (line.to_vec(), true),
        };
        let line = with_newline(line);
        self.watch(&request, &line);
        self.sent += 1;
        let pending = Pending {
            order: self.sent,
            line: line.clone(),
            may_repeat,
            lasts: request.method == "subscriptions/listen",
        };
        self.pending.insert(request.id, pending);
        BridgeLine::Forward(line)
    }

    /// The next server is asked to watch the same again; what it answers to that
    /// nobody waits for.
    fn watch(&mut self, request: &Request, line: &[u8]) {
        let begins = match request.method.as_str() {
            "resources/subscribe" => true,
            "resources/unsubscribe" => false,
            _ => return,
        };
        let Some(uri) = member(request.params.as_deref(), "uri") else {
            return;
        };
        if !begins {
            self.watched.remove(&uri);
        } else if self.watched.len() < MOST_PENDING {
            self.watched.insert(uri, line.to_vec());
        }
    }

    fn observe_notification(&mut self, notice: &Notification, line: &[u8]) {
        match notice.method.as_str() {
            "notifications/initialized" => self.initialized = Some(with_newline(line.to_vec())),
            // Nobody waits for it any more, so nobody is sent it again.
            "notifications/cancelled" => {
                let params: Value = notice
                    .params
                    .as_deref()
                    .and_then(|params| serde_json::from_str(params.get()).ok())
                    .unwrap_or_default();
                if let Ok(id) = serde_json::from_value::<RequestId>(params["requestId"].clone()) {
                    self.pending.remove(&id);
                }
            }
            _ => {}
        }
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
        lines.sort_by_key(|pending| pending.order);
        let lines = lines.into_iter().map(|pending| &pending.line);
        let watched = self.watched.values();
        let first = self.initialized.iter().chain(watched);
        // A subscription that was not answered is among both.
        let mut lines_sent: Vec<Vec<u8>> = Vec::new();
        for line in first.chain(lines) {
            if !lines_sent.contains(line) {
                lines_sent.push(line.clone());
            }
        }
        lines_sent
    }

    /// The server is gone: what to say to the client about calls that are not
    /// sent again.
    pub fn lost(&mut self, why: &str) -> Vec<Vec<u8>> {
        self.refuse(why, |pending| !pending.may_repeat)
    }

    /// Stops waiting for everything: what to say to the client instead.
    pub fn give_up(&mut self, why: &str) -> Vec<Vec<u8>> {
        self.refuse(why, |_| true)
    }

    fn refuse(&mut self, why: &str, which: impl Fn(&Pending) -> bool) -> Vec<Vec<u8>> {
        let mut refused: Vec<_> = self
            .pending
            .extract_if(|_, pending| which(pending))
            .collect();
        refused.sort_by_key(|(_, pending)| pending.order);
        let refusal = |(id, _)| {
            let error = json!({ "code": -32000, "message": why });
            let line = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            with_newline(line.to_string().into_bytes())
        };
        refused.into_iter().map(refusal).collect()
    }

    /// The client waits for nothing, but perhaps for what may happen some day.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.pending.values().all(|pending| pending.lasts)
    }
}

/// A text among the parameters.
fn member(params: Option<&RawValue>, name: &str) -> Option<String> {
    let params: Value = serde_json::from_str(params?.get()).ok()?;
    Some(params[name].as_str()?.to_owned())
}

/// The call with a name, if it is one that can have it.
fn with_event_id(line: &[u8], name: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let params = message.get_mut("params")?.as_object_mut()?;
    let arguments = params.entry("arguments").or_insert_with(|| json!({}));
    let arguments = arguments.as_object_mut()?;
    if arguments.get(EVENT_ID).is_none_or(Value::is_null) {
        arguments.insert(EVENT_ID.to_owned(), json!(name()));
    }
    Some(message.to_string().into_bytes())
}

fn with_newline(mut line: Vec<u8>) -> Vec<u8> {
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
        let mut bridge = Bridge::new(Repeat::Named);
        let sent = forwarded(&mut bridge, &call(1, &json!({ "summary": "x" })));
        assert_eq!(sent["params"]["arguments"]["event_id"], "made-up");
        let sent = forwarded(&mut bridge, &call(2, &json!({ "event_id": "mine" })));
        assert_eq!(sent["params"]["arguments"]["event_id"], "mine");
        let listed = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        assert_eq!(forwarded(&mut bridge, &listed), listed);
    }

    #[test]
    fn a_call_of_somebody_elses_tool_is_left_as_it_is_and_sent_once() {
        let mut bridge = Bridge::new(Repeat::Named);
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": { "name": "files__write", "arguments": { "path": "x" } } });
        assert_eq!(forwarded(&mut bridge, &line), line);
        assert_eq!(bridge.lost("it may have been carried out").len(), 1);
        assert!(bridge.unanswered().is_empty());
    }

    #[test]
    fn what_was_not_answered_is_sent_again_unchanged_and_in_order() {
        let mut bridge = Bridge::new(Repeat::Named);
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
        let mut bridge = Bridge::new(Repeat::Named);
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
        let mut bridge = Bridge::new(Repeat::Named);
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
        let mut bridge = Bridge::new(Repeat::Named);
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
    fn a_call_that_may_do_something_is_refused_when_its_server_is_gone() {
        let mut bridge = Bridge::new(Repeat::Harmless(|tool| tool == "look"));
        let tool = |id: u32, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let initialized = forwarded(&mut bridge, &initialized);
        let look = forwarded(&mut bridge, &tool(1, "look"));
        forwarded(&mut bridge, &tool(2, "remove"));
        let listed = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        forwarded(&mut bridge, &listed);
        forwarded(&mut bridge, &tool(4, "look"));
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                                "params": { "requestId": 4 } });
        forwarded(&mut bridge, &cancelled);
        let refused = bridge.lost("the daemon went away");
        assert_eq!(refused.len(), 1);
        let refused: Value = serde_json::from_slice(&refused[0]).unwrap();
        assert_eq!(
            (&refused["id"], &refused["error"]["message"]),
            (&json!(2), &json!("the daemon went away"))
        );
        let again: Vec<Value> = bridge
            .unanswered()
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(again, [initialized, look, listed]);
    }

    #[test]
    fn what_is_watched_is_watched_again() {
        let mut bridge = Bridge::new(Repeat::Named);
        let watch = |id: u32, method: &str, uri: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri } });
        let board = forwarded(&mut bridge, &watch(1, "resources/subscribe", "board"));
        forwarded(&mut bridge, &watch(2, "resources/subscribe", "inbox"));
        forwarded(&mut bridge, &watch(3, "resources/unsubscribe", "inbox"));
        for id in 1..=3 {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string();
            assert!(bridge.from_server(answer.as_bytes()));
        }
        let again: Vec<Value> = bridge
            .unanswered()
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(again, [board]);
        assert!(!bridge.from_server(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    }

    #[test]
    fn garbage_is_left_to_the_server() {
        let mut bridge = Bridge::new(Repeat::Named);
        let forwarded = bridge.from_client(b"{oops", String::new);
        assert_eq!(forwarded, BridgeLine::Forward(b"{oops\n".to_vec()));
        assert!(bridge.is_quiet());
    }
}
