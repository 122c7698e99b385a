//! Verified work that waits for a person, and what a person does with it.

use std::path::Path;

use serde_json::{Value, json};

use super::{Field, outcome, writes};
use crate::harness::{TestHome, wait_for};

/// The worktree of a task, as the list shows it.
fn listed(field: &Field, task: &str) -> Value {
    let page = field.home.json(&["worktree", "list"]);
    let worktrees = page["worktrees"].as_array().unwrap();
    let mut found = worktrees.iter().filter(|one| one["task"] == task);
    found.next().cloned().unwrap_or(Value::Null)
}

fn has_main(field: &Field, path: &str) -> bool {
    let listed = field.git(&["ls-tree", "-r", "--name-only", "main"]);
    listed.lines().any(|line| line == path)
}

const PASSES: &str = "test -s new.txt";

fn check(command: &str) -> Value {
    json!([{ "run": ["sh", "-c", command] }])
}

#[test]
fn work_waits_for_approval_and_what_needs_it_waits_too() {
    let field = Field::new();
    let gated = json!({ "review": "after_approval", "checks": check(PASSES) });
    let first = field.task("first", &writes("new.txt", "one"), gated);
    let next = json!({ "depends_on": [first], "checks": check("test -s new.txt") });
    let second = field.task("second", &writes("second.txt", "two"), next);
    let details = field.wait_status(&first, "review");
    assert_eq!(outcome(&details, 0), "verified");
    assert!(!has_main(&field, "new.txt"), "nobody has approved it");
    field.wait_for_quiet();
    assert_eq!(
        field.home.json(&["autopilot", "status"])["attempts"],
        json!([])
    );

    let waits = &field.show(&second)["waits"];
    let sentence = format!("waits for {first}, which waits for your review");
    assert_eq!(waits[0]["sentence"], sentence, "{waits}");
    let worktree = listed(&field, &first);
    assert_eq!(worktree["standing"], "ready_for_review", "{worktree}");
    assert_eq!(worktree["reason"], "is ready for review");
    assert_eq!(worktree["status"], "review");
    assert_eq!(worktree["engine"], "rehearsal");
    let size = ["files", "additions", "deletions"].map(|name| worktree[name].as_u64().unwrap());
    assert_eq!(size, [1, 1, 0]);
    assert_eq!(worktree["checks"]["failed"], 0, "{worktree}");
    assert_eq!(worktree["checks"]["passed"], 1);
    assert!(worktree["updated_at"].is_string(), "{worktree}");
    let cleaned = field.home.json(&["worktree", "clean", "--yes"]);
    assert_eq!(cleaned["removed"], json!([]), "it is not thrown away");

    let seen = field.home.json(&["worktree", "finish", &first]);
    assert_eq!(seen["result"]["kind"], "would_bring", "{seen}");
    assert_eq!(seen["checks"]["passed"], 1);
    let message = ["-m", "Say it in my words", "--yes"];
    let args = [
        &["worktree", "finish", &first, "--how", "squash"][..],
        &message,
    ]
    .concat();
    let done = field.home.json(&args);
    assert_eq!(done["completes"], json!(first), "{done}");
    let subject = field.git(&["log", "-1", "--format=%s|%p", "main"]);
    let (subject, parents) = subject.trim().split_once('|').unwrap();
    assert_eq!(subject, "Say it in my words");
    assert_eq!(parents.split(' ').count(), 1, "a squash is one commit");
    assert_eq!(field.show(&first)["task"]["status"], "done");
    assert_eq!(listed(&field, &first), Value::Null, "its place is free");
    for finish in [&["worktree", "finish", &first][..], &args] {
        let (code, again) = field.home.failure(finish);
        assert_eq!(code, 5, "{again}");
        let done = format!("{first} is done since ");
        assert!(again.contains(&done), "{again}");
    }
    assert!(field.home.mission(&["review", &first]).status.success());
    field.wait_status(&second, "done");
    let moves: Vec<_> = field.events("board_task_updated");
    assert!(moves.iter().any(|event| event["status"] == "review"));
}

