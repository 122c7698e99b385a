//! The log as it is written: one thread that takes what waits, chains it, signs it and
//! forces it to disk with one flush, and only then says so to all who wait.
//!
//! Nothing is acknowledged that is not on disk. A write that failed for want of room is taken
//! back and the next one is tried; after a flush that failed the log is closed, because what
//! is on disk is then unknown, and everything that has to be on record is refused.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_core::{AuditKind, Clock, ErrorCode, Principal, Timestamp};
use missiond_os::files;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::chain::{Chain, Head, Line, hash_is_right};
use crate::entry::Entry;
use crate::identity::{Identity, own_dir};
use crate::keys::SigningKey;

/// Records that wait for the disk; whoever has more waits.
const WAITING: usize = 4096;
/// Records that share a flush.
const GROUP: usize = 1024;

/// The log's file in its folder.
pub(crate) const LOG: &str = "audit.jsonl";

/// Why something is not on record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    #[error("the audit takes no more records: {0}")]
    Closed(String),
    #[error("the audit could not be written, so nothing is done that has to be on record: {0}")]
    NotWritten(String),
    #[error("the key of the audit could not be changed: {0}")]
    Key(String),
}

impl AuditError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::StorageUnavailable
    }
}

/// The place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// What opening found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Where the log ended; none when there was none.
    pub head: Option<Head>,
    /// What had not been signed, which nobody was told is on record, and where it is now.
    pub torn: Option<PathBuf>,
    /// What is not as it was left.
    pub problems: Vec<String>,
    pub at: Timestamp,
}

/// A handle to the log that is cheap to clone.
#[derive(Debug, Clone)]
pub struct AuditLog {
    jobs: mpsc::Sender<Job>,
    head: watch::Receiver<Option<Head>>,
    opened_at: Timestamp,
    /// How many records are anchored; held while they are.
    placed: Arc<Mutex<u64>>,
}

#[derive(Debug)]
enum Job {
    Record(Box<Entry>, Option<Done>),
    /// So many records are anchored elsewhere.
    Anchored(u64),
    Rotate(Box<Entry>, Done),
    Close(oneshot::Sender<()>),
}

type Done = oneshot::Sender<Result<Position, AuditError>>;

