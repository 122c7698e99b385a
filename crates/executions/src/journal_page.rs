//! A part of a journal: the records of some kinds after a place, or the last ones
//! before it.
//!
//! A journal is a file that only grows and is read forwards. Its end is found by
//! its numbers: they have few gaps, so the last hundred records begin a little
//! more than a hundred before the head, and if not, farther back.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use missiond_core::ExecutionId;
use missiond_journal::record::RecordKind;
use missiond_journal::{JournalStore, Record, Sequence, StoreError};

/// What is wanted of a journal.
#[derive(Debug, Clone)]
pub struct Part {
    /// All when empty.
    pub kinds: Vec<RecordKind>,
    pub direction: Direction,
    pub limit: usize,
    /// Of their lines. One record is returned even if it is larger.
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy)]
pub enum Direction {
    After(Sequence),
    /// The last ones before this place, or of all.
    Before(Option<Sequence>),
}

#[derive(Debug, PartialEq, Eq)]
pub struct RecordPage {
    /// Oldest first.
    pub records: Vec<Record>,
    pub head: Sequence,
    /// Where to go on, and whether there is anything.
    pub next: Sequence,
    pub more: bool,
}

/// How many lines are read at most to find records of rare kinds.
const LOOKED_AT: u64 = 200_000;

pub(crate) fn read(
    store: &dyn JournalStore,
    execution: ExecutionId,
    part: &Part,
) -> Result<RecordPage, StoreError> {
    let anchor = store.anchor(execution)?;
    let head = anchor.ok_or(StoreError::NotFound { execution })?.sequence;
    match part.direction {
        Direction::After(after) => forwards(store, execution, part, after, head),
        Direction::Before(before) => {
            let end = before.unwrap_or(head.next());
            backwards(store, execution, part, end, head)
        }
    }
}

fn forwards(
    store: &dyn JournalStore,
    execution: ExecutionId,
    part: &Part,
    after: Sequence,
    head: Sequence,
) -> Result<RecordPage, StoreError> {
    let mut kept = PageRecords::default();
    let (mut next, mut more, mut looked_at) = (after, false, 0);
    scan(store, execution, after, part, &mut |line| {
        looked_at += 1;
        let full = kept.is_full(part, line.bytes());
        if full || looked_at > LOOKED_AT {
            more = true;
            return ControlFlow::Break(());
        }
        next = line.sequence();
        kept.push(line);
        ControlFlow::Continue(())
    })?;
    Ok(RecordPage {
        records: kept.records(),
        head: head.max(next),
        next,
        more,
    })
}

fn backwards(
    store: &dyn JournalStore,
    execution: ExecutionId,
    part: &Part,
    end: Sequence,
    head: Sequence,
) -> Result<RecordPage, StoreError> {
    let mut back = part.limit as u64 + part.limit as u64 / 4;
    loop {
        let start = Sequence(end.0.saturating_sub(1).saturating_sub(back));
        let mut kept = PageRecords::default();
        let mut dropped = None;
        let mut last = head;
        scan(store, execution, start, part, &mut |line| {
            last = last.max(line.sequence());
            if line.sequence() >= end {
                return ControlFlow::Break(());
            }
            kept.push(line);
            dropped = kept.shrink(part).or(dropped);
            ControlFlow::Continue(())
        })?;
        let enough = dropped.is_some() || start == Sequence::START || back >= LOOKED_AT;
        if enough {
            // Where the oldest that is shown stands, or where the looking began.
            let oldest = kept.oldest().filter(|_| dropped.is_some());
            let next = oldest.unwrap_or(start.next());
            return Ok(RecordPage {
                records: kept.records(),
                head: last,
                next,
                more: dropped.is_some() || start != Sequence::START,
            });
        }
        back = back.saturating_mul(4);
    }
}

/// A line that was looked at: a record, or one of another kind.
enum ScannedLine {
    Match(Box<Record>, usize),
    Other(Sequence),
}

impl ScannedLine {
    fn sequence(&self) -> Sequence {
        match self {
            Self::Match(record, _) => record.sequence,
            Self::Other(sequence) => *sequence,
        }
    }

    fn bytes(&self) -> Option<usize> {
        match self {
            Self::Match(_, bytes) => Some(*bytes),
            Self::Other(_) => None,
        }
    }
}

/// The records that are kept, with the length of the line of each.
#[derive(Default)]
struct PageRecords {
    records: VecDeque<(Record, usize)>,
    bytes: usize,
}

impl PageRecords {
    fn is_full(&self, part: &Part, next: Option<usize>) -> bool {
        let Some(next) = next else { return false };
        let many = self.records.len() >= part.limit;
        many || (!self.records.is_empty() && self.bytes + next > part.bytes)
    }

    fn push(&mut self, line: ScannedLine) {
        if let ScannedLine::Match(record, bytes) = line {
            self.bytes += bytes;
            self.records.push_back((*record, bytes));
        }
    }

