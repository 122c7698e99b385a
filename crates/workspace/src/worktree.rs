//! A worktree that we made, known by its path.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::git::{Git, GitCall};
use crate::index_lock;
use crate::record::Record;
use crate::repository::{Repository, branch_of, commit_in, one_path, real};
use crate::status;

#[derive(Debug, Clone)]
pub struct Worktree {
    repository: Repository,
    path: PathBuf,
    /// The folder git keeps for it.
    admin: PathBuf,
    branch: String,
    base: Option<String>,
    base_commit: String,
}

/// What [`Worktree::commit_all`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// Nothing when there was nothing to commit.
    pub commit: Option<String>,
    /// New files of caches and builds that git was not told to ignore.
    pub left_out: Vec<PathBuf>,
    /// Those of them that may be somebody's work all the same.
    pub doubtful: Vec<PathBuf>,
}

impl Worktree {
    /// The worktree at this path, if it is one of ours.
    pub async fn open(path: &Path) -> Result<Self, WorkspaceError> {
        Self::open_with(Git::find().await?, path).await
    }

    /// The same with another git than the one in PATH.
    pub async fn open_with(git: Git, path: &Path) -> Result<Self, WorkspaceError> {
        let path = real(path)?;
        if let Some((repository, admin)) = Repository::of_linked(&git, &path)
            && let Some(record) = Record::read(&admin)?
        {
            return Ok(Self::of(repository, path, admin, record));
        }
        let repository = match Repository::open_with(git.clone(), &path).await {
            Err(WorkspaceError::NotARepository(path)) => {
                return Err(WorkspaceError::NotOurs(path));
            }
            other => other?,
        };
        // Inside another checkout git answers for that one.
        if repository.checkout() != Some(&path) {
            return Err(WorkspaceError::NotOurs(path));
        }
        let command = git.call(&path, "find the folder of the worktree");
        let admin = command
            .args(["rev-parse", "--absolute-git-dir"])
            .output()
            .await?;
        let admin = real(&one_path(admin))?;
        match Record::read(&admin)? {
            Some(record) => Ok(Self::of(repository, path, admin, record)),
            None => Err(WorkspaceError::NotOurs(path)),
        }
    }

