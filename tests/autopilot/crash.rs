//! A daemon that is killed in every phase of a task: the next one goes on where
//! it was, nothing runs twice and nothing is forgotten.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Field, notes, outcome, waits_for, writes};
use crate::harness::wait_for;

/// An agent that waits to be let go, notes that it began, and mends its work
/// after the first check.
fn turns(field: &Field) -> String {
    format!(
        "  - steps:\n{}{}      - write: {{file: a.txt, text: \"wrong\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n  \
         - when: {{contains: is not done yet}}\n    steps:\n{}{}      \
         - write: {{file: a.txt, text: \"right\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Mended.}}}}\n",
        notes(&field.file("turns"), "first"),
        waits_for(&field.file("go-first")),
        notes(&field.file("turns"), "second"),
        waits_for(&field.file("go-second")),
    )
}

/// A check that waits to be let go and notes that it ran.
fn checks(field: &Field) -> Value {
    let command = format!(
        "echo ran >> '{}'; until [ -e '{}' ]; do sleep 0.05; done; grep -q right a.txt",
        field.file("checks").display(),
        field.file("go-check").display(),
    );
    json!([{"run": ["sh", "-c", command], "timeout_secs": 60}])
}

fn restart(field: &Field) {
    field.home.kill();
    field.home.start();
}

#[test]
fn killed_in_every_phase_a_task_is_done_once() {
    let field = Field::new();
    let task = field.task(
        "survivor",
        &turns(&field),
        json!({"checks": checks(&field)}),
    );

    // While it is claimed, prepared and started: the kill comes as soon as it is.
    field.wait(&task, "claimed", |details| {
        !details["attempts"][0].is_null()
    });
    restart(&field);
    wait_for("the agent to have its prompt", || {
        field.lines("turns") == ["first"]
    });

    // While the agent works.
    restart(&field);
    field.touch("go-first");
    wait_for("the check to run", || !field.lines("checks").is_empty());

    // While a check runs: it is run again, and the one before does not go on.
    restart(&field);
    wait_for("the check to run again", || {
        field.lines("checks").len() >= 2
    });
    field.touch("go-check");

    // While the agent mends.
    wait_for("the second turn", || {
        field.lines("turns") == ["first", "second"]
    });
    restart(&field);
    field.touch("go-second");
    let details = field.wait_status(&task, "done");

    assert_eq!(
        field.lines("turns"),
        ["first", "second"],
        "no prompt came twice"
    );
    let attempts = details["attempts"].as_array().unwrap();
    let lost = attempts.len() - 1;
    assert!(lost <= 1, "{details:#}");
    assert_eq!(outcome(&details, lost), "verified");
    let started = field.events("execution_started").len();
    assert_eq!(started, attempts.len(), "one start for each attempt");
    assert_eq!(field.on_main("a.txt"), "right");
    let merges = field.git(&["log", "--merges", "--oneline", "main"]);
    assert_eq!(merges.lines().count(), 1, "{merges}");
    // Right after the merge.
    restart(&field);
    field.wait_for_quiet();
    assert_eq!(field.show(&task)["task"]["status"], "done");
}

#[test]
fn killed_again_and_again_a_board_of_tasks_is_done_once_each() {
    let field = Field::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    let tasks = names.map(|name| {
        let turns = format!(
            "  - steps:\n{}      - think: 20\n      - write: {{file: {name}.txt, text: \"x\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
            notes(&field.file("turns"), name)
        );
        let check = format!("test -s {name}.txt");
        field.task(name, &turns, json!({"checks": [{"run": ["sh", "-c", check]}]}))
    });
    // At moments nobody chose.
    for pause in [30, 110, 250, 70, 410, 190, 20, 330] {
        std::thread::sleep(Duration::from_millis(pause));
        restart(&field);
    }
    for task in &tasks {
        wait_for("the task to be done", || {
            let details = field.show(task);
            let status = details["task"]["status"].as_str().unwrap().to_owned();
            assert!(status != "failed" && status != "blocked", "{details:#}");
            // Nobody waits for a backoff here.
            if !details["task"]["not_before"].is_null() {
                field
                    .home
                    .json(&["call", "board_retry", &json!({"task": task}).to_string()]);
            }
            status == "done"
        });
        let details = field.show(task);
        let verified = details["attempts"].as_array().unwrap().iter();
        assert_eq!(
            verified.filter(|one| one["outcome"] == "verified").count(),
            1
        );
    }
    let merges = field.git(&["log", "--merges", "--oneline", "main"]);
    assert_eq!(merges.lines().count(), names.len(), "{merges}");
    let mut turns = field.lines("turns");
    turns.sort();
    turns.dedup();
    assert_eq!(turns, names);
    field.wait_for_quiet();
}

