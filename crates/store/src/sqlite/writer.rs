//! The one thread that writes to a SQLite file.
//!
//! A transaction begins with the first job and takes in what arrives while it
//! runs (at most [`BATCH`] jobs); all are answered after the commit. So one
//! fsync serves many callers. A savepoint around each piece of work lets one
//! that fails take back only itself. An I/O error ends the connection; the
//! next transaction begins by opening the file again and checking it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures::FutureExt;
use missiond_core::Seq;
use tokio::sync::{mpsc, oneshot};

use super::{SqliteConnection, check_head};
use crate::StoreError;
use crate::progress::Progress;
use crate::timeline::{self, EncodedEvent};
use crate::tx::{Access, Link, Tx, TxOutput, Work};

/// Jobs in one transaction.
const BATCH: usize = 512;

/// Jobs that may wait; beyond it callers wait for room.
const QUEUE: usize = 1024;

/// How long a transaction is held open for callers that are on their way: a
/// fraction of what its commit takes.
const PATIENCE: Duration = Duration::from_micros(100);

/// A job's work, given a transaction or the reason why there is none.
type Attempt = Box<dyn FnOnce(Result<&mut Tx<'_>, StoreError>) -> JobOutcome + Send>;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

pub(super) struct JobOutcome {
    fate: Fate,
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    RollBack,
}

/// What a caller is told when it is known what came of the commit.
enum PendingReply {
    Appended {
        reply: Reply<Vec<Seq>>,
        last: Seq,
        count: usize,
    },
    Work(Box<dyn FnOnce(Result<(), StoreError>) + Send>),
}

impl PendingReply {
    fn send(self, commit: Result<(), StoreError>) {
        match self {
            Self::Appended { reply, last, count } => {
                // The caller may have stopped waiting; the events stand.
                let _ = reply.send(commit.map(|()| timeline::sequence_range(last, count)));
            }
            Self::Work(answer) => answer(commit),
        }
    }
}

pub(super) enum Job {
    Append {
        events: Vec<EncodedEvent>,
        reply: Reply<Vec<Seq>>,
    },
    Work(Attempt),
    Close {
        reply: Reply<()>,
    },
}

impl Job {
    pub(super) fn work(work: Work, reply: Reply<TxOutput>) -> Self {
        Self::Work(Box::new(move |tx| {
            let outcome = tx.and_then(|tx| run_to_completion(tx, work));
            JobOutcome {
                fate: match outcome {
                    Ok(_) => Fate::Keep,
                    Err(_) => Fate::RollBack,
                },
                answer: Box::new(move |commit| {
                    // The caller may have stopped waiting; the work stands.
                    let _ = reply.send(outcome.and_then(|value| commit.map(|()| value)));
                }),
            }
        }))
    }

    fn refuse(self, error: StoreError) {
        match self {
            Self::Append { reply, .. } => drop(reply.send(Err(error))),
            Self::Work(attempt) => (attempt(Err(error)).answer)(Ok(())),
            Self::Close { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// Runs a transaction's closure to its end. On SQLite a statement is finished
/// when it returns, so the closure never waits, unless for something that is
/// not the store, which would hold up every other writer.
pub(super) fn run_to_completion(tx: &mut Tx<'_>, work: Work) -> Result<TxOutput, StoreError> {
    let ran = catch_unwind(AssertUnwindSafe(|| work(tx).now_or_never()));
    let result = match ran {
        Ok(Some(result)) => result,
        Ok(None) => Err(StoreError::internal(
            "the work in a transaction waited for something other than the database",
        )),
        Err(panic) => Err(StoreError::from_panic(&*panic)),
    };
    tx.outcome(result)
}

pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    pub(super) fn start(
        connection: SqliteConnection,
        progress: Arc<Progress>,
    ) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let worker = Worker {
            path: connection.path().to_owned(),
            connection: Some(connection),
            progress,
        };
        thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                let progress = Arc::clone(&worker.progress);
                progress.guard("the database writer", || worker.run(queue));
            })
            .map_err(|error| StoreError::Unavailable {
                detail: format!("the writer thread did not start: {error}"),
            })?;
        Ok(Self { jobs })
    }

    pub(super) async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

struct Worker {
    path: PathBuf,
    /// None after an I/O error, until the file is opened again.
    connection: Option<SqliteConnection>,
    progress: Arc<Progress>,
}

impl Worker {
    fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = JobQueue {
            queue: &mut queue,
            previous: 0,
            batched: 0,
        };
        while let Some(first) = jobs.first() {
            if let Some(reply) = self.transaction(first, &mut jobs) {
                jobs.refuse_rest();
                let _ = reply.send(self.close());
                return;
            }
        }
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        connection.checkpoint()
    }

    /// One commit's worth of jobs. Returns who asked for the end, if that was
    /// among them.
    fn transaction(&mut self, first: Job, jobs: &mut JobQueue<'_>) -> Option<Reply<()>> {
        let first = match first {
            Job::Close { reply } => return Some(reply),
            job => job,
        };
        let connection = match self.begin_transaction() {
            Ok(connection) => connection,
            Err(error) => {
                first.refuse(error.clone());
                return jobs.refuse_waiting(&error);
            }
        };
        let mut batch = Batch::on(connection);
        let mut next = Some(first);
        let mut closing = None;
        let mut ended = Ok(());
        while let (Some(job), Ok(())) = (next.take(), &ended) {
            match job {
                Job::Append { events, reply } => ended = batch.append(&events, reply),
                Job::Work(attempt) => ended = batch.attempt(attempt),
                Job::Close { reply } => {
                    closing = Some(reply);
                    break;
                }
            }
            if ended.is_ok() {
                next = jobs.next();
            }
        }
        let outcome = ended.and_then(|()| batch.commit());
        if outcome.is_err() {
            batch.abandon();
        }
        let Batch {
            replies,
            head,
            appended,
            ..
        } = batch;
        if outcome.is_ok() {
            self.progress.committed(head);
            self.progress.appended(appended);
        }
        for answer in replies {
            answer.send(outcome.clone());
        }
        self.drop_if_lost();
        closing
    }

    fn begin_transaction(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reopen()?,
        };
        if let Err(error) = connection.control("BEGIN IMMEDIATE") {
            self.connection = Some(connection);
            self.drop_if_lost();
            return Err(error);
        }
        Ok(self.connection.insert(connection))
    }

    fn reopen(&self) -> Result<SqliteConnection, StoreError> {
        let mut connection = SqliteConnection::open_writer(&self.path)?;
        connection.verify()?;
        check_head(&mut connection)?;
        tracing::warn!(path = %self.path.display(), "database reopened and verified");
        Ok(connection)
    }

    fn drop_if_lost(&mut self) {
        if self
            .connection
            .as_ref()
            .is_some_and(SqliteConnection::is_lost)
        {
            tracing::error!(path = %self.path.display(), "database failed and was closed");
            self.connection = None;
        }
    }
}

