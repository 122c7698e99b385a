//! Where an attempt works: setup, teardown, and places and names that are trouble.

use std::path::Path;

use serde_json::{Value, json};

use super::{Field, outcome, writes};
use crate::harness::wait_for;

/// Sleeps for long and says in a file of the field which process it is.
fn sleeper(field: &Field, name: &str) -> (Value, impl Fn() -> bool) {
    let file = field.file(name);
    let script = format!("echo $$ > '{}'; exec sleep 600", file.display());
    let lives = move || {
        let pid = std::fs::read_to_string(&file).unwrap();
        Path::new(&format!("/proc/{}", pid.trim())).exists()
    };
    (
        json!([{"run": ["sh", "-c", script], "timeout_secs": 1}]),
        lives,
    )
}

#[test]
fn a_setup_that_hangs_is_ended_and_for_a_person() {
    let field = Field::new();
    let (setup, lives) = sleeper(&field, "setup.pid");
    let task = field.task(
        "setup hangs",
        &writes("a.txt", "x"),
        json!({"setup": setup}),
    );
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "needs_person");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("the setup `sh -c "), "{why}");
    assert!(why.contains("not done after 1 s"), "{why}");
    assert!(!lives(), "what it ran is gone");
    assert_eq!(
        field.home.json(&["execution", "list", "--all"])["executions"],
        json!([])
    );
    field.wait_for_quiet();
}

#[test]
fn a_teardown_that_hangs_is_ended_and_told_and_the_task_stays_done() {
    let field = Field::new();
    let (teardown, lives) = sleeper(&field, "teardown.pid");
    let more = json!({"teardown": teardown});
    let task = field.task("teardown hangs", &writes("a.txt", "x"), more);
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("a.txt"), "x");
    let details = field.wait(&task, "tidied up", |details| {
        !details["notes"].as_array().unwrap().is_empty()
    });
    let note = details["notes"][0]["text"].as_str().unwrap();
    assert!(note.contains("the teardown `sh -c "), "{note}");
    assert!(note.contains("not done after 1 s"), "{note}");
    assert!(!lives(), "what it ran is gone");
    assert_eq!(details["task"]["status"], "done");
    let place = details["attempts"][0]["worktree"]
        .as_str()
        .unwrap()
        .to_owned();
    wait_for("its worktree to be removed", || !Path::new(&place).exists());
    field.wait_for_quiet();
}

/// A folder where every worktree of the repository would be: nothing of it is
/// touched, and a person is told.
#[test]
fn a_place_that_is_taken_is_for_a_person_and_left_alone() {
    let field = Field::new();
    let first = field.task("first", &writes("a.txt", "x"), json!({}));
    let details = field.wait_status(&first, "done");
    let place = details["attempts"][0]["worktree"].as_str().unwrap();
    let folder = Path::new(place).parent().unwrap().to_owned();
    wait_for("its worktree to be removed", || !Path::new(place).exists());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "somebody else's").unwrap();

    let second = field.task("second", &writes("b.txt", "y"), json!({}));
    let details = field.wait_status(&second, "blocked");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains(folder.to_str().unwrap()), "{why}");
    assert_eq!(std::fs::read_to_string(&folder).unwrap(), "somebody else's");

    std::fs::remove_file(&folder).unwrap();
    field.home.json(&["task", "retry", &second]);
    field.wait_status(&second, "done");
    assert_eq!(field.on_main("b.txt"), "y");
}

#[test]
fn a_file_name_with_spaces_and_quotes_goes_all_the_way() {
    let field = Field::new();
    let name = "it's a \"file\" name.txt";
    let turns = format!(
        "  - uses: always\n    steps:\n      - write: {{file: {}, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        json!(name)
    );
    let more = json!({
        "touches": [name],
        "checks": [{"run": ["test", "-s", name]}],
    });
    let task = field.task("a name", &turns, more);
    field.wait_status(&task, "done");
    assert_eq!(field.on_main(name), "x");
}
