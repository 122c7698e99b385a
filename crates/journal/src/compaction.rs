//! Leaving out activity records that no longer tell anything. Nothing but
//! `activity.updated` is ever left out, and only when each field it set was set
//! again later; so the state that follows is the same.
//!
//! The records that stay keep their places and times and are chained anew. The
//! new header says how the old chain ended, which covers everything that was.

use std::collections::HashSet;
use std::ops::ControlFlow;

use missiond_core::ExecutionId;

use crate::frame::{BadGroup, Head, Sequence, encode_line};
use crate::record::{ActivityUpdated, Compacted, Record, RecordBody};
use crate::replay::ReplayError;
use crate::store::{Chain, JournalStore, StoreError};

/// A journal written anew.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub(crate) lines: Vec<u8>,
    pub(crate) head: Head,
    pub(crate) compacted: Compacted,
}

pub(crate) fn compact(
    store: &dyn JournalStore,
    execution: ExecutionId,
    head: Head,
) -> Result<Compaction, ReplayError> {
    let void = void_records(store, execution)?;
    let mut rewriter = Rewriter {
        head: Head::EMPTY,
        lines: Vec::new(),
        group: Vec::new(),
        compacted: Compacted {
            segment: 1,
            head: head.sequence,
            head_hash: head.hash,
            records: head.records,
            removed: void.len() as u64,
        },
    };
    each_record(store, execution, |record, ends_group| {
        if !void.contains(&record.sequence) {
            rewriter.group.push(record);
        }
        if ends_group {
            rewriter
                .end_group()
                .map_err(|error| StoreError::damaged(execution, head.sequence, error))?;
        }
        Ok(())
    })?;
    Ok(Compaction {
        lines: rewriter.lines,
        head: rewriter.head,
        compacted: rewriter.compacted,
    })
}

struct Rewriter {
    head: Head,
    lines: Vec<u8>,
    group: Vec<Record>,
    compacted: Compacted,
}

impl Rewriter {
    fn end_group(&mut self) -> Result<(), BadGroup> {
        let size = self.group.len();
        for (index, mut record) in self.group.drain(..).enumerate() {
            if let RecordBody::Header(header) = &mut record.body {
                let before = header.compacted.as_ref().map_or(0, |before| before.segment);
                self.compacted.segment = before + 1;
                header.compacted = Some(self.compacted.clone());
            }
            let hash = encode_line(
                self.head,
                record.sequence,
                (index, size),
                record.at,
                &record.body,
                &mut self.lines,
            )?;
            self.head = Head {
                sequence: record.sequence,
                hash,
                records: self.head.records + 1,
            };
        }
        Ok(())
    }
}

/// The activity records each of whose fields a later one sets.
fn void_records(
    store: &dyn JournalStore,
    execution: ExecutionId,
) -> Result<HashSet<Sequence>, ReplayError> {
    let mut updates = Vec::new();
    each_record(store, execution, |record, _| {
        if let RecordBody::ActivityUpdated(update) = &record.body {
            updates.push((record.sequence, fields(update)));
        }
        Ok(())
    })?;
    let mut set_later = 0u8;
    let mut void = HashSet::new();
    for (sequence, fields) in updates.into_iter().rev() {
        if fields & !set_later == 0 {
            void.insert(sequence);
        }
        set_later |= fields;
    }
    Ok(void)
}

/// Which fields it sets, a bit each.
fn fields(update: &ActivityUpdated) -> u8 {
    let ActivityUpdated {
        activity,
        progress,
        telemetry,
        capabilities,
        target,
    } = update;
    u8::from(activity.is_some())
        | u8::from(progress.is_some()) << 1
        | u8::from(telemetry.is_some()) << 2
        | u8::from(capabilities.is_some()) << 3
        | u8::from(target.is_some()) << 4
}

fn each_record(
    store: &dyn JournalStore,
    execution: ExecutionId,
    mut take: impl FnMut(Record, bool) -> Result<(), StoreError>,
) -> Result<(), ReplayError> {
    let mut chain = Chain::from(Head::EMPTY);
    let mut outcome = Ok(());
    store.scan(execution, Sequence::START, &mut |scanned| {
        let step = (|| {
            let bad = |reason| ReplayError::Line {
                after: chain.head().sequence,
                reason,
            };
            let line = scanned.line.map_err(bad)?;
            let record = line.record().map_err(bad)?;
            chain.follow(&line)?;
            Ok(take(record, line.ends_group())?)
        })();
        match step {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    })?;
    outcome
}
