//! What we keep beside what git keeps.
//!
//! A worktree that is ours has a record in git's own folder for it, so the two
//! come and go together. While a worktree is being made there is a note beside
//! its path: whoever finds the note knows that nobody has worked there yet and
//! that what lies there can be made again. Both are replaced whole or not at all.

use std::path::{Path, PathBuf};

use missiond_core::Finish;
use missiond_os::files;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;

const RECORD: &str = "missiond.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) branch: String,
    /// The branch the work started from, if it was one: where it belongs.
    pub(crate) base: Option<String>,
    pub(crate) base_commit: String,
    /// Written before the target is moved, so that a crash is understood.
    #[serde(default)]
    pub(crate) finishing: Option<Finishing>,
    #[serde(default)]
    pub(crate) finished: Option<FinishRecord>,
    /// Written before checks run, so that what they leave is put back whatever
    /// happens meanwhile.
    #[serde(default)]
    pub(crate) checking: Option<Checking>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checking {
    pub(crate) commit: String,
    /// What was not committed and was there, each as [`text`].
    pub(crate) there: Vec<String>,
    /// By what whoever began them knows when that was.
    #[serde(default)]
    pub(crate) moment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finishing {
    pub(crate) how: Finish,
    pub(crate) into: String,
    /// What was brought in.
    pub(crate) head: String,
    /// From where to where the target goes.
    pub(crate) from: String,
    pub(crate) to: String,
    /// The checkout that is moved with it.
    pub(crate) tree: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FinishRecord {
    pub(crate) how: Finish,
    pub(crate) into: String,
    /// The commit of the worktree that was finished.
    pub(crate) head: String,
    /// The commit of the target that has it.
    pub(crate) commit: Option<String>,
}

impl Record {
    /// Of a worktree in which nothing was done yet.
    pub(crate) fn new(branch: &str, base: Option<String>, base_commit: &str) -> Self {
        Self {
            branch: branch.to_owned(),
            base,
            base_commit: base_commit.to_owned(),
            finishing: None,
            finished: None,
            checking: None,
        }
    }

    /// Of the worktree whose own git folder this is.
    pub(crate) fn read(admin: &Path) -> Result<Option<Self>, WorkspaceError> {
        read(&admin.join(RECORD))
    }

    pub(crate) fn write(&self, admin: &Path) -> Result<(), WorkspaceError> {
        write(&admin.join(RECORD), self)
    }
}

/// A worktree that is being made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Preparing {
    /// The shared git folder, as text for people; compared by `identifies`.
    repository: String,
    pub(crate) branch: String,
    pub(crate) base_commit: String,
}

impl Preparing {
    pub(crate) fn new(repository: &Path, branch: &str, base_commit: &str) -> Self {
        Self {
            repository: text(repository),
            branch: branch.to_owned(),
            base_commit: base_commit.to_owned(),
        }
    }

    pub(crate) fn concerns(&self, repository: &Path) -> bool {
        self.repository == text(repository)
    }

    pub(crate) fn read(path: &Path) -> Result<Option<Self>, WorkspaceError> {
        read(&Self::marker_path(path))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), WorkspaceError> {
        write(&Self::marker_path(path), self)
    }

    pub(crate) fn remove(path: &Path) -> Result<(), WorkspaceError> {
        let marker = Self::marker_path(path);
        files::remove_synced(&marker).map_err(WorkspaceError::io(&marker))
    }

    fn marker_path(path: &Path) -> PathBuf {
        sibling_path(path, ".preparing")
    }
}

/// A path next to another one: the same name and an ending.
pub(crate) fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Puts a file in place whole: a crash leaves the old one or the new one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), WorkspaceError> {
    files::replace_private(path, content).map_err(WorkspaceError::io(path))
}

/// Not every path is text, and JSON is; bytes that are none are escaped.
pub(crate) fn text(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, WorkspaceError> {
    let content = match std::fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WorkspaceError::io(path)(error)),
    };
    let record = serde_json::from_slice(&content);
    record.map(Some).map_err(|source| WorkspaceError::Record {
        path: path.to_owned(),
        source,
    })
}

fn write<T: Serialize>(path: &Path, record: &T) -> Result<(), WorkspaceError> {
    let content = serde_json::to_vec(record).map_err(|source| WorkspaceError::Record {
        path: path.to_owned(),
        source,
    })?;
    replace(path, &content)
}
