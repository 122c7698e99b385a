//! `mission status` and what it shows: who needs a person, who works, what is done.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};

/// A home with a daemon, and a folder an agent of no task works in.
pub(crate) struct Studio {
    pub(crate) home: TestHome,
    folder: tempfile::TempDir,
}

impl Studio {
    pub(crate) fn new() -> Self {
        Self {
            home: TestHome::started(),
            folder: tempfile::Builder::new()
                .prefix("studio-")
                .tempdir()
                .unwrap(),
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts an agent that takes these turns; its execution.
    pub(crate) fn agent(&self, prompt: &str, turns: &str) -> String {
        let script = format!("rehearsal: 1\nstartup: 0.1\nturns:\n{turns}");
        std::fs::write(self.file("script.yaml"), script).unwrap();
        let folder = self.folder.path().to_str().unwrap();
        let run = self.home.json(&[
            "run",
            prompt,
            "--engine",
            "rehearsal",
            "--no-context",
            "--cwd",
            folder,
            "--",
            "script.yaml",
            "--speed",
            "50",
        ]);
        run["execution"].as_str().unwrap().to_owned()
    }

    pub(crate) fn overview(&self) -> Value {
        self.home.call("overview", &json!({}))
    }

    /// The first line of a group, once there is one of this kind.
    pub(crate) fn line(&self, group: &str, kind: &str) -> Value {
        let mut found = Value::Null;
        wait_for(&format!("a line {kind} in {group}"), || {
            let overview = self.overview();
            let lines = overview[group].as_array().unwrap();
            let line = lines.iter().find(|line| line["kind"] == kind);
            found = line.cloned().unwrap_or_default();
            line.is_some()
        });
        found
    }
}

/// Asks for a command and leaves a file when it is allowed.
pub(crate) const ASKS: &str = "
  - steps:
      - ask:
          tool: Bash
          args: pip install numpy
          question: Do you want to let it run this command?
          allow: [{write: {file: allowed, text: x}}]
          deny: [{write: {file: denied, text: x}}]
";

#[test]
fn status_says_who_asks_how_to_answer_and_what_came_of_it() {
    let studio = Studio::new();
    let run = studio.agent("Add square roots", ASKS);
    let line = studio.line("needs_you", "asks");
    assert_eq!(line["execution"], run.as_str());
    assert_eq!(line["title"], "Add square roots");
    assert_eq!(line["engine"], "rehearsal");
    assert_eq!(line["holds_place"], false);
    assert_eq!(line["activity"], "Asks: May it run pip install numpy?");
    assert_eq!(line["last_line"], Value::Null, "a dialog is no work");
    let question = &line["question"];
    assert_eq!(
        (&question["allows"], &question["options"][0]),
        (&json!("Allow"), &json!("Allow"))
    );
    let folder = studio.file("").display().to_string();
    assert_eq!(
        line["repository"]["path"],
        folder.trim_end_matches('/'),
        "a run of no task belongs to its folder"
    );
    let shown = text(&studio.home.mission(&["status"]).stdout);
    for words in [
        "Needs you",
        "Add square roots",
        "mission answer Q-1 1",
        "The daemon is running",
        "0 of 4 agents",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // What programs read: the daemon's own keys, and those of the operation.
    let status = studio.home.json(&["status"]);
    assert_eq!(status["needs_you"][0]["question"]["number"], 1);
    assert!(status["pid"].is_number() && status["database"]["timeline_head"].is_number());
    studio.home.json(&["answer", "Q-1", "1"]);
    wait_for("the agent to go on", || studio.file("allowed").exists());
    let idle = studio.line("idle", "idle");
    assert_eq!(idle["activity"], "Waits to be told something");
    assert_eq!(studio.overview()["needs_you"], json!([]));
}

#[test]
fn agents_that_go_on_without_a_daemon_are_told() {
    let studio = Studio::new();
    studio.agent("ask me", ASKS);
    studio.line("needs_you", "asks");
    studio.home.json(&["daemon", "stop"]);
    let goes_on = "1 agent goes on without it";
    for args in [&[][..], &["status"]] {
        let said = text(&studio.home.mission(args).stdout);
        assert!(said.contains(goes_on), "{said}");
    }
    assert_eq!(studio.home.json(&[])["agents"], 1);
}

#[test]
fn what_is_finished_is_listed_until_it_was_seen() {
    let studio = Studio::new();
    let run = studio.agent("Say it", "  - steps: [{say: The last words}]\n");
    // Before it has begun it rests, too.
    wait_for("its words", || {
        studio.line("idle", "idle")["last_line"] == "The last words"
    });
    let shown = text(&studio.home.mission(&["status"]).stdout);
    let folder = studio.file("");
    let name = folder.file_name().unwrap().display();
    assert!(
        shown.contains(&format!("Say it ({name}, rehearsal)")),
        "{shown}"
    );
    assert!(shown.contains("\n      The last words\n"), "{shown}");
    studio.home.json(&["execution", "cancel", &run]);
    // What was said to it is known once its conversation is read.
    let mut ended = Value::Null;
    wait_for("the title of the run", || {
        ended = studio.line("finished", "cancelled");
        ended["title"] == "Say it"
    });
    assert!(ended["ended_at"].is_string());
    assert_eq!(ended["activity"], "The run was cancelled");
    let shown = text(&studio.home.mission(&["status", "--seen"]).stdout);
    assert!(shown.contains("Finished since you looked"), "{shown}");
    let later = studio.overview();
    assert_eq!(later["finished"], json!([]));
    let seen = later["seen_at"].clone();
    // What was seen stays seen, also after a restart.
    let earlier = json!({"until": "2020-01-01T00:00:00Z"});
    assert_eq!(studio.home.call("overview_seen", &earlier)["seen_at"], seen);
    studio.home.json(&["daemon", "restart"]);
    assert_eq!(studio.overview()["seen_at"], seen);
}

#[test]
fn an_agent_whose_turn_failed_needs_a_person_and_one_that_crashed_says_so() {
    let studio = Studio::new();
    let turns = "  - steps: [{error: {text: The service answered 500}}]\n  - steps: [crash]\n";
    let run = studio.agent("Ask the service", turns);
    let line = studio.line("needs_you", "error");
    assert_eq!(line["execution"], run.as_str());
    let slot = line["slot"].as_str().unwrap();
    let shown = text(&studio.home.mission(&["status"]).stdout);
    assert!(
        shown.contains(&format!("mission slot attach {slot}")),
        "{shown}"
    );
    studio.home.json(&["execution", "message", &run, "again"]);
    let ended = studio.line("finished", "crashed");
    assert_eq!(ended["execution"], run.as_str());
    let shown = text(&studio.home.mission(&["status"]).stdout);
    assert!(
        shown.contains(&format!("mission execution show {run}")),
        "{shown}"
    );
}

#[test]
fn a_terminal_of_no_run_and_a_filter_by_repository() {
    let studio = Studio::new();
    let folder = studio.file("");
    std::fs::create_dir_all(studio.file("repo/.git")).unwrap();
    std::fs::create_dir_all(studio.file("repo/deep")).unwrap();
    let deep = studio.file("repo/deep");
    studio.home.json(&[
        "slot",
        "spawn",
        "--name",
        "shell",
        "--cwd",
        deep.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "echo hello there; exec sleep 600",
    ]);
    wait_for("the last line", || {
        studio.overview()["terminals"][0]["last_line"] == "hello there"
    });
    let overview = studio.overview();
    assert_eq!(overview["working"], json!([]), "a terminal is no agent");
    let line = overview["terminals"][0].clone();
    assert_eq!(line["slot"], "shell");
    let told = (line["kind"].as_str(), line["activity"].as_str());
    assert_eq!(told, (Some("terminal"), Some("Opened by hand")));
    let shown = text(&studio.home.mission(&["status"]).stdout);
    assert!(
        shown.contains("Terminals\n") && !shown.contains("Working"),
        "{shown}"
    );
    let repo = studio.file("repo").display().to_string();
    assert_eq!(line["repository"], json!({"name": "repo", "path": repo}));
    let of = |path: String| {
        let overview = studio.home.call("overview", &json!({ "repository": path }));
        overview["terminals"].as_array().unwrap().len()
    };
    assert_eq!((of(repo), of(folder.display().to_string())), (1, 0));
}

#[test]
fn what_another_repository_finished_last_hides_nothing_of_this_one() {
    let studio = Studio::new();
    let mut runs = Vec::new();
    for name in ["first", "second", "third"] {
        let folder = studio.file(name);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        let script = "rehearsal: 1\nstartup: 0.1\nturns:\n  - steps: [{say: Done}]\n";
        std::fs::write(folder.join("script.yaml"), script).unwrap();
        let run = studio.home.json(&[
            "run",
            name,
            "--engine",
            "rehearsal",
            "--no-context",
            "--cwd",
            folder.to_str().unwrap(),
            "--",
            "script.yaml",
        ]);
        let run = run["execution"].as_str().unwrap().to_owned();
        studio.home.json(&["execution", "cancel", &run]);
        wait_for("the end of the run", || {
            let overview = studio.overview();
            overview["finished"].as_array().unwrap().len() == runs.len() + 1
        });
        runs.push(run);
    }
    let path = studio.file("first").display().to_string();
    let params = json!({ "repository": path, "limit": 1 });
    let overview = studio.home.call("overview", &params);
    assert_eq!(
        overview["finished"][0]["execution"],
        runs[0].as_str(),
        "{overview}"
    );
    assert_eq!(overview["left_out"], 0, "{overview}");
}

#[test]
fn tokens_and_cost_of_today_are_of_the_same_agents() {
    let studio = Studio::new();
    // An agent of no task, whose conversation is read and priced.
    let turns = "  - steps: [{usage: {input: 900, output: 200}}, {say: Done}]\n";
    let run = studio.agent("Say it", turns);
    studio.line("idle", "idle");
    studio.home.json(&["execution", "cancel", &run]);
    let mut ended = Value::Null;
    wait_for("what the run used", || {
        ended = studio.line("finished", "cancelled");
        ended["tokens"]["counted"] == 1100
    });
    let overview = studio.overview();
    assert_eq!(overview["tokens_today"]["counted"], 0, "{overview}");
    assert_eq!(overview["cost_today"], json!({}), "{overview}");
}
