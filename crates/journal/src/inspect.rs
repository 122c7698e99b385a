//! Looking at journals from outside: is this one sound, what does it say, how do
//! two differ. Nothing here changes anything.

mod meaning;
mod moments;

pub use moments::{Change, changes, outline};

use std::io::{self, Write};
use std::ops::ControlFlow;

use missiond_core::ExecutionId;
use serde::Serialize;

use crate::frame::{BadLine, Head, Sequence};
use crate::record::{Record, RecordBody};
use crate::replay::ReplayError;
use crate::state::{ExecutionState, Inconsistent};
use crate::store::{BrokenChain, Chain, JournalStore, ReadLimit, StoreError, window};

/// What verifying found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub records: u64,
    pub groups: u64,
    pub head: Head,
    /// How often the journal was compacted; what that removed cannot be verified.
    pub segment: u32,
    pub findings: Vec<Finding>,
}

impl Verification {
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    #[error("line {line} (after record {after}): {reason}")]
    BadLine {
        line: u64,
        after: Sequence,
        reason: BadLine,
    },
    #[error("record {sequence}: its hash does not match what it says")]
    BadHash { sequence: Sequence },
    #[error("{reason}")]
    BrokenChain { reason: BrokenChain },
    #[error("records {from} to {to} are missing")]
    Missing { from: Sequence, to: Sequence },
    #[error("the journal does not begin with its header: the beginning is missing")]
    NoBeginning,
    #[error("the header names {named}")]
    WrongExecution { named: ExecutionId },
    #[error("record {sequence} cannot follow the records before it: {reason}")]
    Inconsistent {
        sequence: Sequence,
        reason: Inconsistent,
    },
    #[error(
        "record {expected} was acknowledged, but the journal ends at {found}: the end is missing"
    )]
    EndMissing { expected: Sequence, found: Sequence },
    #[error("record {sequence} is not the one that was acknowledged")]
    AnotherEnd { sequence: Sequence },
    #[error("nothing remembers where the journal ends: its head is missing")]
    NoAnchor,
    #[error("{bytes} bytes at the end were never finished; opening the journal moves them aside")]
    Unfinished { bytes: u64 },
}

/// How many findings are listed; damage in one place can spoil every line after.
const FINDINGS: usize = 100;

