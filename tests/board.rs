//! The board through the real daemon: what people type, what they are told, and
//! what is refused.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{TestHome, text};

/// A folder that looks like a repository, with a name that needs care.
fn repository(home: &TestHome) -> PathBuf {
    let folder = home.path().join("it's a \"repo\"");
    std::fs::create_dir_all(&folder).unwrap();
    let begin = ["commit", "--quiet", "--allow-empty", "-m", "Begin"];
    let who = [
        "-c",
        "user.name=Tester",
        "-c",
        "user.email=tester@localhost",
    ];
    for args in [&["init", "--quiet"][..], &[&who[..], &begin[..]].concat()] {
        let git = std::process::Command::new("git")
            .args(args)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(git.status.success(), "{}", text(&git.stderr));
    }
    folder
}

/// Adds a task that needs no repository, with more arguments.
fn add(home: &TestHome, title: &str, more: &[&str]) -> Value {
    let args = [&["task", "add", title, "--isolation", "none"], more].concat();
    home.json(&args)
}

fn stdout_of(home: &TestHome, args: &[&str]) -> String {
    let output = home.mission(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn a_diamond_is_added_explained_and_drawn() {
    let home = TestHome::started();
    assert!(stdout_of(&home, &["task", "list"]).starts_with("There are no such tasks."));
    let top = add(&home, "Top \"quoted\" it's", &["--priority", "high"]);
    assert_eq!(top["task"]["number"], "T-1");
    assert_eq!(top["waits"], json!([]));
    add(&home, "Left", &["--after", "T-1", "--label", "a b"]);
    add(&home, "Right", &["--after", "1"]);
    let added = stdout_of(
        &home,
        &[
            "task",
            "add",
            "Bottom",
            "--isolation",
            "none",
            "--after",
            "T-2,T-3",
        ],
    );
    assert_eq!(
        added,
        "T-4 is on the board; it waits for T-2; waits for T-3.\n\
         Nobody works on it yet: `mission autopilot resume` has agents do so."
    );

    let ready = home.json(&["task", "ready"]);
    assert_eq!(ready["ready"][0]["number"], "T-1");
    assert_eq!(ready["ready_total"], 1);
    let sentences: Vec<_> = ready["waiting"]
        .as_array()
        .unwrap()
        .iter()
        .map(|waiting| waiting["waits"][0]["sentence"].as_str().unwrap())
        .collect();
    assert_eq!(
        sentences,
        ["waits for T-1", "waits for T-1", "waits for T-2"]
    );
    let shown = stdout_of(&home, &["task", "ready"]);
    assert!(shown.contains("Ready (1)\n  T-1  Top"), "{shown}");
    assert!(shown.contains("Waiting (3)"), "{shown}");

    assert_eq!(
        stdout_of(&home, &["task", "graph"]),
        "T-1 open  Top \"quoted\" it's\n├─ T-2 open  Left\n└─ T-3 open  Right\n   \
         └─ T-4 open  Bottom (also after T-2)"
    );
    let dot = stdout_of(&home, &["task", "graph", "T-2", "--dot"]);
    assert!(dot.contains("\"T-2\" -> \"T-4\";"), "{dot}");
    assert!(dot.contains("Top \\\"quoted\\\" it's"), "{dot}");

    let (code, cycle) = home.failure(&["task", "edit", "T-1", "--after", "T-4"]);
    assert_eq!(code, 5);
    assert!(
        cycle.contains("these tasks would wait for each other: "),
        "{cycle}"
    );
    assert!(
        cycle.matches("T-1").count() == 2 || cycle.matches("T-4").count() == 2,
        "{cycle}"
    );

    let listed = home.json(&["task", "list", "--label", "a b"]);
    assert_eq!(listed["total"], 1);
    assert_eq!(listed["tasks"][0]["title"], "Left");
    let table = stdout_of(&home, &["task", "list"]);
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("T-1   open    high"),
        "{table}"
    );
    let kinds = home.kinds();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| *kind == "board_task_created")
            .count(),
        4
    );
}

