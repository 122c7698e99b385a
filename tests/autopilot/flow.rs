//! Tasks that go well in the end: one after another and side by side.

use serde_json::{Value, json};

use super::{Field, notes, outcome, waits_for, writes};
use crate::executions::senders;
use crate::harness::{text, wait_for};

#[test]
fn a_diamond_of_tasks_is_worked_off_in_its_order_and_merged() {
    let field = Field::new();
    let step = |name: &str| {
        format!(
            "  - steps:\n{}      - write: {{file: {name}.txt, text: \"{name}\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
            notes(&field.file("order"), name)
        )
    };
    let check = |names: &str| {
        let all = format!("for f in {names}; do test -s $f.txt || exit 1; done");
        json!([{"run": ["sh", "-c", all]}])
    };
    let top = field.task("top", &step("top"), json!({"checks": check("top")}));
    let left = field.task(
        "left",
        &step("left"),
        json!({"depends_on": [top], "checks": check("top left")}),
    );
    let right = field.task(
        "right",
        &step("right"),
        json!({"depends_on": [top], "checks": check("top right")}),
    );
    let end = field.task(
        "end",
        &step("end"),
        json!({"depends_on": [left, right], "checks": check("top left right end")}),
    );
    for task in [&top, &left, &right, &end] {
        let details = field.wait_status(task, "done");
        assert_eq!(outcome(&details, 0), "verified");
        assert_eq!(details["attempts"][0]["claim"]["kind"], "completed");
        let evidence = details["evidence"].as_array().unwrap();
        // Twice for the one of two that was overtaken by the other.
        assert!((1..=2).contains(&evidence.len()), "{evidence:?}");
        assert!(evidence.iter().all(|said| said["exit"] == 0));
        assert_eq!(evidence[0]["commit"].as_str().unwrap().len(), 40);
    }
    // What was said for each task is found by it, in the repository's name.
    for task in [&top, &left, &right, &end] {
        let mut said = Value::Null;
        wait_for("its conversation", || {
            said = field.home.json(&["conversation", "list", "--task", task]);
            said["conversations"][0]["turns"] == 1
        });
        let one = &said["conversations"][0];
        let repository = field.repository().canonicalize().unwrap();
        assert_eq!(one["project"], repository.display().to_string());
        assert_eq!(one["task"], field.show(task)["task"]["id"]);
    }
    let order = field.lines("order");
    assert_eq!(order.len(), 4, "each agent had its prompt once: {order:?}");
    assert_eq!([&order[0][..], &order[3][..]], ["top", "end"]);
    for file in ["top", "left", "right", "end"] {
        assert_eq!(field.on_main(&format!("{file}.txt")), file);
    }
    // The checkout the person has open has followed.
    assert!(field.repository().join("end.txt").exists());
    field.wait_for_quiet();
    let ended = field.home.json(&["execution", "list", "--all"]);
    for execution in ended["executions"].as_array().unwrap() {
        assert_eq!(execution["lifecycle"], "completed", "{execution}");
        // The person has put tasks on the board and spoken to nobody.
        let id = execution["execution"].as_str().unwrap();
        let senders = senders(&field.home.json(&["execution", "show", id]));
        assert!(!senders.is_empty(), "{execution}");
        assert!(senders.iter().all(|from| *from == "daemon"), "{senders:?}");
    }
    wait_for("the worktrees to be gone", || {
        field.git(&["worktree", "list"]).lines().count() == 1
    });
}

/// Two tasks whose agents wait until the test lets them go on.
fn two_that_wait(field: &Field, more: &[Value; 2]) -> [String; 2] {
    ["first", "second"].map(|name| {
        let turns = format!(
            "  - steps:\n{}{}      - write: {{file: {name}.txt, text: \"x\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
            notes(&field.file("started"), name),
            waits_for(&field.file("go")),
        );
        let more = &more[usize::from(name == "second")];
        field.task(name, &turns, more.clone())
    })
}

