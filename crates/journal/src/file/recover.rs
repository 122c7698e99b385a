//! Opening: finds the last record that counts, cuts off what a crash left after
//! it, and refuses what no crash can leave.
//!
//! What the head file says was acknowledged must be there. What lies beyond was
//! written by a writer that was stopped before it could say so: its whole groups
//! count, the rest is moved aside.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use missiond_core::ExecutionId;

use super::gate::Step;
use super::lines::{self, Lines};
use super::writer::{FileWriter, Lock, sync_lines};
use super::{FileStore, anchor, chain_at, failed, private_file};
use crate::frame::{Head, Line, Sequence};
use crate::record::RecordBody;
use crate::store::{Chain, OpenedJournal, Recovery, StoreError, Torn};

pub(super) fn open(store: &FileStore, execution: ExecutionId) -> Result<OpenedJournal, StoreError> {
    // Before the lock, which would leave a file for every name that is asked for.
    if !store.path(execution).exists() {
        return Err(StoreError::NotFound { execution });
    }
    let lock = Lock::acquire(store, execution)?;
    let file = private_file()
        .open(store.path(execution))
        .map_err(|error| failed("opening the journal", &error))?;
    discard_compaction(store, execution)?;
    let end = find_end(store, execution, &file)?;
    let length = file
        .metadata()
        .map_err(|error| failed("opening the journal", &error))?
        .len();
    let torn = if end.offset < length {
        Some(cut(store, execution, &file, &end, length)?)
    } else {
        None
    };
    let mut writer = FileWriter::resume(store, execution, lock, file, end.offset, end.head)?;
    if end.remembered != Some(end.head) {
        writer.record_durably()?;
    }
    let before = end.remembered.map_or(0, |head| head.sequence.0);
    Ok(OpenedJournal {
        writer: Box::new(writer),
        recovery: Recovery {
            torn,
            beyond_anchor: end.head.sequence.0.saturating_sub(before),
        },
    })
}

/// What a compaction left that was stopped before it was put in place.
fn discard_compaction(store: &FileStore, execution: ExecutionId) -> Result<(), StoreError> {
    match std::fs::remove_file(store.file(execution, "compacting")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("removing an unfinished compaction", &error))
        }
        _ => Ok(()),
    }
}

pub(super) fn unfinished(store: &FileStore, execution: ExecutionId) -> Result<u64, StoreError> {
    let file = store.open_lines(execution)?;
    let end = find_end(store, execution, &file)?;
    let length = file
        .metadata()
        .map_err(|error| failed("opening the journal", &error))?
        .len();
    Ok(length.saturating_sub(end.offset))
}

