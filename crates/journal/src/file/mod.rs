//! Journals as files: `agent-journals/<execution>.interaction.jsonl`, one record
//! a line, with a small file beside each that remembers its head, and a lock.
//!
//! The head file is written after the lines are durable and never before, so it
//! may lag behind them and never leads. Whoever finds fewer lines than it says
//! knows that the end is missing; whoever finds more knows that a writer was
//! stopped between the two, and that what the chain proves is whole counts.

mod anchor;
mod gate;
mod lines;
mod recover;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use missiond_core::ExecutionId;
use missiond_os::files::create_private_dir;

use crate::frame::{BadLine, Head, Line, Sequence};
use crate::store::{
    Batch, Chain, JournalStore, JournalWriter, OpenedJournal, Scanned, StoreError, Visitor,
};
use gate::Gate;
use lines::Lines;

const FOLDER: &str = "agent-journals";
const LINES: &str = ".interaction.jsonl";

/// Journals in a folder.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: PathBuf,
    gate: Gate,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Writing,
    Looking,
}

impl FileStore {
    /// Keeps journals in `root/agent-journals`, which is made when it is not
    /// there. The place must be private to this user and outside every worktree:
    /// an agent must not be able to edit its own record.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        Self::with_gate(root, Gate::default())
    }

    pub(crate) fn with_gate(root: &Path, gate: Gate) -> Result<Self, StoreError> {
        let folder = root.join(FOLDER);
        let bad = |detail: String| StoreError::BadPlace {
            path: folder.clone(),
            detail,
        };
        create_private_dir(&folder).map_err(|error| bad(error.to_string()))?;
        let real = folder
            .canonicalize()
            .map_err(|error| bad(error.to_string()))?;
        if let Some(worktree) = real.ancestors().find(|place| place.join(".git").exists()) {
            return Err(bad(format!(
                "it lies within the worktree {}; choose a place outside",
                worktree.display()
            )));
        }
        let metadata = fs::metadata(&real).map_err(|error| bad(error.to_string()))?;
        if metadata.mode() & 0o077 != 0 {
            return Err(bad("others may enter it; run `chmod 700` on it".into()));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(bad("it belongs to another user".into()));
        }
        Ok(Self {
            folder: real,
            gate,
            purpose: Purpose::Writing,
        })
    }

    /// A folder with journals as it is found, for looking only: nothing is made,
    /// nothing is demanded of the place, and whatever would write is refused.
    #[must_use]
    pub fn open_read_only(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            gate: Gate::default(),
            purpose: Purpose::Looking,
        }
    }

    /// The folder below `root` in which [`FileStore::open`] keeps journals.
    #[must_use]
    pub fn folder_below(root: &Path) -> PathBuf {
        root.join(FOLDER)
    }

    /// Whether the folder is there; before the first execution it is not.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Whose journal the file with this name is.
    #[must_use]
    pub fn execution_of(path: &Path) -> Option<ExecutionId> {
        let name = path.file_name()?.to_str()?;
        name.strip_suffix(LINES)?.parse().ok()
    }

    /// The file that holds the records of an execution.
    #[must_use]
    pub fn path(&self, execution: ExecutionId) -> PathBuf {
        self.folder.join(format!("{execution}{LINES}"))
    }

    /// Removes a journal and everything beside it. It must not be open.
    pub fn remove(&self, execution: ExecutionId) -> Result<(), StoreError> {
        self.may_write()?;
        if !self.path(execution).exists() {
            return Err(StoreError::NotFound { execution });
        }
        let lock = writer::Lock::acquire(self, execution)?;
        let removing = |error: io::Error| failed("removing the journal", &error);
        let prefix = format!("{execution}.");
        for entry in fs::read_dir(&self.folder).map_err(removing)? {
            let entry = entry.map_err(removing)?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_file(entry.path()).map_err(removing)?;
            }
        }
        drop(lock);
        self.sync_folder()
    }

    fn file(&self, execution: ExecutionId, what: &str) -> PathBuf {
        self.folder.join(format!("{execution}.{what}"))
    }

    fn open_lines(&self, execution: ExecutionId) -> Result<File, StoreError> {
        File::open(self.path(execution)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { execution },
            _ => failed("opening the journal", &error),
        })
    }

    fn may_write(&self) -> Result<(), StoreError> {
        match self.purpose {
            Purpose::Writing => Ok(()),
            Purpose::Looking => Err(StoreError::BadPlace {
                path: self.folder.clone(),
                detail: "it was opened for looking only".into(),
            }),
        }
    }

    /// Forces the names in the folder to disk.
    fn sync_folder(&self) -> Result<(), StoreError> {
        self.gate.pass(gate::Step::SyncFolder)?;
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed("syncing the folder of the journals", &error))
    }
}

