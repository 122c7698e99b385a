//! Work that is handed over in a pull request: real git with a bare repository as the
//! remote, and a script in place of `gh`, which is GitHub and the internet.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Field, outcome, writes};
use crate::harness::{TestHome, text, wait_for};

const CONFIG: &str = "[autopilot]\nsettle_ms = 200\npull_request_secs = 1\n";

/// One host with one repository. It opens no second pull request for a branch that has
/// an open one, as GitHub does not.
const GH: &str = r#"#!/bin/sh
cd '@HOST@' || exit 1
if [ -e logged-out ]; then echo 'please run: gh auth login' >&2; exit 4; fi
if [ -e broken ]; then cat broken >&2; exit 1; fi
printf '%s\n' "$*" >> calls
case "$1 $2" in
'pr view')
  case "$3" in
  "$(cat branch 2> /dev/null)" | "$(cat number 2> /dev/null)" | "$(cat url 2> /dev/null)") ;;
  *) echo "no pull requests found for branch \"$3\"" >&2; exit 1 ;;
  esac
  head=$(git -C ../remote.git rev-parse "refs/heads/$(cat branch)")
  merge=null
  if [ "$(cat state)" = MERGED ]; then merge='{"oid":"feed"}'; fi
  printf '{"number":%s,"url":"%s","state":"%s","headRefOid":"%s","mergedAt":null,"mergeCommit":%s}\n' \
    "$(cat number)" "$(cat url)" "$(cat state)" "$head" "$merge"
  ;;
'pr create')
  [ "$3 $5 $7 $9" = '--base --head --title --body-file' ] || exit 2
  cat > body
  echo began >> creating
  while [ -e hold ]; do sleep 0.05; done
  if ! mkdir open 2> /dev/null; then echo 'a pull request already exists' >&2; exit 1; fi
  printf '%s\n' "$8" >> created
  wc -l < created | tr -d ' ' > number
  printf '%s' "$4" > base
  printf '%s' "$6" > branch
  printf 'https://example.org/o/r/pull/%s' "$(cat number)" > url
  printf OPEN > state
  cat url
  ;;
*) exit 2 ;;
esac
"#;

/// A field whose repository has a remote at a host.
struct Hosted {
    field: Field,
}

impl Hosted {
    fn new() -> Self {
        let hosted = Self::without_gh();
        hosted.install_gh();
        hosted
    }

    /// The same before somebody has installed `gh`.
    fn without_gh() -> Self {
        let hosted = Self::without_remote();
        hosted.add_remote();
        hosted
    }

    fn without_remote() -> Self {
        let field = Field::quiet(TestHome::with_config(CONFIG));
        for folder in ["bin", "host"] {
            std::fs::create_dir(field.file(folder)).unwrap();
        }
        let hosted = Self { field };
        hosted.start();
        hosted.field.resume();
        hosted
    }

    fn add_remote(&self) {
        let remote = self.field.file("remote.git");
        let remote = remote.to_str().unwrap();
        self.field
            .git(&["init", "--quiet", "--bare", "--initial-branch=main", remote]);
        self.field.git(&["remote", "add", "origin", remote]);
        self.field.git(&["push", "--quiet", "origin", "main"]);
    }

    fn install_gh(&self) {
        let host = self.field.file("host");
        write_program(
            &self.field.file("bin/gh"),
            &GH.replace("@HOST@", host.to_str().unwrap()),
        );
    }

    /// Starts the daemon with our `gh` before everything, and no other behind it.
    fn start(&self) {
        let own = std::env::var_os("PATH").unwrap();
        let others = std::env::split_paths(&own).enumerate();
        let others = others.map(|(place, folder)| {
            if folder.join("gh").exists() {
                self.without_its_gh(place, &folder)
            } else {
                folder
            }
        });
        let folders = std::iter::once(self.field.file("bin")).chain(others);
        let path = std::env::join_paths(folders).unwrap();
        let mut command = self.field.home.command(&["daemon", "start"]);
        let started = command.env("PATH", path).output().unwrap();
        assert!(started.status.success(), "{}", text(&started.stderr));
    }

