//! Attempts that follow each other closely: one agent in a place at a time, and
//! nothing left running when everything is stopped.

use serde_json::{Value, json};

use super::{Field, notes, outcome, waits_for};
use crate::harness::wait_for;

/// Turns that note when they begin and then wait for `go`.
fn waiting_turns(field: &Field) -> String {
    format!(
        "  - uses: always\n    steps:\n{}{}      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        notes(&field.file("started"), "began"),
        waits_for(&field.file("go")),
    )
}

fn running_executions(field: &Field) -> Vec<Value> {
    let running = field.home.json(&["execution", "list"]);
    running["executions"].as_array().unwrap().clone()
}

#[test]
fn a_task_that_is_cancelled_and_tried_again_at_once_has_one_agent() {
    let field = Field::new();
    let task = field.task("hasty", &waiting_turns(&field), json!({}));
    wait_for("the first agent", || field.lines("started").len() == 1);
    let first = running_executions(&field)[0]["execution"].clone();
    for _ in 0..3 {
        field.home.json(&["task", "cancel", &task]);
        field.home.json(&["task", "retry", &task]);
    }
    // Whenever one is seen to run, it is the only one.
    let mut most = 0;
    wait_for("the next agent at work", || {
        let running = running_executions(&field);
        most = most.max(running.len());
        running.len() == 1 && running[0]["execution"] != first && field.lines("started").len() >= 2
    });
    assert_eq!(most, 1, "two agents were in one place");
    field.touch("go");
    let details = field.wait(&task, "done", |details| details["task"]["status"] == "done");
    let last = details["attempts"].as_array().unwrap().len() - 1;
    assert_eq!(outcome(&details, last), "verified");
    field.wait_for_quiet();
}

#[test]
fn stopped_means_that_no_agent_and_no_check_is_left() {
    let field = Field::new();
    let agent = field.task("agent", &waiting_turns(&field), json!({}));
    let check = format!(
        "echo ran >> '{}'; sleep 600",
        field.file("checks").display()
    );
    let checks = json!([{"run": ["sh", "-c", check]}]);
    let checked = field.task(
        "checked",
        &super::writes("b.txt", "x"),
        json!({"checks": checks}),
    );
    wait_for("the agent at work", || field.lines("started").len() == 1);
    wait_for("the check at work", || field.lines("checks").len() == 1);
    field.home.json(&["autopilot", "stop"]);
    // As soon as it says that nobody works, nobody does.
    wait_for("the autopilot to have stopped", || {
        let status = field.home.json(&["autopilot", "status"]);
        status["attempts"] == json!([]) && status["leaving"] == 0
    });
    assert_eq!(running_executions(&field), Vec::<Value>::new());
    for task in [&agent, &checked] {
        let details = field.show(task);
        assert_eq!(details["task"]["status"], "open", "{details:#}");
        assert_eq!(outcome(&details, 0), "superseded");
        assert_eq!(details["task"]["tries"], 0);
    }
}

#[test]
fn a_question_in_words_does_not_hang_its_task() {
    let field = Field::new();
    let turns = "  - steps:\n      - question: Which word is wanted?\n      \
                 - write: {file: word.txt, text: \"{{answer}}\\n\"}\n      \
                 - signal: {type: completed_claim, payload: {summary: Written.}}\n";
    let task = field.task("asks", turns, json!({}));
    let mut inbox = Value::Null;
    wait_for("the question", || {
        inbox = field.home.json(&["inbox"]);
        inbox["questions"] != json!([])
    });
    let number = format!("Q-{}", inbox["questions"][0]["number"]);
    field.home.json(&["answer", &number, "serendipity"]);
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("word.txt"), "serendipity");
}

#[test]
fn work_brought_back_by_hand_completes_its_task() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n");
    let checks = json!([{"run": ["false"]}]);
    let task = field.task(
        "stubborn",
        &super::writes("a.txt", "x"),
        json!({"checks": checks}),
    );
    let next = field.task(
        "next",
        &super::writes("b.txt", "y"),
        json!({"depends_on": [&task]}),
    );
    field.wait_status(&task, "blocked");
    wait_for("the question", || {
        field.home.json(&["inbox"])["questions"] != json!([])
    });
    field.wait_for_quiet();
    let seen = field.home.json(&["worktree", "finish", &task]);
    assert_eq!(seen["done"], false);
    assert_eq!(field.show(&task)["task"]["status"], "blocked");
    let on_purpose = [
        "worktree",
        "finish",
        &task,
        "--yes",
        "--despite-failed-checks",
    ];
    let finished = field.home.json(&on_purpose);
    assert_eq!(finished["done"], true);
    let details = field.show(&task);
    assert_eq!(details["task"]["status"], "done");
    assert_eq!(
        outcome(&details, 0),
        "checks_failed",
        "what was found stays"
    );
    let note = details["notes"][0]["text"].as_str().unwrap();
    assert!(note.contains("brought back by hand"), "{note}");
    assert_eq!(field.home.json(&["inbox"])["questions"], json!([]));
    assert_eq!(field.on_main("a.txt"), "x");
    // What waited for it goes on.
    field.wait_status(&next, "done");
}
