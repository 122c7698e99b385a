//! Looking at the board: one task with all about it, what is ready, and the
//! graph.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use missiond_core::{
    Attempt, BoardTask, BoardTaskId, BoardTaskStatus, Evidence, Note, TaskNumber, TaskRef, Wait,
};
use missiond_store::board::{self as store, Dependency, ReadyLimits, TaskFilter, Waiting};
use missiond_store::{StoreError, Tx};

use super::alternatives::{self, AlternativeTask};
use super::{Board, BoardError};

/// An answer holds so many notes and checks at most; the newest are kept.
const MOST_NOTES: usize = 30;
const MOST_EVIDENCE: usize = 20;

/// A graph drawn of more than this helps nobody.
const MOST_NODES: u32 = 1000;

/// One task with all about it.
#[derive(Debug, Clone)]
pub struct Details {
    pub task: BoardTask,
    pub parent: Option<BoardTask>,
    pub children: Vec<BoardTask>,
    pub depends_on: Vec<Dependency>,
    pub dependents: Vec<Dependency>,
    pub waits: Vec<Wait>,
    pub notes: Vec<Note>,
    pub attempts: Vec<Attempt>,
    pub evidence: Vec<Evidence>,
    /// All that try the same, this one too, by number; none when it is alone.
    pub alternatives: Vec<AlternativeTask>,
}

/// What can be worked on, and what cannot.
#[derive(Debug, Clone)]
pub struct Readiness {
    pub ready: Vec<BoardTask>,
    pub ready_total: u64,
    pub waiting: Vec<Waiting>,
    pub open_total: u64,
}

/// Tasks by number, each with the numbers of those it depends on.
#[derive(Debug, Clone)]
pub struct Graph {
    pub tasks: Vec<(BoardTask, Vec<TaskNumber>)>,
    pub numbers: BTreeMap<BoardTaskId, TaskNumber>,
    pub left_out: u64,
}

impl Board {
    pub async fn find(&self, task: TaskRef) -> Result<BoardTask, BoardError> {
        let found = self
            .db
            .read(move |tx| Box::pin(async move { store::find(tx, task).await }));
        Ok(found.await?)
    }

    /// Every repository that a task names.
    pub async fn repositories(&self) -> Result<Vec<store::RepositoryTasks>, BoardError> {
        let found = self
            .db
            .read(|tx| Box::pin(async move { store::repositories(tx).await }));
        Ok(found.await?)
    }

    /// Tasks, and how many there are beyond the filter's limit too.
    pub async fn list(
        &self,
        mut filter: TaskFilter,
        parent: Option<TaskRef>,
    ) -> Result<(Vec<BoardTask>, u64), BoardError> {
        let listed = self.db.read(move |tx| {
            Box::pin(async move {
                if let Some(parent) = parent {
                    filter.parent = Some(store::find(tx, parent).await?.id);
                }
                let tasks = store::list(tx, &filter).await?;
                Ok((tasks, store::count(tx, &filter).await?))
            })
        });
        Ok(listed.await?)
    }