#[test]
fn work_left_on_its_branch_is_reviewed_and_merged_also_without_its_worktree() {
    let field = Field::new();
    let left = json!({ "finish": "branch" });
    let task = field.task("left", &writes("new.txt", "one"), left);
    field.wait_status(&task, "review");
    field.wait_for_quiet();
    let worktree = listed(&field, &task);
    assert_eq!(worktree["standing"], "ready_for_review", "{worktree}");
    let path = worktree["path"].as_str().unwrap();
    field.git(&["worktree", "remove", "--force", path]);
    let worktree = listed(&field, &task);
    assert_eq!(worktree["standing"], "ready_for_review", "{worktree}");
    assert_eq!(
        (&worktree["files"], &worktree["additions"]),
        (&json!(1), &json!(1))
    );
    let seen = field.home.json(&["worktree", "finish", &task]);
    let brings = json!({ "kind": "would_bring", "commits": 1 });
    assert_eq!(seen["result"], brings, "{seen}");
    assert_eq!(seen["into"], "main");
    let (_, said) = field.home.failure(&["worktree", "discard", &task]);
    assert!(said.contains("there is nothing to discard"), "{said}");
    let (_, said) = field.home.failure(&["worktree", "discard", &task, "--yes"]);
    assert!(said.contains("there is nothing to discard"), "{said}");
    let worktrees = field.git(&["worktree", "list"]);
    assert_eq!(
        worktrees.lines().count(),
        1,
        "looking makes none: {worktrees}"
    );
    let done = field.home.json(&["worktree", "finish", &task, "--yes"]);
    assert_eq!(done["result"]["kind"], "merged", "{done}");
    assert_eq!(done["how"], "merge");
    assert_eq!(field.show(&task)["task"]["status"], "done");
    assert!(has_main(&field, "new.txt"));

    // Or it is done without: the branch is what was wanted.
    let left = json!({ "finish": "branch" });
    let other = field.task("other", &writes("other.txt", "two"), left);
    field.wait_status(&other, "review");
    let args = ["worktree", "finish", &other, "--how", "branch", "--yes"];
    assert_eq!(field.home.json(&args)["result"]["kind"], "branch");
    assert_eq!(field.show(&other)["task"]["status"], "done");
    assert!(!has_main(&field, "other.txt"));
}

#[test]
fn a_review_sends_work_back_to_where_it_was() {
    let field = Field::new();
    let turns = r#"
  - when: {contains: "Shorter, please"}
    steps:
      - write: {file: new.txt, text: "1\n"}
      - signal: {type: completed_claim, payload: {summary: Shorter.}}
  - uses: always
    steps:
      - write: {file: new.txt, text: "one\n"}
      - signal: {type: completed_claim, payload: {summary: Written.}}
"#;
    let task = field.task("back", turns, json!({ "review": "after_approval" }));
    field.wait_status(&task, "review");
    field.wait_for_quiet();
    let note = json!({ "task": task, "text": "Shorter, please", "author": "me" });
    field.home.json(&["call", "board_note", &note.to_string()]);
    field.home.json(&["task", "retry", &task]);
    let details = field.wait(&task, "in review again", |details| {
        details["task"]["status"] == "review" && details["attempts"][1].is_object()
    });
    let attempts = &details["attempts"];
    assert_eq!(attempts[0]["worktree"], attempts[1]["worktree"]);
    field.home.json(&["worktree", "finish", &task, "--yes"]);
    assert_eq!(field.on_main("new.txt"), "1");
    let given_up = field.task("no", &writes("no.txt", "x"), json!({ "finish": "branch" }));
    field.wait_status(&given_up, "review");
    field.home.json(&["task", "cancel", &given_up]);
    assert_eq!(field.show(&given_up)["task"]["status"], "failed");
}

