//! The board of tasks: what is put on it, what it says, and who may work on
//! what. The rules are the store's; here they meet the clock, the files that
//! fill a task in, and whoever asks.

mod alternatives;
mod claims;
mod decompose;
mod error;
mod exchange;
mod fill;
mod propose;
mod pull_requests;
mod queries;
mod repository_checks;
mod vet;

use std::sync::Arc;

use missiond_api::Home;
use missiond_config::Config;
use missiond_core::{
    Alternative, BoardTask, BoardTaskId, Clock, DaemonId, EngineeringPhase, Note, NoteText,
    TaskDraft, TaskRef, TraceContext, Wait,
};
use missiond_os::expand_home;
use missiond_store::board::{self as store, Act, NewBoardTask, ReadyLimits, RetryFrom, TaskEdit};
use missiond_store::{MissionDb, StoreError, Tx};
use missiond_timeline::Timeline;
use tokio::sync::watch;

pub use alternatives::AlternativeTask;
pub use decompose::Part;
pub use error::BoardError;
pub use exchange::{Again, Imported, ReadCards, Source};
pub use fill::{check_repository_config, sparse_paths, template_names};
pub use propose::Proposal;
pub use queries::{Details, Graph, Readiness};
pub use repository_checks::{FittingCheck, fitting_checks};

/// A handle to the board.
#[derive(Debug)]
pub struct Board {
    home: Home,
    daemon: DaemonId,
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    config: watch::Receiver<Arc<Config>>,
}

/// A task to be added, as it was asked for.
#[derive(Debug, Clone, Default)]
pub struct TaskRequest {
    pub draft: TaskDraft,
    pub template: Option<String>,
    pub parent: Option<TaskRef>,
    pub depends_on: Vec<TaskRef>,
    /// Engines that try it too.
    pub alternatives: Vec<Alternative>,
}

/// A task that was added.
#[derive(Debug, Clone)]
pub struct Added {
    pub task: BoardTask,
    pub waits: Vec<Wait>,
    pub warnings: Vec<String>,
    /// The same task for other engines.
    pub alternatives: Vec<BoardTask>,
}

/// What is to change about a task.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub edit: TaskEdit,
    pub depend: Vec<TaskRef>,
    pub undepend: Vec<TaskRef>,
    pub phase: Option<EngineeringPhase>,
}

impl Board {
    #[must_use]
    pub fn new(
        home: &Home,
        daemon: DaemonId,
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        config: watch::Receiver<Arc<Config>>,
    ) -> Self {
        Self {
            home: home.clone(),
            daemon,
            db,
            timeline,
            clock,
            config,
        }
    }

    /// What the configuration says of tasks when nothing nearer does.
    fn usual(&self) -> TaskDraft {
        TaskDraft {
            review: Some(self.config.borrow().autopilot.review),
            ..TaskDraft::default()
        }
    }

    fn act(&self, trace: TraceContext) -> Act {
        Act {
            now: self.clock.now(),
            daemon: self.daemon,
            trace,
        }
    }

    /// Adds a task, filled in from its template and its repository; what it waits
    /// for is said within these limits.
    pub async fn add(
        &self,
        request: TaskRequest,
        limits: ReadyLimits,
        trace: TraceContext,
    ) -> Result<Added, BoardError> {
        let mut filled = self.fill(request.draft, request.template).await?;
        let (usual_engine, engines) = {
            let config = self.config.borrow();
            (config.autopilot.engine.clone(), config.engines.clone())
        };
        let further = alternatives::drafts(&mut filled.draft, request.alternatives, &usual_engine)?;
        filled.draft.check()?;
        let mut warnings = filled.warnings;
        warnings.extend(vet::vet(&filled.draft, &engines).await?);
        if filled.draft.engine.is_none() {
            let control = filled.draft.control;
            warnings.extend(vet::vet_usual(&usual_engine, control, &engines));
        }
        for draft in &further {
            warnings.extend(vet::vet_program(draft, &engines)?);
        }
        let act = self.act(trace);
        let (parent, depends_on) = (request.parent, request.depends_on);
        let mut new = NewBoardTask::open(filled.draft);
        let (task, alternatives, waits) = self
            .db
            .write(move |tx| {
                Box::pin(async move {
                    if let Some(parent) = parent {
                        new.parent = Some(store::find(tx, parent).await?.id);
                    }
                    new.depends_on = ids(tx, &depends_on).await?;
                    let further = alternatives::of_head(&new, further);
                    let task = store::add(tx, new, &act).await?;
                    let alternatives = if further.is_empty() {
                        Vec::new()
                    } else {
                        store::add_graph(tx, further, &[], &act).await?
                    };
                    let waits = store::waits_of(tx, &task, act.now, &limits).await?;
                    Ok((task, alternatives, waits))
                })
            })
            .await?;
        Ok(Added {
            task,
            waits,
            warnings,
            alternatives,
        })
    }

