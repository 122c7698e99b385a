//! Word of how far the timeline goes, between all daemons on one database.
//!
//! It travels by NOTIFY on a connection of its own: inside the appending
//! transaction it would hold a lock of the whole server over the commit. Word
//! may be late or lost (it is a hint; consumers read by `seq`), so the head is
//! also looked up every [`HEAD_POLL`].

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::Seq;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use crate::progress::Progress;

const HEAD_POLL: Duration = Duration::from_secs(2);
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Word is sent at most this often: a busy daemon would pay a transaction for
/// each of its commits, and only the newest head is of use.
const NOTIFY_PAUSE: Duration = Duration::from_millis(5);

pub(super) struct HeadHints {
    notifier: HeadNotifier,
    task: JoinHandle<()>,
}

/// Tells the other daemons of a commit. Only the newest is told.
#[derive(Clone)]
pub(super) struct HeadNotifier(Arc<watch::Sender<Seq>>);

impl HeadNotifier {
    pub(super) fn notify(&self, head: Seq) {
        self.0.send_if_modified(|newest| {
            let newer = head > *newest;
            *newest = head.max(*newest);
            newer
        });
    }
}

impl HeadHints {
    pub(super) fn start(config: Config, progress: Arc<Progress>) -> Self {
        let (notifier, committed) = watch::channel(Seq(0));
        let task = tokio::spawn(async move {
            let listener = run_listener(config, Arc::clone(&progress), committed);
            progress
                .guard_task("the timeline's listener", listener)
                .await;
        });
        Self {
            notifier: HeadNotifier(Arc::new(notifier)),
            task,
        }
    }

    pub(super) fn notifier(&self) -> HeadNotifier {
        self.notifier.clone()
    }

    pub(super) fn notify(&self, head: Seq) {
        self.notifier.notify(head);
    }

    pub(super) async fn close(&self) {
        self.task.abort();
    }
}

impl Drop for HeadHints {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run_listener(
    config: Config,
    progress: Arc<Progress>,
    mut committed: watch::Receiver<Seq>,
) {
    loop {
        if let Err(error) = listen_and_notify(&config, &progress, &mut committed).await {
            tracing::warn!(%error, "timeline notifications delayed: connection lost");
        }
        sleep(RECONNECT_DELAY).await;
    }
}

async fn listen_and_notify(
    config: &Config,
    progress: &Arc<Progress>,
    committed: &mut watch::Receiver<Seq>,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let observed = Arc::clone(progress);
    let listening = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(word)) => {
                    if let Ok(head) = word.payload().parse() {
                        observed.observe_head(Seq(head));
                    }
                }
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    });
    // A hint that a power cut takes away costs nothing.
    let setup = "SET synchronous_commit = off; LISTEN missiond_timeline";
    client.batch_execute(setup).await?;
    let notify = client
        .prepare("SELECT pg_notify('missiond_timeline', $1)")
        .await?;
    let mut poll = interval(HEAD_POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // The first look is at once: word may have passed while away.
            _ = poll.tick() => progress.observe_head(query_head(&client).await?),
            changed = committed.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                let head = committed.borrow_and_update().to_string();
                client.execute(&notify, &[&head]).await?;
                sleep(NOTIFY_PAUSE).await;
            }
        }
        if listening.is_finished() {
            return listening.await.unwrap_or(Ok(()));
        }
    }
}

async fn query_head(client: &Client) -> Result<Seq, tokio_postgres::Error> {
    let row = client
        .query_one("SELECT seq FROM timeline_head WHERE id = 1", &[])
        .await?;
    row.try_get(0).map(Seq)
}