#[test]
fn a_task_is_edited_noted_cancelled_and_retried() {
    let home = TestHome::started();
    let repository = repository(&home);
    let repository = repository.to_str().unwrap();
    let added = home.json(&[
        "task",
        "add",
        "Fix it",
        "--repository",
        repository,
        "--check",
        "sh -c 'exit 0'",
        "--touches",
        "src/a b/**",
        "--due",
        "2d",
        "--engine",
        "codex",
        "--phases",
        "plan,execute",
        "--",
        "--flag",
        "two words",
    ]);
    let id = added["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(added["task"]["repository"], repository);
    assert_eq!(
        added["task"]["checks"][0]["run"],
        json!(["sh", "-c", "exit 0"])
    );
    assert_eq!(added["task"]["args"], json!(["--flag", "two words"]));
    assert_eq!(added["task"]["phase"], "plan");

    stdout_of(&home, &["task", "note", &id, "look at 'this'"]);
    stdout_of(
        &home,
        &[
            "task",
            "edit",
            "T-1",
            "--title",
            "Fix it well",
            "--clear",
            "due,engine",
        ],
    );
    stdout_of(&home, &["task", "edit", "T-1", "--phase", "execute"]);
    let shown = home.json(&["task", "show", &id]);
    assert_eq!(shown["task"]["title"], "Fix it well");
    assert_eq!(shown["task"]["due"], Value::Null);
    assert_eq!(shown["task"]["engine"], Value::Null);
    assert_eq!(shown["task"]["phase"], "execute");
    assert_eq!(shown["notes"][0]["text"], "look at 'this'");
    let read = stdout_of(&home, &["task", "show", "T-1"]);
    assert!(read.contains("T-1  Fix it well"), "{read}");
    assert!(read.contains("touches     src/a b/**"), "{read}");
    let (code, wrong) = home.failure(&["task", "edit", "T-1", "--phase", "investigate"]);
    assert_eq!(code, 5, "{wrong}");
    let (_, nothing) = home.failure(&["task", "edit", "T-1"]);
    assert!(nothing.contains("nothing is to be changed"), "{nothing}");

    assert_eq!(
        stdout_of(&home, &["task", "cancel", "T-1", "--reason", "not needed"]),
        "T-1 is cancelled."
    );
    let read = stdout_of(&home, &["task", "show", "T-1"]);
    assert!(read.contains("cancelled: not needed"), "{read}");
    let overview = home.call("overview", &json!({}));
    assert_eq!(overview["finished"][0]["kind"], "cancelled", "{overview}");
    let failed = home.json(&["task", "show", "T-1"]);
    assert_eq!(failed["task"]["status"], "failed");
    assert_eq!(failed["task"]["blocked"], "not needed");
    assert_eq!(home.json(&["task", "retry", "T-1"])["status"], "open");
    assert!(home.kinds().contains(&"board_phase_changed".to_owned()));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let home = TestHome::started();
    let repository = repository(&home);
    let repository = repository.to_str().unwrap();
    let nowhere = |args: &[&str]| {
        let mut command = home.command(args);
        let output = command.current_dir(home.path()).output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (code, error) = nowhere(&["task", "add", "No home"]);
    assert_eq!(code, 2);
    assert!(
        error.contains("the task has no repository to work in"),
        "{error}"
    );
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["x", "--repository", "/no/such/place"],
            2,
            "there is no folder /no/such/place",
        ),
        (
            &["x", "--isolation", "none", "--after", "T-7"],
            4,
            "there is no task T-7",
        ),
        (
            &["x", "--isolation", "none", "--parent", "T-7"],
            4,
            "there is no task T-7",
        ),
        (
            &["x", "--isolation", "none", "--after", "seven"],
            2,
            "`seven` names no task",
        ),
        (&["  ", "--isolation", "none"], 2, "the task has no title"),
        (
            &["x", "--isolation", "none", "--touches", "/etc"],
            2,
            "leaves the repository",
        ),
        (
            &["x", "--isolation", "none", "--check", "a 'b"],
            2,
            "is opened and not closed",
        ),
        (
            &["x", "--isolation", "none", "--permission", "all"],
            2,
            "`all` is not a permission",
        ),
        (
            &["x", "--isolation", "none", "--template", "../x"],
            4,
            "there is no template `../x`",
        ),
    ];
    for (args, code, sentence) in cases {
        let args = [&["task", "add"], args].concat();
        let (exit, error) = nowhere(&args);
        assert!(error.contains(sentence), "{args:?}: {error}");
        assert_eq!(exit, code, "{args:?}: {error}");
    }
    let (code, error) = home.failure(&["task", "show", "T-99"]);
    assert_eq!((code, error.as_str()), (4, "error: there is no task T-99"));
    assert_eq!(
        home.json(&["task", "list", "--all"])["total"],
        0,
        "nothing was kept"
    );

    let missing = home.json(&[
        "task",
        "add",
        "Checked",
        "--repository",
        repository,
        "--check",
        "no-such-program --now",
    ]);
    assert_eq!(
        missing["warnings"][0],
        "the check `no-such-program --now` cannot run now: there is no program `no-such-program`"
    );
}