    /// Lets the oldest go until the rest is within the limits; the last that went.
    fn shrink(&mut self, part: &Part) -> Option<Sequence> {
        let mut gone = None;
        while self.records.len() > part.limit || (self.records.len() > 1 && self.bytes > part.bytes)
        {
            let Some((record, bytes)) = self.records.pop_front() else {
                break;
            };
            self.bytes -= bytes;
            gone = Some(record.sequence);
        }
        gone
    }

    fn oldest(&self) -> Option<Sequence> {
        self.records.front().map(|(record, _)| record.sequence)
    }

    fn records(self) -> Vec<Record> {
        self.records.into_iter().map(|(record, _)| record).collect()
    }
}

fn scan(
    store: &dyn JournalStore,
    execution: ExecutionId,
    after: Sequence,
    part: &Part,
    visit: &mut dyn FnMut(ScannedLine) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut failure = None;
    let mut last = after;
    store.scan(execution, after, &mut |scanned| {
        let looked = scanned.line.and_then(|line| {
            last = line.sequence;
            if !part.kinds.is_empty() && !part.kinds.contains(&line.kind) {
                return Ok(ScannedLine::Other(line.sequence));
            }
            let bytes = line.bytes().len();
            Ok(ScannedLine::Match(Box::new(line.record()?), bytes))
        });
        match looked {
            Ok(looked) => visit(looked),
            Err(reason) => {
                failure = Some(StoreError::Damaged {
                    execution,
                    after: last,
                    detail: reason.to_string(),
                });
                ControlFlow::Break(())
            }
        }
    })?;
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use missiond_core::{CliEngine, Timestamp};
    use missiond_journal::catalogue::{MessageContent, Prompt};
    use missiond_journal::record::{Sender, Transport};
    use missiond_journal::{
        FileStore, Journal, JournalHeader, MessageKey, NewMessage, OwnerEntity, OwnerRef, Policy,
        Text,
    };

    use super::*;

    /// A journal with a header and so many messages.
    fn journal(folder: &std::path::Path, messages: usize) -> (FileStore, ExecutionId) {
        let store = FileStore::open(folder).unwrap();
        let execution = ExecutionId::generate();
        let header = JournalHeader::new(
            execution,
            OwnerRef {
                entity: OwnerEntity::Repository,
                id: Text::new("/src").unwrap(),
            },
            CliEngine::Claude,
            Transport::None,
            Text::new("/src").unwrap(),
        );
        let at = Timestamp::from_micros(1);
        let policy = Arc::new(Policy::standard());
        let journal = Journal::create(Arc::new(store.clone()), policy, at, header).unwrap();
        for number in 0..messages {
            let text = Text::new(format!("message {number}")).unwrap();
            let new = NewMessage {
                key: MessageKey::new(format!("k{number}")).unwrap(),
                from: Sender::Operator,
                content: MessageContent::Prompt(Prompt::new(text)),
            };
            journal.accept(at, new).unwrap();
        }
        (store, execution)
    }

    fn numbers(found: &RecordPage) -> Vec<u64> {
        found
            .records
            .iter()
            .map(|record| record.sequence.0)
            .collect()
    }

    #[test]
    fn windows_from_both_ends_show_every_record_once() {
        let folder = tempfile::tempdir().unwrap();
        let (store, execution) = journal(folder.path(), 60);
        let part = |direction, kinds: &[RecordKind]| Part {
            kinds: kinds.to_vec(),
            direction,
            limit: 7,
            bytes: 1 << 20,
        };
        for kinds in [
            &[][..],
            &[RecordKind::MessageAccepted],
            &[RecordKind::Header],
        ] {
            let mut forth = Vec::new();
            let mut after = Sequence::START;
            loop {
                let part = part(Direction::After(after), kinds);
                let found = read(&store, execution, &part).unwrap();
                forth.extend(numbers(&found));
                after = found.next;
                if !found.more {
                    break;
                }
            }
            let mut back = Vec::new();
            let mut before = None;
            loop {
                let part = part(Direction::Before(before), kinds);
                let found = read(&store, execution, &part).unwrap();
                let mut page = numbers(&found);
                page.extend(back);
                back = page;
                before = Some(found.next);
                if !found.more {
                    break;
                }
            }
            assert_eq!(forth, back);
            let mut sorted = forth.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(forth, sorted);
        }
    }

    #[test]
    fn one_large_record_is_shown_although_it_is_larger_than_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (store, execution) = journal(folder.path(), 3);
        let part = Part {
            kinds: vec![RecordKind::MessageAccepted],
            direction: Direction::Before(None),
            limit: 10,
            bytes: 1,
        };
        let found = read(&store, execution, &part).unwrap();
        assert_eq!(found.records.len(), 1);
        assert!(found.more);
    }
}