/// Reads all of a journal and recomputes every hash.
pub fn verify(
    store: &dyn JournalStore,
    execution: ExecutionId,
) -> Result<Verification, StoreError> {
    let anchor = store.anchor(execution)?;
    let mut verifier = Verifier::new(execution);
    store.scan(execution, Sequence::START, &mut |scanned| {
        verifier.check_line(scanned);
        if verifier.findings.len() >= FINDINGS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let mut verification = verifier.finish();
    let found = verification.head;
    match anchor {
        None => verification.findings.push(Finding::NoAnchor),
        Some(anchor) if found.sequence < anchor.sequence => {
            verification.findings.push(Finding::EndMissing {
                expected: anchor.sequence,
                found: found.sequence,
            });
        }
        Some(anchor)
            if found.sequence == anchor.sequence
                && found.hash != anchor.hash
                && verification.findings.is_empty() =>
        {
            verification.findings.push(Finding::AnotherEnd {
                sequence: anchor.sequence,
            });
        }
        Some(_) => {}
    }
    if verification.findings.is_empty() {
        let bytes = store.unfinished(execution)?;
        if bytes > 0 {
            verification.findings.push(Finding::Unfinished { bytes });
        }
    }
    Ok(verification)
}

struct Verifier {
    execution: ExecutionId,
    chain: Chain,
    state: Option<ExecutionState>,
    /// Once something is wrong, what follows says little about consistency.
    consistent: bool,
    groups: u64,
    segment: u32,
    findings: Vec<Finding>,
}

impl Verifier {
    fn new(execution: ExecutionId) -> Self {
        Self {
            execution,
            chain: Chain::from(Head::EMPTY),
            state: None,
            consistent: true,
            groups: 0,
            segment: 0,
            findings: Vec::new(),
        }
    }

    fn check_line(&mut self, scanned: crate::store::Scanned<'_>) {
        let after = self.chain.head().sequence;
        let found = |line: u64, reason| Finding::BadLine {
            line,
            after,
            reason,
        };
        let line = match scanned.line {
            Ok(line) => line,
            Err(reason) => return self.report(found(scanned.number, reason)),
        };
        if line.verified_hash().is_none() {
            self.report(Finding::BadHash {
                sequence: line.sequence,
            });
        }
        let record = line.record();
        if let Ok(Record {
            body: RecordBody::Header(header),
            ..
        }) = &record
        {
            self.segment = header
                .compacted
                .as_ref()
                .map_or(0, |compacted| compacted.segment);
            if header.execution != self.execution {
                self.report(Finding::WrongExecution {
                    named: header.execution,
                });
            }
        } else if after == Sequence::START {
            self.report(Finding::NoBeginning);
        }
        let gap = line.sequence > after.next();
        if gap && self.segment == 0 && after != Sequence::START {
            self.report(Finding::Missing {
                from: after.next(),
                to: Sequence(line.sequence.0 - 1),
            });
        }
        if let Err(reason) = self.chain.follow(&line) {
            if !(after == Sequence::START || gap && self.segment == 0) {
                self.report(Finding::BrokenChain { reason });
            }
            self.consistent = false;
            // Goes on from here, so that one removed record is one finding.
            if let Some(hash) = line.stated_hash()
                && line.sequence > after
            {
                self.chain = Chain::resume(
                    Head {
                        sequence: line.sequence,
                        hash,
                        records: self.chain.head().records + 1,
                    },
                    &line,
                );
            }
        }
        self.groups += u64::from(line.ends_group());
        match record {
            Ok(record) => self.apply(record),
            Err(reason) => self.report(found(scanned.number, reason)),
        }
    }

    fn apply(&mut self, record: Record) {
        if !self.consistent {
            return;
        }
        let sequence = record.sequence;
        let applied = match (&mut self.state, record.body) {
            (Some(state), body) => state.apply(Record { body, ..record }),
            (empty, RecordBody::Header(header)) => {
                ExecutionState::begin(sequence, record.at, header).map(|state| {
                    *empty = Some(state);
                })
            }
            (None, _) => Err(Inconsistent::NoHeader),
        };
        if let Err(reason) = applied {
            self.report(Finding::Inconsistent { sequence, reason });
        }
    }

    fn report(&mut self, finding: Finding) {
        self.consistent = false;
        self.findings.push(finding);
    }

    fn finish(self) -> Verification {
        let head = self.chain.head();
        Verification {
            records: head.records,
            groups: self.groups,
            head,
            segment: self.segment,
            findings: self.findings,
        }
    }
}

/// In which form a journal is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// The lines as they are stored: can be verified and imported elsewhere.
    Lines,
    /// One record a line, without the chain around it.
    Records,
}

/// Why a journal was not written out.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("writing failed: {0}")]
    Write(#[from] io::Error),
}

/// Writes the journal out and returns the number of records.
pub fn export(
    store: &dyn JournalStore,
    execution: ExecutionId,
    form: ExportForm,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    let mut count = 0;
    let mut last = Sequence::START;
    let mut outcome = Ok(());
    let scanned = store.scan(execution, Sequence::START, &mut |scanned| {
        let step = (|| -> Result<(), ExportError> {
            let bad = |reason| ReplayError::Line {
                after: last,
                reason,
            };
            let line = scanned.line.map_err(bad)?;
            match form {
                ExportForm::Lines => out.write_all(line.bytes())?,
                ExportForm::Records => {
                    let record = line.record().map_err(bad)?;
                    serde_json::to_writer(&mut *out, &record).map_err(io::Error::from)?;
                }
            }
            out.write_all(b"\n")?;
            last = line.sequence;
            count += 1;
            Ok(())
        })();
        match step {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    scanned.map_err(ReplayError::from)?;
    outcome?;
    Ok(count)
}

/// How two journals differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The same place says different things.
    Changed {
        sequence: Sequence,
        left: Box<Record>,
        right: Box<Record>,
    },
    OnlyLeft {
        record: Box<Record>,
    },
    OnlyRight {
        record: Box<Record>,
    },
}

/// One journal of two to compare.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub store: &'a dyn JournalStore,
    pub execution: ExecutionId,
}

/// The first `limit` differences between two journals, place by place. Chains
/// are not compared: a compacted journal differs from its original only by what
/// it left out and by its header.
pub fn diff(left: Side<'_>, right: Side<'_>, limit: usize) -> Result<Vec<Difference>, StoreError> {
    let mut lefts = RecordCursor::new(left);
    let mut rights = RecordCursor::new(right);
    let mut found = Vec::new();
    while found.len() < limit {
        let difference = match (lefts.peek()?, rights.peek()?) {
            (None, None) => break,
            (Some(left), Some(right)) if left.sequence == right.sequence => {
                let (left, right) = (lefts.pop(), rights.pop());
                match (left, right) {
                    (Some(left), Some(right)) if left != right => Difference::Changed {
                        sequence: left.sequence,
                        left: Box::new(left),
                        right: Box::new(right),
                    },
                    _ => continue,
                }
            }
            (Some(left), right) if right.is_none_or(|right| left.sequence < right.sequence) => {
                match lefts.pop() {
                    Some(record) => Difference::OnlyLeft {
                        record: Box::new(record),
                    },
                    None => continue,
                }
            }
            _ => match rights.pop() {
                Some(record) => Difference::OnlyRight {
                    record: Box::new(record),
                },
                None => continue,
            },
        };
        found.push(difference);
    }
    Ok(found)
}

/// Records of a journal, a window at a time.
struct RecordCursor<'a> {
    side: Side<'a>,
    records: std::collections::VecDeque<Record>,
    next: Sequence,
    more: bool,
}

impl<'a> RecordCursor<'a> {
    const fn new(side: Side<'a>) -> Self {
        Self {
            side,
            records: std::collections::VecDeque::new(),
            next: Sequence::START,
            more: true,
        }
    }

    fn peek(&mut self) -> Result<Option<&Record>, StoreError> {
        if self.records.is_empty() && self.more {
            let Side { store, execution } = self.side;
            let window = window(store, execution, self.next, ReadLimit::default())?;
            self.next = window.next;
            self.more = window.more;
            self.records.extend(window.records);
        }
        Ok(self.records.front())
    }

    fn pop(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
}