#[test]
fn templates_and_the_repository_fill_a_task_in() {
    let home = TestHome::started();
    let repository = repository(&home);
    let folder = repository.join(".mission");
    std::fs::create_dir_all(folder.join("templates")).unwrap();
    let repository = repository.to_str().unwrap();
    let defaults = folder.join("config.toml");
    std::fs::write(
        &defaults,
        "checks = [[\"true\"], { run = [\"sh\", \"-c\", \"exit 3\"], expected_exit = 3 }]\n\
         finish = \"branch\"\nengine = \"codex\"\n",
    )
    .unwrap();
    std::fs::write(
        folder.join("templates/chore.yaml"),
        "priority: low\nlabels: [chore]\nengine: gemini\n",
    )
    .unwrap();
    let add = |title: &str, more: &[&str]| {
        home.json(&[&["task", "add", title, "--repository", repository], more].concat())["task"]
            .clone()
    };
    let plain = add("Plain", &[]);
    assert_eq!(plain["finish"], "branch");
    assert_eq!(plain["engine"], "codex");
    assert_eq!(plain["checks"][1]["expected_exit"], 3);
    let chore = add("Chore", &["--template", "chore", "--label", "mine"]);
    assert_eq!(
        chore["engine"], "gemini",
        "the template comes before the repository"
    );
    assert_eq!(
        chore["labels"],
        json!(["mine"]),
        "what is said comes before the template"
    );
    assert_eq!(chore["priority"], "low");

    let refuse = |args: &[&str]| {
        let args = [&["task", "add", "x", "--repository", repository], args].concat();
        home.failure(&args)
    };
    let (_, unknown) = refuse(&["--template", "chores"]);
    assert!(
        unknown.contains("there is no template `chores`; there are chore"),
        "{unknown}"
    );
    std::fs::write(
        folder.join("templates/bad.yaml"),
        "priority: low\nlabel: [x]\n",
    )
    .unwrap();
    let (code, bad) = refuse(&["--template", "bad"]);
    assert_eq!(code, 7);
    assert!(
        bad.contains("bad.yaml, line 2: unknown field `label`"),
        "{bad}"
    );
    std::fs::write(&defaults, "finish = \"branch\"\n\ncheks = []\n").unwrap();
    let (code, bad) = refuse(&[]);
    assert_eq!(code, 7);
    assert!(
        bad.contains("config.toml, line 3: unknown field `cheks`"),
        "{bad}"
    );
}