#[test]
fn red_work_says_so_and_is_merged_only_on_purpose() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n");
    let red = json!({ "checks": check("echo wrong; exit 3") });
    let task = field.task("red", &writes("new.txt", "one"), red);
    field.wait_status(&task, "blocked");
    field.wait_for_quiet();
    let seen = field.home.json(&["worktree", "finish", &task]);
    assert_eq!(
        (&seen["checks"]["failed"], &seen["done"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(listed(&field, &task)["checks"]["failed"], 1);
    let shown = field.home.mission(&["worktree", "finish", &task]);
    let shown = crate::harness::text(&shown.stdout);
    assert!(shown.starts_with("Checks fail: `sh -c"), "{shown}");
    assert!(shown.contains("--despite-failed-checks does it"), "{shown}");

    let (code, said) = field.home.failure(&["worktree", "finish", &task, "--yes"]);
    assert_eq!(code, 5, "{said}");
    assert!(
        said.contains("fail: `sh -c 'echo wrong; exit 3'`;"),
        "{said}"
    );
    assert!(!has_main(&field, "new.txt"));
    let on_purpose = [
        "worktree",
        "finish",
        &task,
        "--yes",
        "--despite-failed-checks",
    ];
    assert_eq!(field.home.json(&on_purpose)["result"]["kind"], "merged");
    assert!(has_main(&field, "new.txt"));
}

#[test]
fn a_task_that_runs_or_was_never_tried_is_not_retried() {
    let field = Field::new();
    let turns = format!(
        "  - steps:\n{}      - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        super::waits_for(&field.file("go"))
    );
    let running = field.task("running", &turns, json!({}));
    let never = field.task(
        "never",
        &writes("n", "n"),
        json!({ "depends_on": [running] }),
    );
    field.wait_status(&running, "running");
    let (code, said) = field.home.failure(&["task", "retry", &running]);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("is being worked on"), "{said}");
    assert_eq!(field.show(&running)["task"]["status"], "running");
    let (code, said) = field.home.failure(&["task", "retry", &never]);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("was not tried yet"), "{said}");
    field.touch("go");
    field.wait_status(&never, "done");
}

#[test]
fn a_fresh_retry_begins_in_a_new_worktree_without_what_was_tried() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n");
    let turns = format!(
        "  - uses: always\n    steps:\n      - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        json!("date +%N > try-$(ls | grep -c try-).txt")
    );
    let only_one = "test -e try-0.txt && test ! -e try-1.txt && test -e ";
    let marker = field.file("may pass");
    let only_one = format!("{only_one}'{}'", marker.display());
    let task = field.task("fresh", &turns, json!({ "checks": check(&only_one) }));
    field.wait_status(&task, "blocked");
    field.touch("may pass");
    field.home.json(&["task", "retry", &task, "--fresh"]);
    let details = field.wait_status(&task, "done");
    let attempts = &details["attempts"];
    assert_ne!(attempts[0]["worktree"], attempts[1]["worktree"]);
    assert_eq!(
        (&attempts[0]["abandoned"], &attempts[1]["abandoned"]),
        (&json!(true), &json!(false))
    );
    assert!(has_main(&field, "try-0.txt") && !has_main(&field, "try-1.txt"));
}

#[test]
fn what_checks_leave_is_put_back_named_and_never_committed() {
    let field = Field::new();
    let messy = "echo changed >> list.txt; mkdir -p out; echo x > out/report; test -s new.txt";
    let task = field.task(
        "messy",
        &writes("new.txt", "one"),
        json!({ "checks": check(messy) }),
    );
    let details = field.wait_status(&task, "done");
    let rounds = &details["attempts"][0]["check_rounds"];
    assert_eq!(*rounds, 1, "green work needs one round");
    let note = details["evidence"][0]["note"].as_str().unwrap();
    assert_eq!(
        note,
        "After the checks: restored 1 file (list.txt) and removed 1 file (out/report)."
    );
    assert_eq!(field.on_main("list.txt"), "one");
    assert!(!has_main(&field, "out/report"));
    wait_for("the worktree to be gone", || {
        field.git(&["worktree", "list"]).lines().count() == 1
    });
}