    /// A folder with links to every program of another one but `gh`.
    fn without_its_gh(&self, place: usize, folder: &Path) -> PathBuf {
        let links = self.field.file(&format!("programs-{place}"));
        if std::fs::create_dir(&links).is_ok() {
            for program in std::fs::read_dir(folder).unwrap().flatten() {
                if program.file_name() != "gh" {
                    let link = links.join(program.file_name());
                    std::os::unix::fs::symlink(program.path(), link).unwrap();
                }
            }
        }
        links
    }

    fn told(&self, name: &str) -> String {
        std::fs::read_to_string(self.field.file("host").join(name)).unwrap_or_default()
    }

    fn tell(&self, name: &str, contents: &str) {
        std::fs::write(self.field.file("host").join(name), contents).unwrap();
    }

    fn forget(&self, name: &str) {
        std::fs::remove_file(self.field.file("host").join(name)).unwrap();
    }

    /// Somebody closes the pull request, or merges it.
    fn end(&self, state: &str) {
        std::fs::remove_dir(self.field.file("host/open")).unwrap();
        self.tell("state", state);
    }

    fn opened(&self) -> usize {
        self.told("created").lines().count()
    }

    fn remote(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.field.file("remote.git"))
            .output()
            .unwrap();
        text(&output.stdout).trim().to_owned()
    }

    /// The branches that the remote has beside the target.
    fn pushed(&self) -> Vec<String> {
        let refs = self.remote(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let refs = refs.lines().filter(|name| *name != "main");
        refs.map(str::to_owned).collect()
    }

    fn task(&self, title: &str, more: Value) -> String {
        let mut task = json!({
            "finish": "pull_request",
            "description": "Say it in a file.",
            "checks": [{ "run": ["sh", "-c", "test -s new.txt"], "name": "there is a file" }],
        });
        let Value::Object(more) = more else {
            panic!("what else is to be said of {title} is an object");
        };
        for (key, value) in more {
            task[key] = value;
        }
        self.field.task(title, &writes("new.txt", "one"), task)
    }

    fn wait_opened(&self, task: &str, number: u64) -> Value {
        self.field.wait(task, "in a pull request", |details| {
            details["task"]["pull_request"]["number"] == number
        })
    }

    /// The last note on a task, when there is one.
    fn wait_note(&self, task: &str) -> String {
        let details = self.field.wait(task, "noted on", |details| {
            !details["notes"].as_array().unwrap().is_empty()
        });
        assert_eq!(details["task"]["status"], "review", "{details:#}");
        let notes = details["notes"].as_array().unwrap();
        assert_eq!(notes.last().unwrap()["author"], "autopilot");
        notes.last().unwrap()["text"].as_str().unwrap().to_owned()
    }

    fn finish(&self, task: &str, more: &[&str]) -> Value {
        let args = ["worktree", "finish", task];
        self.field.home.json(&[&args[..], more].concat())
    }

    fn finish_text(&self, task: &str, more: &[&str]) -> String {
        let args = ["worktree", "finish", task];
        let output = self.field.home.mission(&[&args[..], more].concat());
        text(&output.stdout)
    }
}

