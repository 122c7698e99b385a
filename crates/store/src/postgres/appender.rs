//! The one connection of this daemon that appends to the timeline. It takes
//! whatever is queued into one statement, which is a transaction of its own,
//! and answers all callers when that is durable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::Seq;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Config;

use super::PgConnection;
use super::hints::HeadNotifier;
use crate::StoreError;
use crate::progress::Progress;
use crate::timeline::{self, EncodedEvent};

/// Jobs in one statement.
const BATCH: usize = 512;

/// Jobs that may wait; beyond it callers wait for room.
const QUEUE: usize = 1024;

/// How long a commit may be held back for callers that are on their way: a
/// fraction of what the commit itself takes.
const GATHERING: Duration = Duration::from_micros(200);

type Reply = oneshot::Sender<Result<Vec<Seq>, StoreError>>;

enum Job {
    Append {
        events: Vec<EncodedEvent>,
        reply: Reply,
    },
    Close(oneshot::Sender<()>),
}

pub(super) struct Appender {
    jobs: mpsc::Sender<Job>,
}

impl Appender {
    pub(super) fn start(
        config: Config,
        connection: PgConnection,
        progress: Arc<Progress>,
        notifier: HeadNotifier,
    ) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let worker = Worker {
            config,
            connection: Some(connection),
            progress,
            notifier,
        };
        let watch = Arc::clone(&worker.progress);
        tokio::spawn(async move {
            watch
                .guard_task("the timeline's appender", worker.run(queue))
                .await;
        });
        Self { jobs }
    }

    pub(super) async fn append(&self, events: Vec<EncodedEvent>) -> Result<Vec<Seq>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.jobs.send(Job::Append { events, reply }).await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(super) async fn close(&self) {
        let (reply, ended) = oneshot::channel();
        if self.jobs.send(Job::Close(reply)).await.is_ok() {
            let _ = ended.await;
        }
    }
}

/// Waits a moment for those who were answered last to come back with more, so
/// that a round of callers makes one commit and not two.
async fn gather(queue: &mut mpsc::Receiver<Job>, jobs: &mut Vec<Job>, returning: usize) {
    let began = Instant::now();
    while jobs.len() < returning && began.elapsed() < GATHERING {
        match queue.try_recv() {
            Ok(job) => jobs.push(job),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

struct Worker {
    config: Config,
    /// None after it was lost, until the next append needs it.
    connection: Option<PgConnection>,
    progress: Arc<Progress>,
    notifier: HeadNotifier,
}

impl Worker {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(BATCH);
        let mut returning = 0;
        while queue.recv_many(&mut jobs, BATCH).await > 0 {
            gather(&mut queue, &mut jobs, returning).await;
            returning = jobs.len();
            let mut events = Vec::new();
            let mut callers = Vec::new();
            let mut closing = None;
            for job in jobs.drain(..) {
                match job {
                    Job::Append { reply, .. } if closing.is_some() => {
                        let _ = reply.send(Err(StoreError::Closed));
                    }
                    Job::Append {
                        events: more,
                        reply,
                    } => {
                        callers.push((more.len(), reply));
                        events.extend(more);
                    }
                    Job::Close(reply) => closing = Some(reply),
                }
            }
            if !events.is_empty() {
                self.append_together(&events, callers).await;
            }
            if let Some(reply) = closing {
                queue.close();
                let _ = reply.send(());
                return;
            }
        }
    }

    async fn append_together(&mut self, events: &[EncodedEvent], callers: Vec<(usize, Reply)>) {
        let inserted = match self.connected().await {
            Ok(connection) => connection.insert_events(events).await,
            Err(error) => Err(error),
        };
        match inserted {
            Ok(head) => {
                self.progress.committed(Some(head));
                self.progress.appended(events.len());
                self.notifier.notify(head);
                let mut places = timeline::sequence_range(head, events.len()).into_iter();
                for (count, reply) in callers {
                    let _ = reply.send(Ok(places.by_ref().take(count).collect()));
                }
            }
            Err(error) => {
                for (_, reply) in callers {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    /// Whether the connection lives is asked before anything is sent on it:
    /// after that, silence leaves the outcome unknown.
    async fn connected(&mut self) -> Result<&mut PgConnection, StoreError> {
        if self
            .connection
            .as_ref()
            .is_some_and(PgConnection::is_closed)
        {
            self.connection = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty => Ok(empty.insert(PgConnection::open_for_appends(&self.config).await?)),
        }
    }
}
