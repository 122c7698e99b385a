//! Word of how far the timeline goes, between all daemons on one database.
//!
//! It travels by NOTIFY on a connection of its own: inside the appending
//! transaction it would hold a lock of the whole server over the commit. Word
//! may be late or lost (it is a hint; consumers read by `seq`), so the head is
//! also looked up every [`LOOK`].

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::Seq;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use crate::progress::Progress;

const LOOK: Duration = Duration::from_secs(2);
const BEFORE_RECONNECTING: Duration = Duration::from_secs(1);

pub(super) struct Hints {
    announcer: Announcer,
    task: JoinHandle<()>,
}

/// Tells the other daemons of a commit. Only the newest is told.
#[derive(Clone)]
pub(super) struct Announcer(Arc<watch::Sender<Seq>>);

impl Announcer {
    pub(super) fn announce(&self, head: Seq) {
        self.0.send_if_modified(|told| {
            let newer = head > *told;
            *told = head.max(*told);
            newer
        });
    }
}

impl Hints {
    pub(super) fn start(config: Config, progress: Arc<Progress>) -> Self {
        let (announcer, committed) = watch::channel(Seq(0));
        Self {
            announcer: Announcer(Arc::new(announcer)),
            task: tokio::spawn(keep_in_touch(config, progress, committed)),
        }
    }

    pub(super) fn announcer(&self) -> Announcer {
        self.announcer.clone()
    }

    pub(super) fn announce(&self, head: Seq) {
        self.announcer.announce(head);
    }

    pub(super) async fn close(&self) {
        self.task.abort();
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep_in_touch(
    config: Config,
    progress: Arc<Progress>,
    mut committed: watch::Receiver<Seq>,
) {
    loop {
        if let Err(error) = in_touch(&config, &progress, &mut committed).await {
            tracing::warn!(%error, "word of new events is late: the connection for it was lost");
        }
        sleep(BEFORE_RECONNECTING).await;
    }
}

async fn in_touch(
    config: &Config,
    progress: &Arc<Progress>,
    committed: &mut watch::Receiver<Seq>,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let heard = Arc::clone(progress);
    let listening = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                Ok(AsyncMessage::Notification(word)) => {
                    if let Ok(head) = word.payload().parse() {
                        heard.heard_of(Seq(head));
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
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // The first look is at once: word may have passed while away.
            _ = look.tick() => progress.heard_of(look_up(&client).await?),
            changed = committed.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                let head = committed.borrow_and_update().to_string();
                client
                    .execute("SELECT pg_notify('missiond_timeline', $1)", &[&head])
                    .await?;
            }
        }
        if listening.is_finished() {
            return listening.await.unwrap_or(Ok(()));
        }
    }
}

async fn look_up(client: &Client) -> Result<Seq, tokio_postgres::Error> {
    let row = client
        .query_one("SELECT seq FROM timeline_head WHERE id = 1", &[])
        .await?;
    row.try_get(0).map(Seq)
}