impl JournalStore for FileStore {
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, StoreError> {
        self.may_write()?;
        writer::create(self, execution, first)
    }

    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, StoreError> {
        self.may_write()?;
        recover::open(self, execution)
    }

    fn list(&self) -> Result<Vec<ExecutionId>, StoreError> {
        let listing = |error: io::Error| failed("listing the journals", &error);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(listing)? {
            found.extend(Self::execution_of(&entry.map_err(listing)?.path()));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        // Read first: what is acknowledged by now is shown whatever its form.
        let acknowledged = self
            .anchor(execution)?
            .map_or(Sequence::START, |head| head.sequence);
        let file = self.open_lines(execution)?;
        let start = if after == Sequence::START {
            0
        } else {
            lines::locate(&file, after)?
        };
        let mut lines = Lines::new(file, start);
        let mut unfinished = Unfinished {
            last_shown: after,
            ..Unfinished::default()
        };
        let mut number = 0;
        while let Some(raw) = lines.next()? {
            let line = match raw.line {
                // Without its newline it was never finished, whatever it looks like.
                _ if raw.cut_short => Err(BadLine::Form),
                line => line.and_then(Line::parse),
            };
            match line {
                Ok(line) if line.sequence <= after => continue,
                Ok(line) if line.sequence > acknowledged => {
                    let Some(group) = unfinished.whole(&line) else {
                        if unfinished.hopeless {
                            return Ok(());
                        }
                        continue;
                    };
                    for bytes in group {
                        number += 1;
                        let line = Line::parse(&bytes);
                        if visit(Scanned { number, line }).is_break() {
                            return Ok(());
                        }
                    }
                }
                line => {
                    if line.is_err() && unfinished.last_shown >= acknowledged {
                        return Ok(());
                    }
                    number += 1;
                    if let Ok(line) = &line {
                        unfinished.last_shown = line.sequence;
                    }
                    if let ControlFlow::Break(()) = visit(Scanned { number, line }) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn unfinished(&self, execution: ExecutionId) -> Result<u64, StoreError> {
        recover::unfinished(self, execution)
    }

    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError> {
        anchor::read(&self.file(execution, "head"))
    }
}

/// Lines beyond the remembered head, held back until their group is whole: a
/// writer may be in the middle of it.
#[derive(Debug, Default)]
struct Unfinished {
    group: Vec<Vec<u8>>,
    last_shown: Sequence,
    hopeless: bool,
}

impl Unfinished {
    fn whole(&mut self, line: &Line<'_>) -> Option<Vec<Vec<u8>>> {
        if line.index as usize != self.group.len() {
            self.hopeless = true;
            return None;
        }
        self.group.push(line.bytes().to_vec());
        if !line.ends_group() {
            return None;
        }
        self.last_shown = line.sequence;
        Some(std::mem::take(&mut self.group))
    }
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn failed(what: &str, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Io {
            what: what.to_owned(),
            detail: error.to_string(),
        },
    }
}

/// The chain up to and with a line whose place is known.
fn chain_at(line: &Line<'_>, records: u64) -> Option<Chain> {
    Some(Chain::from(Head {
        sequence: line.sequence,
        hash: line.stated_hash()?,
        records,
    }))
}
