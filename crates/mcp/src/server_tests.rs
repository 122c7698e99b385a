//! The protocol, over an offer that is only for these tests.

use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::Identity;
use crate::changes::LIST_METHODS;
use crate::offer::{Change, Features};
use crate::protocol::VERSION_KEY;

struct Sample {
    changes: broadcast::Sender<Change>,
}

impl Offer for Sample {
    fn identity(&self) -> Identity {
        Identity {
            name: "sample".to_owned(),
            version: "1".to_owned(),
            instructions: "Look around.".to_owned(),
        }
    }

    fn features(&self) -> Features {
        Features {
            resources: true,
            prompts: true,
            changing_lists: true,
            changing_resources: true,
        }
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        let tools = (0..250).map(|number| json!({ "name": format!("tool{number}") }));
        Box::pin(std::future::ready(Ok(tools.collect())))
    }

    fn call(&self, call: ToolRequest) -> BoxFuture<'_, Result<Value, Refusal>> {
        Box::pin(async move {
            for step in [1.0, 2.0, 1.5, 3.0] {
                call.progress.report(step, Some(3.0), Some("going"));
            }
            match call.name.as_str() {
                "hang" => std::future::pending().await,
                "echo" => Ok(json!({ "content": call.arguments })),
                "written" => Ok(json!({ "text": call.arguments.as_deref().map(RawValue::get) })),
                other => Err(Refusal::invalid(format!("there is no tool `{other}`"))),
            }
        })
    }

    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        Box::pin(std::future::ready(Ok(vec![json!({ "uri": "x://a" })])))
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({ "uriTemplate": "x://{y}" })]
    }

    fn read(&self, uri: String) -> BoxFuture<'_, Result<Option<Vec<Value>>, Refusal>> {
        let found = (uri == "x://a").then(|| vec![json!({ "uri": uri, "text": "a" })]);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn prompts(&self) -> Vec<Value> {
        Vec::new()
    }

    fn prompt(&self, _: String, _: Map<String, Value>) -> BoxFuture<'_, Result<Value, Refusal>> {
        Box::pin(std::future::ready(Err(Refusal::invalid("none"))))
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

struct Bench {
    server: Server,
    changes: broadcast::Sender<Change>,
    outlet: Outlet,
    heard: mpsc::Receiver<Vec<u8>>,
}

fn bench() -> Bench {
    let (changes, _) = broadcast::channel(4);
    let (outlet, heard) = mpsc::channel(64);
    let offer = Sample {
        changes: changes.clone(),
    };
    Bench {
        server: Server::new(Arc::new(offer)),
        changes,
        outlet,
        heard,
    }
}

impl Bench {
    fn send(&self, message: &Value) -> Dispatch {
        let line = message.to_string();
        self.server
            .handle_message(line.as_bytes(), Arrival::Line, &self.outlet)
    }

    async fn ask(&self, message: &Value) -> Value {
        let answer = match self.send(message) {
            Dispatch::Reply(answer) => answer,
            Dispatch::Work(work) => work.answer.await,
            _ => panic!("no answer to {message}"),
        };
        serde_json::from_slice(&answer.line).unwrap()
    }

    async fn next_message(&mut self) -> Value {
        serde_json::from_slice(&self.heard.recv().await.unwrap()).unwrap()
    }
}

