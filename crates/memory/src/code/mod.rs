//! The code maps of the repositories somebody asks about.
//!
//! A map is kept in memory for the repositories asked about last, and in the
//! store for all of them. Nothing is watched: a question first has a pass made
//! over the files, which reads those that changed; several questions share one.
//! Everything that takes time runs on threads of its own, and a question waits
//! for a pass only so long before it is answered from what there is, saying so.

pub mod beacons;
mod meaning;
mod persistence;
mod repository;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_codemap::{Checkout, CodeError, CodeIndex, ContentHash};
use missiond_core::{Clock, Timestamp};
use missiond_runtime::{Component, StartError, Supervisor, blocking};
use missiond_store::{MissionDb, StoreError, code};
use missiond_timeline::Timeline;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::knowledge::Knowledge;

pub use meaning::{MeaningStatus, Question};
pub use repository::{Fresh, Repository};

/// Maps in memory. The one asked about longest ago goes first; it is read back
/// from the store.
const IN_MEMORY: usize = 8;
/// Passes at once, each with threads of its own.
const PASSES: usize = 2;
/// Questions worked on at once.
const QUESTIONS: usize = 4;
/// How long a question waits for a pass over a map that is there already, and
/// over one that is made for the first time.
const PATIENCE: Duration = Duration::from_secs(3);
const FIRST_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum CodeMapError {
    #[error(transparent)]
    Code(#[from] CodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0} was not indexed yet: `mission code index` does it")]
    NotIndexed(String),
    #[error("{0} is being read right now: forget it when that is done")]
    Busy(String),
    #[error(transparent)]
    Unread(missiond_knowledge::EmbedError),
    #[error("the work on the code map failed: this is a defect of missiond")]
    Panicked,
}

/// What all maps share.
#[derive(Debug)]
pub struct Shared {
    pub host: String,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub clock: Arc<dyn Clock>,
    pub passes: Semaphore,
    /// Repositories that a model reads at once: one.
    pub understanding: Semaphore,
    /// Whose model reads code; none where meaning is not compared.
    pub knowledge: Option<Knowledge>,
    questions: Semaphore,
    pub supervisor: Supervisor,
}

#[derive(Debug)]
pub struct CodeMaps {
    shared: Arc<Shared>,
    /// The one asked about last comes first.
    open: Mutex<Vec<Arc<Repository>>>,
}

/// A repository that was read.
#[derive(Debug)]
pub struct IndexedRepository {
    pub root: String,
    pub files: u32,
    pub checked_at: Option<Timestamp>,
    pub exists: bool,
}

/// Whether a folder that nobody indexed may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unindexed {
    /// Whatever it is: somebody said so.
    Accept,
    /// If git says where it ends.
    AcceptCheckouts,
    Refuse,
}

