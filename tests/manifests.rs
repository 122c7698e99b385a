//! The person's own manifests: they are followed while slots run, and a broken
//! one is told and changes nothing.

use crate::harness::{TestHome, wait_for};

fn manifest(state: &str) -> String {
    format!(
        "manifest: 1\nengine: toy\nregions:\n  status: {{from_last: '^toy:', first: 1}}\nrules:\n  \
         - id: shown\n    state: {state}\n    priority: 500\n    confidence: 0.8\n    \
         reason: the toy says so\n    when: {{in: status, exists: true}}\n"
    )
}

fn wait_for_state(home: &TestHome, wanted: &str) {
    wait_for(&format!("the toy to be {wanted}"), || {
        home.json(&["slot", "read", "toy"])["reading"]["state"] == wanted
    });
}

#[test]
fn a_changed_manifest_is_followed_and_a_broken_one_is_told() {
    let home = TestHome::started();
    let folder = home.home().manifests_dir();
    let file = folder.join("toy.yaml");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&file, manifest("idle")).unwrap();

    let cwd = home.path().display().to_string();
    let script = "echo toy: here; exec sleep 600";
    let slot = home.json(&[
        "slot", "spawn", "--name", "toy", "--engine", "toy", "--cwd", &cwd, "--", "/bin/sh", "-c",
        script,
    ]);
    assert_eq!(slot["engine"], "toy");
    wait_for_state(&home, "idle");

    // Noticed without being asked, and the screen is still there.
    std::fs::write(&file, manifest("thinking")).unwrap();
    wait_for_state(&home, "thinking");
    let seen = home.json(&["slot", "read", "toy"]);
    assert_eq!(seen["lines"][0], "toy: here");
    assert_eq!(home.json(&["slot", "explain", "toy"])["manifest"], "toy");

    std::fs::write(&file, "manifest: 1\nengine: toy\nruls: []\n").unwrap();
    wait_for("the broken manifest to be told", || {
        home.events().iter().any(|event| {
            let error = event["event"]["error"].as_str().unwrap_or_default();
            error.contains("toy.yaml") && error.contains("line 3")
        })
    });
    wait_for_state(&home, "thinking");
    let (_, said) = home.failure(&["doctor"]);
    assert!(said.is_empty(), "the findings are the output: {said}");
    let found = String::from_utf8(home.mission(&["doctor"]).stdout).unwrap();
    assert!(
        found.contains("toy.yaml") && found.contains("line 3"),
        "{found}"
    );

    // Asked for: it is taken over at once.
    std::fs::write(&file, manifest("confirming")).unwrap();
    home.json(&["daemon", "reload"]);
    wait_for_state(&home, "confirming");

    std::fs::write(&file, "engine: toy\n").unwrap();
    let (_, said) = home.failure(&["daemon", "reload"]);
    assert!(
        said.contains("toy.yaml") && said.contains("stays in force"),
        "{said}"
    );
    wait_for_state(&home, "confirming");

    // A daemon that starts says so and starts.
    let told = |home: &TestHome| {
        let events = home.events();
        let refused = |event: &&serde_json::Value| event["event"]["type"] == "manifest_rejected";
        events.iter().filter(refused).count()
    };
    let before = told(&home);
    home.json(&["daemon", "restart"]);
    assert_eq!(home.json(&["slot", "list"])["slots"][0]["name"], "toy");
    assert_eq!(told(&home), before + 1);
}
