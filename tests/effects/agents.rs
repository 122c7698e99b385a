//! Agents: the slots they sit in, their runs, what they ask and what they may do.

use std::path::Path;

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, wait_for};

#[test]
fn a_rule_made_by_mcp_decides_for_everybody() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "attention"]);
    let subject = json!({ "tool": "Bash", "argument": "frobnicate *" });
    let added = agent.left_to(
        &home,
        "permission_add",
        &json!({ "effect": "deny", "subject": subject, "by": "mcp" }),
    );
    let name = added["name"].clone();
    let test = json!({ "tool": "Bash", "argument": "frobnicate it" });
    let verdict = home.call("permission_test", &test);
    assert_eq!(
        (&verdict["effect"], &verdict["rules"]),
        (&json!("deny"), &json!([name]))
    );
    assert_eq!(
        agent.done("permission_test", test.clone())["effect"],
        "deny"
    );
    let is_listed = |page: &Value| {
        let mut rules = page["rules"].as_array().unwrap().iter();
        rules.any(|rule| rule["name"] == name)
    };
    assert!(is_listed(&agent.done("permission_list", json!({}))));
    agent.left_to(&home, "permission_remove", &json!({ "rule": name }));
    assert!(!is_listed(&home.call("permission_list", &json!({}))));
    assert_ne!(home.call("permission_test", &test)["effect"], "deny");
}

