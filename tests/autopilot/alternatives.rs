//! One task for several engines: each works for itself, they are compared, one is
//! kept, and the others are given up with it.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Field, QUICK, notes, waits_for, writes};
use crate::harness::{TestHome, wait_for};

/// A field whose autopilot does not run yet.
fn paused() -> Field {
    let field = Field::quiet(TestHome::with_config(QUICK));
    field.home.start();
    field
}

/// A task with one more engine for it, each with a script of its own; both numbers.
fn two(field: &Field, first: &str, second: &str) -> [String; 2] {
    let (first, second) = (field.script("first", first), field.script("second", second));
    let repository = field.repository();
    let args = [
        &["task", "add", "divide", "--engine", "rehearsal"][..],
        &["--also-engine", "rehearsal:other", "--repository"],
        &[repository.to_str().unwrap(), "--check", "test -s new.txt"],
        &["--touches", "new.txt", "--", &first, "--speed", "50"],
    ];
    let added = field.home.json(&args.concat());
    let numbers = [&added["task"]["number"], &added["alternatives"][0]];
    let numbers = numbers.map(|number| number.as_str().unwrap().to_owned());
    let edit = ["task", "edit", &numbers[1], "--", &second, "--speed", "50"];
    field.home.json(&edit);
    numbers
}

fn status(field: &Field, task: &str) -> String {
    let details = field.show(task);
    details["task"]["status"].as_str().unwrap().to_owned()
}

fn merges(field: &Field) -> usize {
    let log = field.git(&["log", "--merges", "--format=%s", "main"]);
    log.lines().count()
}

#[test]
fn two_engines_try_a_task_and_the_second_is_kept() {
    let field = paused();
    let [first, second] = two(
        &field,
        &writes("new.txt", "one"),
        &writes("new.txt", "two\\nlines"),
    );
    let next = json!({ "depends_on": [first], "checks": [{ "run": ["grep", "two", "new.txt"] }] });
    let next = field.task("next", &writes("next.txt", "three"), next);
    field.resume();
    field.wait_status(&first, "review");
    let details = field.wait_status(&second, "review");
    field.wait_for_quiet();

    // Compared: by the task, by the list, and file by file.
    let both = details["alternatives"].as_array().unwrap();
    let seen = |one: &Value| {
        let size = &one["size"];
        json!([
            one["number"],
            one["status"],
            one["engine"],
            one["model"],
            one["checks"]["failed"],
            size["files"],
            size["additions"]
        ])
    };
    assert_eq!(
        both.iter().map(seen).collect::<Vec<_>>(),
        [
            json!([first, "review", "rehearsal", null, 0, 1, 1]),
            json!([second, "review", "rehearsal", "other", 0, 1, 2]),
        ]
    );
    let listed = field.home.json(&["task", "list"]);
    let one_of = |task: &String| {
        let tasks = listed["tasks"].as_array().unwrap().iter();
        let mut tasks = tasks.filter(|one| one["number"] == json!(task));
        tasks.next().unwrap()["one_of"].clone()
    };
    assert_eq!(
        [&first, &second, &next].map(one_of),
        [2.into(), 2.into(), Value::Null]
    );
    for (task, lines) in [(&first, 1), (&second, 2)] {
        let changes = field
            .home
            .call("worktree_diff", &json!({ "worktree": task }));
        assert_eq!(changes["additions"], lines, "{changes}");
    }
    let shown = field.home.mission(&["task", "show", &first]);
    let shown = crate::harness::text(&shown.stdout);
    assert!(
        shown.contains(&format!(
            "{second}  rehearsal, other; review; checks passed; 1 file +2 −0"
        )),
        "{shown}"
    );

    let foreseen = field.home.json(&["worktree", "finish", &second]);
    assert_eq!(foreseen["gives_up"], json!([first]), "{foreseen}");
    assert_eq!(status(&field, &first), "review", "nothing is done yet");
    let kept = field.home.json(&["worktree", "finish", &second, "--yes"]);
    assert_eq!(kept["gives_up"], json!([first]), "{kept}");
    assert_eq!(field.on_main("new.txt"), "two\nlines");
    let given_up = field.show(&first);
    assert_eq!(given_up["task"]["status"], "failed");
    assert_eq!(
        given_up["task"]["blocked"],
        format!("{second} was kept instead")
    );
    let overview = field.home.call("overview", &json!({}));
    let finished = overview["finished"].as_array().unwrap();
    let line = finished.iter().find(|line| line["task"] == json!(first));
    assert_eq!(line.unwrap()["kind"], "not_kept", "{overview}");
    let branch = given_up["attempts"][0]["branch"].as_str().unwrap();
    let left = field.git(&["show", &format!("{branch}:new.txt")]);
    assert_eq!(left, "one", "nothing is lost");
    let details = field.wait_status(&next, "done");
    assert_eq!(details["depends_on"][0]["number"], json!(second));
    assert_eq!(field.events("board_alternative_kept").len(), 1);
}