fn wait_reason(field: &Field, task: &str) -> String {
    let waiting = field.home.json(&["call", "board_ready", "{}"]);
    let waiting = waiting["waiting"].as_array().unwrap().clone();
    let number: Value = task.trim_start_matches("T-").parse::<i64>().unwrap().into();
    let one = waiting
        .iter()
        .find(|one| one["task"]["number"] == number || one["task"]["number"] == task);
    one.map_or_else(String::new, |one| {
        one["waits"][0]["sentence"].as_str().unwrap().to_owned()
    })
}

#[test]
fn no_more_agents_work_at_once_than_may() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\nmax_agents = 1\n");
    let tasks = two_that_wait(&field, &[json!({}), json!({})]);
    wait_for("the first agent", || field.lines("started").len() == 1);
    let status = field.home.json(&["autopilot", "status"]);
    assert_eq!(status["attempts"].as_array().unwrap().len(), 1);
    field.touch("go");
    for task in &tasks {
        field.wait_status(task, "done");
    }
    assert_eq!(field.lines("started").len(), 2);
}

#[test]
fn tasks_that_touch_the_same_paths_never_run_together() {
    let field = Field::new();
    let touching = |glob: &str| json!({"touches": [glob]});
    let tasks = two_that_wait(&field, &[touching("src/**"), touching("src/a.rs")]);
    wait_for("the first agent", || field.lines("started").len() == 1);
    let why = wait_reason(&field, &tasks[1]);
    assert!(why.contains("touches the same paths"), "{why}");
    field.touch("go");
    for task in &tasks {
        field.wait_status(task, "done");
    }
}

