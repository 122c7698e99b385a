//! Making a worktree, once.
//!
//! The same plan finds the same worktree again, whether it was made a moment ago
//! or by a daemon that died; one whose making was interrupted is made anew. A
//! path or a branch that anybody else uses is refused and left alone.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use missiond_os::files::create_private_dir;

use crate::error::WorkspaceError;
use crate::include::copy_included;
use crate::listing::admin_of;
use crate::record::{Preparing, Record, replace, sibling_path};
use crate::repository::{Lock, Repository, real};
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePlan {
    /// Where it goes: absolute, and outside the repository.
    pub path: PathBuf,
    /// The branch that is made for it.
    pub branch: String,
    /// What it starts from: a branch, a tag or a commit; without one, the branch
    /// the checkout is on.
    pub base: Option<String>,
    /// Copy the ignored files that `.worktreeinclude` of the checkout names.
    pub include: bool,
    /// Folders to check out, with the files beside and above them; without any,
    /// everything.
    pub sparse: Vec<String>,
}

impl Default for WorktreePlan {
    /// Nowhere yet; from the branch of the checkout, with included files and all
    /// folders.
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            branch: String::new(),
            base: None,
            include: true,
            sparse: Vec::new(),
        }
    }
}

impl WorktreePlan {
    #[must_use]
    pub fn new(path: PathBuf, branch: String) -> Self {
        Self {
            path,
            branch,
            ..Self::default()
        }
    }
}

impl Repository {
    pub async fn prepare(&self, plan: &WorktreePlan) -> Result<Worktree, WorkspaceError> {
        let path = self.resolve_path(&plan.path)?;
        self.expect_branch_name(&plan.branch).await?;
        if let Some(bad) = plan.sparse.iter().find(|path| !is_sparse_path(path)) {
            return Err(WorkspaceError::SparsePath(bad.clone()));
        }
        let lock = self.lock().await?;
        if let Some(begun) = Preparing::read(&path)? {
            self.discard_unfinished(&path, &begun).await?;
        }
        match self.find_existing(&path, plan).await? {
            Some(worktree) => Ok(worktree),
            None => self.create(&path, plan, &lock).await,
        }
    }

    /// Makes a worktree that is gone again, on the branch it left, which must still be
    /// there. Its base is what the first one was given.
    pub async fn reattach(
        &self,
        path: &Path,
        branch: &str,
        base: Option<&str>,
        base_commit: &str,
    ) -> Result<Worktree, WorkspaceError> {
        let path = self.resolve_path(path)?;
        let lock = self.lock().await?;
        let plan = WorktreePlan::new(path.clone(), branch.to_owned());
        if let Some(worktree) = self.find_existing(&path, &plan).await? {
            return Ok(worktree);
        }
        if self.branch_tip(branch).await?.is_none() {
            return Err(WorkspaceError::NoSuchTarget(branch.to_owned()));
        }
        let command = self.git().call(self.path(), "make the worktree again");
        let command = command.args(["worktree", "add", "--quiet", "--force"]);
        let command = command.arg(&path).arg(branch).holding(&lock)?;
        command.output().await?;
        let admin = admin_of(self, &path)?;
        let admin = admin.ok_or_else(|| WorkspaceError::NotOurs(path.clone()))?;
        let base = self.base_branch(base).await?;
        let record = Record::new(branch, base, base_commit);
        record.write(&admin)?;
        Ok(Worktree::of(self.clone(), path, admin, record))
    }

    /// The branch that work on this base goes back to; nothing when it is a commit.
    pub async fn base_branch(&self, base: Option<&str>) -> Result<Option<String>, WorkspaceError> {
        match base {
            Some(base) => Ok(self.branch_tip(base).await?.map(|_| base.to_owned())),
            None => self.current_branch().await,
        }
    }

    /// Whether a worktree could start from this base, or without one from the
    /// branch the checkout is on.
    pub async fn can_start_from(&self, base: Option<&str>) -> Result<(), WorkspaceError> {
        self.base(base).await.map(drop)
    }

    /// The path of the plan without links above it; the folders are made.
    fn resolve_path(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let (Some(parent), Some(name), true) =
            (path.parent(), path.file_name(), path.is_absolute())
        else {
            return Err(WorkspaceError::NotAbsolute(path.to_owned()));
        };
        create_private_dir(parent).map_err(WorkspaceError::io(parent))?;
        let path = real(parent)?.join(name);
        for repository in [self.path(), self.common_dir()] {
            if path.starts_with(repository) {
                return Err(WorkspaceError::InsideRepository {
                    path,
                    repository: repository.to_owned(),
                });
            }
        }
        Ok(path)
    }