fn write_program(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

const PULL: [&str; 3] = ["--how", "pull-request", "--yes"];

#[test]
fn verified_work_is_opened_once_and_done_when_it_is_merged() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let task = hosted.task("Say one", json!({}));
    let next = json!({ "depends_on": [task], "finish": "branch" });
    let next = hosted.task("after it", next);
    let details = hosted.wait_opened(&task, 1);
    let url = "https://example.org/o/r/pull/1";
    assert_eq!(details["task"]["status"], "review");
    assert_eq!(outcome(&details, 0), "verified");
    assert_eq!(details["task"]["pull_request"]["url"], url);
    assert_eq!(details["task"]["pull_request"]["into"], "main");
    assert_eq!(details["notes"], json!([]));
    let branch = details["attempts"][0]["branch"].as_str().unwrap();
    assert_eq!(hosted.pushed(), [branch]);
    assert_eq!(
        hosted.remote(&["rev-parse", branch]),
        field.git(&["rev-parse", branch])
    );
    assert_eq!(
        (hosted.told("created"), hosted.told("base")),
        ("Say one\n".into(), "main".into())
    );
    assert_eq!(
        hosted.told("body"),
        "Say it in a file.\n\nChecks that passed:\n\n- `there is a file`\n\nTask: T-1\n"
    );

    // Everybody who looks is told.
    field.wait_for_quiet();
    let listed = field.home.json(&["worktree", "list"])["worktrees"][0].clone();
    assert_eq!(listed["standing"], "ready_for_review", "{listed}");
    assert_eq!(listed["reason"], "waits for pull request #1");
    assert_eq!(listed["pull_request"]["url"], url);
    let tasks = field.home.json(&["task", "list"]);
    let of_task = tasks["tasks"].as_array().unwrap().iter();
    let of_task = of_task
        .clone()
        .find(|one| one["number"] == json!(task))
        .unwrap();
    assert_eq!(of_task["pull_request"]["number"], 1);
    for args in [&["task", "show", &task][..], &["worktree", "list"]] {
        let shown = text(&field.home.mission(args).stdout);
        assert!(shown.contains(url), "{shown}");
    }
    let waits = &field.show(&next)["waits"][0]["sentence"];
    assert_eq!(
        *waits,
        format!("waits for {task}, which waits for your review")
    );

    hosted.end("MERGED");
    let details = field.wait_status(&task, "done");
    let note = details["notes"][0]["text"].as_str().unwrap();
    assert_eq!(
        note,
        "Pull request #1 was merged: main has the work there at feed."
    );
    assert_eq!(hosted.opened(), 1);
    field.wait_status(&next, "review");
    wait_for("its worktree to be gone", || {
        !Path::new(details["attempts"][0]["worktree"].as_str().unwrap()).exists()
    });
    let here = field.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        !here.contains("new.txt"),
        "main here is the person's to move"
    );
}

#[test]
fn killed_between_push_and_pull_request_only_one_is_opened() {
    let hosted = Hosted::new();
    hosted.tell("hold", "");
    let task = hosted.task("Say one", json!({}));
    wait_for("the first to be begun", || {
        hosted.told("creating").lines().count() == 1
    });
    assert_eq!(hosted.pushed().len(), 1);
    hosted.field.home.kill();
    hosted.start();
    // The first `gh` outlives its daemon: both are at it.
    wait_for("the second to be begun", || {
        hosted.told("creating").lines().count() == 2
    });
    hosted.forget("hold");
    hosted.wait_opened(&task, 1);
    assert_eq!(hosted.opened(), 1);
    // And once more, with everything done.
    hosted.field.home.kill();
    hosted.start();
    let calls = hosted.told("calls").lines().count();
    wait_for("it to be asked about again", || {
        hosted.told("calls").lines().count() > calls
    });
    let details = hosted.field.show(&task);
    assert_eq!(details["task"]["status"], "review", "{details:#}");
    assert_eq!(
        (hosted.opened(), hosted.told("creating").lines().count()),
        (1, 2)
    );
}

#[test]
fn closed_without_a_merge_it_is_blocked_and_goes_on_with_another() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let task = hosted.task("Say one", json!({}));
    hosted.wait_opened(&task, 1);
    hosted.end("CLOSED");
    let details = field.wait_status(&task, "blocked");
    let reason = details["task"]["blocked"].as_str().unwrap();
    let said = "pull request #1 was closed without a merge (https://example.org/o/r/pull/1)";
    assert!(reason.starts_with(said), "{reason}");

    field.wait_for_quiet();
    let again = hosted.finish(&task, &PULL);
    assert_eq!(again["result"]["number"], 2, "{again}");
    assert_eq!(again["result"]["state"], "open");
    assert_eq!(again["completes"], Value::Null, "{again}");
    assert_eq!(field.show(&task)["task"]["status"], "review");

    // Sent back, what is made then comes into the same one.
    let before = hosted.remote(&["rev-parse", &hosted.pushed()[0]]);
    let turns = writes("more.txt", "two");
    field.script("Say-one", &turns);
    field.home.json(&["task", "retry", &task]);
    field.wait(&task, "in the pull request again", |details| {
        details["task"]["pull_request"]["attempt"] == 2
    });
    let after = hosted.remote(&["rev-parse", &hosted.pushed()[0]]);
    assert_ne!(before, after);
    assert_eq!(hosted.opened(), 2);

    // A person need not wait for the next look.
    field.wait_for_quiet();
    hosted.end("MERGED");
    let done = hosted.finish(&task, &["--yes"]);
    assert_eq!(done["how"], "pull_request");
    assert_eq!(field.show(&task)["task"]["status"], "done", "{done}");
}

