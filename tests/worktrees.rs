//! Worktrees through the command line: listed, brought back and removed, and
//! never one with work that is nowhere else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use missiond_core::{Clock, DaemonId, Isolation, Outcome, SystemClock, TaskDraft, TraceContext};
use missiond_store::board::{self, Act, AttemptLocation, Claimant, NewBoardTask};
use missiond_store::{DbUrl, MissionDb};
use missiond_workspace::{Repository, Worktree, WorktreePlan};
use serde_json::{Value, json};

use crate::harness::{TestHome, text};

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let output = Command::new("git")
        .args(who)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

/// A home without a daemon, and a repository on `main` with one commit.
pub(crate) struct Workshop {
    pub(crate) home: TestHome,
    pub(crate) repository: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let home = TestHome::started();
        home.json(&["down"]);
        let repository = home.path().join("repository");
        std::fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(repository.join("readme"), "one\n").unwrap();
        git(&repository, &["add", "--all"]);
        git(&repository, &["commit", "--quiet", "-m", "first"]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            home,
            repository,
            runtime,
        }
    }

    pub(crate) fn worktree(&self, name: &str) -> Worktree {
        let path = self.home.home().worktrees_dir().join("sample").join(name);
        let plan = WorktreePlan::new(path, format!("mission/{name}"));
        self.runtime.block_on(async {
            let repository = Repository::open(&self.repository).await.unwrap();
            repository.prepare(&plan).await.unwrap()
        })
    }

    /// Puts a task on the board with an attempt made in this worktree.
    fn attempt(&self, title: &str, worktree: &Worktree, outcome: Option<Outcome>) {
        let act = Act {
            now: SystemClock.now(),
            daemon: DaemonId::generate(),
            trace: TraceContext::root(),
        };
        let draft = TaskDraft {
            title: Some(title.to_owned()),
            isolation: Some(Isolation::None),
            ..TaskDraft::default()
        };
        let claimant = Claimant {
            holder: "another daemon".to_owned(),
            ttl: Duration::from_secs(3600),
            execution: None,
            slot: None,
        };
        let place = AttemptLocation {
            worktree: Some(worktree.path().to_owned()),
            ..AttemptLocation::default()
        };
        self.runtime.block_on(async {
            let url = DbUrl::sqlite(self.home.home().database());
            let db = MissionDb::open(&url).await.unwrap();
            db.write(move |tx| {
                Box::pin(async move {
                    let task = board::add(tx, NewBoardTask::open(draft), &act).await?;
                    let claimed = board::claim(tx, task.id, &claimant, &act).await?;
                    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
                    board::record_location(tx, id, token, &place, &act).await?;
                    if let Some(outcome) = outcome {
                        board::finish(tx, id, token, outcome, Some("so it was"), &act).await?;
                    }
                    Ok(())
                })
            })
            .await
            .unwrap();
            db.close().await.unwrap();
        });
    }

    /// Standing by branch.
    fn standings(&self) -> Vec<(String, String)> {
        let page = self.home.json(&["worktree", "list"]);
        let worktrees = page["worktrees"].as_array().unwrap().iter();
        let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        worktrees
            .map(|w| (word(&w["branch"]), word(&w["standing"])))
            .collect()
    }
}

pub(crate) fn commit(folder: &Path, file: &str, content: &str) {
    std::fs::write(folder.join(file), content).unwrap();
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", file]);
}

fn standing(branch: &str, standing: &str) -> (String, String) {
    (branch.to_owned(), standing.to_owned())
}

#[test]
fn worktrees_are_listed_brought_back_and_removed_but_never_with_work_in_them() {
    let shop = Workshop::new();
    let (used, held, free) = (shop.worktree("a"), shop.worktree("b"), shop.worktree("c"));
    commit(held.path(), "new", "n\n");
    shop.attempt("In the works", &used, None);
    shop.attempt("Add new", &held, Some(Outcome::ChecksFailed));
    let stranger = shop.home.home().worktrees_dir().join("sample/stranger");
    std::fs::create_dir(&stranger).unwrap();
    shop.home.start();
    let before = [
        standing("mission/a", "in_use"),
        standing("mission/b", "holds_work"),
        standing("mission/c", "removable"),
        standing("none", "unreadable"),
    ];
    assert_eq!(shop.standings(), before);

    // A program that runs there keeps it, whatever the board says.
    let folder = free.path().to_str().unwrap();
    shop.home.json(&[
        "slot", "spawn", "--name", "guest", "--cwd", folder, "--", "sleep", "600",
    ]);
    assert_eq!(shop.standings()[2], standing("mission/c", "in_use"));
    shop.home.json(&["slot", "kill", "guest"]);

    let shown = shop.home.json(&["worktree", "clean"]);
    assert_eq!(shown["done"], false);
    assert_eq!(shown["removed"][0]["branch"], "mission/c");
    assert_eq!(shop.standings(), before);
    let done = shop.home.json(&["worktree", "clean", "--yes"]);
    assert_eq!(done["removed"].as_array().unwrap().len(), 1);
    assert_eq!(done["kept"].as_array().unwrap().len(), 3);
    assert!(!free.path().exists() && held.path().exists() && stranger.exists());

    let (code, said) = shop.home.failure(&["worktree", "finish", "T-1", "--yes"]);
    assert_eq!(code, 5);
    assert!(said.contains("T-1 is being worked on in it"), "{said}");
    let (code, said) = shop.home.failure(&["worktree", "finish", "T-9"]);
    assert_eq!(code, 4);
    assert!(said.contains("there is no worktree `T-9`"), "{said}");

    let tip = git(&shop.repository, &["rev-parse", "main"]);
    let shown = shop.home.json(&["worktree", "finish", "T-2"]);
    assert_eq!(
        shown["result"],
        json!({"kind": "would_bring", "commits": 1})
    );
    assert_eq!(git(&shop.repository, &["rev-parse", "main"]), tip);
    let done = shop.home.json(&["worktree", "finish", "T-2", "--yes"]);
    let tip = git(&shop.repository, &["rev-parse", "main"]);
    assert_eq!(done["result"], json!({"kind": "merged", "commit": tip}));
    let subject = git(&shop.repository, &["log", "-1", "--format=%s"]);
    assert_eq!(subject, "T-2: Add new");
    shop.home.json(&["worktree", "clean", "mission/b", "--yes"]);
    assert!(!held.path().exists());
    assert_eq!(shop.standings().len(), 2);
}

