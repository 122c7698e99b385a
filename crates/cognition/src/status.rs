//! How workers stand, and what is asked of one: its units, its runs, to work now, to try
//! again what was given up.

use std::sync::Arc;

use missiond_core::{ErrorCode, WorkerSwitch};
use missiond_store::worker_switches::SwitchRow;
use missiond_store::worker_units::{self, UnitCounts, UnitFilter, UnitRow};
use missiond_store::{StoreError, Tx};

use crate::Cognition;
use crate::registered::{Registered, Run, Totals};
use crate::worker::WorkerSpec;

/// How a worker stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerStatus {
    pub spec: WorkerSpec,
    pub switch: WorkerSwitch,
    /// What was said that decides it.
    pub because: Option<SwitchRow>,
    /// Units at hand in this daemon.
    pub at_hand: u32,
    /// Of a worker that has a queue.
    pub units: Option<UnitCounts>,
    /// Since this daemon began.
    pub totals: Totals,
    pub last: Option<Run>,
}

/// Why something about workers did not work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("there is no worker `{0}`: `mission worker list` lists them")]
    Unknown(String),
    #[error("the worker {worker} is paused ({node}): let it work first")]
    Paused { worker: String, node: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkerError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::Paused { .. } => ErrorCode::Conflict,
            Self::Store(error) => error.code(),
        }
    }
}

impl Cognition {
    /// How each worker stands.
    pub async fn list(&self) -> Result<Vec<WorkerStatus>, WorkerError> {
        let (home, now) = (self.shared.home.clone(), self.shared.clock.now());
        let counts = self
            .shared
            .db
            .read(move |tx| Box::pin(async move { worker_units::counts(tx, &home, now).await }));
        let counts = counts.await?;
        let of = |name: &str| {
            let found = counts.iter().find(|(worker, _)| worker == name);
            found.map_or_else(UnitCounts::default, |(_, counts)| *counts)
        };
        let workers = self.shared.workers.iter();
        Ok(workers
            .map(|each| self.status(each, of(each.spec().name)))
            .collect())
    }

    /// How one stands.
    pub async fn find(&self, name: &str) -> Result<WorkerStatus, WorkerError> {
        let all = self.list().await?;
        let found = all.into_iter().find(|each| each.spec.name == name);
        found.ok_or_else(|| WorkerError::Unknown(name.to_owned()))
    }

    fn status(&self, registered: &Registered, units: UnitCounts) -> WorkerStatus {
        let spec = registered.spec().clone();
        let tree = self.shared.control.tree();
        let standing = tree.standing(spec.name, spec.kind, spec.domain);
        WorkerStatus {
            switch: standing.switch,
            because: standing.because.cloned(),
            at_hand: registered.at_hand(),
            units: registered.is_queued().then_some(units),
            totals: registered.totals(),
            last: registered.last_run(),
            spec,
        }
    }

    /// What a worker did last in this daemon, the newest first.
    pub fn runs(&self, name: &str, limit: usize) -> Result<Vec<Run>, WorkerError> {
        Ok(self.registered(name)?.runs(limit))
    }

    /// Units of a worker.
    pub async fn units(
        &self,
        name: &str,
        filter: UnitFilter,
        limit: u32,
    ) -> Result<Vec<UnitRow>, WorkerError> {
        let worker = self.registered(name)?.spec().name;
        let home = self.shared.home.clone();
        let listed = self.shared.db.read(move |tx| {
            Box::pin(async move { worker_units::list(tx, worker, &home, filter, limit).await })
        });
        Ok(listed.await?)
    }

    /// Has a worker look now, or do at once what waits for it; how many units that are.
    pub async fn run_now(&self, name: &str) -> Result<u64, WorkerError> {
        let registered = self.working(name)?;
        if !registered.is_queued() {
            registered.wanted.notify_one();
            return Ok(0);
        }
        self.change_units(&registered, Change::Hasten).await
    }

    /// Has a worker try again what it gave up; how many units that are.
    pub async fn try_again(&self, name: &str) -> Result<u64, WorkerError> {
        let registered = self.registered(name)?;
        self.change_units(&registered, Change::Revive).await
    }

    async fn change_units(
        &self,
        registered: &Registered,
        change: Change,
    ) -> Result<u64, WorkerError> {
        let (worker, home) = (registered.spec().name, self.shared.home.clone());
        let now = self.shared.clock.now();
        let changed = self
            .shared
            .db
            .write(move |tx| Box::pin(async move { change.make(tx, worker, &home, now).await }));
        let changed = changed.await?;
        self.shared.queued.notify_one();
        Ok(changed)
    }

    fn registered(&self, name: &str) -> Result<Arc<Registered>, WorkerError> {
        let mut workers = self.shared.workers.iter();
        let found = workers.find(|each| each.spec().name == name);
        found
            .map(Arc::clone)
            .ok_or_else(|| WorkerError::Unknown(name.to_owned()))
    }

    fn working(&self, name: &str) -> Result<Arc<Registered>, WorkerError> {
        let registered = self.registered(name)?;
        let tree = self.shared.control.tree();
        if registered.may_work(&tree) {
            return Ok(registered);
        }
        let spec = registered.spec();
        let standing = tree.standing(spec.name, spec.kind, spec.domain);
        let node = standing.because.map(|row| row.node.to_string());
        Err(WorkerError::Paused {
            worker: name.to_owned(),
            node: node.unwrap_or_default(),
        })
    }
}

/// What is changed of a worker's units.
#[derive(Debug, Clone, Copy)]
enum Change {
    Hasten,
    Revive,
}

impl Change {
    async fn make(
        self,
        tx: &mut Tx<'_>,
        worker: &str,
        home: &str,
        now: missiond_core::Timestamp,
    ) -> Result<u64, StoreError> {
        match self {
            Self::Hasten => worker_units::hasten(tx, worker, home, now).await,
            Self::Revive => worker_units::revive(tx, worker, home, now).await,
        }
    }
}