    pub(crate) fn of(
        repository: Repository,
        path: PathBuf,
        admin: PathBuf,
        record: Record,
    ) -> Self {
        Self {
            repository,
            path,
            admin,
            branch: record.branch,
            base: record.base,
            base_commit: record.base_commit,
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The branch that was made for it.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The branch the work started from, and by default goes back to. Nothing
    /// when it started from a commit or a tag.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    #[must_use]
    pub fn base_commit(&self) -> &str {
        &self.base_commit
    }

    /// Commits every change and every new file that git does not ignore, on the
    /// branch that was made for it. Build output that nobody ignored is left out, and
    /// so is another repository inside: git would record only that it is there. What
    /// checks left that were cut off is put back first, unless somebody has committed
    /// since.
    pub async fn commit_all(&self, message: &str) -> Result<Committed, WorkspaceError> {
        self.expect_settled()?;
        self.settle_checks().await?;
        self.expect_on_branch().await?;
        self.expect_unlocked()?;
        let (changes, left_out) = self.changes_and_build_output().await?;
        let committed = |commit, doubtful| Committed {
            commit,
            left_out: left_out.clone(),
            doubtful,
        };
        let doubtful = self.doubtful(&left_out).await?;
        if changes.is_empty() {
            return Ok(committed(None, doubtful));
        }
        let excludes = self.write_excludes(&left_out).await?;
        let command = self.call("stage the changes").arg("-c").arg(excludes);
        let command = command.args(["add", "--all", "--", "."]);
        // Every file is listed by itself; only a repository is listed as a folder.
        let is_repository = |path: &&PathBuf| path.as_os_str().as_bytes().ends_with(b"/");
        let embedded = changes.untracked.iter().filter(is_repository);
        let embedded = embedded.map(|path| {
            let mut pathspec = OsString::from(":(exclude,top,literal)");
            pathspec.push(path);
            pathspec
        });
        command.args(embedded).output().await?;
        let command = self.call("look for staged changes");
        let answer = command
            .args([
                "diff",
                "--cached",
                "--quiet",
                "--no-ext-diff",
                "--no-textconv",
            ])
            .run()
            .await?;
        if answer.code == Some(0) {
            return Ok(committed(None, doubtful));
        }
        let command = self.identified(self.call("commit the changes")).await?;
        let command = command.args(["commit", "--quiet", "--no-verify"]);
        let command = command.args(["--cleanup=whitespace", "--allow-empty-message", "--file=-"]);
        command.input(message).output().await?;
        Ok(committed(Some(self.head().await?), doubtful))
    }

    pub(crate) fn git(&self) -> &Git {
        self.repository.git()
    }

    pub(crate) fn admin(&self) -> &Path {
        &self.admin
    }

    pub(crate) fn call(&self, doing: impl Into<String>) -> GitCall {
        self.git().call(&self.path, doing)
    }

    /// A call that makes a commit. Somebody who has not told git who they are
    /// still gets their work; the commit says who made it.
    pub(crate) async fn identified(&self, call: GitCall) -> Result<GitCall, WorkspaceError> {
        let command = self
            .call("say who commits")
            .args(["var", "GIT_COMMITTER_IDENT"]);
        if command.run().await?.code == Some(0) {
            return Ok(call);
        }
        Ok(call
            .variable("GIT_AUTHOR_NAME", "missiond")
            .variable("GIT_AUTHOR_EMAIL", "missiond@localhost")
            .variable("GIT_COMMITTER_NAME", "missiond")
            .variable("GIT_COMMITTER_EMAIL", "missiond@localhost"))
    }

    pub(crate) fn record(&self) -> Result<Record, WorkspaceError> {
        Record::read(&self.admin)?.ok_or_else(|| WorkspaceError::NotOurs(self.path.clone()))
    }

    pub(crate) fn change_record(
        &self,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), WorkspaceError> {
        let mut record = self.record()?;
        change(&mut record);
        record.write(&self.admin)
    }

    pub(crate) async fn head(&self) -> Result<String, WorkspaceError> {
        let head = commit_in(self.call("look up the last commit"), "HEAD").await?;
        head.ok_or_else(|| WorkspaceError::NoCommits(self.path.clone()))
    }

    pub(crate) async fn current_branch(&self) -> Result<Option<String>, WorkspaceError> {
        branch_of(self.git(), &self.path).await
    }

    /// How many commits `head` has that none of `without` has.
    pub(crate) async fn count(
        &self,
        head: &str,
        without: impl Iterator<Item = String>,
    ) -> Result<u64, WorkspaceError> {
        let command = self
            .call("count commits")
            .args(["rev-list", "--count", head, "--not"]);
        let output = command.args(without).text().await?;
        output.parse().map_err(|_| WorkspaceError::GitUnclear {
            doing: "count commits".to_owned(),
            output,
        })
    }

    /// No merge, rebase or the like waits here.
    pub(crate) fn expect_settled(&self) -> Result<(), WorkspaceError> {
        match status::in_progress(&self.admin) {
            Some(operation) => Err(WorkspaceError::InProgress {
                path: self.path.clone(),
                operation,
            }),
            None => Ok(()),
        }
    }

    pub(crate) async fn expect_on_branch(&self) -> Result<(), WorkspaceError> {
        let found = self.current_branch().await?;
        if found.as_deref() == Some(self.branch()) {
            return Ok(());
        }
        Err(WorkspaceError::OffBranch {
            path: self.path.clone(),
            expected: self.branch.clone(),
            found,
        })
    }

    /// No git is at work here; a lock that a dead one left is taken away.
    pub(crate) fn expect_unlocked(&self) -> Result<(), WorkspaceError> {
        if index_lock::clear(&self.admin, &self.path) {
            Ok(())
        } else {
            Err(WorkspaceError::Locked {
                path: self.path.clone(),
                lock: self.admin.join("index.lock"),
            })
        }
    }
}
