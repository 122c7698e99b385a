//! One task for several engines: each gets a task of its own, in one transaction, and
//! a person keeps one of them.

use std::collections::{HashMap, HashSet};

use missiond_core::{
    Alternative, Attempt, BoardTask, BoardTaskId, CheckVerdict, CliEngine, Isolation, ReviewGate,
    TaskDraft, TaskRef, TraceContext,
};
use missiond_store::board::{self as store, NewBoardTask, ReadyLimits};
use missiond_store::{StoreError, Tx};

use super::{Added, Board, BoardError, vet};

/// One of several tasks for the same work, with what came of it last.
#[derive(Debug, Clone)]
pub struct AlternativeTask {
    pub task: BoardTask,
    pub attempt: Option<Attempt>,
    pub checks: Option<CheckVerdict>,
}

/// The same task for each of these engines. None of them is merged by itself, or the
/// first to end would win.
pub(super) fn drafts(
    task: &mut TaskDraft,
    alternatives: Vec<Alternative>,
    usual_engine: &CliEngine,
) -> Result<Vec<TaskDraft>, BoardError> {
    if alternatives.is_empty() {
        return Ok(Vec::new());
    }
    if task.isolation.unwrap_or_default() != Isolation::Worktree {
        return Err(BoardError::SharedAlternatives);
    }
    let first = Alternative {
        engine: task.engine.as_ref().unwrap_or(usual_engine).clone(),
        model: task.model.clone(),
        // By a text none is named, so that it distinguishes none.
        control: None,
    };
    let mut named = HashSet::from([&first]);
    if let Some(twice) = alternatives.iter().find(|one| !named.insert(*one)) {
        return Err(BoardError::SameEngineTwice(twice.clone()));
    }
    task.review = Some(ReviewGate::AfterApproval);
    Ok(alternatives.into_iter().map(|one| one.of(task)).collect())
}

/// The tasks that try the same as the first.
pub(super) fn of_head(head: &NewBoardTask, further: Vec<TaskDraft>) -> Vec<NewBoardTask> {
    let alternative = |draft| NewBoardTask {
        parent: head.parent,
        alternative_of: Some(head.id),
        depends_on: head.depends_on.clone(),
        ..NewBoardTask::open(draft)
    };
    further.into_iter().map(alternative).collect()
}

/// All that try the same as a task, it too; none when it is alone.
pub(super) async fn of(
    tx: &mut Tx<'_>,
    task: &BoardTask,
) -> Result<Vec<AlternativeTask>, StoreError> {
    let tasks = store::alternatives(tx, task).await?;
    if tasks.len() < 2 {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
    let mut last = store::last_attempts(tx, &ids).await?;
    let mut found = Vec::with_capacity(tasks.len());
    for task in tasks {
        let place = last.iter().position(|attempt| attempt.task == task.id);
        let attempt = place.map(|place| last.swap_remove(place));
        let checks = match &attempt {
            Some(attempt) => CheckVerdict::of(&store::evidence(tx, attempt.id).await?),
            None => None,
        };
        found.push(AlternativeTask {
            task,
            attempt,
            checks,
        });
    }
    Ok(found)
}

impl Board {
    /// Has one more engine try a task; what it waits for is said within these limits.
    pub async fn add_alternative(
        &self,
        task: TaskRef,
        alternative: Alternative,
        limits: ReadyLimits,
        trace: TraceContext,
    ) -> Result<Added, BoardError> {
        let before = self.find(task).await?;
        let engines = self.config.borrow().engines.clone();
        let warning = vet::vet_program(&alternative.clone().of(&before.draft()), &engines)?;
        let act = self.act(trace);
        let added = self.db.write(move |tx| {
            Box::pin(async move {
                let task = store::add_alternative(tx, before.id, alternative, &act).await?;
                let waits = store::waits_of(tx, &task, act.now, &limits).await?;
                Ok((task, waits))
            })
        });
        let (task, waits) = added.await?;
        Ok(Added {
            task,
            waits,
            warnings: Vec::from_iter(warning),
            alternatives: Vec::new(),
        })
    }

    /// The alternatives of a task that would be given up if it were kept.
    pub async fn rivals(&self, task: BoardTaskId) -> Result<Vec<BoardTask>, BoardError> {
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let task = store::find(tx, TaskRef::Id(task)).await?;
                store::alternatives(tx, &task).await
            })
        });
        let mut found = found.await?;
        found.retain(|other| other.id != task && !other.status.is_over());
        Ok(found)
    }

    /// Whether it is one of several for the same work, whatever became of the others.
    pub async fn is_alternative(&self, task: &BoardTask) -> Result<bool, BoardError> {
        let counts = self.alternative_counts(vec![task.clone()]).await?;
        Ok(counts.contains_key(&task.id))
    }

    /// Of each of these tasks how many try the same, it too; those that are alone are
    /// left out.
    pub async fn alternative_counts(
        &self,
        tasks: Vec<BoardTask>,
    ) -> Result<HashMap<BoardTaskId, u32>, BoardError> {
        let counted = self
            .db
            .read(move |tx| Box::pin(async move { store::alternative_counts(tx, &tasks).await }));
        Ok(counted.await?)
    }
}
