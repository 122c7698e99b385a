//! The threads that read a SQLite file, each with its own read-only
//! connection. A reader sees one snapshot and is meant to be short: while one
//! is open the write-ahead log cannot be taken back.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::SqliteConnection;
use super::writer::run_to_completion;
use crate::StoreError;
use crate::progress::Progress;
use crate::tx::{Access, Link, Tx, TxOutput, Work};

const THREADS: usize = 4;
const QUEUE: usize = 256;

type Read = Box<dyn FnOnce(Result<&mut SqliteConnection, StoreError>) + Send>;

enum Job {
    Read(Read),
    Close(oneshot::Sender<()>),
}

pub(super) struct Readers {
    jobs: mpsc::Sender<Job>,
}

impl Readers {
    pub(super) fn start(path: &Path, progress: &Arc<Progress>) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let queue = Arc::new(Mutex::new(queue));
        for number in 1..=THREADS {
            let mut reader = Reader {
                path: path.to_owned(),
                connection: None,
            };
            let (queue, progress) = (Arc::clone(&queue), Arc::clone(progress));
            thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || progress.guard("a database reader", || reader.run(&queue)))
                .map_err(|error| StoreError::Unavailable {
                    detail: format!("a reader thread did not start: {error}"),
                })?;
        }
        Ok(Self { jobs })
    }

    pub(super) async fn send(
        &self,
        work: Work,
        reply: oneshot::Sender<Result<TxOutput, StoreError>>,
    ) -> Result<(), StoreError> {
        let job = Job::Read(Box::new(move |connection| {
            let _ = reply.send(connection.and_then(|connection| snapshot(connection, work)));
        }));
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }

    /// Lets every reader finish what was asked before, then ends it.
    pub(super) async fn close(&self) {
        for _ in 0..THREADS {
            let (reply, ended) = oneshot::channel();
            if self.jobs.send(Job::Close(reply)).await.is_ok() {
                let _ = ended.await;
            }
        }
    }
}

struct Reader {
    path: PathBuf,
    /// Opened at the first use, and again after an I/O error.
    connection: Option<SqliteConnection>,
}

impl Reader {
    fn run(&mut self, queue: &Mutex<mpsc::Receiver<Job>>) {
        loop {
            // One reader waits at the queue, the others wait for its place.
            let next = queue.lock().blocking_recv();
            match next {
                Some(Job::Read(read)) => read(self.connection()),
                Some(Job::Close(reply)) => {
                    self.connection = None;
                    let _ = reply.send(());
                    return;
                }
                None => return,
            }
            if self
                .connection
                .as_ref()
                .is_some_and(SqliteConnection::is_lost)
            {
                self.connection = None;
            }
        }
    }

    fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty => Ok(empty.insert(SqliteConnection::open_reader(&self.path)?)),
        }
    }
}

fn snapshot(connection: &mut SqliteConnection, work: Work) -> Result<TxOutput, StoreError> {
    connection.control("BEGIN DEFERRED")?;
    let outcome = {
        let mut tx = Tx::new(Link::Sqlite(connection), Access::ReadOnly);
        run_to_completion(&mut tx, work)
    };
    if connection.in_transaction() {
        connection.control("COMMIT")?;
    }
    outcome
}