/// Whether the file holds anything that could have been acknowledged.
pub(super) fn has_records(path: &Path) -> Result<bool, StoreError> {
    match File::open(path) {
        Ok(file) => {
            let mut lines = Lines::new(file, 0);
            let first = lines.next()?;
            Ok(first.is_some_and(|raw| !raw.cut_short && raw.line.and_then(Line::parse).is_ok()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("opening the journal", &error)),
    }
}

/// Where the last whole group ends.
struct End {
    offset: u64,
    head: Head,
    remembered: Option<Head>,
}

fn find_end(store: &FileStore, execution: ExecutionId, file: &File) -> Result<End, StoreError> {
    let remembered = anchor::read(&store.file(execution, "head"))?;
    let start = match remembered {
        Some(head) => at_anchor(execution, file, head)?,
        None => Start {
            chain: Chain::from(Head::EMPTY),
            offset: 0,
        },
    };
    let end = follow(file, start)?;
    match remembered {
        // The header is written before there can be a head; more is not.
        None if end.head.records == 0 => Err(StoreError::NotFound { execution }),
        None if end.head.records > 1 => Err(StoreError::AnchorMissing { execution }),
        None => Ok(end),
        Some(_) => Ok(End { remembered, ..end }),
    }
}

struct Start {
    chain: Chain,
    offset: u64,
}

/// The chain at the remembered head, whose line must be there and be the one.
fn at_anchor(execution: ExecutionId, file: &File, head: Head) -> Result<Start, StoreError> {
    let reopened = |start| {
        file.try_clone()
            .map(|file| Lines::new(file, start))
            .map_err(|error| failed("reading the journal", &error))
    };
    let before = Sequence(head.sequence.0.saturating_sub(1));
    let mut lines = reopened(lines::locate(file, before)?)?;
    let mut last = Sequence::START;
    while let Some(raw) = lines.next()? {
        let cut_short = raw.cut_short;
        let end = raw.end;
        let line = match raw.line.and_then(Line::parse) {
            Ok(line) => line,
            // Beyond the end of what is there; everything before was whole.
            Err(_) if cut_short => break,
            Err(reason) => return Err(StoreError::damaged(execution, last, reason)),
        };
        last = line.sequence;
        if line.sequence < head.sequence {
            continue;
        }
        let genuine = line.sequence == head.sequence && line.verified_hash() == Some(head.hash);
        if genuine
            && !cut_short
            && let Some(chain) = chain_at(&line, head.records)
        {
            return Ok(Start { chain, offset: end });
        }
        if replaces(reopened(0)?, head)? {
            return Ok(Start {
                chain: Chain::from(Head::EMPTY),
                offset: 0,
            });
        }
        return Err(StoreError::damaged(
            execution,
            before,
            format!(
                "record {} is not the one that was acknowledged",
                head.sequence
            ),
        ));
    }
    Err(StoreError::EndMissing {
        execution,
        expected: head.sequence,
        found: last,
    })
}

/// Whether the journal is a compaction of the one whose head is remembered: the
/// writer was stopped between putting it in place and remembering its head.
fn replaces(mut lines: Lines, head: Head) -> Result<bool, StoreError> {
    let Some(first) = lines.next()? else {
        return Ok(false);
    };
    let record = first
        .line
        .and_then(Line::parse)
        .and_then(|line| line.record());
    Ok(record.is_ok_and(|record| match record.body {
        RecordBody::Header(header) => header.compacted.is_some_and(|compacted| {
            compacted.head == head.sequence && compacted.head_hash == head.hash
        }),
        _ => false,
    }))
}

/// Goes on from a sound place for as long as whole groups follow.
fn follow(file: &File, start: Start) -> Result<End, StoreError> {
    let reader = file
        .try_clone()
        .map_err(|error| failed("reading the journal", &error))?;
    let mut lines = Lines::new(reader, start.offset);
    let mut chain = start.chain;
    let mut end = End {
        offset: start.offset,
        head: chain.head(),
        remembered: None,
    };
    while let Some(raw) = lines.next()? {
        let sound = !raw.cut_short
            && raw
                .line
                .and_then(Line::parse)
                .is_ok_and(|line| line.verified_hash().is_some() && chain.follow(&line).is_ok());
        if !sound {
            break;
        }
        if chain.between_groups() {
            end.offset = raw.end;
            end.head = chain.head();
        }
    }
    Ok(end)
}

/// Moves everything after the last whole group into a file of its own.
fn cut(
    store: &FileStore,
    execution: ExecutionId,
    file: &File,
    end: &End,
    length: u64,
) -> Result<Torn, StoreError> {
    let (kept_in, mut aside) = aside(store, execution)?;
    let keeping = |error: io::Error| failed("keeping the torn end of the journal", &error);
    let mut torn = file.try_clone().map_err(keeping)?;
    torn.seek(SeekFrom::Start(end.offset)).map_err(keeping)?;
    store.gate.pass(Step::WriteAside)?;
    io::copy(&mut torn.take(length - end.offset), &mut aside).map_err(keeping)?;
    aside
        .flush()
        .and_then(|()| aside.sync_all())
        .map_err(keeping)?;
    store.sync_folder()?;
    let readable_records = readable(file, end.offset)?;
    store.gate.pass(Step::Truncate)?;
    file.set_len(end.offset).map_err(keeping)?;
    sync_lines(store, file)?;
    Ok(Torn {
        after: end.head.sequence,
        bytes: length - end.offset,
        readable_records,
        kept_in: Some(kept_in),
    })
}

fn aside(store: &FileStore, execution: ExecutionId) -> Result<(PathBuf, File), StoreError> {
    for number in 1..=10_000 {
        let path = store.file(execution, &format!("torn.{number}"));
        match private_file().create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("keeping the torn end of the journal", &error)),
        }
    }
    Err(StoreError::BadPlace {
        path: store.folder.clone(),
        detail: format!("there are 10000 torn ends of {execution}; look at them and remove them"),
    })
}

fn readable(file: &File, from: u64) -> Result<u64, StoreError> {
    let reader = file
        .try_clone()
        .map_err(|error| failed("reading the journal", &error))?;
    let mut lines = Lines::new(reader, from);
    let mut count = 0;
    while let Some(raw) = lines.next()? {
        count += u64::from(raw.line.and_then(Line::parse).is_ok());
    }
    Ok(count)
}
