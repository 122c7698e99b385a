//! Background workers through the real daemon: what is ordered is proposed once however
//! often the daemon is killed, what is paused waits and catches up, and who may pause it.

use std::path::Path;

use serde_json::{Value, json};

use crate::conversations::start_with_home;
use crate::harness::{TestHome, text, wait_for};

const ORDER: &str = "From now on, run the tests before you commit.";

/// A person's own conversation with two prompts; the first turn is over with the second.
fn write_conversation(person: &Path, session: &str, first_prompt: &str) {
    let app = person.canonicalize().unwrap().join("app");
    std::fs::create_dir_all(app.join(".git")).unwrap();
    let now = serde_json::to_value(missiond_core::Clock::now(&missiond_core::SystemClock)).unwrap();
    let line = |id: &str, parent: Value, role: &str, content: Value| {
        json!({
            "parentUuid": parent, "isSidechain": false, "type": role, "uuid": id,
            "timestamp": now, "cwd": app, "sessionId": session, "version": "2.1.325",
            "userType": "external", "message": { "role": role, "content": content },
        })
    };
    let said = json!([{ "type": "text", "text": "I will." }]);
    let lines = [
        line("u1", Value::Null, "user", json!(first_prompt)),
        line("a1", json!("u1"), "assistant", said),
        line("u2", json!("a1"), "user", json!("Thank you, that is all.")),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let folder = person.join(".claude/projects/-app");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join(format!("{session}.jsonl")),
        lines.join("\n") + "\n",
    )
    .unwrap();
}

fn proposed(home: &TestHome) -> Vec<String> {
    let inbox = home.json(&["kb", "inbox"]);
    let proposals = inbox["proposals"].as_array().unwrap().iter();
    let summary = |one: &Value| one["draft"]["summary"].as_str().unwrap().to_owned();
    proposals.map(summary).collect()
}

fn units(home: &TestHome, worker: &str, list: &str) -> Vec<Value> {
    let shown = home.json(&["worker", "show", worker]);
    shown[list].as_array().unwrap().clone()
}

#[test]
fn an_order_waits_while_its_worker_rests_and_is_proposed_once_whatever_kills_the_daemon() {
    let person = tempfile::Builder::new()
        .prefix("person-")
        .tempdir()
        .unwrap();
    let app = person.path().canonicalize().unwrap().join("app");
    let config = format!("[conversations]\nprojects = [\"{}\"]\n", app.display());
    let home = TestHome::with_config(&config);
    let start = || start_with_home(&home, person.path());
    start();
    let harvester = "experience_harvester";
    home.json(&["worker", "pause", harvester, "--reason", "a test"]);
    home.kill();
    write_conversation(person.path(), "0c4aeb47-79c0-417a-a3bd-52a92665f811", ORDER);
    // It is paused for the next daemon too: the turn is taken in, and what it teaches waits.
    start();
    wait_for("the turn to wait", || {
        units(&home, harvester, "open").len() == 1
    });
    let waiting = units(&home, harvester, "open").remove(0);
    assert_eq!(waiting["state"], "waiting", "{waiting}");
    assert_eq!(proposed(&home), [""; 0]);
    home.kill();
    start();
    assert_eq!(units(&home, harvester, "open").len(), 1);
    let refused = home.mission(&["worker", "run", harvester]);
    assert!(!refused.status.success());
    let refused = text(&refused.stderr);
    assert!(
        refused.contains("paused (worker/experience_harvester)"),
        "{refused}"
    );
    // From here on it is killed in the middle of whatever it does.
    home.json(&["worker", "resume", harvester]);
    for pause in [0, 3, 9, 20] {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        home.kill();
        start();
    }
    wait_for("the order to be proposed", || !proposed(&home).is_empty());
    wait_for("the unit to be done", || {
        units(&home, harvester, "open").is_empty()
    });
    assert_eq!(proposed(&home), [ORDER]);
    let ended = units(&home, harvester, "ended");
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["state"], "done");
    assert_eq!(ended[0]["id"], waiting["id"]);
    // It belongs to the chain of the turn that caused it.
    let events = home.events();
    let turn = events
        .iter()
        .find(|event| event["event"]["type"] == "turn_extracted");
    assert_eq!(ended[0]["trace_id"], turn.unwrap()["trace_id"]);
}

#[test]
fn what_is_paused_for_a_while_catches_up_and_says_who_paused_it() {
    let home = TestHome::started();
    let paused = home.json(&[
        "worker", "pause", "--memory", "--drain", "--reason", "quiet",
    ]);
    let listed = home.json(&["worker", "list"]);
    let workers = listed["workers"].as_array().unwrap();
    assert_eq!(paused["workers"], listed["workers"]);
    assert_eq!(paused["at_hand"], 0);
    for worker in workers {
        assert_eq!(worker["switch"], "paused", "{worker}");
        assert_eq!(worker["because"]["reason"], "quiet");
        assert_eq!(worker["because"]["changed_by"], "person", "{worker}");
    }
    // Candidates that a rule accepts stay in the inbox while nobody looks after it.
    let upkeep = || home.json(&["worker", "show", "knowledge_upkeep"])["worker"].clone();
    assert_eq!(upkeep()["at_hand"], 0);
    // One alone, whatever is said of the rest.
    home.json(&["worker", "resume", "knowledge_upkeep", "--force"]);
    assert_eq!(upkeep()["switch"], "running");
    assert_eq!(upkeep()["because"]["node"], "worker/knowledge_upkeep");
    home.json(&["worker", "run", "knowledge_upkeep"]);
    wait_for("the autopilot's report to be of now", || {
        home.json(&["autopilot", "status"])["memory"].is_object()
    });
    home.json(&["worker", "resume", "--memory"]);
    let switches = home.json(&["worker", "list"])["switches"].clone();
    assert_eq!(switches.as_array().unwrap().len(), 1, "{switches}");
    let told: Vec<_> = home
        .events()
        .into_iter()
        .filter(|event| event["event"]["type"] == "worker_switched")
        .map(|event| event["event"]["node"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told.len(), 7, "{told:?}");
    // For people.
    let shown = text(&home.mission(&["worker", "list"]).stdout);
    for name in ["conversation_logger", "embedding", "experience_harvester"] {
        assert!(shown.contains(name), "{shown}");
    }
}
