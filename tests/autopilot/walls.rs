//! Checks and agents behind the wall: they do their work, and what is not theirs is not
//! there for them.

use serde_json::json;

use super::{Field, writes};
use crate::harness::{TestHome, binary};

/// Fails wherever a program sees the daemon's folders.
fn sees_nothing_of(home: &TestHome) -> String {
    let data = home.home().data_dir().display().to_string();
    format!("test -n \"$MISSION_SANDBOX\" && test ! -e '{data}/mission.db' && test -f a.txt")
}

#[test]
fn a_check_sees_the_work_and_nothing_of_the_daemon() {
    for (profile, ends) in [("guarded", "done"), ("sealed", "done"), ("open", "blocked")] {
        let config = format!(
            "[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n[sandbox]\nchecks = \"{profile}\"\n"
        );
        let field = Field::with_config(&config);
        let line = format!(
            "{}; s=$?; git log -1 --format=%s; exit $s",
            sees_nothing_of(&field.home)
        );
        let checks = json!([{"name": "sees", "run": ["sh", "-c", line]}]);
        let task = field.task("walled", &writes("a.txt", "x"), json!({"checks": checks}));
        let details = field.wait_status(&task, ends);
        let tail = details["evidence"][0]["tail"].as_str().unwrap_or_default();
        assert!(tail.contains("walled"), "{profile}: {details:#}");
    }
}

#[test]
fn an_agent_behind_a_wall_does_its_task_and_is_known_as_the_agent() {
    let config = "[autopilot]\nsettle_ms = 200\n[sandbox]\nagents = \"guarded\"\n";
    let field = Field::with_config(config);
    let sees = sees_nothing_of(&field.home);
    let asks = format!(
        "'{}' permission add allow --tool Bash --argument 'id' 2>&1 | tee asked.txt; \
         '{}' slot spawn --cwd / -- sh -c id 2>&1 | tee started.txt; true",
        binary().display(),
        binary().display()
    );
    let turns = format!(
        "  - uses: always\n    steps:\n      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        json!(sees),
        json!(asks)
    );
    let task = field.task("inside", &turns, json!({}));
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("a.txt"), "x");
    let refused = field.on_main("asked.txt");
    assert!(refused.contains("a person"), "{refused}");
    let refused = field.on_main("started.txt");
    assert!(
        refused.contains("cannot have anything started outside"),
        "{refused}"
    );
    let rules = field.home.json(&["permission", "list"]).to_string();
    assert!(!rules.contains("\"id\""), "{rules}");
}
