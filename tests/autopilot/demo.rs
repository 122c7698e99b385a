//! The demo, as a new user runs it.

use serde_json::Value;

use crate::harness::{TestHome, text};

#[test]
fn the_demo_ends_with_every_task_verified_and_leaves_nothing_running() {
    let home = TestHome::new();
    let output = home.command(&["demo", "--json"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verified"], true, "{report:#}");
    let tasks = report["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 5);
    for task in tasks {
        assert_eq!(task["status"], "done", "{task}");
        assert_eq!(task["attempts"], 1, "{task}");
    }
    let rounds: Vec<_> = tasks
        .iter()
        .map(|task| task["check_rounds"].as_u64().unwrap())
        .collect();
    assert_eq!(rounds, [1, 1, 2, 1, 1], "one check failed first");
    assert_eq!(report["questions_answered"], 1);

    // What it left can be looked at, with the commands it names.
    let folder = report["folder"].as_str().unwrap();
    let inside = std::path::Path::new(folder).join("home");
    let kept = missiond_api::Home::under(&inside);
    assert!(!missiond_daemon::Instance::is_held(&kept).unwrap());
    let records = missiond_pty::host::HostFiles::records(&kept.slots_dir()).unwrap();
    assert!(records.iter().all(|record| !record.is_alive()));
    let listed = home
        .command(&["--json", "task", "list", "--all"])
        .env("MISSION_HOME", &inside)
        .output()
        .unwrap();
    let stopped = home
        .command(&["daemon", "stop"])
        .env("MISSION_HOME", &inside)
        .output()
        .unwrap();
    assert!(stopped.status.success());
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let kinds: Vec<_> = serde_json::from_slice::<Value>(&listed.stdout).unwrap()["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["status"].clone())
        .collect();
    assert_eq!(kinds, ["done"; 5]);
}