    async fn expect_branch_name(&self, branch: &str) -> Result<(), WorkspaceError> {
        let command = self.call("check the name of a branch");
        let answer = command
            .args(["check-ref-format", "--branch", branch])
            .run()
            .await?;
        // `@{-1}` and its like are answered with the branch they stand for.
        if answer.code == Some(0) && answer.output.trim_ascii_end() == branch.as_bytes() {
            Ok(())
        } else {
            Err(WorkspaceError::BranchName(branch.to_owned()))
        }
    }

    async fn find_existing(
        &self,
        path: &Path,
        plan: &WorktreePlan,
    ) -> Result<Option<Worktree>, WorkspaceError> {
        let taken = |by| WorkspaceError::PathTaken {
            path: path.to_owned(),
            by,
        };
        let Some(admin) = admin_of(self, path)? else {
            return match path.symlink_metadata() {
                Err(_) => Ok(None),
                Ok(found) if found.is_dir() && is_empty(path)? => Ok(None),
                Ok(found) if found.is_dir() && path.join(".git").exists() => {
                    Err(taken("another repository or a worktree of one"))
                }
                Ok(found) if found.is_dir() => Err(taken("a folder with something in it")),
                Ok(_) => Err(taken("a file")),
            };
        };
        let Some(record) = Record::read(&admin)? else {
            return Err(taken("a worktree that missiond did not make"));
        };
        if record.branch != plan.branch {
            return Err(taken("the worktree of other work"));
        }
        if !path.join(".git").exists() {
            self.restore_checkout(path, &admin, &record).await?;
        }
        let worktree = Worktree::of(self.clone(), path.to_owned(), admin, record);
        Ok(Some(worktree))
    }

    /// Its folder was deleted; what was committed is still on its branch.
    async fn restore_checkout(
        &self,
        path: &Path,
        admin: &Path,
        record: &Record,
    ) -> Result<(), WorkspaceError> {
        if path.exists() && !is_empty(path)? {
            return Err(WorkspaceError::PathTaken {
                path: path.to_owned(),
                by: "a folder with something in it",
            });
        }
        let branch = &record.branch;
        if self.branch_tip(branch).await?.is_none() {
            let command = self.call("restore the branch");
            let command = command.args(["branch", "--no-track", branch, &record.base_commit]);
            command.output().await?;
        }
        // Made elsewhere and put in place whole; from the index, which may have
        // what was staged and never committed.
        let begun = sibling_path(path, ".restoring");
        if begun.exists() {
            remove_folder(&begun).await?;
        }
        std::fs::create_dir(&begun).map_err(WorkspaceError::io(&begun))?;
        let command = self.git().call(&begun, "check the worktree out again");
        let command = command
            .variable("GIT_DIR", admin)
            .variable("GIT_WORK_TREE", &begun);
        let command = command.args(["checkout-index", "--all", "--force", "--quiet"]);
        command.output().await?;
        let mut pointer = b"gitdir: ".to_vec();
        pointer.extend_from_slice(admin.as_os_str().as_bytes());
        pointer.push(b'\n');
        replace(&begun.join(".git"), &pointer)?;
        std::fs::rename(&begun, path).map_err(WorkspaceError::io(path))
    }

    async fn create(
        &self,
        path: &Path,
        plan: &WorktreePlan,
        lock: &Lock,
    ) -> Result<Worktree, WorkspaceError> {
        let (base, base_commit) = self.base(plan.base.as_deref()).await?;
        let branch = &plan.branch;
        if self.branch_tip(branch).await?.is_some() {
            return Err(WorkspaceError::BranchTaken(branch.clone()));
        }
        Preparing::new(self.common_dir(), branch, &base_commit).write(path)?;
        match self
            .create_worktree(path, plan, base, &base_commit, lock)
            .await
        {
            Ok(worktree) => {
                Preparing::remove(path)?;
                Ok(worktree)
            }
            Err(error) => {
                // The reason is worth more than a second failure of the same kind;
                // the note stays, so the next one clears up.
                if let Ok(Some(begun)) = Preparing::read(path) {
                    let _ = self.discard_unfinished(path, &begun).await;
                }
                Err(error)
            }
        }
    }

