//! Appending: lines, then their sync, then the head.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use missiond_core::ExecutionId;
use rustix::fs::FlockOperation;

use super::anchor::{self, Anchor};
use super::gate::Step;
use super::{FileStore, failed, private_file, recover};
use crate::frame::Head;
use crate::store::{Batch, JournalWriter, StoreError};

/// Holds the lock for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn acquire(store: &FileStore, execution: ExecutionId) -> Result<Self, StoreError> {
        let path = store.file(execution, "lock");
        let failed = |error: io::Error| failed("locking the journal", &error);
        let file = private_file()
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StoreError::Locked {
                    execution,
                    holder: holder(&path),
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // Who holds it is information for a person; the lock itself is the lock.
        let note = format!("process {}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.write_all_at(note.as_bytes(), 0))
            .map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn holder(path: &Path) -> String {
    let mut note = [0; 64];
    let read = File::open(path).and_then(|file| file.read_at(&mut note, 0));
    let note = String::from_utf8_lossy(&note[..read.unwrap_or(0)]);
    let note = note.trim();
    if note.is_empty() {
        "another process".into()
    } else {
        note.into()
    }
}

#[derive(Debug)]
pub(super) struct FileWriter {
    store: FileStore,
    execution: ExecutionId,
    lines: File,
    anchor: Anchor,
    head: Head,
    /// Where the next line goes.
    end: u64,
    broken: Option<String>,
    _lock: Lock,
}

impl FileWriter {
    pub(super) fn resume(
        store: &FileStore,
        execution: ExecutionId,
        lock: Lock,
        lines: File,
        end: u64,
        head: Head,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            anchor: Anchor::open(&store.file(execution, "head"), store.gate.clone())?,
            store: store.clone(),
            execution,
            lines,
            head,
            end,
            broken: None,
            _lock: lock,
        })
    }

    pub(super) fn record_durably(&mut self) -> Result<(), StoreError> {
        self.anchor.record_durably(self.head)
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<(), StoreError> {
        write_lines(&self.store, &self.lines, batch.lines, self.end)?;
        sync_lines(&self.store, &self.lines)?;
        self.end += batch.lines.len() as u64;
        self.head = batch.head;
        self.anchor.record(batch.head)
    }

    fn exchange(&mut self, segment: Batch<'_>) -> Result<(), StoreError> {
        let aside = self.store.file(self.execution, "compacting");
        let file = new_file(&aside)?;
        write_lines(&self.store, &file, segment.lines, 0)?;
        sync_lines(&self.store, &file)?;
        self.store.gate.pass(Step::Rename)?;
        fs::rename(&aside, self.store.path(self.execution))
            .map_err(|error| failed("putting the compacted journal in place", &error))?;
        self.store.sync_folder()?;
        self.lines = file;
        self.end = segment.lines.len() as u64;
        self.head = segment.head;
        self.anchor.record_durably(segment.head)
    }

    /// After a failure nobody knows what is on disk, and a second attempt to
    /// sync may claim success for pages the kernel has already given up.
    fn unless_broken(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(detail) = &self.broken {
            return Err(StoreError::Broken {
                detail: detail.clone(),
            });
        }
        let done = work(self);
        if let Err(error) = &done {
            self.broken = Some(error.to_string());
        }
        done
    }
}

impl JournalWriter for FileWriter {
    fn head(&self) -> Head {
        self.head
    }

    fn commit(&mut self, batch: Batch<'_>) -> Result<(), StoreError> {
        self.unless_broken(|writer| writer.append(batch))
    }

    fn replace(&mut self, segment: Batch<'_>) -> Result<(), StoreError> {
        self.unless_broken(|writer| writer.exchange(segment))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if self.broken.is_none() && !self.anchor.is_synced() {
            // Nothing depends on it: the head may lag, and says so when it does.
            let _ = self.anchor.sync();
        }
    }
}

/// Makes the journal. Until its head is remembered it does not exist: what a
/// crash leaves before that is taken over.
pub(super) fn create(
    store: &FileStore,
    execution: ExecutionId,
    first: Batch<'_>,
) -> Result<Box<dyn JournalWriter>, StoreError> {
    let lock = Lock::acquire(store, execution)?;
    let path = store.path(execution);
    if anchor::read(&store.file(execution, "head"))?.is_some() || recover::has_records(&path)? {
        return Err(StoreError::Exists { execution });
    }
    let lines = new_file(&path)?;
    write_lines(store, &lines, first.lines, 0)?;
    sync_lines(store, &lines)?;
    let end = first.lines.len() as u64;
    let mut writer = FileWriter::resume(store, execution, lock, lines, end, first.head)?;
    writer.record_durably()?;
    store.sync_folder()?;
    Ok(Box::new(writer))
}

fn new_file(path: &Path) -> Result<File, StoreError> {
    private_file()
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(|error| failed("making the journal", &error))
}

fn write_lines(store: &FileStore, file: &File, lines: &[u8], at: u64) -> Result<(), StoreError> {
    store.gate.pass(Step::WriteLines)?;
    file.write_all_at(lines, at)
        .map_err(|error| failed("writing the journal", &error))
}

pub(super) fn sync_lines(store: &FileStore, file: &File) -> Result<(), StoreError> {
    store.gate.pass(Step::SyncLines)?;
    file.sync_data()
        .map_err(|error| failed("syncing the journal", &error))
}