    pub async fn details(&self, task: TaskRef, limits: ReadyLimits) -> Result<Details, BoardError> {
        let now = self.clock.now();
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let task = store::find(tx, task).await?;
                let id = task.id;
                let parent = match task.parent {
                    Some(parent) => store::get(tx, parent).await?,
                    None => None,
                };
                let waits = store::waits_of(tx, &task, now, &limits).await?;
                let attempts = store::attempts(tx, id).await?;
                let evidence = match attempts.last() {
                    Some(newest) => store::evidence(tx, newest.id).await?,
                    None => Vec::new(),
                };
                Ok(Details {
                    parent,
                    children: store::children(tx, id).await?,
                    depends_on: store::dependencies(tx, id).await?,
                    dependents: store::dependents(tx, id).await?,
                    waits,
                    notes: newest(store::notes(tx, id).await?, MOST_NOTES),
                    attempts,
                    evidence: newest(evidence, MOST_EVIDENCE),
                    alternatives: alternatives::of(tx, &task).await?,
                    task,
                })
            })
        });
        Ok(found.await?)
    }

    /// What is ready and what waits, at most `limit` of each.
    pub async fn readiness(&self, limits: ReadyLimits) -> Result<Readiness, BoardError> {
        let now = self.clock.now();
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let open = TaskFilter {
                    status: vec![BoardTaskStatus::Open, BoardTaskStatus::Blocked],
                    ..TaskFilter::default()
                };
                let ready = store::ready(tx, now, &limits).await?;
                let ready_total = if ready.len() < limits.limit as usize {
                    ready.len() as u64
                } else {
                    // More than were asked for: those behind them are not looked
                    // at one by one.
                    store::count_ready(tx, now).await?
                };
                Ok(Readiness {
                    ready,
                    ready_total,
                    waiting: store::waiting(tx, now, &limits).await?,
                    open_total: store::count(tx, &open).await?,
                })
            })
        });
        Ok(found.await?)
    }

    /// The graph of what is not over, or all of it; or what one task depends on
    /// and what depends on it, however far.
    pub async fn graph(&self, around: Option<TaskRef>, all: bool) -> Result<Graph, BoardError> {
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let (tasks, left_out) = match around {
                    Some(task) => neighbourhood(tx, task).await?,
                    None => everything(tx, all).await?,
                };
                with_edges(tx, tasks, left_out).await
            })
        });
        Ok(found.await?)
    }
}

fn newest<T>(mut list: Vec<T>, most: usize) -> Vec<T> {
    list.split_off(list.len().saturating_sub(most))
}

async fn everything(tx: &mut Tx<'_>, all: bool) -> Result<(Vec<BoardTask>, u64), StoreError> {
    let status = if all {
        Vec::new()
    } else {
        vec![
            BoardTaskStatus::Open,
            BoardTaskStatus::Running,
            BoardTaskStatus::Review,
            BoardTaskStatus::Blocked,
        ]
    };
    let filter = TaskFilter {
        status,
        limit: MOST_NODES,
        ..TaskFilter::default()
    };
    let tasks = store::list(tx, &filter).await?;
    let count = store::count(tx, &filter).await?;
    let left_out = count.saturating_sub(tasks.len() as u64);
    Ok((tasks, left_out))
}

async fn neighbourhood(
    tx: &mut Tx<'_>,
    task: TaskRef,
) -> Result<(Vec<BoardTask>, u64), StoreError> {
    let centre = store::find(tx, task).await?;
    let mut found = BTreeSet::from([centre.id]);
    let mut left_out = 0;
    for forwards in [true, false] {
        let mut open = VecDeque::from([centre.id]);
        while let Some(id) = open.pop_front() {
            let next = if forwards {
                store::dependents(tx, id).await?
            } else {
                store::dependencies(tx, id).await?
            };
            for other in next {
                if found.contains(&other.id) {
                    continue;
                }
                if found.len() >= MOST_NODES as usize {
                    left_out += 1;
                } else {
                    found.insert(other.id);
                    open.push_back(other.id);
                }
            }
        }
    }
    let mut tasks = Vec::with_capacity(found.len());
    for id in found {
        tasks.extend(store::get(tx, id).await?);
    }
    Ok((tasks, left_out))
}

async fn with_edges(
    tx: &mut Tx<'_>,
    mut tasks: Vec<BoardTask>,
    left_out: u64,
) -> Result<Graph, StoreError> {
    tasks.sort_by_key(|task| task.number);
    let numbers: BTreeMap<_, _> = tasks.iter().map(|task| (task.id, task.number)).collect();
    let ids: Vec<_> = numbers.keys().copied().collect();
    let mut edges = store::edges_among(tx, &ids).await?;
    let tasks = tasks
        .into_iter()
        .map(|task| {
            let on = edges.remove(&task.id).unwrap_or_default();
            let mut on: Vec<_> = on
                .iter()
                .filter_map(|id| numbers.get(id).copied())
                .collect();
            on.sort_unstable();
            (task, on)
        })
        .collect();
    Ok(Graph {
        tasks,
        numbers,
        left_out,
    })
}
