//! Conversations with agents: taken from the transcripts of their CLIs, kept in
//! the store, found again.
//!
//! A background worker looks at the transcripts of executions and, where the person said
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_config::Config;
use missiond_core::{Clock, DaemonId, ErrorCode, Timestamp};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_store::{MissionDb, StoreError, conversations};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::{Notify, watch};

use index::Index;
use of_executions::Runs;
use personal::OwnSources;

/// How often the index looks for what other daemons took in.
const TICK: Duration = Duration::from_secs(1);
/// How often the person's own transcripts are looked at.
const OWN_TICK: Duration = Duration::from_secs(10);
/// How much of what is too old is forgotten at once.
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
    /// Pieces of transcripts that were taken in, and word of them for the index.
    pieces: AtomicU64,
    ingested: Notify,
    /// Held while the index follows the store: a second one waits for the first.
    following: tokio::sync::Mutex<()>,
    /// How far each source was read, as it is stored.
    cursors: Mutex<HashMap<String, String>>,
    /// Digests of what was last read again at those cursors, by source.
    last_digests: Mutex<HashMap<String, u64>>,
}

/// The transcripts that are followed, as whoever looks at them remembers them. Forgetting
/// them costs a look at every one.
#[derive(Debug, Default)]
pub struct FollowedTranscripts {
    runs: Runs,
    own: OwnSources,
    /// At once where there is none.
    own_due: Option<tokio::time::Instant>,
}

/// What one look at the transcripts gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestedTranscripts {
    pub pieces: u64,
    /// There is more to read at once.
    pub more: bool,
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
                pieces: AtomicU64::new(0),
                ingested: Notify::new(),
                following: tokio::sync::Mutex::default(),
                tasks: Tasks::new(supervisor),
                cursors: Mutex::default(),
                last_digests: Mutex::default(),
            }),
        }
    }

    /// Keeps the index up with the store, of which others take in too.
    async fn keep_index(&self) {
        loop {
            if let Err(error) = self.follow_store().await {
                tracing::warn!(%error, "conversation index not refreshed");
            }
            tokio::select! {
                () = tokio::time::sleep(TICK) => {}
                () = self.inner.ingested.notified() => {}
            }
        }
    }

    /// Looks once at the transcripts of executions and, when that is due, at the person's
    /// own; what was read of them is in the store with the cursor behind it. What fails
    /// now (a database that is away) is read again by the next look.
    pub async fn ingest_transcripts(
        &self,
        followed: &mut FollowedTranscripts,
    ) -> Result<IngestedTranscripts, ConversationError> {
        let before = self.inner.pieces.load(Ordering::Relaxed);
        let runs = self.follow_runs(&mut followed.runs).await;
        let now = tokio::time::Instant::now();
        let own_is_due = followed.own_due.is_none_or(|due| now >= due);
        let own = if own_is_due {
            followed.own_due = Some(now + OWN_TICK);
            self.follow_own(&mut followed.own).await
        } else {
            Ok(personal::ScanProgress::Complete)
        };
        let pieces = self.inner.pieces.load(Ordering::Relaxed) - before;
        if pieces > 0 {
            self.inner.ingested.notify_one();
        }
        runs?;
        let more = own? == personal::ScanProgress::More;
        if more {
            followed.own_due = None;
        }
        Ok(IngestedTranscripts { pieces, more })
    }

    /// Deletes some of the conversations that are older than `conversations.keep_days`;
    /// how many.
    pub async fn forget_some_old(&self) -> Result<u64, ConversationError> {
        let days = self.inner.config.borrow().conversations.keep_days;
        if days == 0 {
            return Ok(0);
        }
        let kept = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        let moment = self.inner.clock.now().minus(kept);
        let gone = self
            .inner
            .db
            .write(move |tx| Box::pin(conversations::forget_before(tx, moment, FORGET_AT_ONCE)))
            .await?;
        if gone > 0 {
            tracing::info!(gone, "old conversations deleted");
        }
        Ok(gone)
    }
}

impl Component for Conversations {
    fn name(&self) -> &'static str {
        "conversations"
    }

    /// Begins to keep the index; returns at once. Taking transcripts in is the work of a
    /// background worker.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        let this = Arc::clone(&self);
        self.inner.tasks.spawn_restarting("conversations", move || {
            let conversations = (*this).clone();
            async move { conversations.keep_index().await }
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