    async fn create_worktree(
        &self,
        path: &Path,
        plan: &WorktreePlan,
        base: Option<String>,
        base_commit: &str,
        lock: &Lock,
    ) -> Result<Worktree, WorkspaceError> {
        let command = self.git().call(self.path(), "make the worktree");
        let command = command.args(["worktree", "add", "--quiet", "--no-track"]);
        let command = if plan.sparse.is_empty() {
            command
        } else {
            command.args(["--no-checkout"])
        };
        let command = command.args(["-b", &plan.branch]).arg(path);
        command.args([base_commit]).holding(lock)?.output().await?;
        if !plan.sparse.is_empty() {
            self.check_out_sparse(path, &plan.sparse, lock).await?;
        }
        if let (true, Some(checkout)) = (plan.include, self.checkout()) {
            copy_included(self.git(), checkout, path).await?;
        }
        let admin = admin_of(self, path)?;
        let admin = admin.ok_or_else(|| WorkspaceError::NotOurs(path.to_owned()))?;
        let record = Record::new(&plan.branch, base, base_commit);
        record.write(&admin)?;
        Ok(Worktree::of(self.clone(), path.to_owned(), admin, record))
    }

    async fn check_out_sparse(
        &self,
        path: &Path,
        folders: &[String],
        lock: &Lock,
    ) -> Result<(), WorkspaceError> {
        let command = self.git().call(path, "choose the sparse paths");
        let command = command.args(["sparse-checkout", "set", "--cone", "--stdin"]);
        let quoted = folders.iter().map(|folder| format!("{}\n", quoted(folder)));
        command.input(quoted.collect::<String>()).output().await?;
        let command = self.git().call(path, "check out the sparse paths");
        let command = command.args(["reset", "--quiet", "--hard"]).holding(lock)?;
        command.output().await.map(drop)
    }

    /// The branch to start from, if it is one, and its commit.
    async fn base(&self, base: Option<&str>) -> Result<(Option<String>, String), WorkspaceError> {
        let Some(base) = base else {
            let branch = self.current_branch().await?;
            let commit = self.commit("HEAD").await?;
            return match (branch, commit) {
                (_, None) => Err(WorkspaceError::NoCommits(self.path().to_owned())),
                (None, Some(_)) => Err(WorkspaceError::DetachedHead(self.path().to_owned())),
                (branch, Some(commit)) => Ok((branch, commit)),
            };
        };
        if let Some(commit) = self.branch_tip(base).await? {
            return Ok((Some(base.to_owned()), commit));
        }
        match self.commit(base).await? {
            Some(commit) => Ok((None, commit)),
            None if self.commit("HEAD").await?.is_none() && self.is_empty().await? => {
                Err(WorkspaceError::NoCommits(self.path().to_owned()))
            }
            None => Err(WorkspaceError::NoSuchBase {
                repository: self.path().to_owned(),
                base: base.to_owned(),
            }),
        }
    }

    async fn is_empty(&self) -> Result<bool, WorkspaceError> {
        let command = self
            .call("look for commits")
            .args(["rev-list", "--all", "-n1"]);
        Ok(command.output().await?.is_empty())
    }

    /// Takes away what an interrupted `make` left. Nobody has worked there: a
    /// worktree is handed out only after its note is gone.
    async fn discard_unfinished(
        &self,
        path: &Path,
        begun: &Preparing,
    ) -> Result<(), WorkspaceError> {
        if !begun.concerns(self.common_dir()) {
            return Err(WorkspaceError::PathTaken {
                path: path.to_owned(),
                by: "a worktree of another repository that is being made",
            });
        }
        if path.symlink_metadata().is_ok() {
            remove_folder(path).await?;
        }
        if let Some(admin) = admin_of(self, path)? {
            std::fs::remove_dir_all(&admin).map_err(WorkspaceError::io(&admin))?;
        }
        if self.branch_tip(&begun.branch).await?.as_ref() == Some(&begun.base_commit) {
            let name = format!("refs/heads/{}", begun.branch);
            let command = self.call("take back the branch");
            command
                .args(["update-ref", "-d", &name, &begun.base_commit])
                .output()
                .await?;
        }
        Preparing::remove(path)
    }
}

fn is_sparse_path(path: &str) -> bool {
    let inside = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    !path.is_empty() && !path.contains(['\n', '\0']) && Path::new(path).components().all(inside)
}

/// As git reads a path on its input: in quotes, where a quote and a backslash are
/// escaped.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

async fn remove_folder(folder: &Path) -> Result<(), WorkspaceError> {
    let doomed = folder.to_owned();
    let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(doomed)).await;
    removed
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
        .map_err(WorkspaceError::io(folder))
}

fn is_empty(folder: &Path) -> Result<bool, WorkspaceError> {
    let mut entries = std::fs::read_dir(folder).map_err(WorkspaceError::io(folder))?;
    Ok(entries.next().is_none())
}
