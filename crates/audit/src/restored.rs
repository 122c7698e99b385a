//! A database that was put back on purpose, as when a new version is taken back that has changed
//! it: put on record with what the older copy knows, so that what it cannot know any more is
//! missed by nobody. One that is put back without this record is found out as ever.

use std::io;
use std::path::Path;

use missiond_core::{AuditKind, AuditedRestore, Principal, Seq};
use missiond_store::{StoreError, permissions, timeline};

use crate::anchors::Anchors;
use crate::entry::Entry;
use crate::read;

/// What the record is called.
const ACTION: &str = "put back database";

/// Where the journals of a home are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journals {
    InFiles,
    InTheDatabase,
}

/// The record of a database that was just put back, from what is in it.
pub async fn entry(
    anchors: &Anchors,
    journals: Journals,
    who: &Principal,
    why: &str,
) -> Result<Entry, StoreError> {
    let [(_, records), _] = anchors.memory().await?.newest();
    let read = anchors.db().read(|tx| {
        Box::pin(async move {
            let last_event = timeline::head(tx).await?;
            Ok((last_event, permissions::last_decision(tx).await?))
        })
    });
    let (last_event, last_decision) = read.await?;
    let restored = AuditedRestore {
        records: records.unwrap_or(0),
        last_event,
        last_decision,
        holds_journals: journals == Journals::InTheDatabase,
    };
    let entry = Entry::new(AuditKind::Daemon, who, ACTION).about(why);
    Ok(entry.restored(restored))
}

/// The last event of a database that was put back after this record.
pub(crate) fn last_event_after(folder: &Path, seq: u64) -> io::Result<Option<Seq>> {
    let record = read::newest_after(folder, seq, |record| record.restored.is_some())?;
    Ok(record.and_then(|record| Some(record.restored?.last_event)))
}