#[test]
fn the_review_of_a_repository_and_of_the_configuration_is_what_its_tasks_have() {
    let config = "[autopilot]\nsettle_ms = 200\nreview = \"after_approval\"\n";
    let field = Field::with_config(config);
    let of = |task: &str| field.show(task)["task"]["review"].clone();
    let asked = field.task("asked", &writes("a", "a"), json!({}));
    assert_eq!(of(&asked), "after_approval");
    std::fs::create_dir(field.repository().join(".mission")).unwrap();
    let own = field.repository().join(".mission/config.toml");
    std::fs::write(own, "review = \"merge_at_once\"\n").unwrap();
    let merged = field.task("merged", &writes("b", "b"), json!({}));
    assert_eq!(of(&merged), "merge_at_once");
    field.wait_status(&merged, "done");
    field.wait_status(&asked, "review");
}

#[test]
fn the_review_of_the_configuration_is_also_that_of_steps_and_of_imported_tasks() {
    let config = "[autopilot]\nreview = \"after_approval\"\n";
    let field = Field::quiet(TestHome::with_config(config));
    field.home.start();
    let repository = field.repository();
    let step = json!({ "key": "1", "task": { "title": "step", "repository": repository } });
    let steps = json!({ "steps": [step] }).to_string();
    field.home.json(&["call", "board_add_steps", &steps]);
    let cards = field.file("cards.jsonl");
    std::fs::write(&cards, "{\"title\":\"card\"}\n").unwrap();
    let place = repository.to_str().unwrap();
    let import = [
        "task",
        "import",
        cards.to_str().unwrap(),
        "--repository",
        place,
    ];
    field.home.json(&import);
    field
        .home
        .json(&["task", "decompose", "T-1", "--step", "a: part"]);
    for (task, title) in [("T-1", "step"), ("T-2", "card"), ("T-3", "part")] {
        let shown = field.show(task)["task"].clone();
        assert_eq!(shown["title"], title);
        assert_eq!(shown["review"], "after_approval", "{shown:#}");
    }
}

#[test]
fn what_an_agent_is_asked_for_while_checks_run_is_not_put_back() {
    let field = Field::new();
    let turns = r#"
  - when: {contains: "Also b"}
    steps:
      - write: {file: b.txt, text: "b\n"}
      - say: Also b is there.
  - uses: always
    steps:
      - write: {file: a.txt, text: "a\n"}
      - signal: {type: completed_claim, payload: {summary: Written.}}
"#;
    let command = format!(
        "echo ran >> '{}'; echo dirt >> list.txt; until [ -e '{}' ]; do sleep 0.05; done",
        field.file("checks").display(),
        field.file("go-check").display(),
    );
    let task = field.task("asked", turns, json!({ "checks": check(&command) }));
    wait_for("the check to run", || !field.lines("checks").is_empty());
    let attempt = field.show(&task)["attempts"][0].clone();
    let (execution, place) = (&attempt["execution"], &attempt["worktree"]);
    let b = Path::new(place.as_str().unwrap()).join("b.txt");
    let message = [
        "execution",
        "message",
        execution.as_str().unwrap(),
        "Also b",
    ];
    field.home.json(&message);
    wait_for("the agent to have done it", || b.exists());
    field.touch("go-check");
    let details = field.wait_status(&task, "blocked");
    assert!(b.exists(), "it is the agent's work");
    let note = details["evidence"][0]["note"].as_str().unwrap();
    assert_eq!(
        note,
        "What the checks wrote was not put back, because its agent was given a message meanwhile."
    );
}

#[test]
fn a_file_that_only_looks_like_build_output_is_told_of() {
    let field = Field::new();
    let turns = r#"
  - uses: always
    steps:
      - write: {file: new.txt, text: "one\n"}
      - write: {file: fixtures/broken.o, text: "bytes\n"}
      - signal: {type: completed_claim, payload: {summary: Written.}}
"#;
    let task = field.task(
        "fixture",
        turns,
        json!({ "checks": check("test -s fixtures/broken.o") }),
    );
    let details = field.wait_status(&task, "done");
    let note = details["evidence"][0]["note"].as_str().unwrap();
    assert!(note.contains("no commit has"), "{note}");
    assert!(note.contains("fixtures/broken.o"), "{note}");
    assert!(!has_main(&field, "fixtures/broken.o"));
    wait_for("the worktree to be gone", || {
        field.git(&["worktree", "list"]).lines().count() == 1
    });
}
