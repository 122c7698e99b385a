//! A git repository of the person: where it is, and what its names stand for.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::WorkspaceError;
use crate::git::{Git, GitCall};

#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    /// The git folder that all worktrees share.
    common: PathBuf,
    /// The checkout it was opened by; a bare repository has none.
    checkout: Option<PathBuf>,
}

impl Repository {
    /// The repository that `path` is in, found from any folder of it. A bare one
    /// will do: it just has no checkout to copy from or to move.
    pub async fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let git = Git::find().await?;
        Self::open_with(git, path).await
    }

    /// The same with another git than the one in PATH.
    pub async fn open_with(git: Git, path: &Path) -> Result<Self, WorkspaceError> {
        let path = real(path)?;
        let command = git.call(&path, "find the repository");
        let command = command.args(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let answer = command.run().await?;
        if answer.code == Some(128) && answer.stderr.contains("not a git repository") {
            return Err(WorkspaceError::NotARepository(path));
        }
        let common = real(&one_path(answer.success()?))?;
        let command = git.call(&path, "find the checkout");
        let command = command.args(["rev-parse", "--is-inside-work-tree"]);
        let checkout = match command.text().await?.as_str() {
            "true" => {
                let command = git.call(&path, "find the checkout");
                let top = command
                    .args(["rev-parse", "--show-toplevel"])
                    .output()
                    .await?;
                Some(real(&one_path(top))?)
            }
            _ => None,
        };
        Ok(Self {
            git,
            common,
            checkout,
        })
    }

    /// The repository of a linked worktree and git's folder for that, by the files git
    /// keeps: worktrees are opened often, and asking git takes four processes. Nothing
    /// when they do not agree; then git itself has to say.
    pub(crate) fn of_linked(git: &Git, worktree: &Path) -> Option<(Self, PathBuf)> {
        let pointer = std::fs::read(worktree.join(".git")).ok()?;
        let pointer = one_path(pointer.strip_prefix(b"gitdir: ")?.to_vec());
        let admin = real(&worktree.join(pointer)).ok()?;
        if real(&worktree_path_of(&admin)?).ok()? != worktree {
            return None;
        }
        let common = one_path(std::fs::read(admin.join("commondir")).ok()?);
        let repository = Self {
            git: git.clone(),
            common: real(&admin.join(common)).ok()?,
            checkout: Some(worktree.to_owned()),
        };
        Some((repository, admin))
    }

    /// The checkout, or for a bare repository the repository itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.checkout.as_deref().unwrap_or(&self.common)
    }

    /// The git folder that all worktrees of the repository share; the same for
    /// each of them, so it says which repository this is.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common
    }

    /// Where the person has it: beside its git folder, or for a bare repository the
    /// repository itself; the same from every worktree.
    #[must_use]
    pub fn main_path(&self) -> &Path {
        match (self.common.file_name(), self.common.parent()) {
            (Some(name), Some(parent)) if name == ".git" => parent,
            _ => &self.common,
        }
    }

    #[must_use]
    pub fn checkout(&self) -> Option<&Path> {
        self.checkout.as_deref()
    }

    /// The branch the checkout is on; nothing when it is on none.
    pub async fn current_branch(&self) -> Result<Option<String>, WorkspaceError> {
        branch_of(&self.git, self.path()).await
    }

    /// What of the checkout is not committed, and so will be in no worktree.
    pub async fn uncommitted(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        match &self.checkout {
            Some(checkout) => Ok(crate::status::changes(&self.git, checkout).await?.all()),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// A call that concerns no checkout.
    pub(crate) fn call(&self, doing: impl Into<String>) -> GitCall {
        // Named, because people may forbid git to use a bare repository it finds.
        self.git.call(&self.common, doing).args(["--git-dir=."])
    }

    /// The commit a name stands for.
    pub(crate) async fn commit(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        commit_in(self.git.call(self.path(), "look up a commit"), name).await
    }

    /// The commit a branch is at.
    pub(crate) async fn branch_tip(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        commit_in(
            self.call("look up a branch"),
            &format!("refs/heads/{branch}"),
        )
        .await
    }

    pub(crate) async fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, WorkspaceError> {
        let command = self.call("compare two commits");
        let answer = command
            .args(["merge-base", "--is-ancestor", old, new])
            .run()
            .await?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failure()),
        }
    }

    /// Lets nobody else of us change worktrees or branches of this repository
    /// until it is dropped; other programs are met by git's own locks.
    pub(crate) async fn lock(&self) -> Result<Lock, WorkspaceError> {
        let path = self.common.join("missiond.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(WorkspaceError::io(&path))?;
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(WorkspaceError::io(&path)(error)),
        }
        let waited = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
        match waited {
            Ok(file) => file.map(Lock).map_err(WorkspaceError::io(&path)),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// The lock is the open file: it lasts until the last copy is closed.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// A copy for a process of ours.
    pub(crate) fn share(&self) -> Result<File, WorkspaceError> {
        self.0
            .try_clone()
            .map_err(WorkspaceError::io(Path::new("missiond.lock")))
    }
}

pub(crate) async fn branch_of(git: &Git, folder: &Path) -> Result<Option<String>, WorkspaceError> {
    let command = git.call(folder, "say which branch is checked out");
    let answer = command
        .args(["symbolic-ref", "--quiet", "HEAD"])
        .run()
        .await?;
    if answer.code == Some(1) {
        return Ok(None);
    }
    let name = String::from_utf8_lossy(&answer.success()?).into_owned();
    Ok(name
        .trim_end()
        .strip_prefix("refs/heads/")
        .map(str::to_owned))
}

pub(crate) async fn commit_in(call: GitCall, name: &str) -> Result<Option<String>, WorkspaceError> {
    let name = format!("{name}^{{commit}}");
    let command = call.args([
        "rev-parse",
        "--quiet",
        "--verify",
        "--end-of-options",
        &name,
    ]);
    let answer = command.run().await?;
    if answer.code != Some(0) {
        // A name with a strange form is answered like one that is not there.
        return Ok(None);
    }
    let id = String::from_utf8_lossy(&answer.success()?)
        .trim()
        .to_owned();
    Ok((!id.is_empty()).then_some(id))
}

/// Where the worktree of a folder of git's is, by the path it keeps of its `.git`.
pub(crate) fn worktree_path_of(admin: &Path) -> Option<PathBuf> {
    let pointer = one_path(std::fs::read(admin.join("gitdir")).ok()?);
    // Newer versions of git can keep it relative to the folder.
    admin.join(pointer).parent().map(Path::to_owned)
}

/// Without links and dots, so that equal places have equal paths.
pub(crate) fn real(path: &Path) -> Result<PathBuf, WorkspaceError> {
    match path.canonicalize() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(WorkspaceError::Missing(path.to_owned()))
        }
        other => other.map_err(WorkspaceError::io(path)),
    }
}

/// The one path of an answer that ends with a newline; the path may contain more.
pub(crate) fn one_path(mut output: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    if output.last() == Some(&b'\n') {
        output.pop();
    }
    PathBuf::from(std::ffi::OsString::from_vec(output))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_git_that_outlives_its_caller_keeps_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("git");
        let script = "#!/bin/sh\n[ \"$1\" = -c ] || exec git \"$@\"\ncase \"$*\" in *version*) \
            exec git \"$@\";; esac\ntouch began\nuntil [ -e go ]; do sleep 0.01; done\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let repository = Repository {
            git: Git::at(&program).await.unwrap(),
            common: place.path().to_owned(),
            checkout: None,
        };
        let lock = repository.lock().await.unwrap();
        let call = repository.call("wait").holding(&lock).unwrap();
        let caller = tokio::spawn(call.output());
        while !place.path().join("began").exists() {
            tokio::task::yield_now().await;
        }
        caller.abort();
        drop(lock);
        let lock = File::open(place.path().join("missiond.lock")).unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        std::fs::write(place.path().join("go"), "").unwrap();
        repository.lock().await.unwrap();
    }
}
