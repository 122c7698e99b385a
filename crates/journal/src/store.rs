//! What a place for journals must promise. Everything that interprets records is
//! above this: a store keeps lines, whole groups or nothing, in order, for ever.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use missiond_core::{ErrorCode, ExecutionId};

use crate::frame::{BadLine, Digest, Head, Line, Sequence};
use crate::record::Record;

/// A place where journals are kept, one per execution.
///
/// A store promises:
///
/// 1. *One writer.* While a [`JournalWriter`] of an execution exists, nobody
///    gets a second one, in this process or another.
/// 2. *Groups are whole.* After any crash a group that was given to
///    [`JournalWriter::commit`] is there with all its lines or not at all, and
///    no group is there without those committed before it.
/// 3. *Acknowledged is durable.* When `commit` has returned `Ok`, the lines
///    survive the loss of power.
/// 4. *A loss is noticed.* [`JournalStore::anchor`] remembers the head apart from
///    the lines; lines that end before it are an error, never a shorter journal.
/// 5. *Reading needs no writer*, sees only whole groups, and sees at least
///    everything that was acknowledged before it began.
pub trait JournalStore: Send + Sync + fmt::Debug {
    /// Makes a journal whose first group is `first`, and returns after that group
    /// is committed. An execution has one journal: a second is refused.
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, StoreError>;

    /// Opens a journal for writing, repairing what a crash left unfinished.
    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, StoreError>;

    /// Every journal there is, in the order of their ids.
    fn list(&self) -> Result<Vec<ExecutionId>, StoreError>;

    /// Shows each line after `after`, in order, until told to stop. A line that
    /// is not what it should be is shown as such, with its number.
    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError>;

    /// Bytes at the end that a crash left unfinished and the next opening will
    /// cut off.
    fn unfinished(&self, execution: ExecutionId) -> Result<u64, StoreError> {
        let _ = execution;
        Ok(0)
    }

    /// The head, as it is remembered apart from the lines.
    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError>;
}

/// Takes a line and says whether to go on.
pub type Visitor<'v> = dyn FnMut(Scanned<'_>) -> ControlFlow<()> + 'v;

/// A line as it was found.
#[derive(Debug, Clone)]
pub struct Scanned<'a> {
    /// The line's number among those shown, from 1.
    pub number: u64,
    pub line: Result<Line<'a>, BadLine>,
}

/// The right to append to one journal. Letting go of it closes the journal.
pub trait JournalWriter: Send + fmt::Debug {
    fn head(&self) -> Head;

    /// Appends whole groups and returns when they are durable. After an error
    /// what is on disk is unknown, and so the writer refuses everything: the
    /// journal has to be opened again.
    fn commit(&mut self, batch: Batch<'_>) -> Result<(), StoreError>;

    /// Puts `segment` in the place of all lines, at once or not at all. Its first
    /// record's header says what it replaces.
    fn replace(&mut self, segment: Batch<'_>) -> Result<(), StoreError>;
}

/// Lines of one or more whole groups, and the head after them.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    pub lines: &'a [u8],
    pub head: Head,
}

/// A journal opened for writing.
#[derive(Debug)]
pub struct OpenedJournal {
    pub writer: Box<dyn JournalWriter>,
    pub recovery: Recovery,
}

/// What opening had to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovery {
    /// What a crash left unfinished and was cut off.
    pub torn: Option<Torn>,
    /// Whole records beyond the remembered head: committed by a writer that was
    /// stopped before it could remember them.
    pub beyond_anchor: u64,
}

/// The unfinished end of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The last record that stayed.
    pub after: Sequence,
    pub bytes: u64,
    /// Records among them that are right by themselves. They belong to groups
    /// that were not acknowledged or follow a damaged line.
    pub readable_records: u64,
    /// Where they are kept.
    pub kept_in: Option<PathBuf>,
}

/// How much to read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    pub records: usize,
    /// Of lines. One record is returned even if it is larger.
    pub bytes: usize,
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self {
            records: 500,
            bytes: 1024 * 1024,
        }
    }
}

/// Some records and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub records: Vec<Record>,
    /// Pass it as `after` to get the next window.
    pub next: Sequence,
    /// Whether there was more when this was read.
    pub more: bool,
}