/// The queue, as a transaction sees it.
struct JobQueue<'q> {
    queue: &'q mut mpsc::Receiver<Job>,
    /// How many jobs the transaction before took.
    previous: usize,
    /// How many this one has taken.
    batched: usize,
}

impl JobQueue<'_> {
    /// Waits for the job a transaction begins with.
    fn first(&mut self) -> Option<Job> {
        self.previous = self.batched;
        self.batched = 1;
        self.queue.blocking_recv()
    }

    /// Another job for this transaction. Those who were answered last are
    /// probably on their way back with more: without a moment's patience the
    /// first of them would be served alone and the others would wait for its
    /// fsync.
    fn next(&mut self) -> Option<Job> {
        if self.batched == BATCH {
            return None;
        }
        let mut began = None;
        loop {
            if let Ok(job) = self.queue.try_recv() {
                self.batched += 1;
                return Some(job);
            }
            if self.batched >= self.previous
                || began.get_or_insert_with(Instant::now).elapsed() > PATIENCE
            {
                return None;
            }
            thread::yield_now();
        }
    }

    /// Everything that waits now meets the same obstacle.
    fn refuse_waiting(&mut self, error: &StoreError) -> Option<Reply<()>> {
        while let Ok(job) = self.queue.try_recv() {
            match job {
                Job::Close { reply } => return Some(reply),
                job => job.refuse(error.clone()),
            }
        }
        None
    }

    fn refuse_rest(&mut self) {
        self.queue.close();
        while let Ok(job) = self.queue.try_recv() {
            job.refuse(StoreError::Closed);
        }
    }
}

