//! Conversations with agents: taken from the transcripts of their CLIs, kept in
//! the store, found again.
//!
//! A worker looks at the transcripts of executions and, where the person said
//! so, at the person's own. What is new is read on a thread, masked and cut
//! there, and committed with the cursor behind it: a daemon that dies in between
//! reads it again, and what is there already has its key. The index for the
//! search is in memory and follows the store, so it also has what other daemons
//! took in.

mod index;
mod ingest;
mod input_text;
mod of_executions;
mod own_words;
mod personal;
mod project;
mod recent;
mod search;
mod show;

pub use recent::PastTurn;
pub use search::{ConversationHit, SearchAnswer, SearchQuery};
pub use show::{
    ConversationCursor, ConversationPage, ConversationView, ItemWindow, ListQuery, WindowStart,
};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_config::Config;
use missiond_core::{Clock, DaemonId, ErrorCode, Timestamp};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_store::{MissionDb, StoreError, conversations};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::watch;

use index::Index;
use of_executions::Runs;
use personal::OwnSources;

/// How often transcripts of executions are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often the person's own are.
const OWN_TICK: Duration = Duration::from_secs(10);
/// How often what is too old is forgotten, and how much of it at once.
const FORGET_TICK: Duration = Duration::from_secs(3600);
const FORGET_AT_ONCE: u32 = 50;

/// A handle to the conversations.
#[derive(Debug, Clone)]
pub struct Conversations {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    tasks: Tasks,
    host: String,
    daemon: DaemonId,
    db: MissionDb,
    clock: Arc<dyn Clock>,
    config: watch::Receiver<Arc<Config>>,
    index: RwLock<Index>,
    /// Held while the index follows the store: a second one waits for the first.
    following: tokio::sync::Mutex<()>,
    /// How far each source was read, as it is stored.
    cursors: Mutex<HashMap<String, String>>,
    /// Digests of what was last read again at those cursors, by source.
    last_digests: Mutex<HashMap<String, u64>>,
}

/// Why something about conversations did not work.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no conversation `{0}`: `mission conversation list` lists them")]
    Unknown(String),
    #[error("several conversations begin with `{0}`: give more of its name")]
    Several(String),
    #[error("{0}")]
    Invalid(String),
}

impl ConversationError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::Several(_) | Self::Invalid(_) => ErrorCode::InvalidParams,
        }
    }
}

impl Conversations {
    pub fn new(
        host: String,
        daemon: DaemonId,
        db: MissionDb,
        clock: Arc<dyn Clock>,
        config: watch::Receiver<Arc<Config>>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                host,
                daemon,
                db,
                clock,
                config,
                index: RwLock::default(),
                following: tokio::sync::Mutex::default(),
                tasks: Tasks::new(supervisor),
                cursors: Mutex::default(),
                last_digests: Mutex::default(),
            }),
        }
    }

    async fn work(&self) {
        let mut runs = Runs::default();
        let mut own = OwnSources::default();
        let mut own_due = tokio::time::Instant::now();
        let mut forget_due = own_due;
        loop {
            // What fails now (a database that is away) is tried again: every cursor
            // is moved only with what was read.
            if let Err(error) = self.follow_runs(&mut runs).await {
                tracing::warn!(%error, "transcripts of executions not ingested");
            }
            let now = tokio::time::Instant::now();
            if now >= own_due {
                own_due = now + OWN_TICK;
                match self.follow_own(&mut own).await {
                    Ok(personal::ScanProgress::Complete) => {}
                    Ok(personal::ScanProgress::More) => own_due = now,
                    Err(error) => tracing::warn!(%error, "personal transcripts not ingested"),
                }
            }
            if now >= forget_due {
                forget_due = now + FORGET_TICK;
                if let Err(error) = self.forget_old().await {
                    tracing::warn!(%error, "old conversations not deleted");
                }
            }
            if let Err(error) = self.follow_store().await {
                tracing::warn!(%error, "conversation index not refreshed");
            }
            tokio::time::sleep(TICK).await;
        }
    }

    async fn forget_old(&self) -> Result<(), ConversationError> {
        let days = self.inner.config.borrow().conversations.keep_days;
        if days == 0 {
            return Ok(());
        }
        let kept = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        let moment = self.inner.clock.now().minus(kept);
        loop {
            let gone = self
                .inner
                .db
                .write(move |tx| Box::pin(conversations::forget_before(tx, moment, FORGET_AT_ONCE)))
                .await?;
            if gone > 0 {
                tracing::info!(gone, "old conversations deleted");
            }
            if gone < u64::from(FORGET_AT_ONCE) {
                return Ok(());
            }
        }
    }
}

impl Component for Conversations {
    fn name(&self) -> &'static str {
        "conversations"
    }

    /// Begins to ingest transcripts; returns at once.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        let this = Arc::clone(&self);
        self.inner.tasks.spawn_restarting("conversations", move || {
            let conversations = (*this).clone();
            async move { conversations.work().await }
        });
        Box::pin(async { Ok(()) })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.inner.tasks.stop())
    }
}

impl Inner {
    fn cursors(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.cursors.lock()
    }

    fn last_digests(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.last_digests.lock()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