#[test]
fn a_failing_check_goes_back_to_the_same_conversation_and_passes_then() {
    let field = Field::new();
    let turns = r#"
  - steps:
      - write: {file: answer.txt, text: "41\n"}
      - signal: {type: completed_claim, payload: {summary: It is 41.}}
  - when: {contains: "exit code 1"}
    steps:
      - write: {file: answer.txt, text: "42\n"}
      - signal: {type: completed_claim, payload: {summary: It is 42.}}
"#;
    let check = "grep -q 42 answer.txt || { echo it must be forty-two; exit 1; }";
    let checks = json!([{"name": "answer", "run": ["sh", "-c", check]}]);
    let task = field.task("answer", turns, json!({"checks": checks}));
    let details = field.wait_status(&task, "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(details["attempts"][0]["check_rounds"], 2);
    assert_eq!(field.on_main("answer.txt"), "42");
    let finished = field.events("checks_finished");
    let failed: Vec<_> = finished
        .iter()
        .map(|event| event["failed"].clone())
        .collect();
    assert_eq!(failed, [json!(1), json!(0)]);
    let execution = details["attempts"][0]["execution"].as_str().unwrap();
    let shown = field.home.json(&["execution", "show", execution]);
    let told: Vec<_> = shown["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["title"] == "prompt")
        .map(|item| item["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told[1].contains("it must be forty-two"), "{told:?}");
}

#[test]
fn a_check_that_hangs_is_ended_and_counts_as_failed() {
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n");
    let checks = json!([{"run": ["sh", "-c", "sleep 600"], "timeout_secs": 1}]);
    let task = field.task("hangs", &writes("a.txt", "x"), json!({"checks": checks}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "checks_failed");
    assert_eq!(details["evidence"][0]["timed_out"], true);
    field.wait_for_quiet();
}

#[test]
fn a_check_that_does_not_exist_is_for_a_person() {
    let field = Field::new();
    let checks = json!([{"run": ["no-such-program"]}]);
    let task = field.task("nothing", &writes("a.txt", "x"), json!({"checks": checks}));
    let details = field.wait_status(&task, "blocked");
    assert_eq!(outcome(&details, 0), "needs_person");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("`no-such-program` cannot be run"), "{why}");
}

/// Changes the same line of the same file, after the other has begun.
fn rival(field: &Field, word: &str, mends: bool) -> String {
    let mend = format!(
        "  - when: {{contains: git merge}}\n    steps:\n      \
         - run: {{argv: [sh, -c, \"git merge main; printf 'both {word}\\\\n' > list.txt; git add -A; git commit -qm Both\"]}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Merged.}}}}\n"
    );
    let keep = "  - uses: always\n    steps:\n      - signal: {type: completed_claim, payload: {summary: As it was.}}\n";
    format!(
        "  - steps:\n{}{}      - write: {{file: list.txt, text: \"{word}\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n{}",
        notes(&field.file("started"), word),
        waits_for(&field.file(&format!("go-{word}"))),
        if mends { mend.as_str() } else { keep },
    )
}

#[test]
fn a_conflict_goes_back_to_the_agent_once_and_then_to_the_person() {
    for mends in [true, false] {
        let field = Field::new();
        let first = field.task("first", &rival(&field, "first", true), json!({}));
        let second = field.task("second", &rival(&field, "second", mends), json!({}));
        wait_for("both agents", || field.lines("started").len() == 2);
        field.touch("go-first");
        field.wait_status(&first, "done");
        field.touch("go-second");
        if mends {
            let details = field.wait_status(&second, "done");
            assert_eq!(details["attempts"][0]["check_rounds"], 2);
            assert_eq!(field.on_main("list.txt"), "both second");
        } else {
            let details = field.wait_status(&second, "blocked");
            assert_eq!(outcome(&details, 0), "conflict");
            let inbox = field.home.json(&["inbox"]);
            let asked = &inbox["questions"][0];
            let text = format!("{}\n{}", asked["question"], asked["context"]);
            assert!(text.contains("list.txt"), "{text}");
            let shown = field.home.mission(&["inbox"]).stdout;
            let shown = String::from_utf8(shown).unwrap();
            for help in ["mission task edit", "try again", "mission worktree finish"] {
                assert!(shown.contains(help), "{shown}");
            }
            assert_eq!(
                field.on_main("list.txt"),
                "first",
                "nothing was overwritten"
            );
            let worktree = details["attempts"][0]["worktree"].as_str().unwrap();
            assert!(std::path::Path::new(worktree).exists(), "the work is kept");
            field.home.json(&["autopilot", "stop"]);
            let number = format!("Q-{}", asked["number"]);
            let answered = field.home.mission(&["answer", &number, "keep both words"]);
            let said = String::from_utf8(answered.stdout).unwrap();
            assert!(
                said.contains("The answer is kept. The autopilot is stopped")
                    && said.contains("until `mission autopilot resume`"),
                "{said}"
            );
        }
        field.wait_for_quiet();
    }
}

#[test]
fn phases_are_asked_for_one_after_the_other() {
    let field = Field::new();
    let turns = format!(
        "  - when: {{contains: Make a plan}}\n    steps:\n{}      - say: First this, then that.\n  \
         - when: {{contains: carry the plan out}}\n    steps:\n{}      \
         - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        notes(&field.file("phases"), "plan"),
        notes(&field.file("phases"), "execute"),
    );
    let task = field.task("phased", &turns, json!({"phases": ["plan", "execute"]}));
    field.wait_status(&task, "done");
    assert_eq!(field.lines("phases"), ["plan", "execute"]);
    let changed = field.events("board_phase_changed");
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["to"], "execute");
}

#[test]
fn an_agent_may_ask_the_daemon_while_its_own_task_runs() {
    let field = Field::new();
    let list = field.file("asked.json");
    let binary = crate::harness::binary();
    let ask = format!(
        "'{}' --json autopilot status > '{}'",
        binary.display(),
        list.display()
    );
    let turns = format!(
        "  - steps:\n      - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        json!(ask)
    );
    let task = field.task("asks", &turns, json!({}));
    field.wait_status(&task, "done");
    let seen: Value = serde_json::from_slice(&std::fs::read(list).unwrap()).unwrap();
    assert_eq!(seen["attempts"].as_array().unwrap().len(), 1, "its own");
}

#[test]
fn a_paused_autopilot_begins_nothing_and_a_stopped_one_ends_what_runs() {
    let field = Field::new();
    field
        .home
        .json(&["autopilot", "pause", "--reason", "lunch"]);
    let tasks = two_that_wait(&field, &[json!({}), json!({})]);
    let status = field.home.json(&["autopilot", "status"]);
    assert_eq!([&status["mode"], &status["reason"]], ["paused", "lunch"]);
    assert_eq!(status["attempts"], json!([]));
    field.home.kill();
    field.home.start();
    let status = field.home.json(&["autopilot", "status"]);
    assert_eq!(status["mode"], "paused", "it survives a crash");
    assert_eq!(field.lines("started"), [""; 0]);

    field.resume();
    wait_for("both agents", || field.lines("started").len() == 2);
    field.home.json(&["autopilot", "stop"]);
    field.wait_for_quiet();
    for task in &tasks {
        let details = field.show(task);
        assert_eq!(details["task"]["status"], "open", "given back");
        assert_eq!(outcome(&details, 0), "superseded");
        assert_eq!(details["task"]["tries"], 0, "nobody failed");
    }
    field.touch("go");
    field.resume();
    for task in &tasks {
        field.wait_status(task, "done");
    }
    field.home.json(&["autopilot", "drain"]);
    wait_for("the drain to end", || {
        field.home.json(&["autopilot", "status"])["mode"] == "paused"
    });
}

#[test]
fn bad_repositories_are_for_a_person_with_a_sentence() {
    let field = Field::new();
    let empty = field.file("empty");
    std::fs::create_dir(&empty).unwrap();
    let init = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&empty)
        .output()
        .unwrap();
    assert!(init.status.success(), "{}", text(&init.stderr));
    // What could never be worked on is refused before it is on the board.
    let refused = [
        (
            json!({"repository": field.folder.path()}),
            "is in no git repository",
        ),
        (
            json!({"repository": field.repository(), "base": "no-such-branch"}),
            "has no commit called `no-such-branch`",
        ),
        (
            json!({"engine": "nope", "isolation": "none"}),
            "there is no engine `nope`",
        ),
        (
            json!({"engine": "rehearsal", "isolation": "none"}),
            "name one after `--`",
        ),
    ];
    for (mut task, sentence) in refused {
        task["title"] = json!("bad");
        let params = json!({"task": task}).to_string();
        let (code, said) = field.home.failure(&["call", "board_add", &params]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(sentence), "{said}");
    }
    // What breaks after that is for a person.
    field.home.json(&["autopilot", "pause"]);
    field.git(&["branch", "short-lived"]);
    let gone = json!({"base": "short-lived"});
    let gone = field.task("gone base", &writes("a.txt", "x"), gone);
    field.git(&["branch", "-D", "short-lived"]);
    let empty = field.task("empty", &writes("a.txt", "x"), json!({"repository": empty}));
    field.resume();
    for (task, sentence) in [
        (gone, "has no commit called `short-lived`"),
        (empty, "has no commits yet"),
    ] {
        let details = field.wait_status(&task, "blocked");
        let why = details["task"]["blocked"].as_str().unwrap();
        assert!(why.contains(sentence), "{why}");
    }
    // A detached head has no branch to bring the work back to.
    field.git(&["checkout", "--quiet", "--detach"]);
    let task = field.task("detached", &writes("a.txt", "x"), json!({}));
    let details = field.wait_status(&task, "blocked");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("detached head"), "{why}");
}

#[test]
fn work_is_not_merged_over_changes_the_person_has_not_committed() {
    let field = Field::new();
    let task = field.task("dirty", &writes("list.txt", "two"), json!({}));
    std::fs::write(field.repository().join("list.txt"), "mine\n").unwrap();
    let details = field.wait_status(&task, "blocked");
    let why = details["task"]["blocked"].as_str().unwrap();
    assert!(why.contains("changes that are not committed"), "{why}");
    let mine = std::fs::read_to_string(field.repository().join("list.txt")).unwrap();
    assert_eq!(mine, "mine\n");
}

#[test]
fn work_that_others_have_overtaken_is_checked_again_together_with_theirs() {
    let field = Field::new();
    // Each is right alone; together they are not, until one makes room.
    let check = "n=$(ls part-* | wc -l); [ $n -le 1 ] || { echo there are $n parts; exit 1; }";
    let checks = json!([{"run": ["sh", "-c", check]}]);
    let turns = |name: &str| {
        format!(
            "  - steps:\n{}{}      - write: {{file: part-{name}, text: \"x\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n  \
             - when: {{contains: there are 2 parts}}\n    steps:\n      \
             - run: {{argv: [rm, part-first], exit: 0}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: One is left.}}}}\n",
            notes(&field.file("started"), name),
            waits_for(&field.file(&format!("go-{name}"))),
        )
    };
    let first = field.task("first", &turns("first"), json!({"checks": checks}));
    let second = field.task("second", &turns("second"), json!({"checks": checks}));
    wait_for("both agents", || field.lines("started").len() == 2);
    field.touch("go-first");
    field.wait_status(&first, "done");
    field.touch("go-second");
    let details = field.wait_status(&second, "done");
    let passed: Vec<_> = details["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| said["passed"].as_bool().unwrap())
        .collect();
    assert_eq!(passed, [true, false, true], "{details:#}");
    let parts = field.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        parts.contains("part-second") && !parts.contains("part-first"),
        "{parts}"
    );
}

#[test]
fn a_worktree_has_only_the_folders_its_repository_says() {
    let field = Field::new();
    for folder in ["wanted", "large", ".mission"] {
        let folder = field.repository().join(folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("file"), "x\n").unwrap();
    }
    let config = field.repository().join(".mission/config.toml");
    std::fs::write(config, "sparse = [\"wanted\"]\n").unwrap();
    field.git(&["add", "--all"]);
    field.git(&["commit", "--quiet", "-m", "Folders"]);
    let list = format!("ls > '{}'", field.file("seen").display());
    let turns = format!(
        "  - steps:\n      - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - write: {{file: wanted/more, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        json!(list)
    );
    let task = field.task("sparse", &turns, json!({}));
    field.wait_status(&task, "done");
    assert_eq!(field.lines("seen"), ["list.txt", "wanted"]);
    assert_eq!(field.on_main("large/file"), "x", "the rest is not lost");
    assert_eq!(field.on_main("wanted/more"), "x");
}

/// From the card to the merge, whoever had a hand in it: one chain, in which every
/// event but the first names the one that caused it.
#[test]
fn the_story_of_a_task_is_one_causal_chain() {
    let field = Field::new();
    let checks = json!({"checks": [{"run": ["test", "-s", "a.txt"]}]});
    let task = field.task("told", &writes("a.txt", "x"), checks);
    field.wait_status(&task, "done");
    field.wait_for_quiet();
    let kind = |event: &Value| event["event"]["type"].as_str().unwrap().to_owned();
    let all = field.home.events();
    let created = all.iter().find(|one| kind(one) == "board_task_created");
    let params = json!({"trace_id": created.unwrap()["trace_id"]});
    let mut chain = Vec::new();
    wait_for("the slot to be closed in the chain", || {
        let answer = field.home.call("timeline_trace", &params);
        chain = answer["events"].as_array().unwrap().clone();
        let ends = ["slot_closed", "execution_ended"];
        ends.iter()
            .all(|end| chain.iter().any(|one| kind(one) == *end))
    });
    let told = field.home.mission(&["timeline", "trace", &task]);
    let told = text(&told.stdout);
    assert!(told.starts_with(&format!("{task} told, trace ")), "{told}");
    assert!(told.contains("execution_ended"), "{told}");
    let parent = |of: &str| {
        let event = chain.iter().find(|one| kind(one) == of);
        let event = event.unwrap_or_else(|| panic!("{of} is not in the chain"));
        let above = chain
            .iter()
            .find(|one| one["span_id"] == event["parent_span_id"]);
        above.map(kind)
    };
    assert_eq!(parent("board_task_created"), None);
    for (event, cause) in [
        ("board_task_claimed", "board_task_created"),
        ("execution_started", "board_task_claimed"),
        ("checks_finished", "board_task_claimed"),
        ("slot_created", "execution_started"),
        ("message_delivery", "execution_started"),
        ("execution_state_changed", "execution_started"),
        ("slot_closed", "slot_created"),
        ("execution_signal", "execution_started"),
        ("execution_ended", "execution_started"),
    ] {
        assert_eq!(
            parent(event).as_deref(),
            Some(cause),
            "the cause of {event}"
        );
    }
}