impl AuditLog {
    /// Opens the log in this folder with the key in that one; both are made when there are
    /// none. Blocks.
    pub fn open(
        folder: &Path,
        identity: &Path,
        clock: Arc<dyn Clock>,
    ) -> io::Result<(Self, Opened)> {
        own_dir(folder)?;
        let mut identity = Identity::load_or_make(identity)?;
        let (mut writer, mut opened) = Writer::open(folder, clock)?;
        if let Some(head) = &opened.head {
            identity.settle(&head.key)?;
            if head.key != identity.public().name() {
                opened.problems.push(format!(
                    "the key in the identity folder is {}, and the log ended with {}",
                    identity.public().name(),
                    head.key
                ));
            }
        }
        if writer.chain.records == 0 {
            let entry = Entry::of_daemon(AuditKind::Key, "audit", "make key");
            let entry = entry.key(identity.introduction());
            writer
                .commit(&identity.key, [entry].into())
                .map_err(io::Error::other)?;
        }
        let (jobs, waiting) = mpsc::channel(WAITING);
        let head = writer.newest.subscribe();
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run(identity, waiting))?;
        let log = Self {
            jobs,
            head,
            opened_at: opened.at,
            placed: Arc::default(),
        };
        Ok((log, opened))
    }

    /// Puts something on record and returns when it is on disk.
    pub async fn record(&self, entry: Entry) -> Result<Position, AuditError> {
        let (done, answer) = oneshot::channel();
        self.send(Job::Record(entry.into(), Some(done))).await?;
        answer.await.map_err(|_| closed())?
    }

    /// Puts something on record soon, for what was observed and is not decided by this:
    /// returns when it has its place, before it is on disk.
    pub async fn record_soon(&self, entry: Entry) {
        if let Err(error) = self.send(Job::Record(entry.into(), None)).await {
            tracing::error!(%error, "not on record");
        }
    }

    /// The same for whoever cannot wait; what has no place is told to the daemon's log.
    pub fn record_at_once(&self, entry: Entry) {
        if self.jobs.try_send(Job::Record(entry.into(), None)).is_err() {
            tracing::error!("not on record: too much waits for the disk");
        }
    }

    /// Whether something can be put on record, for whoever must not begin otherwise.
    pub fn check(&self) -> Result<(), AuditError> {
        if self.jobs.is_closed() {
            return Err(closed());
        }
        Ok(())
    }

    /// Puts another key in the place of the one that signs.
    pub async fn rotate_key(&self, who: &Principal) -> Result<Position, AuditError> {
        let entry = Entry::new(AuditKind::Key, who, "change key");
        let (done, answer) = oneshot::channel();
        self.send(Job::Rotate(entry.into(), done)).await?;
        answer.await.map_err(|_| closed())?
    }

    /// The newest head that is on disk.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        self.head.borrow().clone()
    }

    /// Follows the heads.
    #[must_use]
    pub fn heads(&self) -> watch::Receiver<Option<Head>> {
        self.head.clone()
    }

    /// When it was opened, by which the database tells its openings apart.
    pub(crate) fn opened_at(&self) -> Timestamp {
        self.opened_at
    }

    pub(crate) fn placed(&self) -> &Mutex<u64> {
        &self.placed
    }

    /// So many records are anchored elsewhere; the next head says so.
    pub async fn anchored(&self, records: u64) {
        // Of a log that is closed nobody needs to know.
        let _ = self.send(Job::Anchored(records)).await;
    }

    /// Writes what waits, and takes no more.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.send(Job::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }

    async fn send(&self, job: Job) -> Result<(), AuditError> {
        self.jobs.send(job).await.map_err(|_| closed())
    }
}

fn closed() -> AuditError {
    AuditError::Closed("it is closed; the daemon's log says why".to_owned())
}

/// Who writes.
struct Writer {
    clock: Arc<dyn Clock>,
    file: File,
    length: u64,
    chain: Chain,
    anchored: u64,
    newest: watch::Sender<Option<Head>>,
}

