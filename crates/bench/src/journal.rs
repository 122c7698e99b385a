//! How fast a journal is on this machine: appends beside a bare write and
//! fdatasync of the same bytes, replay, opening.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use std::os::unix::fs::FileExt;

use missiond_core::Clock as _;
use missiond_core::{
    CliEngine, ExecutionActivity, ExecutionId, ObservationId, SystemClock, Timestamp,
};
use missiond_journal::catalogue::Progress;
use missiond_journal::policy::{Policy, Reason, Verdict};
use missiond_journal::record::{ActivityUpdated, DecisionRecorded, ProgressSnapshot};
use missiond_journal::store::{Batch, OpenedJournal, Visitor};
use missiond_journal::{
    BadGroup, Confidence, FileStore, Head, Journal, JournalError, JournalHeader, JournalStore,
    JournalWriter, List, NewObservation, Observation, ObservationKey, Observed, OutOfBounds,
    OwnerEntity, OwnerRef, RecordBody, ReplayError, Sequence, Source, StoreError, Text, Transport,
    encode_group, replay,
};
use serde::Serialize;

/// How much to do.
#[derive(Debug, Clone, Copy)]
pub struct BenchSize {
    /// Observations by one caller, one after another.
    pub single: usize,
    /// Observations by several callers at once, together.
    pub grouped: usize,
    pub callers: usize,
    /// Records of the journal that is replayed.
    pub replayed: u64,
    /// Bytes of the journal that is opened.
    pub opened: u64,
}

impl Default for BenchSize {
    fn default() -> Self {
        Self {
            single: 1_000,
            grouped: 16_000,
            callers: 32,
            replayed: 1_000_000,
            opened: 100_000_000,
        }
    }
}

/// What was measured. An append is one observation with its decision and its
/// effect: one group of three records, acknowledged after its sync.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct BenchReport {
    pub appends_per_s_single: f64,
    pub appends_per_s_grouped: f64,
    /// The same bytes, written and synced without a journal.
    pub raw_single: f64,
    /// The same bytes in the same number of writes.
    pub raw_grouped: f64,
    pub replay_records_per_s: f64,
    pub replayed_records: u64,
    pub open_100mb_ms: f64,
    pub opened_bytes: u64,
}