/// The records after `after`, within the limit.
pub fn window(
    store: &dyn JournalStore,
    execution: ExecutionId,
    after: Sequence,
    limit: ReadLimit,
) -> Result<Window, StoreError> {
    let mut window = Window {
        records: Vec::new(),
        next: after,
        more: false,
    };
    let mut bytes = 0;
    let mut failure = None;
    store.scan(execution, after, &mut |scanned| {
        let line = match scanned.line.and_then(|line| {
            let record = line.record()?;
            Ok((line.bytes().len(), record))
        }) {
            Ok(line) => line,
            Err(reason) => {
                failure = Some(StoreError::damaged(execution, window.next, reason));
                return ControlFlow::Break(());
            }
        };
        let (length, record) = line;
        let full = window.records.len() >= limit.records || bytes + length > limit.bytes;
        if full && !window.records.is_empty() {
            window.more = true;
            return ControlFlow::Break(());
        }
        bytes += length;
        window.next = record.sequence;
        window.records.push(record);
        ControlFlow::Continue(())
    })?;
    failure.map_or(Ok(window), Err)
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("there is no journal of {execution}")]
    NotFound { execution: ExecutionId },
    #[error("{execution} already has a journal")]
    Exists { execution: ExecutionId },
    #[error("the journal of {execution} is being written by {holder}: stop that first")]
    Locked {
        execution: ExecutionId,
        holder: String,
    },
    #[error(
        "the journal of {execution} is damaged after record {after}: {detail}. It was left as it \
         is; run `mission journal verify {execution}`"
    )]
    Damaged {
        execution: ExecutionId,
        after: Sequence,
        detail: String,
    },
    #[error(
        "the journal of {execution} ends at record {found}, but record {expected} was \
         acknowledged: its end is missing. It was left as it is; restore it from a backup"
    )]
    EndMissing {
        execution: ExecutionId,
        expected: Sequence,
        found: Sequence,
    },
    #[error(
        "the head of the journal of {execution} is missing or unreadable, so nobody can tell \
         whether its end is there: restore it from a backup"
    )]
    AnchorMissing { execution: ExecutionId },
    #[error("the journal cannot be kept in {path}: {detail}")]
    BadPlace { path: PathBuf, detail: String },
    #[error("the disk is full: free some space, then open the journal again")]
    Full,
    #[error("an earlier write failed, so the journal has to be opened again first: {detail}")]
    Broken { detail: String },
    #[error("{what} failed: {detail}")]
    Io { what: String, detail: String },
    #[error("{detail}")]
    Backend { detail: String },
}

impl StoreError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::Exists { .. } | Self::Locked { .. } => ErrorCode::Conflict,
            Self::Damaged { .. } | Self::EndMissing { .. } | Self::AnchorMissing { .. } => {
                ErrorCode::StorageCorrupt
            }
            Self::BadPlace { .. } => ErrorCode::InvalidConfig,
            Self::Full => ErrorCode::StorageFull,
            Self::Broken { .. } | Self::Io { .. } | Self::Backend { .. } => {
                ErrorCode::StorageUnavailable
            }
        }
    }

    pub(crate) fn damaged(execution: ExecutionId, after: Sequence, why: impl fmt::Display) -> Self {
        Self::Damaged {
            execution,
            after,
            detail: why.to_string(),
        }
    }
}

/// Follows a chain of lines and says whether the next one belongs.
#[derive(Debug, Clone)]
pub struct Chain {
    sequence: Sequence,
    hash: [u8; 64],
    /// Where in a group the next line must be; `None` at the start of one.
    within: Option<(u32, u32)>,
    records: u64,
}

/// Why a line does not follow the one before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    #[error("record {found} follows record {after}")]
    Order { after: Sequence, found: Sequence },
    #[error("record {found} says it follows another record than {after}")]
    Link { after: Sequence, found: Sequence },
    #[error("record {found} is not the next of its group")]
    Group { found: Sequence },
}

impl Chain {
    /// From a known head, or [`Head::EMPTY`].
    #[must_use]
    pub fn from(head: Head) -> Self {
        let mut hash = [0; 64];
        hash.copy_from_slice(head.hash.to_string().as_bytes());
        Self {
            sequence: head.sequence,
            hash,
            within: None,
            records: head.records,
        }
    }

    /// From a line that is taken as it is, whatever came before it.
    pub(crate) fn resume(head: Head, line: &Line<'_>) -> Self {
        let within = (!line.ends_group()).then_some((line.index + 1, line.size));
        Self {
            within,
            ..Self::from(head)
        }
    }

    /// Takes the next line in, unless it does not belong.
    pub fn follow(&mut self, line: &Line<'_>) -> Result<(), BrokenChain> {
        let (after, found) = (self.sequence, line.sequence);
        if found <= after {
            return Err(BrokenChain::Order { after, found });
        }
        if !line.follows_hex(&self.hash) {
            return Err(BrokenChain::Link { after, found });
        }
        if self.within.unwrap_or((0, line.size)) != (line.index, line.size) {
            return Err(BrokenChain::Group { found });
        }
        self.sequence = found;
        self.hash = line.hash_hex();
        self.within = (!line.ends_group()).then_some((line.index + 1, line.size));
        self.records += 1;
        Ok(())
    }

    /// Every group so far is whole.
    #[must_use]
    pub const fn between_groups(&self) -> bool {
        self.within.is_none()
    }

    #[must_use]
    pub fn head(&self) -> Head {
        let hash = std::str::from_utf8(&self.hash)
            .ok()
            .and_then(|hash| hash.parse().ok());
        Head {
            sequence: self.sequence,
            hash: hash.unwrap_or(Digest::ZERO),
            records: self.records,
        }
    }
}
