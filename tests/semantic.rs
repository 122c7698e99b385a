//! `mission semantic`: what it prints, on the written recordings.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{TestHome, text};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pty/tests/fixtures");
    folder.join(name).display().to_string()
}

#[test]
fn replay_prints_one_line_per_change_in_time_order() {
    let home = TestHome::new();
    let output = home.mission(&[
        "semantic",
        "replay",
        &fixture("codex_session.cast"),
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut states: Vec<&str> = lines
        .iter()
        .map(|line| line["state"].as_str().unwrap())
        .collect();
    states.dedup();
    let expected = [
        "starting",
        "idle",
        "thinking",
        "tool_running",
        "confirming",
        "responding",
        "idle",
    ];
    assert_eq!(states, expected);
    let times: Vec<f64> = lines
        .iter()
        .map(|line| line["t"].as_f64().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let dialog = lines
        .iter()
        .find(|line| line["state"] == "confirming")
        .unwrap();
    assert_eq!(dialog["waiting_for"], "permission");
    assert_eq!(dialog["authority"], "osc");
    assert!(dialog["confidence"].as_f64().unwrap() > 0.9);
    assert_eq!(dialog["evidence"][0]["source"], "status");
    assert!(!home.home().socket().exists(), "no daemon was started");
}

#[test]
fn an_engine_nobody_knows_is_read_by_the_generic_manifest() {
    let home = TestHome::new();
    let cast = fixture("claude_session.cast");
    let args = [
        "semantic",
        "replay",
        &cast,
        "--engine",
        "nobody-knows-it",
        "--json",
    ];
    let output = home.mission(&args);
    for line in text(&output.stdout).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["confidence"].as_f64().unwrap() <= 0.6, "{line}");
    }
}

#[test]
fn score_reports_engines_versions_and_mistakes() {
    let home = TestHome::new();
    let folder = fixture("");
    let report = home.json(&["semantic", "score", &folder]);
    let claude = &report["engines"]["claude"];
    for number in [
        "right",
        "exact",
        "false_idle_s",
        "delay_median_s",
        "delay_p99_s",
    ] {
        assert!(claude[number].is_number(), "{number}: {claude}");
    }
    assert_eq!(claude["versions"]["written"]["confirming_missed"], 0);
    assert_eq!(claude["states"]["confirming"]["recall"], 1.0);
    // Read by rules that do not know it, the same recording shows mistakes.
    let report = home.json(&[
        "semantic",
        "score",
        &folder,
        "--engine",
        "opencode",
        "--mistakes",
    ]);
    assert!(report["engines"]["claude"]["right"].as_f64().unwrap() < 0.5);
    assert!(!report["mistakes"].as_array().unwrap().is_empty());
}

#[test]
fn explain_names_the_rule_its_rows_and_what_nearly_decided() {
    let home = TestHome::new();
    let cast = fixture("claude_session.cast");
    let report = home.json(&["semantic", "explain", &cast, "--at", "14.5"]);
    assert_eq!(report["reading"]["state"], "confirming");
    assert_eq!(report["decided"]["rule"], "permission");
    assert_eq!(report["dialog"]["options"][0]["label"], "Yes");
    let near: Vec<&str> = report["near"]
        .as_array()
        .unwrap()
        .iter()
        .map(|miss| miss["rule"].as_str().unwrap())
        .collect();
    assert!(near.contains(&"idle"), "{near:?}");
    let output = home.mission(&["semantic", "explain", &cast, "--at", "14.5"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("decided by rule permission (claude.yaml line "),
        "{shown}"
    );
    assert!(shown.contains(">  8  ❯ 1. Yes"), "{shown}");
}

#[test]
fn a_manifest_is_checked_with_line_numbers_and_can_take_a_built_in_ones_place() {
    let home = TestHome::new();
    let write = |name: &str, content: &str| -> PathBuf {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    };
    let bad = write(
        "bad.yaml",
        "manifest: 1\nengine: mine\nrules:\n  - id: a\n    stat: idle\n",
    );
    let output = home.mission(&["semantic", "check-manifest", &bad.display().to_string()]);
    assert_eq!(output.status.code(), Some(7));
    let said = text(&output.stderr);
    assert!(
        said.contains("line 5: unknown key `stat` of a rule: did you mean `state`?"),
        "{said}"
    );

    let mine = "manifest: 1\nengine: codex\nrules:\n  - {id: mine, state: error, priority: 1, \
                confidence: 1, reason: because, when: {in: screen, exists: true}}\n";
    let file = write("mine/codex.yaml", mine);
    let report = home.json(&["semantic", "check-manifest", &file.display().to_string()]);
    assert_eq!(report["engine"], "codex");
    let folder = home.path().join("mine").display().to_string();
    let cast = fixture("codex_session.cast");
    let output = home.mission(&[
        "semantic",
        "replay",
        &cast,
        "--manifests",
        &folder,
        "--json",
    ]);
    let last = text(&output.stdout).lines().last().unwrap().to_owned();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["evidence"][0]["rule"], "mine");
}