#[test]
fn a_lost_agent_is_followed_by_one_that_knows_what_was_said() {
    let field = Field::new();
    let turns = format!(
        "  - steps:\n{}{}      - say: never\n  - when: {{contains: go on with your task}}\n    steps:\n{}      \
         - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        notes(&field.file("turns"), "first"),
        waits_for(&field.file("never")),
        notes(&field.file("turns"), "second"),
    );
    let task = field.task("lost", &turns, json!({}));
    wait_for("the agent to work", || field.lines("turns") == ["first"]);
    let execution = field.show(&task)["attempts"][0]["execution"].clone();
    wait_for("its prompt to count as delivered", || {
        let shown = field
            .home
            .json(&["execution", "show", execution.as_str().unwrap()]);
        shown["messages"][0]["status"] == "delivered"
    });
    // As after a reboot: neither the daemon nor the agent is there any more.
    field.home.kill();
    field.home.end_slots();
    field.home.start();
    field.wait(&task, "lost", |details| outcome(details, 0) == "agent_lost");
    field
        .home
        .json(&["call", "board_retry", &json!({"task": task}).to_string()]);
    let details = field.wait_status(&task, "done");
    assert_eq!(field.lines("turns"), ["first", "second"]);
    assert_eq!(
        details["attempts"][0]["worktree"], details["attempts"][1]["worktree"],
        "in the same place"
    );
}

#[test]
fn killed_while_checks_run_nothing_that_was_committed_meanwhile_is_lost() {
    let field = Field::new();
    let command = format!(
        "echo ran >> '{}'; echo dirt > dirt.txt; until [ -e '{}' ]; do sleep 0.05; done",
        field.file("checks").display(),
        field.file("go-check").display(),
    );
    let checks = json!([{"run": ["sh", "-c", command], "timeout_secs": 60}]);
    let task = field.task("kept", &writes("a.txt", "a"), json!({"checks": checks}));
    wait_for("the check to run", || !field.lines("checks").is_empty());
    let place = field.show(&task)["attempts"][0]["worktree"].clone();
    let place = place.as_str().unwrap();
    field.home.kill();
    // The agent outlives the daemon.
    std::fs::write(Path::new(place).join("late.txt"), "late\n").unwrap();
    field.git(&["-C", place, "add", "late.txt"]);
    field.git(&["-C", place, "commit", "--quiet", "-m", "Late"]);
    field.touch("go-check");
    field.home.start();
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("late.txt"), "late");
    assert_eq!(field.on_main("a.txt"), "a");
}

#[test]
fn what_checks_left_that_were_cut_off_is_gone_before_the_next_agent_begins() {
    let field = Field::new();
    // What the agent finds when it begins is copied beside the repository.
    let copy = format!("cat list.txt > '{}'", field.file("found").display());
    let turns = format!(
        "  - when: {{contains: go on with your task}}\n    steps:\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - write: {{file: b.txt, text: \"b\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n  \
         - uses: always\n    steps:\n      \
         - signal: {{type: failed_claim, payload: {{reason: No.}}}}\n",
        json!(copy)
    );
    let task = field.task("next", &turns, json!({}));
    field.wait_status(&task, "blocked");
    field.wait_for_quiet();
    // As a daemon leaves it that is killed while checks run.
    let place = field.show(&task)["attempts"][0]["worktree"].clone();
    let place = place.as_str().unwrap();
    let git = |args: &[&str]| {
        field
            .git(&[&["-C", place], args].concat())
            .trim()
            .to_owned()
    };
    let record = Path::new(&git(&["rev-parse", "--absolute-git-dir"])).join("missiond.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    kept["checking"] = json!({"commit": git(&["rev-parse", "HEAD"]), "there": []});
    std::fs::write(&record, kept.to_string()).unwrap();
    std::fs::write(Path::new(place).join("list.txt"), "dirt\n").unwrap();
    field.home.json(&["task", "retry", &task]);
    let details = field.wait_status(&task, "done");
    let attempts = &details["attempts"];
    assert_eq!(attempts[0]["worktree"], attempts[1]["worktree"]);
    assert_eq!(field.lines("found"), ["one"]);
    assert_eq!(
        field.on_main("b.txt"),
        "b",
        "what the agent left is its work"
    );
    assert_eq!(field.on_main("list.txt"), "one");
}