#[test]
fn newer_work_is_not_judged_by_the_pull_request_of_an_earlier_attempt() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let task = hosted.task("Say one", json!({"review": "after_approval"}));
    field.wait_status(&task, "review");
    field.wait_for_quiet();
    assert_eq!(hosted.finish(&task, &PULL)["result"]["number"], 1);
    hosted.end("CLOSED");
    field.wait_status(&task, "blocked");
    field.script("Say-one", &writes("more.txt", "two"));
    field.home.json(&["task", "retry", &task]);
    field.wait(&task, "the second attempt in review", |details| {
        details["task"]["status"] == "review" && details["attempts"][1]["ended_at"].is_string()
    });
    // Another task that is looked after meanwhile shows that there was a look.
    let other = hosted.task("Say two", json!({}));
    field.wait(&other, "a pull request of its own", |details| {
        details["task"]["pull_request"]["number"] == 2
    });
    assert_eq!(field.show(&task)["task"]["status"], "review");
    hosted.end("MERGED");
    field.wait_status(&other, "done");
    assert_eq!(field.show(&task)["task"]["status"], "review");
    field.wait_for_quiet();
    let again = hosted.finish(&task, &PULL);
    assert_eq!(again["result"]["number"], 3, "{again}");
}

#[test]
fn without_gh_or_login_the_branch_is_pushed_and_the_note_says_what_to_do() {
    let hosted = Hosted::without_gh();
    let field = &hosted.field;
    let task = hosted.task("Say one", json!({}));
    let note = hosted.wait_note(&task);
    let branch = hosted.pushed().remove(0);
    assert_eq!(
        note,
        format!(
            "`{branch}` is pushed to `origin`, but no pull request is open: install GitHub's command \
             line `gh` and log in with `gh auth login`, then `mission worktree finish {task} --how \
             pull_request --yes`"
        )
    );
    field.wait_for_quiet();
    let shown = text(&field.home.mission(&["task", "show", &task]).stdout);
    assert!(
        shown.contains("then pull_request, without a review before it\n"),
        "{shown}"
    );
    let next =
        json!({ "title": "next", "finish": "pull_request", "repository": field.repository() });
    let params = json!({ "task": next, "depends_on": [task] });
    let added = field.home.call("board_add", &params);
    let warning = added["warnings"].to_string();
    assert!(warning.contains("`gh` is not installed"), "{added}");
    hosted.install_gh();
    hosted.tell("logged-out", "");
    let finish = [
        "worktree",
        "finish",
        &task,
        "--how",
        "pull_request",
        "--yes",
    ];
    let (code, said) = field.home.failure(&finish);
    assert_eq!(code, 5, "{said}");
    assert!(
        said.contains("log in to GitHub with `gh auth login`, then"),
        "{said}"
    );
    hosted.forget("logged-out");
    // What it says is repeated, the login is not.
    let secret = "ghp_0123456789abcdefghijklmnop";
    hosted.tell("broken", &format!("HTTP 502\nAuthorization: {secret}\n"));
    let (_, said) = field.home.failure(&finish);
    assert!(
        said.contains("HTTP 502") && !said.contains(secret),
        "{said}"
    );
    hosted.forget("broken");
    let opened = hosted.finish(&task, &PULL);
    assert_eq!(opened["result"]["number"], 1, "{opened}");
    hosted.wait_opened(&task, 1);
}

#[test]
fn without_a_remote_the_work_waits_for_a_person() {
    let hosted = Hosted::without_remote();
    hosted.install_gh();
    let task = hosted.task("Say one", json!({}));
    let note = hosted.wait_note(&task);
    let said = "has no remote to push to: add one with `git remote add origin URL`; then `mission \
                worktree finish T-1 --how pull_request --yes`";
    assert!(note.ends_with(said), "{note}");
    hosted.field.wait_for_quiet();
    let (code, said) =
        hosted
            .field
            .home
            .failure(&["worktree", "finish", &task, "--how", "pull_request"]);
    assert_eq!(code, 5, "{said}");
    hosted.add_remote();
    assert_eq!(hosted.finish(&task, &PULL)["result"]["number"], 1);
    assert_eq!(hosted.opened(), 1);
}

