//! The knowledge base of a running daemon: entries in the store, their index
//! in memory, and the model that embeds them. A write is in the store before
//! it is in the index; the index is built again from the store at every start.
//! Each daemon holds an index of its own: on a shared database it sees what
//! another daemon wrote when it starts again or is told to re-embed.

mod collect;
mod embedding;
mod entries;
mod inbox;
mod index;
mod map;
mod remember;
mod search;
mod upkeep;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_core::{Clock, EdgeKind, EntryId, ErrorCode};
use missiond_knowledge::Profile;
use missiond_knowledge::transfer::DraftError;
use missiond_runtime::{Component, StartError, Supervisor, Tasks, Unfinished, blocking};
use missiond_store::knowledge::{self, EntryFilter, edges};
use missiond_store::{MissionDb, StoreError};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{Notify, watch};

use missiond_config::KnowledgeConfig;
use missiond_timeline::{Timeline, TimelineError};

use embedding::Models;
use index::{Index, Serving};

pub use collect::CollectedEntry;
pub use entries::{
    EmbeddingStatus, EntryDetails, KnowledgeStats, NamedEntry, NewEdge, record_uses,
};
pub use inbox::Proposal;
pub use index::EntryHit;
pub use map::{EntryMap, MapPoint};
pub use remember::{EntryChange, Remembered};
pub use search::{Conflict, SearchAnswer, SearchProfile, SearchQuery};
pub use upkeep::{TaskLessons, Tended};

/// A handle to the knowledge base.
#[derive(Debug, Clone)]
pub struct Knowledge {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    tasks: Tasks,
    db: MissionDb,
    clock: Arc<dyn Clock>,
    timeline: Timeline,
    index: RwLock<Index>,
    models: Models,
    config: KnowledgeConfig,
    /// The profile that is searched with unless another is asked for.
    profile: Profile,
    /// Set once the index has been built.
    built: watch::Sender<bool>,
    /// Something has no vector yet.
    wake: Notify,
    /// Held from the store to the index, so that an index that replaces
    /// another has everything that was written.
    changing: tokio::sync::Mutex<()>,
    /// Candidates that a rule would accept and that contradict what is known.
    waiting: Mutex<HashSet<EntryId>>,
    /// Grows whenever the index is changed: what was made of it is then old.
    changes: AtomicU64,
    /// The last map that was drawn. Held while one is drawn, so that whoever asks
    /// meanwhile waits for it instead of drawing another.
    map: tokio::sync::Mutex<Option<map::CachedMap>>,
}

/// Why something about knowledge did not work.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    #[error("there is no entry `{0}`")]
    Unknown(String),
    #[error("{0}")]
    Invalid(String),
    #[error(
        "only a person says that something holds instead of what a person said: `mission kb link` \
         does it"
    )]
    Overruling,
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl KnowledgeError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Draft(_) | Self::Invalid(_) => ErrorCode::InvalidParams,
            Self::Store(error) => error.code(),
            Self::Timeline(error) => error.code(),
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::Overruling => ErrorCode::Forbidden,
            Self::Unfinished(_) => ErrorCode::Internal,
        }
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// There is a next page.
    pub more: bool,
}

/// Entries read from the store at once.
const PAGE: u32 = 1000;

impl Knowledge {
    pub fn new(
        home: &Home,
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        config: KnowledgeConfig,
        supervisor: Supervisor,
    ) -> Self {
        let models_dir: PathBuf = home.models_dir();
        let profile = config.search.profile();
        Self {
            inner: Arc::new(Inner {
                tasks: Tasks::new(supervisor),
                db,
                clock,
                timeline,
                index: RwLock::new(Index::empty(profile.context)),
                models: Models::new(models_dir, config.clone()),
                config,
                profile,
                built: watch::Sender::new(false),
                wake: Notify::new(),
                changing: tokio::sync::Mutex::new(()),
                waiting: Mutex::default(),
                changes: AtomicU64::new(0),
                map: tokio::sync::Mutex::new(None),
            }),
        }
    }

