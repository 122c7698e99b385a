//! What agents may use in a day, and the hours in which nothing begins.

use serde_json::{Value, json};

use super::{Field, outcome, writes};
use crate::harness::{TestHome, wait_for};

/// A turn that uses 1,100 tokens, as its transcript tells it, and then waits.
fn spends(field: &Field) -> String {
    let usage = json!({
        "type": "assistant", "requestId": "r1",
        "message": {
            "id": "m1", "role": "assistant",
            "content": [{"type": "text", "text": "hm"}],
            "usage": {"input_tokens": 900, "output_tokens": 200},
        },
    });
    std::fs::write(field.file("usage.jsonl"), format!("{usage}\n")).unwrap();
    let sessions = field.home.home().data_dir().join("rehearsals");
    let command = format!(
        "cat '{}' >> '{}'/{{{{session}}}}.jsonl; sleep 600",
        field.file("usage.jsonl").display(),
        sessions.display()
    );
    format!(
        "  - uses: always\n    steps:\n      - run: {{argv: [sh, -c, {}]}}\n",
        json!(command)
    )
}

fn waits_of(field: &Field, task: &str) -> String {
    let details = field.show(task);
    let waits = details["waits"].as_array().unwrap();
    let sentences = waits.iter().filter_map(|wait| wait["sentence"].as_str());
    sentences.collect::<Vec<_>>().join("; ")
}

fn is_given_back(field: &Field, config: &str, reason: &str) -> (String, Value) {
    let task = field.task("costly", &spends(field), json!({}));
    let details = field.wait(&task, "given back", |details| {
        outcome(details, 0) == "superseded"
    });
    let why = details["attempts"][0]["reason"].as_str().unwrap();
    assert!(why.contains(reason), "{config}: {why}");
    (task, details)
}

#[test]
fn the_budget_of_the_day_or_an_engine_holds_every_task_back_that_it_is_for() {
    for (config, reason) in [
        (
            "tokens_per_day = 1000\n",
            "the budget of the day is used up",
        ),
        (
            "engine_tokens_per_day = 1000\n",
            "the budget of rehearsal is used up",
        ),
    ] {
        let field = Field::with_config(&format!("[autopilot]\nsettle_ms = 200\n{config}"));
        let (task, _) = is_given_back(&field, config, reason);
        let other = field.task("other", &writes("b.txt", "x"), json!({}));
        for task in [&task, &other] {
            let why = waits_of(&field, task);
            assert!(why.contains(&format!("{reason} until")), "{why}");
        }
        let ready = field.home.json(&["call", "board_ready", "{}"]);
        assert_eq!(ready["ready_total"], 0, "{ready:#}");
        assert_eq!(ready["waiting"].as_array().unwrap().len(), 2);
        field.wait_for_quiet();
        assert_eq!(field.events("execution_started").len(), 1);
    }
}

#[test]
fn a_slot_whose_budget_is_used_up_is_not_used_again() {
    let config = "[autopilot]\nsettle_ms = 200\n\
                  [[slots]]\nname = \"builder\"\nengine = \"rehearsal\"\ntokens_per_day = 1000\n";
    let field = Field::with_config(config);
    let reason = "the budget of the slot builder is used up";
    let (task, _) = is_given_back(&field, config, reason);
    // The task goes on in a slot of its own, which has no budget.
    let mut slot = Value::Null;
    wait_for("the next attempt", || {
        let status = field.home.json(&["autopilot", "status"]);
        slot = status["attempts"][0]["slot"].clone();
        slot.is_string()
    });
    assert_ne!(slot, "builder");
    field.home.json(&["task", "cancel", &task]);
    field.wait_for_quiet();
}

#[test]
fn nothing_begins_in_quiet_hours() {
    let quiet = "[autopilot]\nsettle_ms = 200\nquiet_hours = [\"00:00-12:00\", \"12:00-00:00\"]\n";
    let field = Field::with_config(quiet);
    let task = field.task("patient", &writes("a.txt", "x"), json!({}));
    let why = waits_of(&field, &task);
    assert!(why.contains("the end of the quiet hours"), "{why}");
    let ready = field.home.json(&["call", "board_ready", "{}"]);
    assert_eq!(ready["ready_total"], 0);
    assert_eq!(field.show(&task)["task"]["status"], "open");
    field.home.write_config(super::QUICK);
    field.home.json(&["daemon", "reload"]);
    field.wait_status(&task, "done");
}

#[test]
fn a_reason_is_kept_also_when_the_mode_stays() {
    let home = TestHome::started();
    home.json(&["autopilot", "pause", "--reason", "I look at it first"]);
    let status = home.json(&["autopilot", "status"]);
    assert_eq!(status["mode"], "paused");
    assert_eq!(status["reason"], "I look at it first");
    assert_eq!(status["changed_by"], "person");
}
