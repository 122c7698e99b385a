//! Tasks in the overview, from their claim to their end.

use serde_json::{Value, json};

use super::Field;
use crate::harness::wait_for;

fn line(field: &Field, group: &str, kind: &str) -> Value {
    let mut found = Value::Null;
    wait_for(&format!("{kind} in {group}"), || {
        let overview = field.home.call("overview", &json!({}));
        let lines = overview[group].as_array().unwrap();
        let line = lines.iter().find(|line| line["kind"] == kind);
        found = line.cloned().unwrap_or_default();
        line.is_some()
    });
    found
}

#[test]
fn a_task_is_worked_on_checked_and_done_in_the_overview() {
    let field = Field::new();
    let gate = field.file("go on");
    let check = json!([{"run": ["sh", "-c", format!("while [ ! -e '{}' ]; do sleep 0.05; done; \
         grep -q two list.txt", gate.display())]}]);
    let turns = "  - steps: [{write: {file: list.txt, text: \"one\\ntwo\\n\"}}, {say: Written}]\n";
    let number = field.task("Count to two", turns, json!({ "checks": check }));
    let checked = line(&field, "working", "checks");
    assert_eq!(checked["activity"], "Runs the checks, round 1");
    assert_eq!(checked["title"], "Count to two");
    assert_eq!(checked["holds_place"], true);
    assert_eq!(checked["repository"]["name"], "re po'sitory");
    let overview = field.home.call("overview", &json!({}));
    assert_eq!(
        (&overview["agents"], &overview["autopilot"]),
        (&json!(1), &json!("running"))
    );
    std::fs::write(gate, "").unwrap();
    let done = line(&field, "finished", "done");
    assert_eq!(done["activity"], "Its check passed");
    assert_eq!(
        done["checks"],
        json!({"round": 1, "passed": 1, "failed": 0})
    );
    assert_eq!(done["status"], "done");
    let shown = field.show(&number);
    assert_eq!(done["attempt"], shown["attempts"][0]["id"]);
    assert_eq!(done["execution"], shown["attempts"][0]["execution"]);
}

#[test]
fn a_task_that_cannot_go_on_needs_a_person_and_says_how_to_answer() {
    let field = Field::new();
    let check = json!([{"run": ["false"]}]);
    let turns = "  - steps: [{say: I did it}]\n".repeat(4);
    field.task("Never green", &turns, json!({ "checks": check }));
    // The question follows the end of the attempt.
    let mut blocked = Value::Null;
    wait_for("its question", || {
        blocked = line(&field, "needs_you", "blocked");
        blocked["question"]["number"].is_number()
    });
    assert_eq!(blocked["title"], "Never green");
    assert_eq!(blocked["checks"]["failed"], 1);
    let inbox = crate::harness::text(&field.home.mission(&["inbox"]).stdout);
    assert_eq!(
        inbox.matches("mission worktree finish").count(),
        1,
        "{inbox}"
    );
}

#[test]
fn who_holds_a_place_is_first_in_the_inbox_as_in_the_overview() {
    let field = Field::new();
    let asks = "  - steps: [{ask: {tool: Run, args: ls}}]\n";
    let script = field.script("alone", asks);
    let folder = field.repository();
    let folder = folder.to_str().unwrap();
    let run = [
        "run",
        "Look",
        "--cwd",
        folder,
        "--engine",
        "rehearsal",
        "--",
    ];
    field
        .home
        .json(&[&run[..], &[&script, "--speed", "50"]].concat());
    let asked = |count: usize| {
        wait_for("a question", || {
            let inbox = field.home.json(&["inbox"]);
            inbox["questions"].as_array().unwrap().len() == count
        });
    };
    asked(1);
    let task = field.task("Look too", asks, json!({}));
    asked(2);
    let inbox = field.home.json(&["inbox"]);
    let first = &inbox["questions"][0];
    assert_eq!(first["task"], task.as_str(), "{inbox}");
    let overview = field.home.call("overview", &json!({}));
    let numbers = |of: &Value, key: &str| -> Vec<Value> {
        let lines = of.as_array().unwrap().iter();
        lines
            .map(|line| line.pointer(key).unwrap().clone())
            .collect()
    };
    assert_eq!(
        numbers(&inbox["questions"], "/number"),
        numbers(&overview["needs_you"], "/question/number")
    );
}
