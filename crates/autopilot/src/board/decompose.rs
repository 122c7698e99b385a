//! Dividing a task into steps.
//!
//! The steps become parts of the task, and the task waits for all of them: what
//! depended on it still does, and it comes last, to put together what they did.
//! What the task itself waited for, the steps wait for too.

use std::collections::BTreeMap;

use missiond_core::{BoardTask, BoardTaskStatus, Parts, TaskDraft, TaskRef, TraceContext};
use missiond_store::board::{self as store, NewBoardTask};
use missiond_store::{StoreError, Tx};

use super::{Board, BoardError, vet};

/// One step, as it was asked for.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub key: String,
    pub draft: TaskDraft,
    /// Keys of other steps, or tasks that are on the board.
    pub depends_on: Vec<String>,
}

/// What a step depends on.
enum On {
    Step(usize),
    Task(TaskRef),
}

impl Board {
    /// Divides a task, into all the steps or none. Returns the task and its
    /// steps.
    pub async fn decompose(
        &self,
        task: TaskRef,
        parts: Parts<Part>,
        trace: TraceContext,
    ) -> Result<(BoardTask, Vec<BoardTask>), BoardError> {
        let on = resolve(&parts)?;
        let parent = self.find(task).await?;
        let mut new = self.new_tasks(&parts, &inherited(&parent)).await?;
        for new in &mut new {
            new.parent = Some(parent.id);
        }
        let act = self.act(trace);
        let divided = self.db.write(move |tx| {
            Box::pin(async move {
                let parent = store::find(tx, task).await?;
                if !matches!(
                    parent.status,
                    BoardTaskStatus::Open | BoardTaskStatus::Blocked
                ) {
                    return Err(StoreError::Conflict {
                        detail: format!(
                            "{} is {}: only a task that has not begun can be divided",
                            parent.number, parent.status
                        ),
                    });
                }
                let before = store::dependencies(tx, parent.id).await?;
                connect(tx, &mut new, on).await?;
                let ids: Vec<_> = new.iter().map(|new| new.id).collect();
                for new in &mut new {
                    // A step after another step comes after what that one waits for.
                    if !new.depends_on.iter().any(|on| ids.contains(on)) {
                        new.depends_on.extend(before.iter().map(|on| on.id));
                    }
                }
                let also: Vec<_> = ids.iter().map(|id| (parent.id, *id)).collect();
                let steps = store::add_graph(tx, new, &also, &act).await?;
                Ok((parent, steps))
            })
        });
        Ok(divided.await?)
    }

    /// Adds tasks that may depend on each other, all of them or none.
    pub async fn add_steps(
        &self,
        parts: Parts<Part>,
        trace: TraceContext,
    ) -> Result<Vec<BoardTask>, BoardError> {
        let on = resolve(&parts)?;
        let mut new = self.new_tasks(&parts, &TaskDraft::default()).await?;
        let act = self.act(trace);
        let added = self.db.write(move |tx| {
            Box::pin(async move {
                connect(tx, &mut new, on).await?;
                store::add_graph(tx, new, &[], &act).await
            })
        });
        Ok(added.await?)
    }

    /// The steps as tasks, filled in and looked at.
    async fn new_tasks(
        &self,
        parts: &[Part],
        below: &TaskDraft,
    ) -> Result<Vec<NewBoardTask>, BoardError> {
        let mut new = Vec::with_capacity(parts.len());
        let engines = self.config.borrow().engines.clone();
        for (place, part) in parts.iter().enumerate() {
            let draft = part.draft.clone().over(below.clone());
            let filled = self.fill(draft, None).await?;
            filled
                .draft
                .check()
                .map_err(|error| refused(place, part, error.to_string()))?;
            let vetted = vet::vet(&filled.draft, &engines).await;
            vetted.map_err(|error| refused(place, part, error.to_string()))?;
            new.push(NewBoardTask::open(filled.draft));
        }
        Ok(new)
    }
}

/// Has each step wait for what it depends on.
async fn connect(
    tx: &mut Tx<'_>,
    new: &mut [NewBoardTask],
    on: Vec<Vec<On>>,
) -> Result<(), StoreError> {
    let ids: Vec<_> = new.iter().map(|new| new.id).collect();
    for (new, on) in new.iter_mut().zip(on) {
        for on in on {
            new.depends_on.push(match on {
                On::Step(place) => ids[place],
                On::Task(task) => store::find(tx, task).await?.id,
            });
        }
    }
    Ok(())
}

/// What the steps of a task have in common with it.
fn inherited(parent: &BoardTask) -> TaskDraft {
    TaskDraft {
        priority: Some(parent.priority),
        engine: parent.engine.clone(),
        permission: parent.permission,
        model: parent.model.clone(),
        control: parent.control,
        repository: parent.repository.clone(),
        isolation: Some(parent.isolation),
        base: parent.base.clone(),
        finish: Some(parent.finish),
        review: Some(parent.review),
        setup: Some(parent.setup.clone()),
        teardown: Some(parent.teardown.clone()),
        ..TaskDraft::default()
    }
}

fn resolve(parts: &[Part]) -> Result<Vec<Vec<On>>, BoardError> {
    let mut places = BTreeMap::new();
    for (place, part) in parts.iter().enumerate() {
        if part.key.trim().is_empty() {
            return Err(refused(place, part, "its key is empty".to_owned()));
        }
        if places.insert(part.key.as_str(), place).is_some() {
            let message = "another step has the same key".to_owned();
            return Err(refused(place, part, message));
        }
    }
    let on = |(place, part): (usize, &Part)| {
        let one = |key: &String| match (places.get(key.as_str()), key.parse()) {
            (Some(place), _) => Ok(On::Step(*place)),
            (None, Ok(task)) => Ok(On::Task(task)),
            (None, Err(_)) => {
                let message = format!("it depends on `{key}`, which is no step and no task");
                Err(refused(place, part, message))
            }
        };
        part.depends_on.iter().map(one).collect()
    };
    parts.iter().enumerate().map(on).collect()
}

fn refused(place: usize, part: &Part, message: String) -> BoardError {
    BoardError::Step {
        place: place + 1,
        key: part.key.chars().take(64).collect(),
        message,
    }
}