    /// Changes a task: all that was asked for, or nothing.
    pub async fn edit(
        &self,
        task: TaskRef,
        mut change: Change,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        if let Some(repository) = &mut change.edit.set.repository {
            *repository = expand_home(repository);
        }
        self.vet_change(task, &change.edit).await?;
        let act = self.act(trace);
        let edited = self.db.write(move |tx| {
            Box::pin(async move {
                let before = store::find(tx, task).await?;
                let id = before.id;
                let mut after = before;
                if !change.undepend.is_empty() {
                    let on = ids(tx, &change.undepend).await?;
                    after = store::undepend(tx, id, &on, &act).await?;
                }
                if !change.depend.is_empty() {
                    let on = ids(tx, &change.depend).await?;
                    after = store::depend(tx, id, &on, &act).await?;
                }
                if change.edit != TaskEdit::default() {
                    after = store::edit(tx, id, change.edit, &act).await?;
                }
                if let Some(phase) = change.phase {
                    after = store::set_phase(tx, id, phase, &act).await?;
                }
                Ok(after)
            })
        });
        Ok(edited.await?)
    }

    /// How a task is run is looked at again when that is what changes.
    async fn vet_change(&self, task: TaskRef, edit: &TaskEdit) -> Result<(), BoardError> {
        let set = &edit.set;
        let elsewhere = set.repository.is_some() || set.isolation.is_some() || set.base.is_some();
        let driven = set.engine.is_some() || set.args.is_some() || set.control.is_some();
        if elsewhere || driven {
            let before = self.find(task).await?;
            let after = edit.clone().over(before.draft());
            let engines = self.config.borrow().engines.clone();
            vet::vet(&after, &engines).await?;
        }
        Ok(())
    }

    pub async fn add_note(
        &self,
        task: TaskRef,
        author: String,
        text: NoteText,
        trace: TraceContext,
    ) -> Result<Note, BoardError> {
        if text.trim().is_empty() {
            return Err(BoardError::EmptyNote);
        }
        let act = self.act(trace);
        let noted = self.db.write(move |tx| {
            Box::pin(async move {
                let id = store::find(tx, task).await?.id;
                store::add_note(tx, id, &author, text.as_str(), &act).await
            })
        });
        Ok(noted.await?)
    }

    /// Has a task tried again, with what it left or from scratch.
    pub async fn retry(
        &self,
        task: TaskRef,
        from: RetryFrom,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        let act = self.act(trace);
        let retried = self.db.write(move |tx| {
            Box::pin(async move {
                let id = store::find(tx, task).await?.id;
                store::retry(tx, id, from, &act).await
            })
        });
        Ok(retried.await?)
    }

    /// A person has brought the work of the task back by hand: it is done.
    pub async fn complete(
        &self,
        task: BoardTaskId,
        author: String,
        how: String,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        let act = self.act(trace);
        let completed = self.db.write(move |tx| {
            Box::pin(async move { store::complete(tx, task, &author, &how, &act).await })
        });
        Ok(completed.await?)
    }

    pub async fn cancel(
        &self,
        task: TaskRef,
        reason: String,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        let act = self.act(trace);
        let cancelled = self.db.write(move |tx| {
            Box::pin(async move {
                let id = store::find(tx, task).await?.id;
                store::cancel(tx, id, &reason, &act).await
            })
        });
        Ok(cancelled.await?)
    }
}

/// The tasks somebody named.
async fn ids(tx: &mut Tx<'_>, named: &[TaskRef]) -> Result<Vec<BoardTaskId>, StoreError> {
    let mut found = Vec::with_capacity(named.len());
    for named in named {
        found.push(store::find(tx, *named).await?.id);
    }
    Ok(found)
}