#[test]
fn a_push_that_is_refused_is_told_and_nothing_is_lost() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let hook = field.file("remote.git/hooks/pre-receive");
    write_program(&hook, "#!/bin/sh\necho 'no pushes today' >&2\nexit 1\n");
    let task = hosted.task("Say one", json!({}));
    let note = hosted.wait_note(&task);
    assert!(
        note.contains("`origin` did not take") && note.contains("no pushes today"),
        "{note}"
    );
    assert_eq!((hosted.pushed(), hosted.opened()), (Vec::new(), 0));
    field.wait_for_quiet();
    std::fs::remove_file(hook).unwrap();
    assert_eq!(hosted.finish(&task, &PULL)["result"]["number"], 1);

    // Somebody else commits on the branch: theirs is not overwritten.
    let branch = hosted.pushed().remove(0);
    let tree = hosted.remote(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let who = ["-c", "user.name=Other", "-c", "user.email=other@localhost"];
    let commit = ["commit-tree", &tree, "-p", &branch, "-m", "Theirs"];
    let theirs = hosted.remote(&[&who[..], &commit].concat());
    hosted.remote(&["update-ref", &format!("refs/heads/{branch}"), &theirs]);
    field.script("Say-one", &writes("more.txt", "two"));
    field.home.json(&["task", "retry", &task]);
    let details = field.wait(&task, "told of the refusal", |details| {
        details["notes"].as_array().unwrap().len() == 2
    });
    let note = details["notes"][1]["text"].as_str().unwrap();
    assert!(note.contains("[rejected]"), "{note}");
    assert_eq!(details["task"]["status"], "review", "{details:#}");
    assert_eq!(hosted.remote(&["rev-parse", &branch]), theirs);
    let here = field.git(&["ls-tree", "--name-only", &branch]);
    assert!(here.contains("more.txt"), "{here}");
}

#[test]
fn it_waits_for_approval_and_a_preview_changes_nothing() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let task = hosted.task("Say one", json!({ "review": "after_approval" }));
    field.wait_status(&task, "review");
    field.wait_for_quiet();
    let seen = hosted.finish(&task, &[]);
    assert_eq!(seen["how"], "pull_request", "{seen}");
    assert_eq!(
        seen["result"],
        json!({ "kind": "would_bring", "commits": 1 })
    );
    assert_eq!(
        (&seen["remote"], &seen["completes"]),
        (&json!("origin"), &Value::Null)
    );
    let shown = hosted.finish_text(&task, &[]);
    assert!(
        shown.contains(" to origin and open a pull request into main."),
        "{shown}"
    );
    assert_eq!(
        (hosted.pushed(), hosted.told("calls")),
        (Vec::new(), String::new())
    );

    let shown = hosted.finish_text(&task, &["--yes"]);
    let said = "Pull request #1 is open: https://example.org/o/r/pull/1";
    assert!(shown.contains(said), "{shown}");
    assert_eq!(hosted.wait_opened(&task, 1)["task"]["status"], "review");

    // It can still be merged here.
    let merged = hosted.finish(&task, &["--how", "merge", "--yes"]);
    assert_eq!(merged["result"]["kind"], "merged", "{merged}");
    assert_eq!(field.show(&task)["task"]["status"], "done");
}

#[test]
fn red_work_is_opened_only_on_purpose_and_waits_in_review() {
    let hosted = Hosted::new();
    let field = &hosted.field;
    let red = json!({
        "finish": "merge",
        "checks": [{ "run": ["sh", "-c", "exit 3"] }],
        "max_attempts": 1,
    });
    let task = hosted.task("Say one", red);
    field.wait_status(&task, "blocked");
    field.wait_for_quiet();
    let finish = [&["worktree", "finish", &task][..], &PULL].concat();
    let (code, said) = field.home.failure(&finish);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("--despite-failed-checks"), "{said}");
    assert_eq!((hosted.pushed(), hosted.opened()), (Vec::new(), 0));
    let on_purpose = [&PULL[..], &["--despite-failed-checks"]].concat();
    assert_eq!(hosted.finish(&task, &on_purpose)["result"]["number"], 1);
    let details = field.show(&task);
    assert_eq!(details["task"]["status"], "review", "{details:#}");
    assert_eq!(details["task"]["blocked"], Value::Null);
    hosted.end("MERGED");
    field.wait_status(&task, "done");
}