#[test]
fn a_policy_is_read_by_an_agent_and_written_by_a_person() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "attention"]);
    let page = agent.done("policy_show", json!({}));
    let file = page["files"][0]["file"].as_str().unwrap().to_owned();
    let text = "[[shell]]\ndeny = \"frobnicate*\"\n";
    let checked = agent.done("policy_check", json!({ "text": text }));
    assert_eq!(
        (&checked["usable"], &checked["rules"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        page["files"][0]["in_force"], false,
        "a check puts nothing in force"
    );
    let file = Path::new(&file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
    let explained = agent.done("policy_explain", json!({ "argument": "frobnicate it" }));
    assert_eq!(
        (
            &explained["effect"],
            &explained["rules"],
            &explained["layer"]
        ),
        (&json!("deny"), &json!(["policy.toml:2"]), &json!("shell"))
    );
    let test = json!({ "tool": "Bash", "argument": "frobnicate it" });
    assert_eq!(home.call("permission_test", &test)["effect"], "deny");
    let shown = home.json(&["policy", "show"]);
    assert_eq!(shown["rules"][0]["name"], "policy.toml:2");
    let proposed = agent.done("policy_suggest", json!({}));
    assert_eq!(proposed["suggestions"], json!([]));
}

#[test]
fn a_slot_and_a_run_by_mcp_are_real_processes() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let argv = json!([
        "sh",
        "-c",
        "trap 'echo interrupted' INT; echo ready; while :; do read line && echo got $line; done"
    ]);
    let spawned = agent.done("slot_spawn", json!({ "argv": argv, "name": "made" }));
    let pid = spawned["program"]["pid"].as_u64().unwrap();
    let alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(alive());
    let screen = |words: &str| {
        wait_for(words, || {
            let read = home.call("slot_read", &json!({ "slot": "made" }));
            read["lines"].to_string().contains(words)
        });
    };
    screen("ready");
    agent.done(
        "slot_send",
        json!({ "slot": "made", "text": "words", "submit": true, "force": true }),
    );
    screen("got words");
    agent.done("slot_interrupt", json!({ "slot": "made" }));
    screen("interrupted");
    agent.done(
        "slot_resize",
        json!({ "slot": "made", "columns": 61, "rows": 17 }),
    );
    let read = home.call("slot_read", &json!({ "slot": "made" }));
    assert_eq!((&read["columns"], &read["rows"]), (&json!(61), &json!(17)));
    let read = agent.done("slot_read", json!({ "slot": "made" }));
    assert!(read["lines"].to_string().contains("got words"));
    let picture = agent.done(
        "slot_screenshot",
        json!({ "slot": "made", "format": "text" }),
    );
    assert!(picture["content"].as_str().unwrap().contains("got words"));
    let explained = agent.done("slot_explain", json!({ "slot": "made" }));
    assert_eq!(explained["slot"], spawned["slot"]);
    let listed = agent.done("slot_list", json!({}));
    assert_eq!(listed["slots"][0]["slot"], spawned["slot"]);
    agent.done("slot_kill", json!({ "slot": "made", "grace_ms": 100 }));
    assert!(!alive());
    assert_eq!(home.call("slot_list", &json!({}))["slots"], json!([]));

    let started = agent.done(
        "execution_start",
        json!({ "engine": "rehearsal", "cwd": home.path(), "prompt": "hi", "args": ["hello"] }),
    );
    let run = started["execution"].as_str().unwrap().to_owned();
    let listed = agent.done("execution_list", json!({}));
    assert_eq!(listed["executions"][0]["execution"], json!(run));
    // It is known by what it was asked and by where it works.
    wait_for("the run to be called by its prompt", || {
        home.call("execution_list", &json!({}))["executions"][0]["title"] == json!("hi")
    });
    let repository = &listed["executions"][0]["repository"];
    assert_eq!(repository["path"], json!(home.path()));
    let shown = home.call("execution_show", &json!({ "execution": run }));
    assert_eq!(shown["execution"], json!(run));
    let by_mcp = agent.done("execution_show", json!({ "execution": run }));
    let file = std::fs::read_to_string(by_mcp["journal"].as_str().unwrap()).unwrap();
    let page = agent.done(
        "execution_journal",
        json!({ "execution": run, "after": 0, "limit": 2, "data": true }),
    );
    let written: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    assert_eq!(page["records"][0]["data"], written["data"], "{page}");
    let next = agent.done(
        "execution_journal",
        json!({ "execution": run, "after": page["next"], "data": true }),
    );
    assert_ne!(next["records"][0], page["records"][0]);
    agent.done(
        "execution_cancel",
        json!({ "execution": run, "reason": "enough" }),
    );
    wait_for("the run to be over", || {
        let running = home.call("execution_list", &json!({}));
        running["executions"] == json!([])
    });
}

/// A rehearsal that takes these turns, in a file of this home.
fn script(home: &TestHome, turns: &str) -> String {
    let path = home.path().join("script.yaml");
    let script = format!("rehearsal: 1\nstartup: 0.1\nturns:\n{turns}");
    std::fs::write(&path, script).unwrap();
    path.display().to_string()
}

fn written(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

const ASKS_THRICE: &str = r"
  - steps:
      - ask:
          tool: Bash
          args: frobnicate
          question: Do you want to let it run this command?
          allow: [{write: {file: first, text: allowed}}]
          deny: [{write: {file: first, text: denied}}]
      - ask:
          tool: Bash
          args: defrost
          question: Do you want to let it run this command?
          allow: [{write: {file: second, text: allowed}}]
          deny: [{write: {file: second, text: denied}}]
      - ask:
          tool: Bash
          args: delete
          question: Do you want to let it run this command?
          allow: [{write: {file: third, text: allowed}}]
          deny: [{write: {file: third, text: denied}}]
";

#[test]
fn a_dialog_is_answered_by_mcp_and_the_agent_heard_it() {
    let home = TestHome::started();
    let script = script(&home, ASKS_THRICE);
    let folder = home.path().to_str().unwrap();
    let mission = crate::harness::binary();
    let rehearse = ["rehearse", &script, "go", "--speed", "50"];
    let mut argv = vec![json!(mission)];
    argv.extend(rehearse.iter().map(|word| json!(word)));
    home.call(
        "slot_spawn",
        &json!({ "argv": argv, "engine": "rehearsal", "name": "asker", "cwd": folder }),
    );
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let waits = || {
        let mut id = Value::Null;
        wait_for("a question", || {
            id = home.json(&["inbox"])["questions"][0]["id"].clone();
            id.is_string()
        });
        id
    };
    let question = waits();
    let listed = agent.done("question_list", json!({}));
    assert_eq!(listed["questions"][0]["id"], question);
    agent.left_to(
        &home,
        "question_answer",
        &json!({ "question": question, "answer": "Deny" }),
    );
    let said = |name: &str| written(&home.path().join(name));
    wait_for("the answer to be heard", || said("first") == "denied");
    // Dismissed, it is out of the inbox, and the dialog goes on waiting.
    let question = waits();
    agent.left_to(&home, "question_dismiss", &json!({ "question": question }));
    assert_eq!(home.json(&["inbox"])["questions"], json!([]));
    agent.left_to(
        &home,
        "slot_answer",
        &json!({ "slot": "asker", "option": "allow", "expect": "defrost" }),
    );
    wait_for("the option to be taken", || said("second") == "allowed");
    waits();
    // Raw keys: the first option is marked, and Enter takes it.
    agent.left_to(
        &home,
        "slot_keys",
        &json!({ "slot": "asker", "bytes": [13] }),
    );
    wait_for("the key to be taken", || said("third") == "allowed");
}

#[test]
fn a_run_is_spoken_to_by_mcp_and_its_agent_heard_it() {
    let home = TestHome::started();
    let script = script(
        &home,
        r#"
  - steps:
      - run: {argv: [sh, -c, "touch works; until [ -e go ]; do sleep 0.05; done"], exit: 0}
  - when: {contains: second}
    steps:
      - write: {file: heard, text: '{{prompt}}'}
      - signal: {type: needs_input, payload: {question: Which port?, choices: [{label: web, value: '8080'}]}}
  - when: {contains: '8080'}
    steps:
      - write: {file: answered, text: x}
"#,
    );
    let run = home.call(
        "execution_start",
        &json!({ "engine": "rehearsal", "cwd": home.path(), "prompt": "first", "name": "runner",
                 "args": [script, "--speed", "50"] }),
    );
    let is_there = |name: &str| home.path().join(name).exists();
    wait_for("the agent to work", || is_there("works"));
    let mut agent = Agent::start(&home, &["--toolset", "executions"]);
    agent.done("execution_interrupt", json!({ "execution": "runner" }));
    agent.done(
        "execution_message",
        json!({ "execution": "runner", "text": "the second" }),
    );
    wait_for("the message to be heard", || is_there("heard"));
    assert!(!is_there("go"), "it was interrupted, it did not finish");
    assert!(written(&home.path().join("heard")).contains("the second"));
    let show = || home.call("execution_show", &json!({ "execution": run["execution"] }));
    wait_for("its question", || show()["questions"] != json!([]));
    agent.left_to(
        &home,
        "execution_answer",
        &json!({ "execution": "runner", "text": "web" }),
    );
    wait_for("the answer to be heard", || is_there("answered"));
    wait_for("the question to be closed", || {
        show()["questions"] == json!([])
    });
}

#[test]
fn the_persons_own_session_told_by_mcp_is_among_the_slots() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "slots"]);
    let session = |does: &str| json!({ "engine": "claude", "cwd": home.path(), "conversation": "one", "does": does });
    agent.left_to(&home, "slot_foreground", &session("uses_tool"));
    let listed = home.json(&["slot", "list"])["slots"].clone();
    assert_eq!(listed[0]["kind"], "foreground", "{listed}");
    assert_eq!(listed[0]["reading"]["state"], "tool_running");
    agent.left_to(&home, "slot_foreground", &session("left"));
    assert_eq!(home.json(&["slot", "list"])["slots"], json!([]));
}

#[test]
fn trust_is_counted_from_what_tools_answer_and_a_person_begins_anew() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    crate::toolhub_hostile::list_tricks(&home, &[("plain", "")]);
    let echo = json!({ "tool": "plain__echo", "arguments": { "text": "one" } });
    agent.done("mcp_tool_call", echo);
    let mut listed = Value::Null;
    wait_for("the call to be counted", || {
        listed = agent.done("trust_list", json!({}))["subjects"].clone();
        listed
            .as_array()
            .is_some_and(|subjects| subjects.len() == 2)
    });
    assert_eq!(home.call("trust_list", &json!({}))["subjects"], listed);
    let subject = json!({ "subject": "server:plain" });
    let explained = agent.done("trust_explain", subject.clone());
    assert_eq!(explained["score"], 502, "{explained}");
    assert_eq!(explained["parts"][0]["kind"], "answered");
    agent.left_to(&home, "trust_reset", &subject);
    let explained = home.call("trust_explain", &subject);
    assert_eq!(explained["score"], 500, "{explained}");
    assert_eq!(explained["facts"][0]["kind"], "reset");
}