fn legacy(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn modern(method: &str, mut params: Value) -> Value {
    let token = params["_meta"]["progressToken"].take();
    params["_meta"] = json!({ VERSION_KEY: MODERN, CAPABILITIES_KEY: {} });
    if !token.is_null() {
        params["_meta"]["progressToken"] = token;
    }
    legacy(method, &params)
}

#[tokio::test]
async fn each_era_is_answered_in_its_own_words() {
    let bench = bench();
    let hello = legacy("initialize", &json!({ "protocolVersion": "2025-06-18" }));
    let welcome = bench.ask(&hello).await;
    assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        welcome["result"]["capabilities"]["tools"]["listChanged"],
        true
    );
    assert_eq!(
        welcome["result"]["capabilities"]["resources"]["subscribe"],
        true
    );
    let afar =
        bench
            .server
            .handle_message(hello.to_string().as_bytes(), Arrival::Http, &bench.outlet);
    let Dispatch::Reply(afar) = afar else {
        panic!("{afar:?}")
    };
    let afar: Value = serde_json::from_slice(&afar.line).unwrap();
    assert_eq!(
        afar["result"]["capabilities"]["resources"]["subscribe"], false,
        "there is no stream to tell it on"
    );
    assert_eq!(
        bench.ask(&legacy("ping", &json!({}))).await["result"],
        json!({})
    );
    let found = bench.ask(&modern("server/discover", json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!([MODERN]));
    assert_eq!(
        found["result"]["capabilities"]["resources"]["subscribe"],
        true
    );
    for gone in ["initialize", "ping", "resources/subscribe"] {
        let refused = bench.ask(&modern(gone, json!({}))).await;
        assert_eq!(refused["error"]["code"], METHOD_NOT_FOUND, "{gone}");
    }
    let mut without = modern("tools/list", json!({}));
    without["params"]["_meta"] = json!({ VERSION_KEY: MODERN });
    assert_eq!(bench.ask(&without).await["error"]["code"], INVALID_PARAMS);
    without["params"]["_meta"] = json!({ VERSION_KEY: "2030-01-01" });
    let refused = bench.ask(&without).await;
    assert_eq!(refused["error"]["code"], UNSUPPORTED_VERSION);
    assert_eq!(refused["error"]["data"]["requested"], "2030-01-01");
}

#[tokio::test]
async fn a_long_list_comes_in_pages_and_each_entry_once() {
    let bench = bench();
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = bench
            .ask(&modern("tools/list", json!({ "cursor": cursor })))
            .await;
        let tools = page["result"]["tools"].as_array().unwrap();
        names.extend(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        assert_eq!(page["result"]["cacheScope"], "private");
        cursor = page["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let expected: Vec<_> = (0..250).map(|number| format!("tool{number}")).collect();
    assert_eq!(names, expected);
    for wrong in ["251", "-1", "x"] {
        let refused = bench
            .ask(&legacy("tools/list", &json!({ "cursor": wrong })))
            .await;
        assert_eq!(refused["error"]["code"], INVALID_PARAMS, "{wrong}");
    }
}

#[tokio::test]
async fn progress_only_goes_forward_and_only_to_who_asked() {
    let mut bench = bench();
    let call = json!({ "name": "echo", "arguments": { "a": 1 } });
    let answer = bench.ask(&modern("tools/call", call.clone())).await;
    assert_eq!(answer["result"]["content"], json!({ "a": 1 }));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert!(bench.heard.try_recv().is_err());
    let mut call = call;
    call["_meta"] = json!({ "progressToken": "t" });
    bench.ask(&legacy("tools/call", &call)).await;
    let mut steps = Vec::new();
    for _ in 0..3 {
        let heard = bench.next_message().await;
        assert_eq!(heard["params"]["progressToken"], "t");
        steps.push(heard["params"]["progress"].as_f64().unwrap());
    }
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    assert!(bench.heard.try_recv().is_err());
}

#[tokio::test]
async fn arguments_reach_a_tool_as_they_were_written() {
    let bench = bench();
    let arguments = r#"{"b": 1.50, "a": 123456789012345678901234567890}"#;
    let call = |params: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        match bench
            .server
            .handle_message(line.as_bytes(), Arrival::Line, &bench.outlet)
        {
            Dispatch::Work(work) => work.answer,
            other => panic!("{other:?}"),
        }
    };
    for (params, expected) in [
        (
            format!(r#"{{"arguments":{arguments},"name":"written"}}"#),
            json!(arguments),
        ),
        (
            r#"{"name":"written","arguments":null}"#.to_owned(),
            json!(null),
        ),
        (r#"{"name":"written"}"#.to_owned(), json!(null)),
    ] {
        let answer: Value = serde_json::from_slice(&call(&params).await.line).unwrap();
        assert_eq!(answer["result"]["text"], expected);
    }
}

#[tokio::test]
async fn a_subscription_hears_what_it_asked_for_and_nothing_else() {
    let mut bench = bench();
    let filter = json!({ "notifications": {
        "toolsListChanged": true, "resourceSubscriptions": ["x://a"],
    }});
    let Dispatch::Work(work) = bench.send(&modern("subscriptions/listen", filter)) else {
        panic!("not listening");
    };
    assert_eq!(work.lifetime, RequestLifetime::UntilCancelled);
    let listening = tokio::spawn(work.answer);
    let ack = bench.next_message().await;
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        ack["params"],
        json!({
            "_meta": { SUBSCRIPTION_KEY: 7 },
            "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["x://a"] },
        })
    );
    for change in [
        Change::Prompts,
        Change::Resource("x://b".to_owned()),
        Change::Resource("x://a".to_owned()),
        Change::Tools,
    ] {
        bench.changes.send(change).unwrap();
    }
    let updated = bench.next_message().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "x://a");
    let changed = bench.next_message().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"][SUBSCRIPTION_KEY], 7);
    listening.abort();
}

/// Who is too slow to hear everything is told that anything may have changed.
#[tokio::test]
async fn what_was_missed_is_told_as_a_change_of_everything() {
    let mut bench = bench();
    let listening = tokio::spawn(bench.server.announce(bench.outlet.clone()));
    for _ in 0..16 {
        bench.changes.send(Change::Tools).unwrap();
    }
    let mut methods = Vec::new();
    for _ in 0..3 {
        methods.push(
            bench.next_message().await["method"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(methods, LIST_METHODS);
    listening.abort();
}

#[tokio::test]
async fn resources_are_read_and_unknown_ones_refused_in_the_words_of_the_era() {
    let bench = bench();
    let read = |uri: &str| json!({ "uri": uri });
    let found = bench.ask(&modern("resources/read", read("x://a"))).await;
    assert_eq!(found["result"]["contents"][0]["text"], "a");
    assert_eq!(found["result"]["ttlMs"], 0);
    let unknown = bench.ask(&modern("resources/read", read("x://b"))).await;
    assert_eq!(unknown["error"]["code"], INVALID_PARAMS);
    assert_eq!(unknown["error"]["data"]["uri"], "x://b");
    let unknown = bench.ask(&legacy("resources/read", &read("x://b"))).await;
    assert_eq!(unknown["error"]["code"], -32002);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_id() {
    let bench = bench();
    for (method, params, code) in [
        ("tools/call", json!({}), INVALID_PARAMS),
        ("tools/call", json!({ "name": "rm" }), INVALID_PARAMS),
        (
            "tools/call",
            json!({ "name": "echo", "arguments": 3 }),
            INVALID_PARAMS,
        ),
        ("logging/setLevel", json!({}), METHOD_NOT_FOUND),
    ] {
        let refused = bench.ask(&legacy(method, &params)).await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(7), &json!(code))
        );
    }
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": { "requestId": 7 } });
    assert!(matches!(
        bench.send(&cancelled),
        Dispatch::Cancel(RequestId::Number(7))
    ));
}

#[tokio::test]
async fn the_older_era_is_told_of_what_it_watches() {
    let mut bench = bench();
    let announcing = tokio::spawn(bench.server.announce(bench.outlet.clone()));
    let watch = |method: &str| legacy(method, &json!({ "uri": "x://a" }));
    bench
        .changes
        .send(Change::Resource("x://a".to_owned()))
        .unwrap();
    // What happened before it asked is heard before it asks.
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    bench.ask(&watch("resources/subscribe")).await;
    for uri in ["x://b", "x://a"] {
        bench
            .changes
            .send(Change::Resource(uri.to_owned()))
            .unwrap();
        tokio::task::yield_now().await;
    }
    let heard = bench.next_message().await;
    assert_eq!(heard["method"], "notifications/resources/updated");
    assert_eq!(heard["params"], json!({ "uri": "x://a" }));
    bench.ask(&watch("resources/unsubscribe")).await;
    bench
        .changes
        .send(Change::Resource("x://a".to_owned()))
        .unwrap();
    bench.changes.send(Change::Tools).unwrap();
    let heard = bench.next_message().await;
    assert_eq!(heard["method"], "notifications/tools/list_changed");
    announcing.abort();
}
