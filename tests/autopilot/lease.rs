//! Two daemons on one database: a lease that runs out while its agent works.

use rustix::process::Signal;
use serde_json::json;

use super::{Field, notes};
use crate::harness::{TestHome, wait_for};
use crate::shared_database::SharedDatabase;

const CONFIG: &str = "[autopilot]\nsettle_ms = 200\nlease_secs = 2\n";

#[test]
fn a_late_result_of_an_expired_lease_is_refused() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let field = Field::quiet(database.home(CONFIG));
    field.home.start();
    field.resume();
    let turns = format!(
        "  - steps:\n{}      - write: {{file: a.txt, text: \"{{{{session}}}}\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        notes(&field.file("turns"), "began"),
    );
    let check = format!(
        "echo ran >> '{}'; until [ -e '{}' ]; do sleep 0.05; done",
        field.file("checks").display(),
        field.file("go").display(),
    );
    let checks = json!([{"run": ["sh", "-c", check]}]);
    let task = field.task("contested", &turns, json!({"checks": checks}));
    wait_for("the first check", || field.lines("checks").len() == 1);

    // Its daemon is stopped in its tracks; agent and check go on.
    field.home.signal(Signal::STOP);
    let other = database.home(CONFIG);
    field.let_checks_see(&other);
    other.start();
    let show =
        |home: &TestHome| home.json(&["call", "board_show", &json!({"task": task}).to_string()]);
    wait_for("the lease to run out", || {
        show(&other)["attempts"][0]["outcome"] == "expired"
    });
    other.json(&["call", "board_retry", &json!({"task": task}).to_string()]);
    wait_for("the second check", || field.lines("checks").len() == 2);
    field.touch("go");
    wait_for("the task to be done", || {
        show(&other)["task"]["status"] == "done"
    });
    let merged = field.on_main("a.txt");

    // The first one comes back with a result that nobody waits for.
    field.home.signal(Signal::CONT);
    wait_for("the late write to be refused", || {
        !field.events("stale_write_refused").is_empty()
    });
    wait_for("its agent to be ended", || {
        field.home.json(&["execution", "list"])["executions"] == json!([])
    });
    let details = show(&other);
    assert_eq!(details["task"]["status"], "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(details["attempts"][1]["outcome"], "verified");
    assert_eq!(
        field.on_main("a.txt"),
        merged,
        "the late work is not merged"
    );
    let merges = field.git(&["log", "--merges", "--oneline", "main"]);
    assert_eq!(merges.lines().count(), 1, "{merges}");
}
