//! The autopilot through the real daemon: tasks with real git repositories and
//! rehearsal agents, from the claim to the merge, and everything that can come
//! between.

mod alternatives;
mod budgets;
mod context;
mod control;
mod crash;
mod demo;
mod flow;
mod lease;
mod memory;
mod overlap;
mod overview;
mod place;
mod pull_request;
mod real;
mod review;
mod trouble;
mod untrusted;
#[cfg(target_os = "linux")]
mod walls;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};

/// Quick enough for tests; everything else as it comes.
const QUICK: &str = "[autopilot]\nsettle_ms = 200\n";

/// A home with a daemon whose autopilot runs, and a repository to work in.
pub(crate) struct Field {
    pub(crate) home: TestHome,
    folder: tempfile::TempDir,
}

impl Field {
    fn new() -> Self {
        Self::with_config(QUICK)
    }

    pub(crate) fn with_config(config: &str) -> Self {
        let field = Self::quiet(TestHome::with_config(config));
        field.home.start();
        field.resume();
        field
    }

    /// A repository beside a home that is set up already.
    fn quiet(home: TestHome) -> Self {
        let folder = tempfile::Builder::new().prefix("field-").tempdir().unwrap();
        let field = Self { home, folder };
        field.let_checks_see(&field.home);
        std::fs::create_dir(field.repository()).unwrap();
        field.git(&["init", "--quiet", "--initial-branch=main"]);
        field.git(&["config", "user.name", "Tester"]);
        field.git(&["config", "user.email", "tester@localhost"]);
        std::fs::write(field.repository().join("list.txt"), "one\n").unwrap();
        field.git(&["add", "--all"]);
        field.git(&["commit", "--quiet", "-m", "Begin"]);
        field
    }

    /// Beside the repository stand the files by which checks and tests wait for each
    /// other: all that the checks of a daemon see beyond their worktree.
    fn let_checks_see(&self, home: &TestHome) {
        let file = home.home().config_file();
        let config = std::fs::read_to_string(&file).unwrap_or_default();
        if !config.contains("write = ") {
            let beside = format!("write = [{}]\n", json!(self.folder.path()));
            let (before, own) = config.split_once("[sandbox]\n").unwrap_or((&config, ""));
            home.write_config(&format!("{before}[sandbox]\n{beside}{own}"));
        }
    }

    fn repository(&self) -> PathBuf {
        self.folder.path().join("re po'sitory")
    }

    /// A file beside the repository, for agents to write to and tests to read.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.repository())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    fn resume(&self) {
        self.home.json(&["autopilot", "resume"]);
    }

    /// Writes a script of these turns; its path.
    fn script(&self, name: &str, turns: &str) -> String {
        let path = self.file(&format!("{name}.yaml"));
        let script = format!("rehearsal: 1\nstartup: 0.1\nturns:\n{turns}");
        std::fs::write(&path, script).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Puts a task on the board that is done by this script; its number.
    pub(crate) fn task(&self, title: &str, turns: &str, more: Value) -> String {
        let script = self.script(&title.replace(' ', "-"), turns);
        let mut task = json!({
            "title": title,
            "engine": "rehearsal",
            "args": [script, "--speed", "50"],
            "repository": self.repository(),
        });
        let mut params = json!({});
        let Value::Object(more) = more else {
            panic!("what else is to be said of {title} is an object");
        };
        for (key, value) in more {
            match key.as_str() {
                "depends_on" => params["depends_on"] = value,
                _ => task[key] = value,
            }
        }
        params["task"] = task;
        let added = self.home.json(&["call", "board_add", &params.to_string()]);
        added["task"]["number"]
            .as_str()
            .map_or_else(|| format!("T-{}", added["task"]["number"]), str::to_owned)
    }

    fn show(&self, task: &str) -> Value {
        let params = json!({ "task": task }).to_string();
        self.home.json(&["call", "board_show", &params])
    }

    fn wait(&self, task: &str, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        wait_for(&format!("{task} to be {what}"), || {
            last = self.show(task);
            so(&last)
        });
        last
    }

    pub(crate) fn wait_status(&self, task: &str, status: &str) -> Value {
        self.wait(task, status, |details| {
            let now = &details["task"]["status"];
            let final_states = ["done", "failed", "blocked"];
            let other = final_states
                .iter()
                .find(|other| **other != status && now == **other);
            assert_eq!(other, None, "{task} is not {status}: {details:#}");
            now == status
        })
    }

    /// The lines of a file that agents append to.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn on_main(&self, path: &str) -> String {
        self.git(&["show", &format!("main:{path}")])
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.file(name), "").unwrap();
    }

    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let events = self.home.events().into_iter();
        let events = events.map(|event| event["event"].clone());
        events.filter(|event| event["type"] == kind).collect()
    }

    /// No agent is left over.
    fn wait_for_quiet(&self) {
        wait_for("every agent to be gone", || {
            let running = self.home.json(&["execution", "list"]);
            running["executions"] == json!([])
        });
    }
}

/// A turn that writes a file and claims to be done.
pub(crate) fn writes(file: &str, contents: &str) -> String {
    format!(
        "  - uses: always\n    steps:\n      - write: {{file: {file}, text: \"{contents}\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n"
    )
}

/// Steps that note in a file of the field that they were taken.
fn notes(path: &Path, word: &str) -> String {
    format!(
        "      - append: {{file: {}, text: \"{word}\\n\"}}\n",
        json!(path.to_str().unwrap())
    )
}

/// Steps that wait until a file is there.
fn waits_for(path: &Path) -> String {
    let command = format!("until [ -e '{}' ]; do sleep 0.05; done", path.display());
    format!(
        "      - run: {{argv: [sh, -c, {}], exit: 0}}\n",
        json!(command)
    )
}

fn outcome(details: &Value, attempt: usize) -> &str {
    details["attempts"][attempt]["outcome"]
        .as_str()
        .unwrap_or("none")
}
