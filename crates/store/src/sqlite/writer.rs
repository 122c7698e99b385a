//! The one thread that writes to a SQLite file.
//!
//! It takes whatever is queued (at most [`BATCH`] jobs) into one transaction,
//! a savepoint around each, and answers all of them after the commit: so one
//! fsync serves many callers, and a job that fails takes back only itself. An
//! I/O error ends the connection; the next batch begins by opening the file
//! again and checking it.

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
use crate::tx::{Access, Link, Tx, Work};

/// Jobs in one transaction.
const BATCH: usize = 512;

/// Jobs that may wait; beyond it callers wait for room.
const QUEUE: usize = 1024;

/// How long a commit may be held back for callers that are on their way: a
/// fraction of what the commit itself takes.
const GATHERING: Duration = Duration::from_micros(200);

/// Tells a caller what came of its job, given what came of the commit.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A job's work, given a transaction or the reason why there is none.
type Attempt = Box<dyn FnOnce(Result<&mut Tx<'_>, StoreError>) -> Attempted + Send>;

pub(super) struct Attempted {
    fate: Fate,
    answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    TakeBack,
}

pub(super) enum Job {
    Append {
        events: Vec<EncodedEvent>,
        reply: oneshot::Sender<Result<Vec<Seq>, StoreError>>,
    },
    Work(Attempt),
    Close {
        reply: oneshot::Sender<Result<(), StoreError>>,
    },
}

impl Job {
    pub(super) fn work<T: Send + 'static>(
        work: Work<T>,
        reply: oneshot::Sender<Result<T, StoreError>>,
    ) -> Self {
        Self::Work(Box::new(move |tx| {
            let outcome = tx.and_then(|tx| run_at_once(tx, work));
            Attempted {
                fate: match outcome {
                    Ok(_) => Fate::Keep,
                    Err(_) => Fate::TakeBack,
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
pub(super) fn run_at_once<T>(tx: &mut Tx<'_>, work: Work<T>) -> Result<T, StoreError> {
    let ran = catch_unwind(AssertUnwindSafe(|| work(tx).now_or_never()));
    let said = match ran {
        Ok(Some(said)) => said,
        Ok(None) => Err(StoreError::internal(
            "the work in a transaction waited for something other than the database",
        )),
        Err(panic) => Err(StoreError::from_panic(&*panic)),
    };
    tx.verdict(said)
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
            .spawn(move || worker.run(queue))
            .map_err(|error| StoreError::Unavailable {
                detail: format!("the writer thread did not start: {error}"),
            })?;
        Ok(Self { jobs })
    }

    pub(super) async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

/// Waits a moment for those who were answered last to come back with more.
/// Without it the first of them would be served alone and the others would
/// wait for its fsync, which makes two commits of every round.
fn gather(queue: &mut mpsc::Receiver<Job>, jobs: &mut Vec<Job>, returning: usize) {
    let began = Instant::now();
    while jobs.len() < returning && began.elapsed() < GATHERING {
        match queue.try_recv() {
            Ok(job) => jobs.push(job),
            Err(_) => thread::yield_now(),
        }
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
        let mut jobs = Vec::with_capacity(BATCH);
        let mut returning = 0;
        while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
            gather(&mut queue, &mut jobs, returning);
            returning = jobs.len();
            let closing = jobs.iter().position(|job| matches!(job, Job::Close { .. }));
            let after = closing.map(|at| jobs.split_off(at));
            if !jobs.is_empty() {
                self.commit_together(&mut jobs);
            }
            let Some(after) = after else { continue };
            queue.close();
            let mut after = after.into_iter();
            if let Some(Job::Close { reply }) = after.next() {
                let closed = self.close();
                after.for_each(|job| job.refuse(StoreError::Closed));
                let _ = reply.send(closed);
            }
            return;
        }
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        connection.checkpoint()
    }

    fn commit_together(&mut self, jobs: &mut Vec<Job>) {
        if let Err(error) = self.reopen_if_lost() {
            jobs.drain(..).for_each(|job| job.refuse(error.clone()));
            return;
        }
        let Some(connection) = self.connection.as_mut() else {
            return;
        };
        if let Err(error) = connection.control("BEGIN IMMEDIATE") {
            jobs.drain(..).for_each(|job| job.refuse(error.clone()));
            self.drop_if_lost();
            return;
        }
        let mut batch = Batch {
            connection,
            answers: Vec::with_capacity(jobs.len()),
            head: None,
            appended: 0,
        };
        let mut jobs = jobs.drain(..).peekable();
        let ended = batch.run(&mut jobs);
        let outcome = match ended {
            Ok(()) => batch.commit(),
            Err(error) => {
                batch.abandon();
                jobs.for_each(|job| job.refuse(error.clone()));
                Err(error)
            }
        };
        let Batch {
            answers,
            head,
            appended,
            ..
        } = batch;
        if outcome.is_ok() {
            self.progress.committed(head);
            self.progress.appended(appended);
        }
        for answer in answers {
            answer(outcome.clone());
        }
        self.drop_if_lost();
    }

    fn reopen_if_lost(&mut self) -> Result<(), StoreError> {
        if self.connection.is_some() {
            return Ok(());
        }
        let mut connection = SqliteConnection::open_writer(&self.path)?;
        connection.verify()?;
        check_head(&mut connection)?;
        tracing::warn!(path = %self.path.display(), "the database was opened again and is sound");
        self.connection = Some(connection);
        Ok(())
    }

    fn drop_if_lost(&mut self) {
        if self
            .connection
            .as_ref()
            .is_some_and(SqliteConnection::is_lost)
        {
            tracing::error!(path = %self.path.display(), "the database failed and is closed");
            self.connection = None;
        }
    }
}

struct Batch<'c> {
    connection: &'c mut SqliteConnection,
    answers: Vec<Answer>,
    head: Option<Seq>,
    appended: usize,
}

impl Batch<'_> {
    /// Runs every job. An error means that the transaction as a whole is gone.
    fn run(
        &mut self,
        jobs: &mut std::iter::Peekable<std::vec::Drain<'_, Job>>,
    ) -> Result<(), StoreError> {
        while let Some(job) = jobs.next() {
            match job {
                Job::Append { events, reply } => {
                    let mut events = events;
                    let mut callers = vec![(events.len(), reply)];
                    // Appends that stand side by side share a savepoint and one
                    // move of the head: there is nothing in them to fail apart.
                    while let Some(Job::Append { .. }) = jobs.peek() {
                        if let Some(Job::Append {
                            events: more,
                            reply,
                        }) = jobs.next()
                        {
                            callers.push((more.len(), reply));
                            events.extend(more);
                        }
                    }
                    self.append(&events, callers)?;
                }
                Job::Work(attempt) => self.attempt(attempt)?,
                Job::Close { reply } => drop(reply.send(Err(StoreError::Closed))),
            }
        }
        Ok(())
    }

    fn append(
        &mut self,
        events: &[EncodedEvent],
        callers: Vec<(usize, oneshot::Sender<Result<Vec<Seq>, StoreError>>)>,
    ) -> Result<(), StoreError> {
        let begun = self.connection.control("SAVEPOINT job");
        let inserted = begun.and_then(|()| timeline::insert_sqlite(self.connection, events));
        let fate = match &inserted {
            Ok(_) => Fate::Keep,
            Err(_) => Fate::TakeBack,
        };
        match inserted {
            Ok(head) => {
                let mut next = head.0 - events.len() as i64 + 1;
                self.head = Some(head);
                self.appended += events.len();
                for (count, reply) in callers {
                    let given = (next..next + count as i64).map(Seq).collect::<Vec<_>>();
                    next += count as i64;
                    self.answers.push(Box::new(move |commit| {
                        let _ = reply.send(commit.map(|()| given));
                    }));
                }
            }
            Err(error) => {
                for (_, reply) in callers {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
        self.settle(fate)
    }

    fn attempt(&mut self, attempt: Attempt) -> Result<(), StoreError> {
        if let Err(error) = self.connection.control("SAVEPOINT job") {
            (attempt(Err(error.clone())).answer)(Ok(()));
            return Err(error);
        }
        let mut tx = Tx::new(Link::Sqlite(self.connection), Access::ReadWrite);
        let Attempted { fate, answer } = attempt(Ok(&mut tx));
        let head = tx.new_head();
        if fate == Fate::Keep {
            self.head = head.or(self.head);
        }
        self.answers.push(answer);
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
            Fate::TakeBack => {
                self.connection.control("ROLLBACK TO job")?;
                self.connection.control("RELEASE job")
            }
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let result = self.connection.control("COMMIT");
        let Err(error) = result else { return Ok(()) };
        self.abandon();
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
            tracing::error!(path = %self.connection.path().display(), "a rollback failed");
        }
    }
}