impl Writer {
    fn open(folder: &Path, clock: Arc<dyn Clock>) -> io::Result<(Self, Opened)> {
        let path = folder.join(LOG);
        let mut file = fs::OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)?;
        let length = file.metadata()?.len();
        let end = end_of(&mut file, length)?;
        let at = clock.now();
        let (head, signed) = match end {
            Some((head, end)) => (Some(head), end),
            None => (None, 0),
        };
        let mut problems = Vec::new();
        let torn = if signed < length {
            let aside = folder.join(format!("torn.{}", at.as_micros()));
            set_aside(&mut file, signed, &aside)?;
            Some(aside)
        } else {
            None
        };
        if head.is_none() && length > 0 {
            problems.push("nothing in the log was signed: it begins anew".to_owned());
        }
        files::sync_dir(folder)?;
        let chain = head.as_ref().map_or(Chain::EMPTY, |head| Chain {
            records: head.records,
            hash: head.hash,
        });
        let writer = Self {
            clock,
            file,
            length: signed,
            anchored: head.as_ref().map_or(0, |head| head.anchored),
            chain,
            newest: watch::Sender::new(head.clone()),
        };
        let opened = Opened {
            head,
            torn,
            problems,
            at,
        };
        Ok((writer, opened))
    }

    fn run(mut self, mut identity: Identity, mut waiting: mpsc::Receiver<Job>) {
        let (mut next, mut closing) = (None, None);
        while let Some(job) = next.take().or_else(|| waiting.blocking_recv()) {
            let mut entries = Vec::new();
            let mut answers = Vec::new();
            let mut job = Some(job);
            let mut news = false;
            while let Some(taken) = job.take() {
                match taken {
                    Job::Record(entry, done) => {
                        entries.push(*entry);
                        answers.push(done);
                    }
                    Job::Anchored(records) => {
                        news |= records > self.anchored;
                        self.anchored = self.anchored.max(records);
                    }
                    other => {
                        next = Some(other);
                        break;
                    }
                }
                if entries.len() < GROUP {
                    job = waiting.try_recv().ok();
                }
            }
            if !entries.is_empty() || news {
                let from = self.chain.records;
                let written = self.commit(&identity.key, entries);
                for (seq, done) in (from + 1..).zip(answers) {
                    let answer = written.clone().map(|()| Position(seq));
                    if let Some(done) = done {
                        let _ = done.send(answer);
                    }
                }
                if let Err(error @ AuditError::Closed(_)) = written {
                    tracing::error!(%error, "audit closed");
                    return;
                }
            }
            match next.take() {
                Some(Job::Rotate(entry, done)) => {
                    let _ = done.send(self.rotate(&mut identity, *entry));
                }
                Some(Job::Close(done)) => {
                    // Whoever comes now is refused, whoever came before is served.
                    waiting.close();
                    closing = Some(done);
                }
                other => next = other,
            }
        }
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Writes these records and a signed head behind them.
    fn commit(&mut self, key: &SigningKey, entries: Vec<Entry>) -> Result<(), AuditError> {
        let mut chain = self.chain.clone();
        let mut lines = Vec::new();
        let now = self.clock.now();
        for entry in entries {
            let record = entry.record(chain.records + 1, now);
            let added = chain.add(&record, &mut lines);
            added.map_err(|error| AuditError::NotWritten(error.to_string()))?;
        }
        let head = chain.sign(key, now, self.anchored, &mut lines);
        if let Err(error) = self.file.write_all(&lines) {
            let why = error.to_string();
            // A disk that takes nothing has taken nothing of this either.
            let untouched = self.file.set_len(self.length).is_ok()
                || self
                    .file
                    .metadata()
                    .is_ok_and(|file| file.len() == self.length);
            return Err(if untouched {
                AuditError::NotWritten(why)
            } else {
                AuditError::Closed(why)
            });
        }
        let flushed = self.file.sync_data();
        flushed.map_err(|error| AuditError::Closed(error.to_string()))?;
        self.length += lines.len() as u64;
        self.chain = chain;
        self.newest.send_replace(Some(head));
        Ok(())
    }

    fn rotate(&mut self, identity: &mut Identity, entry: Entry) -> Result<Position, AuditError> {
        let of_key = |error: io::Error| AuditError::Key(error.to_string());
        let (next, change) = identity.prepare_next().map_err(of_key)?;
        // From its record on the other key signs.
        self.commit(&next, vec![entry.key(change)])?;
        identity.take_next(next).map_err(of_key)?;
        Ok(Position(self.chain.records))
    }
}

/// The last head whose line is whole, and where it ends.
fn end_of(file: &mut File, length: u64) -> io::Result<Option<(Head, u64)>> {
    let mut window = 64 * 1024_u64;
    loop {
        let from = length.saturating_sub(window);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&*file).take(length - from).read_to_end(&mut bytes)?;
        let mut end = bytes.len();
        // What follows the last end of a line was not written to its end.
        while let Some(newline) = memchr::memrchr(b'\n', &bytes[..end]) {
            let begin = memchr::memrchr(b'\n', &bytes[..newline]).map_or(0, |before| before + 1);
            let line = &bytes[begin..newline];
            if (begin > 0 || from == 0)
                && let Some(Line::Head(head)) = Line::parse(line)
                && hash_is_right(line, &head.hash)
            {
                return Ok(Some((head, from + newline as u64 + 1)));
            }
            end = newline;
        }
        if from == 0 {
            return Ok(None);
        }
        window *= 4;
    }
}

/// Moves what stands behind `from` into a file of its own.
fn set_aside(file: &mut File, from: u64, aside: &Path) -> io::Result<()> {
    let mut kept = files::create_private(aside)?;
    file.seek(SeekFrom::Start(from))?;
    io::copy(file, &mut kept)?;
    kept.flush()?;
    kept.sync_all()?;
    file.set_len(from)?;
    file.sync_all()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