#[test]
fn a_task_is_divided_into_steps_or_stays_whole() {
    let home = TestHome::started();
    add(&home, "Before", &[]);
    add(&home, "Big", &["--after", "T-1", "--priority", "urgent"]);
    add(&home, "After", &["--after", "T-2"]);
    let divide = |steps: &[&'static str]| {
        let steps: Vec<_> = steps.iter().flat_map(|step| ["--step", *step]).collect();
        [&["task", "decompose", "T-2"], steps.as_slice()].concat()
    };
    let cases: [(&[&'static str], &str); 3] = [
        (&["a(b): A", "b(a): B"], "“A” → “B” → “A”"),
        (
            &["a: A", "b(c): B"],
            "step 2 (`b`): it depends on `c`, which is no step and no task",
        ),
        (
            &["a: A", "b(T-3): B"],
            "these tasks would wait for each other",
        ),
    ];
    for (steps, sentence) in cases {
        let (_, error) = home.failure(&divide(steps));
        let turned = sentence.replace("“A” → “B” → “A”", "“B” → “A” → “B”");
        assert!(
            error.contains(sentence) || error.contains(&turned),
            "{error}"
        );
    }
    assert_eq!(home.json(&["task", "list"])["total"], 3, "nothing was kept");
    let divided = home.json(&divide(&["a: First", "b(a): Second"]));
    assert_eq!(divided["steps"][1]["number"], "T-5");
    assert_eq!(divided["steps"][0]["priority"], "urgent");
    let parent = home.json(&["task", "show", "T-2"]);
    let waits: Vec<_> = parent["waits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wait| wait["sentence"].as_str().unwrap())
        .collect();
    assert_eq!(waits, ["waits for T-1", "waits for T-4", "waits for T-5"]);
    assert_eq!(parent["children"].as_array().unwrap().len(), 2);
    let first = home.json(&["task", "show", "T-4"]);
    assert_eq!(first["parent"]["number"], "T-2");
    assert_eq!(first["depends_on"][0]["number"], "T-1");
}

#[test]
fn ten_thousand_tasks_come_in_whole_or_not_at_all() {
    const TASKS: usize = 10_000;
    const BAD: usize = 7_321;
    let home = TestHome::started();
    let mut lines = String::new();
    for number in 1..=TASKS {
        let before = match number % 10 {
            1 => String::new(),
            _ => format!(", \"depends_on\": [\"k{}\"]", number - 1),
        };
        writeln!(
            lines,
            "{{\"key\": \"k{number}\", \"title\": \"Task {number}\", \"isolation\": \"none\"{before}}}"
        )
        .unwrap();
    }
    let file = home.path().join("big.jsonl");
    let bad = lines.replace(&format!("\"title\": \"Task {BAD}\""), "\"title\": \" \"");
    std::fs::write(&file, bad).unwrap();
    let path = file.to_str().unwrap();
    let (code, error) = home.failure(&["task", "import", path]);
    assert_eq!(code, 2);
    assert!(
        error.contains(&format!("line {BAD}: the task has no title"))
            && error.contains("nothing was imported"),
        "{error}"
    );
    assert_eq!(home.json(&["task", "list", "--all"])["total"], 0);
    std::fs::write(
        &file,
        lines.replace("\"key\": \"k500\"", "\"key\": \"k499\""),
    )
    .unwrap();
    let (_, error) = home.failure(&["task", "import", path]);
    assert!(
        error.contains("line 500: the key `k499` is taken by line 499"),
        "{error}"
    );

    std::fs::write(&file, &lines).unwrap();
    let dry = home.json(&["task", "import", path, "--dry-run"]);
    assert_eq!(dry, json!({"tasks": TASKS}));
    let taken = home.json(&["task", "import", path]);
    assert_eq!(
        taken,
        json!({"tasks": TASKS, "first": "T-1", "last": format!("T-{TASKS}")})
    );
    let ready = home.json(&["task", "ready", "--limit", "1"]);
    assert_eq!(ready["ready_total"], TASKS / 10);
    assert_eq!(ready["open_total"], TASKS);
    let left = std::fs::read_dir(home.home().exchange_dir())
        .unwrap()
        .count();
    assert_eq!(left, 0, "nothing stays behind in the exchange folder");
}

#[test]
fn a_board_goes_out_and_comes_in_again() {
    let home = TestHome::started();
    let described = "First line\n\n- [ ] not a task\n```\ncode\n```";
    add(
        &home,
        "One: \"it's\" --> <!-- odd",
        &["--description", described],
    );
    add(
        &home,
        "Two",
        &["--after", "T-1", "--label", "a>b", "--touches", "src/**"],
    );
    add(
        &home,
        "Three",
        &[
            "--parent",
            "T-2",
            "--check",
            "cargo test",
            "--priority",
            "low",
        ],
    );
    stdout_of(&home, &["task", "note", "T-2", "a note"]);
    stdout_of(&home, &["task", "cancel", "T-3", "--reason", "no"]);
    let exported = stdout_of(&home, &["task", "export"]);
    let markdown = home.path().join("board.md");
    let markdown = markdown.to_str().unwrap();
    stdout_of(
        &home,
        &["task", "export", "--format", "markdown", "-o", markdown],
    );
    assert!(stdout_of(&home, &["task", "export", "--format", "markdown"]).contains("- [-] Three"));

    let file = home.path().join("board.jsonl");
    std::fs::write(&file, &exported).unwrap();
    for file in [file.to_str().unwrap(), markdown] {
        let other = TestHome::started();
        assert_eq!(other.json(&["task", "import", file])["tasks"], 3);
        assert_eq!(stdout_of(&other, &["task", "export"]), exported, "{file}");
    }
}

#[test]
fn other_tools_boards_come_in() {
    let home = TestHome::started();
    let repository = repository(&home);
    let repository = repository.to_str().unwrap();
    let beads = home.path().join("issues.jsonl");
    std::fs::write(
        &beads,
        "{\"id\":\"bd-1\",\"title\":\"Old\",\"status\":\"closed\",\"issue_type\":\"bug\"}\n\
         {\"id\":\"bd-2\",\"title\":\"New\",\"status\":\"open\",\"priority\":0,\"dependencies\":\
         [{\"issue_id\":\"bd-2\",\"depends_on_id\":\"bd-1\",\"type\":\"blocks\"}]}\n",
    )
    .unwrap();
    let beads = beads.to_str().unwrap();
    home.json(&["task", "import", beads, "--repository", repository]);
    let ready = home.json(&["task", "ready"]);
    assert_eq!(ready["ready"][0]["title"], "New");
    assert_eq!(ready["ready"][0]["priority"], "urgent");

    let kanban = home.path().join("db.sqlite");
    rusqlite::Connection::open(&kanban)
        .unwrap()
        .execute_batch(&format!(
            "CREATE TABLE projects (id BLOB, name TEXT, git_repo_path TEXT);
             INSERT INTO projects VALUES (X'01', 'app', '{}');
             CREATE TABLE tasks (id BLOB, project_id BLOB, title TEXT, description TEXT, \
                 status TEXT, created_at TEXT, updated_at TEXT);
             INSERT INTO tasks VALUES (X'02', X'01', 'From the board', 'text', 'inprogress', \
                 '2026-01-04 10:00:00', '2026-01-04 10:00:00');",
            repository.replace('\'', "''")
        ))
        .unwrap();
    home.json(&["task", "import", kanban.to_str().unwrap()]);
    let shown = home.json(&["task", "show", "T-3"]);
    assert_eq!(shown["task"]["title"], "From the board");
    assert_eq!(shown["task"]["repository"], repository);

    // Nobody makes the daemon read another file.
    let params = json!({"format": "jsonl", "file": "../mission.db"});
    let (_, refused) = home.failure(&["call", "board_import", &params.to_string()]);
    assert!(
        refused.contains("is not the name of a file in"),
        "{refused}"
    );
}

#[test]
fn a_board_survives_its_daemon() {
    let home = TestHome::started();
    add(&home, "Kept", &[]);
    home.kill();
    let listed = home.json(&["task", "list"]);
    assert_eq!(listed["tasks"][0]["title"], "Kept");
}

#[test]
fn a_file_that_was_imported_is_not_imported_again_by_accident() {
    let home = TestHome::started();
    let file = home.path().join("plan.md");
    let text = "# Plan\n\nFirst things first.\n\n- [ ] One\n- [ ] Two\n- [?] Three\n";
    std::fs::write(&file, text).unwrap();
    let args = [
        "task",
        "import",
        file.to_str().unwrap(),
        "--isolation",
        "none",
    ];
    let imported = home.json(&args);
    assert_eq!(imported["tasks"], 2);
    assert_eq!(
        imported["passed_over"],
        json!([3, 7]),
        "and it is said which"
    );
    let (code, said) = home.failure(&args);
    assert_eq!(code, 5, "{said}");
    assert!(
        said.contains("all 2 tasks of this file are on the board"),
        "{said}"
    );
    let again = home.json(&[&args[..], &["--again"]].concat());
    assert_eq!(again["last"], "T-4");
    // One task more, and it is another plan.
    std::fs::write(&file, format!("{text}- [ ] Four\n")).unwrap();
    assert_eq!(home.json(&args)["tasks"], 3);
}

#[test]
fn what_is_ready_is_counted_within_the_limits() {
    let home = TestHome::with_config("[autopilot]\nmax_agents = 2\n");
    home.start();
    for title in ["a", "b", "c"] {
        home.json(&["task", "add", title, "--isolation", "none"]);
    }
    let ready = home.json(&["task", "ready"]);
    assert_eq!(ready["ready_total"], 2);
    assert_eq!(ready["open_total"], 3);
    let sentence = &ready["waiting"][0]["waits"][0]["sentence"];
    assert_eq!(sentence, "waits for a place: 2 agents may run at once");
}

#[test]
fn the_arguments_of_a_task_can_be_changed() {
    let home = TestHome::started();
    let add = [
        "task",
        "add",
        "a",
        "--isolation",
        "none",
        "--engine",
        "rehearsal",
    ];
    let (_, said) = home.failure(&add);
    assert!(said.contains("name one after `--`"), "{said}");
    // What no attempt could be begun with is refused before it is on the board.
    let (_, said) = home.failure(&[&add[..], &["--permission", "bypass", "--", "hello"]].concat());
    assert!(
        said.contains("rehearsal has no permission mode `bypass`"),
        "{said}"
    );
    home.json(&[&add[..], &["--", "fail-then-fix"]].concat());
    let edited = home.json(&["task", "edit", "T-1", "--", "hello", "--speed", "9"]);
    assert_eq!(edited["args"], json!(["hello", "--speed", "9"]));
}
