//! A task of the board from its card to the entry that came of it: one chain.

use serde_json::{Value, json};

use super::Field;
use crate::causes::{Chain, kind};
use crate::harness::wait_for;

#[test]
fn all_that_comes_of_a_task_is_reached_from_its_card() {
    let field = Field::new();
    // Fails the first time, which is what the task teaches.
    let turns = "  - steps:\n      - write: {file: a.txt, text: \"wrong\\n\"}\n      \
                 - signal: {type: completed_claim, payload: {summary: Done.}}\n  \
                 - uses: always\n    steps:\n      - write: {file: a.txt, text: \"right\\n\"}\n      \
                 - signal: {type: completed_claim, payload: {summary: Right now.}}\n";
    let script = "grep -q right a.txt || { echo it must be right; exit 3; }";
    let checks = json!({"checks": [{"name": "content", "run": ["sh", "-c", script]}]});
    let task = field.task("caused", turns, checks);
    field.wait_status(&task, "done");
    field.wait_for_quiet();
    let mut taught = Value::Null;
    wait_for("what the task has taught", || {
        let inbox = field.home.json(&["call", "kb_inbox", "{}"]);
        taught = inbox["proposals"][0]["id"].clone();
        taught.is_string()
    });
    let accept = json!({"proposal": taught, "decision": "accept"}).to_string();
    field.home.json(&["call", "kb_decide", &accept]);

    let created = field.home.events().into_iter();
    let created = created.filter(|event| kind(event) == "board_task_created");
    let created: Vec<_> = created.collect();
    let [created] = &created[..] else {
        panic!("one task was put on the board: {created:?}");
    };
    let mut chain = Chain::read(&field.home, &created["trace_id"]);
    let wanted = [
        "board_task_claimed",
        "execution_started",
        "slot_became_idle",
        "cli_request_started",
        "cli_request_completed",
        "conversation_message_logged",
        "checks_finished",
        "board_task_updated",
        "kb_batch_mutated",
        "execution_ended",
        "slot_closed",
    ];
    wait_for("the whole chain", || {
        chain = Chain::read(&field.home, &created["trace_id"]);
        wanted.iter().all(|kind| chain.has(kind))
    });
    chain.assert_is_one_tree("board_task_created");
    chain.assert_has_all_of_its_runs(&field.home);
    for (event, cause) in [
        ("conversation_message_logged", "execution_started"),
        ("slot_became_idle", "slot_created"),
        ("kb_batch_mutated", "board_task_created"),
    ] {
        assert_eq!(chain.cause_of(event), Some(cause), "the cause of {event}");
    }
}
