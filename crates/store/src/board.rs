//! The board in the store: tasks, their graph, claims and attempts.
//!
//! Whatever changes the board also tells of it: each writing function appends
//! its events within the transaction it is given ([`Act`] says who acts and
//! when). A task's `open_dependencies`, the count of those not yet done, is
//! kept with every change that could alter it, so that what is ready is found
//! by an index and not by a walk through the graph.
//!
//! On PostgreSQL rows are locked in one order, so that two daemons never wait
//! for each other: the graph's lock, the numbers, what is depended on, what
//! depends on it, the touches' lock, a lease, and last the timeline.

mod alternatives;
mod attempt_rows;
mod attempts;
mod closing;
mod graph;
mod pull_requests;
mod ready;
mod repositories;
mod rows;
mod standing;
mod tasks;
mod worktrees;

use std::time::Duration;

use missiond_core::{
    Attempt, BoardTask, BoardTaskId, BoardTaskStatus, DaemonId, Event, ExecutionId, Lease, SlotId,
    TaskDraft, Timestamp, TraceContext,
};

use crate::timeline::{self, NewEvent};
use crate::{StoreError, Tx};

pub use alternatives::{add_alternative, alternative_counts, alternatives, not_kept};
pub use attempts::{
    AttemptLocation, EndedAttempt, adopt, attempt, attempt_of_execution, attempts, claim,
    claim_next, evidence, expire, finish, heartbeat, live_attempts, record_claim, record_evidence,
    record_location, submit,
};
pub use closing::{cancel, complete};
pub use graph::{Dependency, depend, dependencies, dependents, edges_among, undepend, waiting_for};
pub use pull_requests::{hand_over, with_pull_requests};
pub use ready::{ReadyLimits, Waiting, count_ready, ready, waiting, waits_of};
pub use repositories::{RepositoryTasks, repositories};
pub(crate) use rows::placeholders;
pub use standing::{
    LastRound, OpenTasks, finished_after, last_attempts, last_rounds, open_tasks, standing,
    tasks_of_executions, tasks_with, with_last_attempts,
};
pub use tasks::{
    Clearable, RetryFrom, TaskEdit, TaskFilter, add, add_graph, add_note, block, by_number,
    children, count, edit, export_page, find, get, list, notes, retry, set_phase,
};
pub use worktrees::{attempt_on, attempts_in};

/// Who does something to the board, when, and as part of what.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    pub now: Timestamp,
    pub daemon: DaemonId,
    pub trace: TraceContext,
}

impl Act {
    async fn record(&self, tx: &mut Tx<'_>, events: Vec<Event>) -> Result<(), StoreError> {
        let events: Vec<_> = events
            .into_iter()
            .map(|event| NewEvent::new(self.now, self.daemon, self.trace_of(&event), event))
            .collect::<Result<_, _>>()?;
        timeline::append(tx, &events).await.map(drop)
    }

    /// What happens to a task is caused by the task, and in an attempt by its claim:
    /// the story of a task is one chain, whoever continues it.
    fn trace_of(&self, event: &Event) -> TraceContext {
        match *event {
            Event::BoardTaskCreated { task, .. } => TraceContext::of(task),
            Event::BoardTaskClaimed { task, attempt, .. } => TraceContext::of(task).began(attempt),
            Event::ChecksFinished { task, attempt, .. } => {
                TraceContext::of(task).began(attempt).child()
            }
            Event::BoardTaskUpdated { task, .. }
            | Event::BoardPhaseChanged { task, .. }
            | Event::BoardAlternativeKept { task, .. } => TraceContext::of(task).child(),
            _ => self.trace.child(),
        }
    }
}

/// A task to be put on the board.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBoardTask {
    pub id: BoardTaskId,
    pub draft: TaskDraft,
    /// On the board, or anywhere in the same graph.
    pub parent: Option<BoardTaskId>,
    /// The task it tries too, on the board or anywhere in the same graph.
    pub alternative_of: Option<BoardTaskId>,
    /// On the board, or anywhere in the same graph.
    pub depends_on: Vec<BoardTaskId>,
    pub history: History,
}

impl NewBoardTask {
    /// An open task that depends on nothing.
    #[must_use]
    pub fn open(draft: TaskDraft) -> Self {
        Self {
            id: BoardTaskId::generate(),
            draft,
            parent: None,
            alternative_of: None,
            depends_on: Vec::new(),
            history: History::default(),
        }
    }
}

/// What a task brings along from where it was kept before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Done, failed or blocked elsewhere; open when absent.
    pub status: Option<ImportedStatus>,
    pub created_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Author and text, oldest first.
    pub notes: Vec<(String, String)>,
}

/// How a task stood where it was kept before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedStatus {
    Done,
    Failed { reason: String },
    Blocked { reason: String },
}

impl ImportedStatus {
    const fn status(&self) -> BoardTaskStatus {
        match self {
            Self::Done => BoardTaskStatus::Done,
            Self::Failed { .. } => BoardTaskStatus::Failed,
            Self::Blocked { .. } => BoardTaskStatus::Blocked,
        }
    }
}

/// Who claims a task, and where its agent will run.
#[derive(Debug, Clone)]
pub struct Claimant {
    pub holder: String,
    pub ttl: Duration,
    pub execution: Option<ExecutionId>,
    pub slot: Option<SlotId>,
}

/// A running task and the right to work on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub task: BoardTask,
    pub attempt: Attempt,
    pub lease: Lease,
}

/// The name under which a task is leased.
#[must_use]
pub fn resource(id: BoardTaskId) -> String {
    format!("board/{id}")
}

/// Keeps everyone else out of what it names until the commit.
async fn lock(tx: &mut Tx<'_>, name: &'static str) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT value FROM board_head WHERE name = $1{}",
        tx.for_update()
    );
    tx.query(&sql, &[name.into()]).await.map(drop)
}

fn updated(task: &BoardTask) -> Event {
    Event::BoardTaskUpdated {
        task: task.id,
        status: task.status,
    }
}