impl CodeMaps {
    pub fn new(
        host: String,
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        knowledge: Option<Knowledge>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                host,
                db,
                timeline,
                clock,
                passes: Semaphore::new(PASSES),
                understanding: Semaphore::new(1),
                knowledge,
                questions: Semaphore::new(QUESTIONS),
                supervisor,
            }),
            open: Mutex::new(Vec::new()),
        }
    }

    /// The repositories that were read on this host, by their folders.
    pub async fn repositories(&self) -> Result<Vec<IndexedRepository>, CodeMapError> {
        let host = self.shared.host.clone();
        let (rows, counts) = self
            .shared
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let rows = code::repositories(tx, &host).await?;
                    Ok((rows, code::file_counts(tx, &host).await?))
                })
            })
            .await?;
        let counts: HashMap<i64, u32> = counts.into_iter().collect();
        let known = blocking(move || {
            rows.into_iter()
                .map(|row| IndexedRepository {
                    files: counts.get(&row.id).copied().unwrap_or(0),
                    exists: Path::new(&row.root).is_dir(),
                    checked_at: row.checked_at,
                    root: row.root,
                })
                .collect()
        });
        Ok(known.await)
    }

    /// The repository that the absolute `path` lies in.
    pub async fn repository(
        &self,
        path: &Path,
        unindexed: Unindexed,
    ) -> Result<Arc<Repository>, CodeMapError> {
        let given = path.to_owned();
        let mut checkout = blocking(move || Checkout::of(&given)).await?;
        let host = self.shared.host.clone();
        let known = self
            .shared
            .db
            .read(move |tx| Box::pin(async move { code::repositories(tx, &host).await }))
            .await?;
        if !checkout.git {
            // Below a folder that was indexed as it is.
            let above = known
                .iter()
                .filter(|known| checkout.root.starts_with(&known.root))
                .max_by_key(|known| known.root.len());
            match above {
                Some(above) if unindexed != Unindexed::Accept => {
                    checkout.root = above.root.clone().into();
                    checkout.family = above.root.clone().into();
                }
                None if unindexed == Unindexed::AcceptCheckouts => {
                    return Err(CodeError::NoRepository(checkout.root).into());
                }
                _ => {}
            }
        }
        let root = checkout.root.display().to_string();
        let row = known.into_iter().find(|known| known.root == root);
        if row.is_none() && unindexed == Unindexed::Refuse && !self.is_open(&checkout) {
            return Err(CodeMapError::NotIndexed(root));
        }
        let checked_at = row.and_then(|row| row.checked_at);
        Ok(self.open_repository(checkout, checked_at))
    }

    /// Asks the map something, after a pass if `fresh` says so.
    pub async fn ask<T: Send + 'static>(
        &self,
        repository: &Arc<Repository>,
        question: impl FnOnce(&CodeIndex) -> T + Send + 'static,
    ) -> Result<(Fresh, T), CodeMapError> {
        let patience = if repository.is_complete() {
            PATIENCE
        } else {
            FIRST_PATIENCE
        };
        let fresh = repository.refresh(patience).await?;
        let answer = self.query(repository, question).await?;
        Ok((fresh, answer))
    }

    /// Asks the map as it is.
    pub async fn query<T: Send + 'static>(
        &self,
        repository: &Arc<Repository>,
        question: impl FnOnce(&CodeIndex) -> T + Send + 'static,
    ) -> Result<T, CodeMapError> {
        let _one = self.shared.questions.acquire().await;
        let repository = Arc::clone(repository);
        Ok(blocking(move || question(&repository.index())).await)
    }

    fn is_open(&self, checkout: &Checkout) -> bool {
        let open = self.lock();
        open.iter().any(|known| known.checkout == *checkout)
    }

    fn open_repository(
        &self,
        checkout: Checkout,
        checked_at: Option<Timestamp>,
    ) -> Arc<Repository> {
        let mut open = self.lock();
        let place = open.iter().position(|known| known.checkout == checkout);
        let repository = match place {
            Some(place) => open.remove(place),
            None => Arc::new(Repository::new(
                checkout,
                checked_at,
                Arc::clone(&self.shared),
            )),
        };
        open.insert(0, Arc::clone(&repository));
        if open.len() > IN_MEMORY
            && let Some(idle) = open.iter().rposition(|known| !known.is_busy())
        {
            open.remove(idle);
        }
        repository
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<Arc<Repository>>> {
        self.open.lock()
    }
}

impl Component for CodeMaps {
    fn name(&self) -> &'static str {
        "code maps"
    }

    /// Maps are made when somebody asks.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async { Ok(()) })
    }

    /// Stops the passes that are under way, and waits for their ends.
    fn stop(&self) -> BoxFuture<'_, ()> {
        let open = std::mem::take(&mut *self.lock());
        Box::pin(async move {
            for repository in open {
                repository.stop().await;
            }
        })
    }
}

/// A number that stands for a folder of a host, the same every time.
pub fn number_of(host: &str, folder: &Path) -> i64 {
    let text = format!("{host}\0{}", folder.display());
    let hash = ContentHash::of(text.as_bytes()).to_string();
    i64::from_str_radix(&hash[..15], 16).unwrap_or_default()
}