    /// Carries a change through also when whoever asked for it goes away: what is
    /// in the store is then in the index too.
    async fn run_to_completion<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T, KnowledgeError>> + Send + 'static,
    ) -> Result<T, KnowledgeError> {
        let supervisor = self.inner.tasks.supervisor();
        supervisor
            .complete("knowledge change", None, change)
            .await?
    }

    /// Reads the index from the store: every entry, and the vectors of the
    /// model that was complete last.
    async fn build(&self) -> Result<(), KnowledgeError> {
        let _changing = self.inner.changing.lock().await;
        self.rebuild().await?;
        self.inner.built.send_replace(true);
        Ok(())
    }

    /// As [`Knowledge::build`], for whoever holds `changing`.
    async fn rebuild(&self) -> Result<(), KnowledgeError> {
        let models = self
            .inner
            .db
            .read(|tx| Box::pin(knowledge::vectors::models(tx)))
            .await?;
        let serving = models
            .into_iter()
            .find(|model| model.completed_at.is_some());
        let index = self.read_index(serving).await?;
        *self.inner.write_index() = index;
        Ok(())
    }

    async fn read_index(
        &self,
        model: Option<knowledge::vectors::ModelRow>,
    ) -> Result<Index, KnowledgeError> {
        let mut vectors = std::collections::HashMap::new();
        if let Some(model) = &model {
            let mut after = None;
            loop {
                let name = model.name.clone();
                let page = self
                    .inner
                    .db
                    .read(move |tx| {
                        Box::pin(
                            async move { knowledge::vectors::page(tx, &name, after, PAGE).await },
                        )
                    })
                    .await?;
                let full = page.len() == PAGE as usize;
                after = page.last().map(|(id, _)| *id);
                vectors.extend(page);
                if !full {
                    break;
                }
            }
        }
        let dimension = model.as_ref().map(|model| model.dimension as usize);
        vectors.retain(|_, vector: &mut Vec<f32>| Some(vector.len()) == dimension);
        let mut entries = Vec::new();
        let mut after = None;
        loop {
            let page = self
                .inner
                .db
                .read(move |tx| Box::pin(knowledge::page(tx, after, EntryFilter::InUse, PAGE)))
                .await?;
            let full = page.len() == PAGE as usize;
            after = page.last().map(|row| row.id);
            for row in page {
                let vector = vectors.remove(&row.id);
                entries.push((row, vector));
            }
            if !full {
                break;
            }
        }
        let kind = EdgeKind::Supersedes.name();
        let superseding = self
            .inner
            .db
            .read(move |tx| Box::pin(edges::of_kind(tx, kind, u32::MAX)))
            .await?;
        let context = self.inner.profile.context;
        let mut index = blocking(move || Index::of(entries, context, dimension)).await;
        // The newest comes last and stays, as it does where an entry's edges are read.
        for edge in superseding.into_iter().rev() {
            index.supersede(edge.to, edge.from);
        }
        index.serving = model.map(|model| Serving {
            name: model.name,
            endpoint: model.endpoint,
            calibration: model
                .calibration
                .and_then(|text| serde_json::from_str(&text).ok()),
        });
        Ok(index)
    }

    /// Waits until the index has been built.
    async fn built(&self) {
        let mut built = self.inner.built.subscribe();
        // The sender lives as long as this handle.
        let _ = built.wait_for(|built| *built).await;
    }
}

impl Component for Knowledge {
    fn name(&self) -> &'static str {
        "knowledge"
    }

    /// Builds the index and begins to embed what has no vector; returns at once.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        let this = Arc::clone(&self);
        self.inner.tasks.spawn_restarting("knowledge", move || {
            let knowledge = (*this).clone();
            async move { knowledge.work().await }
        });
        Box::pin(async { Ok(()) })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.inner.tasks.stop())
    }
}

impl Inner {
    fn accepts(&self, source: &str) -> bool {
        self.config.accepts(source)
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<EntryId>> {
        self.waiting.lock()
    }

    fn read_index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    fn write_index(&self) -> RwLockWriteGuard<'_, Index> {
        let index = self.index.write();
        // Under the lock: whoever reads the number first and the index then may
        // hold what is newer than its number, never what is older.
        self.changes.fetch_add(1, Ordering::SeqCst);
        index
    }
}
