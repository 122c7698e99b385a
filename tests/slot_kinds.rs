//! Slots that are not simply started: the person's own session, those of the
//! configuration, and the end of those nobody needs any more.

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, wait_for};

/// Runs `mission hook` as a CLI of the person's would.
fn hook(home: &TestHome, event: &Value) {
    let mut hook = home
        .command(&["hook"])
        .current_dir(home.path())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = hook.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, event.to_string().as_bytes()).unwrap();
    drop(input);
    assert!(hook.wait().unwrap().success());
}

#[test]
fn the_persons_own_session_is_the_foreground_slot() {
    let home = TestHome::started();
    let told = |name: &str, session: &str| {
        hook(
            &home,
            &json!({"hook_event_name": name, "session_id": session}),
        );
    };
    let foreground = || {
        let slots = home.json(&["slot", "list"])["slots"].clone();
        let slots = slots.as_array().unwrap().clone();
        assert!(slots.len() <= 1, "{slots:?}");
        slots.into_iter().next()
    };
    assert_eq!(foreground(), None);
    told("SessionStart", "one");
    let slot = foreground().unwrap();
    assert_eq!([&slot["name"], &slot["kind"]], ["foreground", "foreground"]);
    assert_eq!([&slot["engine"], &slot["conversation"]], ["claude", "one"]);
    assert_eq!(slot["reading"]["state"], "idle");
    told("UserPromptSubmit", "one");
    assert_eq!(foreground().unwrap()["reading"]["state"], "thinking");
    // Another one takes its place, and the end of the first is nobody's any more.
    told("PreToolUse", "two");
    let second = foreground().unwrap();
    assert_eq!(second["conversation"], "two");
    assert_eq!(second["reading"]["state"], "tool_running");
    assert_ne!(second["slot"], slot["slot"]);
    told("SessionEnd", "one");
    assert_eq!(foreground().unwrap()["slot"], second["slot"]);
    // A daemon that died knows it again from its next report.
    home.kill();
    home.start();
    assert_eq!(foreground(), None);
    told("Stop", "two");
    assert_eq!(foreground().unwrap()["reading"]["state"], "idle");
    told("SessionEnd", "two");
    assert_eq!(foreground(), None);
    let kinds = home.kinds();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "slot_created").count(),
        3
    );
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "slot_closed").count(),
        3
    );
}

/// The same session may be seen by its connection alone, by its hooks, or by both.
#[test]
fn the_persons_own_session_is_seen_by_its_connection_too() {
    let home = TestHome::started();
    let foreground = || {
        let slots = home.json(&["slot", "list"])["slots"].clone();
        let slots = slots.as_array().unwrap().clone();
        assert!(slots.len() <= 1, "{slots:?}");
        slots.into_iter().next()
    };
    let appears = |what: &str| {
        let mut found = None;
        wait_for(what, || {
            found = foreground();
            found.is_some()
        });
        found.unwrap()
    };
    let mut agent = Agent::start_in(&home, home.path(), &["--client", "claude"]);
    agent.tools();
    let slot = appears("the session");
    assert_eq!([&slot["name"], &slot["kind"]], ["foreground", "foreground"]);
    assert_eq!(slot["engine"], "claude");
    // That it is connected says nothing about what it does.
    wait_for("its state", || {
        foreground().unwrap()["reading"]["state"] == "unknown"
    });
    assert_eq!(foreground().unwrap()["reading"]["authority"], "mcp");
    let wait = json!({"timeout_ms": 50_000, "kinds": ["task_created"]});
    let call = json!({"operation": "timeline_wait", "params": wait});
    agent.begin_call("operation_call", call);
    wait_for("its call", || {
        foreground().unwrap()["reading"]["state"] == "tool_running"
    });

    // Its hooks tell of the same session: the slot stays, and they know better.
    let told = |name: &str| {
        hook(
            &home,
            &json!({"hook_event_name": name, "session_id": "one"}),
        );
    };
    told("UserPromptSubmit");
    let known = foreground().unwrap();
    assert_eq!(known["slot"], slot["slot"]);
    assert_eq!(known["conversation"], "one");
    assert_eq!(known["reading"]["state"], "thinking");
    assert_eq!(known["reading"]["authority"], "hook");

    // Another client elsewhere does not push it aside, and its own end does not
    // end a session that has hooks.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut other = Agent::start_in(&home, elsewhere.path(), &["--client", "cursor"]);
    other.tools();
    drop(agent);
    told("Stop");
    assert_eq!(foreground().unwrap()["slot"], slot["slot"]);
    told("SessionEnd");
    assert_eq!(foreground(), None);

    // One that has only its connection ends with it; an agent of ours and a
    // program without a name are no session.
    drop(other);
    let mut nameless = Agent::start_in(&home, home.path(), &[]);
    nameless.tools();
    let mut later = Agent::start_in(&home, elsewhere.path(), &["--client", "codex"]);
    later.tools();
    assert_eq!(appears("the next session")["engine"], "codex");
    // A daemon that is restarted sees it again by itself.
    home.json(&["daemon", "restart"]);
    later.tools();
    assert_eq!(appears("it again")["engine"], "codex");
    drop(later);
    wait_for("its end", || foreground().is_none());
    let reasons: Vec<String> = home
        .events()
        .iter()
        .filter(|event| event["event"]["type"] == "slot_closed")
        .map(|event| event["event"]["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reasons.last().map(String::as_str), Some("it has left"));
}

#[test]
fn a_slot_made_on_demand_ends_when_it_has_rested_and_one_of_the_configuration_stays() {
    let config = "slot_idle_secs = 1\n[[slots]]\nname = \"kept\"\nengine = \"rehearsal\"\n";
    let home = TestHome::with_config(config);
    home.start();
    let mission = crate::harness::binary();
    for name in ["kept", "rests"] {
        let program = ["--", mission.to_str().unwrap(), "rehearse", "hello"];
        let spawn = ["slot", "spawn", "--engine", "rehearsal", "--name", name];
        home.json(&[&spawn[..], &program[..]].concat());
    }
    let open = || {
        let slots = home.json(&["slot", "list"])["slots"].clone();
        let slots = slots.as_array().unwrap().clone();
        let named = slots.iter().map(|slot| {
            let text = |key: &str| slot[key].as_str().unwrap().to_owned();
            (text("name"), text("kind"))
        });
        named.collect::<Vec<_>>()
    };
    let kept = ("kept".to_owned(), "static".to_owned());
    wait_for("the slot that rests to be gone", || {
        open() == [kept.clone()]
    });
}