#[test]
fn a_running_alternative_is_ended_when_another_is_kept() {
    let field = paused();
    let never = field.file("never");
    let endless = format!(
        "  - steps:\n{}{}",
        notes(&field.file("began"), "began"),
        waits_for(&never)
    );
    let [first, second] = two(&field, &endless, &writes("new.txt", "two"));
    let next = json!({ "depends_on": [first] });
    let next = field.task("next", &writes("next.txt", "three"), next);
    field.resume();
    // The same paths are touched, and both run.
    wait_for("the first to work", || field.lines("began") == ["began"]);
    field.wait_status(&second, "review");
    field.home.json(&["worktree", "finish", &second, "--yes"]);
    let details = field.show(&first);
    assert_eq!(details["attempts"][0]["outcome"], "cancelled", "{details}");
    field.wait_status(&next, "done");
    field.wait_for_quiet();
    assert_eq!(status(&field, &first), "failed");
    assert_eq!(field.lines("began"), ["began"], "it was not begun again");
}

#[test]
fn a_daemon_that_is_killed_keeps_one_alternative_once() {
    let field = paused();
    let turns = |file: &str, text: &str| {
        let steps = format!(
            "{}{}",
            notes(&field.file(file), "turn"),
            waits_for(&field.file("go"))
        );
        writes("new.txt", text).replace("    steps:\n", &format!("    steps:\n{steps}"))
    };
    let [first, second] = two(
        &field,
        &turns("of-first", "one"),
        &turns("of-second", "two"),
    );
    let next = json!({ "depends_on": [first] });
    let next = field.task("next", &writes("next.txt", "three"), next);
    field.resume();
    wait_for("both to work", || {
        !field.lines("of-first").is_empty() && !field.lines("of-second").is_empty()
    });
    field.home.kill();
    field.home.start();
    field.touch("go");
    field.wait_status(&first, "review");
    field.wait_status(&second, "review");
    assert_eq!(field.lines("of-first"), ["turn"]);
    assert_eq!(field.lines("of-second"), ["turn"]);

    // Killed as soon as the work is merged, before or after the board knows.
    let mut keeping = field
        .home
        .command(&["worktree", "finish", &second, "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the merge", || merges(&field) == 1);
    field.home.kill();
    keeping.wait().unwrap();
    field.home.start();
    // All of it or none of it: the one is done when the other is given up.
    let kept = status(&field, &second) == "done";
    assert_eq!(kept, status(&field, &first) == "failed");
    if !kept {
        field.home.json(&["worktree", "finish", &second, "--yes"]);
    }
    assert_eq!(status(&field, &second), "done");
    assert_eq!(status(&field, &first), "failed");
    field.wait_status(&next, "done");
    assert_eq!(merges(&field), 2, "that of the second and that of the next");
    assert_eq!(field.on_main("new.txt"), "two");
    assert_eq!(field.events("board_alternative_kept").len(), 1);
}

#[test]
fn one_more_engine_tries_what_is_in_review_and_one_that_changed_nothing_waits_too() {
    let field = Field::new();
    let turns = writes("new.txt", "one");
    let first = field.task("divide", &turns, json!({ "review": "after_approval" }));
    field.wait_status(&first, "review");
    field.home.json(&["autopilot", "pause"]);
    let args = ["task", "alternative", &first, "--engine", "rehearsal"];
    let added = field.home.json(&args);
    let second = added["task"]["number"].as_str().unwrap().to_owned();
    let idle = field.script(
        "idle",
        "  - steps:\n      - signal: {type: completed_claim, payload: {summary: Nothing.}}\n",
    );
    field
        .home
        .json(&["task", "edit", &second, "--", &idle, "--speed", "50"]);
    field.resume();
    let details = field.wait_status(&second, "review");
    assert_eq!(details["alternatives"][1]["size"]["files"], 0, "{details}");
    // What was cancelled by hand is that one alone.
    field.home.json(&["task", "cancel", &second]);
    assert_eq!(status(&field, &first), "review");
    let done = field.home.json(&["worktree", "finish", &first, "--yes"]);
    assert_eq!(done.get("gives_up"), None, "nobody was left: {done}");
    let (code, why) = field.home.failure(&args);
    assert_ne!(code, 0);
    assert!(why.contains("only what has not ended"), "{why}");
}

#[test]
fn an_engine_with_its_model_tries_a_task_once() {
    let field = paused();
    let repository = field.repository();
    let repository = repository.to_str().unwrap();
    let add = ["task", "add", "divide", "--engine", "rehearsal"];
    for (also, twice) in [
        (&["rehearsal"][..], "rehearsal"),
        (&["codex:a", "codex:b", "codex:a"], "codex:a"),
    ] {
        let also = also.iter().flat_map(|one| ["--also-engine", one]);
        let rest = ["--repository", repository, "--", "hello"];
        let args: Vec<_> = add.into_iter().chain(also).chain(rest).collect();
        let (code, said) = field.home.failure(&args);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(&format!("{twice} is named twice")), "{said}");
    }
    assert_eq!(field.home.json(&["task", "list"])["tasks"], json!([]));
}