/// What went wrong while measuring.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("the comparison without a journal failed: {0}")]
    Raw(#[from] io::Error),
    #[error("{0}")]
    Value(#[from] OutOfBounds),
    #[error("{0}")]
    Group(#[from] BadGroup),
}

/// Measures in `folder`, which should be on the disk in question and empty. What
/// is made there is removed again.
pub fn measure(folder: &Path, size: BenchSize) -> Result<BenchReport, BenchError> {
    let single = appends(folder, size.single, 1)?;
    let grouped = appends(folder, size.grouped, size.callers)?;
    let (replay_records_per_s, replayed_records) = replaying(folder, size.replayed)?;
    let (open_100mb_ms, opened_bytes) = opening(folder, size.opened)?;
    Ok(BenchReport {
        appends_per_s_single: single.journal,
        appends_per_s_grouped: grouped.journal,
        raw_single: single.raw,
        raw_grouped: grouped.raw,
        replay_records_per_s,
        replayed_records,
        open_100mb_ms,
        opened_bytes,
    })
}

struct Appends {
    journal: f64,
    raw: f64,
}

fn appends(folder: &Path, count: usize, callers: usize) -> Result<Appends, BenchError> {
    let store = Arc::new(Watched::new(FileStore::open(folder)?));
    let policy = Arc::new(Policy::standard());
    let header = header()?;
    let execution = header.execution;
    let journal = Journal::create(store.clone(), policy, SystemClock.now(), header)?;
    let each = count.div_ceil(callers);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let journal = &journal;
        let append = move |caller: usize| -> Result<(), BenchError> {
            for number in 0..each {
                let now = SystemClock.now();
                let (key, observed) = progress_signal(caller, number)?;
                let observation = NewObservation {
                    execution,
                    key,
                    source: Source::McpTool,
                    confidence: Confidence::High,
                    observed_at: now,
                    observed,
                };
                journal.observe(now, observation)?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..callers)
            .map(|caller| scope.spawn(move || append(caller)))
            .collect();
        for thread in threads {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok::<_, BenchError>(())
    })?;
    let took = began.elapsed();
    drop(journal);
    let done = (each * callers) as f64;
    let raw = raw(folder, &store.batches())?;
    store.inner.remove(execution)?;
    Ok(Appends {
        journal: done / took.as_secs_f64(),
        raw: done / raw,
    })
}

/// Seconds to write and sync pieces of these sizes.
fn raw(folder: &Path, sizes: &[usize]) -> Result<f64, BenchError> {
    let path = folder.join("raw-write");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)?;
    let bytes = vec![b'x'; sizes.iter().copied().max().unwrap_or(0)];
    let mut at = 0;
    let began = Instant::now();
    for &size in sizes {
        file.write_all_at(&bytes[..size], at)?;
        file.sync_data()?;
        at += size as u64;
    }
    let took = began.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(took)
}

fn replaying(folder: &Path, records: u64) -> Result<(f64, u64), BenchError> {
    let store = FileStore::open(folder)?;
    let (execution, head) = written(&store, |head, _| head.records >= records)?;
    let began = Instant::now();
    let replayed = replay(&store, execution)?;
    let took = began.elapsed().as_secs_f64();
    assert_eq!(replayed.head, head, "replay reached the end");
    drop(replayed);
    store.remove(execution)?;
    Ok((head.records as f64 / took, head.records))
}

fn opening(folder: &Path, bytes: u64) -> Result<(f64, u64), BenchError> {
    let store = FileStore::open(folder)?;
    let (execution, _) = written(&store, |_, written| written >= bytes)?;
    let opened = File::open(store.path(execution))?.metadata()?.len();
    let shared = Arc::new(store.clone());
    let began = Instant::now();
    let (journal, _) = Journal::open(shared, Arc::new(Policy::standard()), execution)?;
    let took = began.elapsed().as_secs_f64();
    drop(journal);
    store.remove(execution)?;
    Ok((took * 1e3, opened))
}

/// A journal as an execution would have written it, in large batches so that
/// making it does not take longer than measuring it.
fn written(
    store: &FileStore,
    enough: impl Fn(Head, u64) -> bool,
) -> Result<(ExecutionId, Head), BenchError> {
    const BATCH: usize = 4 << 20;
    let header = header()?;
    let execution = header.execution;
    let now = SystemClock.now();
    let mut lines = Vec::with_capacity(BATCH + 4096);
    let mut head = encode_group(Head::EMPTY, now, &[header.into()], &mut lines)?;
    let first = Batch {
        lines: &lines,
        head,
    };
    let mut writer = store.create(execution, first)?;
    let mut bytes = lines.len() as u64;
    lines.clear();
    for number in 0.. {
        if lines.len() >= BATCH || enough(head, bytes) {
            let lines_now = Batch {
                lines: &lines,
                head,
            };
            if !lines.is_empty() {
                writer.commit(lines_now)?;
            }
            lines.clear();
            if enough(head, bytes) {
                break;
            }
        }
        let before = lines.len();
        head = encode_group(head, now, &group(execution, number, now)?, &mut lines)?;
        bytes += (lines.len() - before) as u64;
    }
    Ok((execution, head))
}

fn group(
    execution: ExecutionId,
    number: usize,
    now: Timestamp,
) -> Result<[RecordBody; 3], BenchError> {
    let (key, observed) = progress_signal(0, number)?;
    let id = ObservationId::generate();
    let update = ActivityUpdated {
        activity: Some(ExecutionActivity::Executing),
        progress: Some(ProgressSnapshot {
            summary: Text::new(format!("step {number}"))?,
            percent: None,
        }),
        ..ActivityUpdated::default()
    };
    let observation = Observation {
        id,
        execution,
        key,
        source: Source::McpTool,
        confidence: Confidence::High,
        observed_at: now,
        observed,
    };
    let decision = DecisionRecorded {
        observation: id,
        verdict: Verdict::ChangedState,
        reason: Reason::Allowed,
    };
    Ok([observation.into(), decision.into(), update.into()])
}

fn progress_signal(caller: usize, number: usize) -> Result<(ObservationKey, Observed), BenchError> {
    let key = ObservationKey::new(format!("signal:{caller}-{number}"))?;
    let progress = Progress {
        summary: Text::new(format!("step {number} of caller {caller} is done"))?,
        detail: None,
        percent: None,
        artifacts: List::default(),
    };
    Ok((key, Observed::Signal(progress.into())))
}

fn header() -> Result<JournalHeader, BenchError> {
    let owner = OwnerRef {
        entity: OwnerEntity::System,
        id: Text::new("bench")?,
    };
    Ok(JournalHeader::new(
        ExecutionId::generate(),
        owner,
        CliEngine::Claude,
        Transport::McpTool,
        Text::new("/")?,
    ))
}

/// Notes the size of every commit, for the comparison.
#[derive(Debug)]
struct Watched {
    inner: FileStore,
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl Watched {
    fn new(inner: FileStore) -> Self {
        Self {
            inner,
            sizes: Arc::default(),
        }
    }

    fn batches(&self) -> Vec<usize> {
        self.sizes.lock().map_or_else(
            |poisoned| poisoned.into_inner().clone(),
            |sizes| sizes.clone(),
        )
    }
}

impl JournalStore for Watched {
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, StoreError> {
        Ok(Box::new(WatchedWriter {
            inner: self.inner.create(execution, first)?,
            sizes: self.sizes.clone(),
        }))
    }

    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, StoreError> {
        self.inner.open(execution)
    }

    fn list(&self) -> Result<Vec<ExecutionId>, StoreError> {
        self.inner.list()
    }

    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        self.inner.scan(execution, after, visit)
    }

    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError> {
        self.inner.anchor(execution)
    }
}

#[derive(Debug)]
struct WatchedWriter {
    inner: Box<dyn JournalWriter>,
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl JournalWriter for WatchedWriter {
    fn head(&self) -> Head {
        self.inner.head()
    }

    fn commit(&mut self, batch: Batch<'_>) -> Result<(), StoreError> {
        if let Ok(mut sizes) = self.sizes.lock() {
            sizes.push(batch.lines.len());
        }
        self.inner.commit(batch)
    }

    fn replace(&mut self, segment: Batch<'_>) -> Result<(), StoreError> {
        self.inner.replace(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_measured_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let size = BenchSize {
            single: 5,
            grouped: 40,
            callers: 4,
            replayed: 1_000,
            opened: 100_000,
        };
        let report = measure(folder.path(), size).unwrap();
        assert!(report.replayed_records >= 1_000);
        assert!(report.opened_bytes >= 100_000);
        assert!(report.raw_single > 0.0 && report.raw_grouped > 0.0);
        let left = fs::read_dir(folder.path().join("agent-journals")).unwrap();
        assert_eq!(left.count(), 0);
    }
}