#[test]
fn what_was_changed_is_shown_committed_or_not() {
    let shop = Workshop::new();
    let worktree = shop.worktree("a");
    commit(worktree.path(), "new", "n\n");
    std::fs::write(worktree.path().join("readme"), "two\n").unwrap();
    std::fs::write(worktree.path().join("loose"), "l\n").unwrap();
    shop.attempt("Change it", &worktree, Some(Outcome::ChecksFailed));
    shop.home.start();
    let diff = |params: Value| {
        let params = params.to_string();
        shop.home.json(&["call", "worktree_diff", &params])
    };
    let shown = diff(json!({ "worktree": "T-1" }));
    assert_eq!(
        (&shown["task"], &shown["base"]),
        (&json!("T-1"), &json!("main"))
    );
    assert_eq!(
        (&shown["additions"], &shown["deletions"]),
        (&json!(3), &json!(1))
    );
    let files: Vec<_> = shown["files"].as_array().unwrap().iter().collect();
    let changes: Vec<_> = files.iter().map(|f| (&f["path"], &f["change"])).collect();
    assert_eq!(
        changes,
        [
            (&json!("loose"), &json!("added")),
            (&json!("new"), &json!("added")),
            (&json!("readme"), &json!("modified")),
        ]
    );
    assert_eq!(
        files[2]["hunks"][0]["lines"],
        json!([{ "old": 1, "text": "one" }, { "new": 1, "text": "two" }])
    );
    let one = diff(json!({ "worktree": "mission/a", "files": ["new"] }));
    assert_eq!(one["files"].as_array().unwrap().len(), 1);
    let params = json!({ "worktree": "T-1", "files": ["absent"] }).to_string();
    let (code, said) = shop.home.failure(&["call", "worktree_diff", &params]);
    assert_eq!(code, 4);
    assert!(said.contains("`absent` was not changed"), "{said}");
    let (code, said) = shop
        .home
        .failure(&["call", "worktree_diff", "{\"worktree\":\"T-9\"}"]);
    assert_eq!(code, 4, "{said}");
}

#[test]
fn a_conflict_is_told_with_where_to_settle_it() {
    let shop = Workshop::new();
    let worktree = shop.worktree("a");
    commit(worktree.path(), "readme", "ours\n");
    commit(&shop.repository, "readme", "theirs\n");
    shop.home.start();
    let tip = git(&shop.repository, &["rev-parse", "main"]);
    for args in [&["--yes"][..], &[]] {
        let args = [&["worktree", "finish", "mission/a"], args].concat();
        let (code, said) = shop.home.failure(&args);
        assert_eq!(code, 5);
        assert!(
            said.contains("both changed readme: merge `main` in"),
            "{said}"
        );
    }
    assert_eq!(git(&shop.repository, &["rev-parse", "main"]), tip);
    let path = worktree.path().to_str().unwrap();
    let done = shop
        .home
        .json(&["worktree", "finish", path, "--how", "patch", "--yes"]);
    assert_eq!(done["result"]["kind"], "patch");
}

#[test]
fn the_doctor_lists_git_and_says_what_is_missing_without_it() {
    let home = TestHome::new();
    let finding = |output: &std::process::Output| -> Value {
        let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = findings.as_array().unwrap().iter();
        findings
            .clone()
            .find(|f| f["check"] == "git")
            .unwrap()
            .clone()
    };
    let version = text(
        &Command::new("git")
            .arg("--version")
            .output()
            .unwrap()
            .stdout,
    );
    let version: Vec<_> = version.split(['.', ' ']).collect();
    let found = finding(&home.mission(&["doctor", "--json"]));
    assert_eq!(found["verdict"], "ok");
    let detail = found["detail"].as_str().unwrap();
    assert!(
        detail.starts_with(&format!("{}.{} (", version[2], version[3])),
        "{detail}"
    );
    let without = home
        .command(&["doctor", "--json"])
        .env("PATH", home.path())
        .output()
        .unwrap();
    let found = finding(&without);
    assert_eq!(found["verdict"], "warning");
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.starts_with("git is not installed"), "{detail}");
}
