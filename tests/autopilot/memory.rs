//! What finished tasks teach: candidates with their provenance in the inbox of
//! the knowledge base, once each, and accepted where a rule says so.

use serde_json::{Value, json};

use super::{Field, QUICK, writes};
use crate::harness::{text, wait_for};

/// Fails the first time, and is right when it is told so.
fn second_try() -> String {
    "  - steps:\n      - write: {file: a.txt, text: \"wrong\\n\"}\n      \
     - signal: {type: completed_claim, payload: {summary: Done.}}\n  \
     - uses: always\n    steps:\n      - write: {file: a.txt, text: \"right\\n\"}\n      \
     - signal: {type: completed_claim, payload: {summary: Now it is right.}}\n"
        .to_owned()
}

fn check() -> Value {
    let script = "grep -q right a.txt || { echo it must be right; exit 3; }";
    json!([{"name": "content", "run": ["sh", "-c", script]}])
}

fn proposals(field: &Field) -> Vec<Value> {
    let inbox = field.home.json(&["call", "kb_inbox", "{}"]);
    inbox["proposals"].as_array().unwrap().clone()
}

fn summary(proposal: &Value) -> String {
    proposal["draft"]["summary"].as_str().unwrap().to_owned()
}

#[test]
fn a_fixed_check_is_a_candidate_once_and_that_a_task_is_done_is_none() {
    let field = Field::new();
    let task = field.task("teaches", &second_try(), json!({"checks": check()}));
    field.wait_status(&task, "done");
    wait_for("the candidate", || proposals(&field).len() == 1);
    let found = proposals(&field);
    assert_eq!(
        summary(&found[0]),
        format!(
            "while {task} was worked on, the check `content` failed with exit code 3: \"it must \
             be right\" and passed after a change"
        )
    );
    for one in &found {
        assert_eq!(one["source"], format!("task {task} attempt 1"));
        assert_eq!(one["draft"]["author"], "autopilot");
        assert_eq!(one["draft"]["tier"], "machine");
        assert_eq!(one["draft"]["scope"], "re po'sitory");
        assert!(one["draft"]["conversation"].is_string(), "{one}");
    }
    // Nothing was remembered without a person, and no restart proposes it again.
    assert_eq!(field.home.json(&["kb", "stats"])["entries"], 0);
    field.home.kill();
    field.home.start();
    let plain = field.task("more", &writes("b.txt", "y"), json!({}));
    field.wait_status(&plain, "done");
    let next = second_try().replace("a.txt", "c.txt");
    let check = json!([{"name": "other", "run": ["sh", "-c",
        "grep -q right c.txt || { echo it must be right too; exit 4; }"]}]);
    let next = field.task("again", &next, json!({ "checks": check }));
    field.wait_status(&next, "done");
    wait_for("the next candidate", || proposals(&field).len() == 2);
    assert_eq!(proposals(&field)[0]["id"], found[0]["id"]);
    let id = found[0]["id"].as_str().unwrap();
    let accept = json!({"proposal": id, "decision": "accept"}).to_string();
    field.home.json(&["call", "kb_decide", &accept]);
    let hits = field
        .home
        .json(&["kb", "search", "content check exit code 3"]);
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1, "{hits}");
}

#[test]
fn what_an_agent_was_told_has_been_of_use_when_its_work_is_verified() {
    let field = Field::new();
    let home = &field.home;
    for (key, text) in [
        ("sorting", "The list is sorted by hand, newest line first"),
        ("baking", "Bread rolls want an oven of 230 degrees"),
    ] {
        home.json(&["kb", "remember", text, "--key", key]);
    }
    // Reading an entry would be a use.
    let utility = |key: &str| {
        let page = home.json(&["call", "kb_export", "{}"]);
        let entries = page["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["key"] == key).unwrap();
        (entry["utility"].as_f64().unwrap() * 1e4).round() / 1e4
    };
    assert!((utility("sorting") - 0.3).abs() < 1e-9);
    let turns = "  - steps:\n      - write: {file: list.txt, text: \"two\\n\"}\n      \
                 - signal: {type: completed_claim, payload: {summary: Done as sorting says.}}\n";
    let task = field.task("Put two on the list by hand", turns, json!({}));
    field.wait_status(&task, "done");
    // Told, helped and named: 1 - 0.7 * 0.98 * 0.9 * 0.85.
    wait_for("the entry to have been of use", || {
        (utility("sorting") - 0.4752).abs() < 1e-9
    });
    assert!((utility("baking") - 0.3).abs() < 1e-9);
}

#[test]
fn a_rule_accepts_candidates_and_what_contradicts_waits() {
    let rule = "[knowledge]\naccept_from = [\"task *\"]\n";
    let field = Field::with_config(&format!("{QUICK}{rule}"));
    let task = field.task("known", &second_try(), json!({"checks": check()}));
    field.wait_status(&task, "done");
    wait_for("the rule", || {
        field.home.json(&["kb", "stats"])["entries"] == 1
    });
    assert_eq!(proposals(&field), [Value::Null; 0]);
    let mut status = Value::Null;
    wait_for("the report", || {
        status = field.home.json(&["autopilot", "status"]);
        status["memory"]["entries"] == 1
    });
    assert_eq!(status["memory"]["waiting"], 0, "{status}");
    let shown = text(&field.home.mission(&["autopilot", "status"]).stdout);
    assert!(shown.contains("Memory: 1 ent"), "{shown}");
}

#[test]
fn what_a_person_answered_is_a_candidate() {
    let field = Field::new();
    let turns = "  - steps:\n      - signal:\n          type: needs_input\n          payload: \
         {question: Which word?}\n  - uses: always\n    steps:\n      \
         - write: {file: a.txt, text: \"{{prompt}}\\n\"}\n      \
         - signal: {type: completed_claim, payload: {summary: Written.}}\n";
    let task = field.task("asks", turns, json!({}));
    let asked = || field.home.json(&["inbox"])["questions"].clone();
    wait_for("the question", || asked()[0].is_object());
    let number = asked()[0]["number"].clone();
    let answer = ["answer", &format!("Q-{number}"), "always say hello"];
    field.home.json(&answer);
    field.wait_status(&task, "done");
    wait_for("the candidate", || proposals(&field).len() == 1);
    let found = proposals(&field);
    let said = summary(&found[0]);
    assert!(said.starts_with("asked \"Which word?\", "), "{said}");
    assert!(said.ends_with("said: always say hello"), "{said}");
    assert_eq!(found[0]["draft"]["category"], "policy");
}
