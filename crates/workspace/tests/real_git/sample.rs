//! A sample repository of a person, made with the real git.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use missiond_workspace::{Finish, FinishPlan, Git, Repository, Worktree, WorktreePlan};

pub(crate) struct Sample {
    pub(crate) place: tempfile::TempDir,
    pub(crate) repository: PathBuf,
}

impl Sample {
    /// A repository on branch `main` with one commit of `readme` and `code/a`.
    pub(crate) fn new() -> Self {
        let sample = Self::empty();
        sample.write("readme", "one\ntwo\nthree\n");
        sample.write("code/a", "a\n");
        sample.git(["add", "--all"]);
        sample.git(["commit", "--quiet", "-m", "first"]);
        sample
    }

    /// Without a commit.
    pub(crate) fn empty() -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let repository = root.join("repository");
        std::fs::create_dir(&repository).unwrap();
        git(&repository, ["init", "--quiet", "--initial-branch=main"]);
        git(&repository, ["config", "user.name", "Sample Person"]);
        git(&repository, ["config", "user.email", "sample@example.com"]);
        Self { place, repository }
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &str) {
        write(&self.repository, path, content);
    }

    pub(crate) fn commit(&self, path: &str, content: &str) -> String {
        self.write(path, content);
        commit_all(&self.repository)
    }

    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        git(&self.repository, args)
    }

    /// Where worktrees of these tests go.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.place.path().canonicalize().unwrap();
        root.join("worktrees").join(name)
    }

    pub(crate) fn plan(&self, name: &str) -> WorktreePlan {
        WorktreePlan::new(self.path(name), format!("mission/{name}"))
    }

    pub(crate) async fn open(&self) -> Repository {
        Repository::open(&self.repository).await.unwrap()
    }

    pub(crate) async fn worktree(&self, name: &str) -> Worktree {
        self.open().await.prepare(&self.plan(name)).await.unwrap()
    }

    /// A worktree with one commit that writes `content` to `file`.
    pub(crate) async fn work(&self, name: &str, file: &str, content: &str) -> Worktree {
        let worktree = self.worktree(name).await;
        write(worktree.path(), file, content);
        commit_all(worktree.path());
        worktree
    }

    /// The real git, run with these variables (`NAME=value …`).
    pub(crate) async fn wrapped_git(&self, variables: &str) -> Git {
        self.git_by(&format!("exec env {variables} git \"$@\""))
            .await
    }

    /// The real git, before which these commands of a shell run.
    pub(crate) async fn git_that_first_does(&self, commands: &str) -> Git {
        self.git_by(&format!("{commands}\nexec git \"$@\"")).await
    }

    async fn git_by(&self, commands: &str) -> Git {
        let program = self.place.path().join("git");
        let script = format!("#!/bin/sh\n{commands}\n");
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        Git::at(&program).await.unwrap()
    }

    pub(crate) fn tip(&self, branch: &str) -> String {
        self.git(["rev-parse", branch])
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.repository.join(path)).unwrap()
    }

    /// A file as a branch has it.
    pub(crate) fn at(&self, branch: &str, path: &str) -> String {
        self.git(["show", &format!("{branch}:{path}")])
    }
}

pub(crate) fn into_main(how: Finish) -> FinishPlan {
    FinishPlan {
        how,
        into: "main".to_owned(),
        message: None,
    }
}

pub(crate) fn write(folder: &Path, path: impl AsRef<Path>, content: &str) {
    let file = folder.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

pub(crate) fn commit_all(folder: &Path) -> String {
    git(folder, ["add", "--all"]);
    git(folder, ["commit", "--quiet", "-m", "work"]);
    git(folder, ["rev-parse", "HEAD"])
}

/// Runs git and expects it to succeed; what it said, without the last newline.
pub(crate) fn git<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaint}");
    said
}