/// An open transaction and who waits for it.
struct Batch<'c> {
    connection: &'c mut SqliteConnection,
    replies: Vec<PendingReply>,
    /// Where the timeline ends if this commits, once it is known.
    head: Option<Seq>,
    /// Whether the row of `timeline_head` is behind `head`.
    head_unwritten: bool,
    appended: usize,
}

impl<'c> Batch<'c> {
    fn on(connection: &'c mut SqliteConnection) -> Self {
        Self {
            connection,
            replies: Vec::new(),
            head: None,
            head_unwritten: false,
            appended: 0,
        }
    }

    /// Appends without a savepoint: there is nothing in an append to go wrong
    /// that would not go wrong for everyone. The head is written once for all.
    fn append(
        &mut self,
        events: &[EncodedEvent],
        reply: Reply<Vec<Seq>>,
    ) -> Result<(), StoreError> {
        let inserted = self.insert(events);
        self.replies.push(PendingReply::Appended {
            reply,
            last: self.head.unwrap_or_default(),
            count: events.len(),
        });
        inserted
    }

    fn insert(&mut self, events: &[EncodedEvent]) -> Result<(), StoreError> {
        let head = match self.head {
            Some(head) => head,
            None => timeline::head_sqlite(self.connection)?,
        };
        timeline::insert_sqlite(self.connection, head, events)?;
        self.head = Some(Seq(head.0 + events.len() as i64));
        self.head_unwritten = true;
        self.appended += events.len();
        Ok(())
    }

    fn write_head(&mut self) -> Result<(), StoreError> {
        if let (true, Some(head)) = (self.head_unwritten, self.head) {
            timeline::set_head_sqlite(self.connection, head)?;
            self.head_unwritten = false;
        }
        Ok(())
    }

    fn attempt(&mut self, attempt: Attempt) -> Result<(), StoreError> {
        let begun = self.write_head();
        let begun = begun.and_then(|()| self.connection.control("SAVEPOINT job"));
        if let Err(error) = begun {
            (attempt(Err(error.clone())).answer)(Ok(()));
            return Err(error);
        }
        let mut tx = Tx::new(Link::Sqlite(self.connection), Access::ReadWrite);
        let JobOutcome { fate, answer } = attempt(Ok(&mut tx));
        if fate == Fate::Keep {
            self.head = tx.new_head().or(self.head);
        }
        self.replies.push(PendingReply::Work(answer));
        self.settle(fate)
    }

    fn settle(&mut self, fate: Fate) -> Result<(), StoreError> {
        // SQLite ends a transaction by itself when the disk fails or is full.
        if self.connection.is_lost() || !self.connection.in_transaction() {
            return Err(self.connection.take_last_error().unwrap_or_else(|| {
                StoreError::internal("the work in a transaction ended the transaction")
            }));
        }
        match fate {
            Fate::Keep => self.connection.control("RELEASE job"),
            Fate::RollBack => {
                self.connection.control("ROLLBACK TO job")?;
                self.connection.control("RELEASE job")
            }
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.write_head()?;
        let Err(error) = self.connection.control("COMMIT") else {
            return Ok(());
        };
        if self.connection.is_lost() {
            // The commit may stand complete in the log although its fsync
            // failed, and then counts as committed when the file is next opened.
            return Err(StoreError::OutcomeUnknown {
                detail: error.to_string(),
            });
        }
        Err(error)
    }

    fn abandon(&mut self) {
        if self.connection.in_transaction() && self.connection.control("ROLLBACK").is_err() {
            tracing::error!(path = %self.connection.path().display(), "rollback failed");
        }
    }
}
