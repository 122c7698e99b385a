//! What is known: remembered by an agent, found by everybody.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, wait_for};
use crate::ollama::Ollama;

#[test]
fn what_is_remembered_by_mcp_is_known_on_the_command_line() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "knowledge"]);
    let added = agent.done(
        "kb_remember",
        json!({ "summary": "Deploys go through make ship", "key": "deploy", "category": "ops" }),
    );
    let deploy = added["entry"]["id"].clone();
    let known = home.json(&["kb", "get", "deploy"]);
    assert_eq!(known["entry"]["summary"], "Deploys go through make ship");
    home.json(&[
        "kb",
        "remember",
        "Builds need a compiler",
        "--key",
        "compiler",
    ]);
    let found = agent.done("kb_search", json!({ "query": "compiler" }));
    assert_eq!(found["hits"][0]["key"], "compiler", "{found}");
    let got = agent.done("kb_get", json!({ "entry": "compiler" }));
    let compiler = got["entry"]["id"].clone();
    agent.done(
        "kb_link",
        json!({ "from": deploy, "to": compiler, "kind": "prerequisite", "reason": "it builds" }),
    );
    let known = home.json(&["kb", "get", "deploy"]);
    assert_eq!(known["edges"][0]["reason"], "it builds");
    let stats = agent.done("kb_stats", json!({}));
    assert_eq!(stats["entries"], home.json(&["kb", "stats"])["entries"]);
    let exported = agent.done("kb_export", json!({}));
    let keys: Vec<_> = exported["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["key"].clone())
        .collect();
    assert_eq!(keys.len(), 2, "{exported}");
    agent.left_to(&home, "kb_forget", &json!({ "entry": "compiler" }));
    assert_eq!(home.json(&["kb", "search", "compiler"])["hits"], json!([]));
}

#[test]
fn an_agent_does_not_speak_as_a_person() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "knowledge"]);
    let claim = json!({ "summary": "Tests may be skipped", "key": "tests", "tier": "person" });
    for operation in ["kb_remember", "kb_propose"] {
        let params = json!({ "operation": operation, "params": claim });
        for answer in [
            agent.call(operation, claim.clone()),
            agent.call("operation_call", params),
        ] {
            assert_eq!(answer["isError"], true, "{answer}");
            let said = answer.to_string();
            assert!(said.contains("an agent cannot speak as a person"), "{said}");
        }
    }
    assert_eq!(home.json(&["kb", "stats"])["entries"], 0);
    assert_eq!(home.json(&["kb", "inbox"])["proposals"], json!([]));
    agent.done("kb_remember", json!({ "summary": "Tests run with make" }));

    // The same for an agent at the command line of its own execution.
    let in_execution = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("MISSION_EXECUTION", "0198f2a0-0000-7000-8000-000000000001");
        command.output().unwrap()
    };
    let claimed = in_execution(&["kb", "remember", "Nobody reviews", "--tier", "person"]);
    let said = String::from_utf8_lossy(&claimed.stderr).into_owned();
    assert!(said.contains("an agent cannot speak as a person"), "{said}");
    assert!(
        in_execution(&["kb", "remember", "Builds are slow"])
            .status
            .success()
    );
    home.json(&["kb", "remember", "Reviews are by two people"]);
    let listed = home.json(&["call", "kb_list", "{}"]);
    let mut tiers: Vec<(String, String)> = listed["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("summary"), text("tier"))
        })
        .collect();
    tiers.sort();
    let expected = [
        ("Builds are slow", "agent"),
        ("Reviews are by two people", "person"),
        ("Tests run with make", "agent"),
    ];
    assert_eq!(tiers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn what_is_doubted_proposed_or_old_by_mcp_shows_on_the_command_line() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "knowledge"]);
    let proposed = |agent: &mut Agent, summary: &str| {
        agent.done("kb_propose", json!({ "summary": summary }))["id"].clone()
    };
    let kept = proposed(&mut agent, "Tests run with nextest");
    let inbox = home.json(&["kb", "inbox"]);
    assert_eq!(inbox["proposals"][0]["id"], kept, "{inbox}");
    agent.left_to(
        &home,
        "kb_decide",
        &json!({ "proposal": kept, "decision": "accept" }),
    );
    let hits = home.json(&["kb", "search", "nextest"])["hits"].clone();
    assert_eq!(hits.as_array().unwrap().len(), 1, "{hits}");
    home.call("kb_propose", &json!({ "summary": "The sky is green" }));
    let inbox = agent.done("kb_inbox", json!({}));
    let waiting = inbox["proposals"].as_array().unwrap();
    assert_eq!(waiting.len(), 1, "{inbox}");

    for jobs in [64, 32] {
        let text = format!("The queue holds {jobs} jobs at once");
        home.json(&["kb", "remember", &text, "--tier", "agent"]);
    }
    let conflicts = agent.done("kb_conflicts", json!({}));
    let by_hand = home.json(&["kb", "conflicts"]);
    assert_eq!(conflicts["conflicts"], by_hand["conflicts"]);
    assert_ne!(conflicts["conflicts"], json!([]));

    let flaky = "The flaky test waits for its port";
    home.json(&["kb", "remember", flaky, "--category", "debug"]);
    let hits = || home.json(&["kb", "search", "flaky"])["hits"].clone();
    assert_ne!(hits(), json!([]));
    agent.left_to(
        &home,
        "kb_gc",
        &json!({ "action": "archive", "in_days": 60 }),
    );
    assert_eq!(hits(), json!([]));
}

#[test]
fn a_provider_looked_for_by_mcp_serves_the_command_line() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let home = TestHome::with_config(&Ollama::config_of(&format!("http://{address}")));
    home.start();
    home.json(&["kb", "remember", "the car is red", "--key", "vehicle"]);
    let embedding = |key: &str| -> Value { home.json(&["kb", "stats"])["embedding"][key].clone() };
    wait_for("the provider is found missing", || {
        embedding("notice").is_string()
    });
    let listener = TcpListener::bind(address).unwrap();
    let _come = Ollama::serve_on(listener, 64, usize::MAX, Duration::ZERO);
    let mut agent = Agent::start(&home, &["--toolset", "knowledge"]);
    agent.left_to(&home, "kb_reembed", &json!({}));
    wait_for("its vectors are in use", || {
        embedding("serving")
            .as_str()
            .unwrap_or_default()
            .ends_with("/64")
    });
}
