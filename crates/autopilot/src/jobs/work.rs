//! What the steps of an attempt have in common: the attempt as it stood, what a
//! step reports, and why one is not taken.

use std::sync::Arc;

use missiond_attention::questions::QuestionError;
use missiond_core::{Attempt, AttemptId, BoardTask, CliEngine, ExecutionId, TraceContext};
use missiond_executions::ExecutionError;
use missiond_store::board::Act;
use missiond_store::{StoreError, slot_sessions};
use missiond_workspace::WorkspaceError;
use tokio::sync::watch;

use crate::board::BoardError;
use crate::shared::Shared;

/// What a job reports to the loop.
#[derive(Debug)]
pub(crate) enum Report {
    Dispatched,
    /// Something that belongs to no attempt under way.
    Done,
    /// An agent that had nothing left to do is gone.
    Dismissed(ExecutionId),
    FollowedUp,
    /// What was due in the knowledge base is done.
    Tended,
    /// What finished tasks taught is in the inbox.
    Extracted {
        more: bool,
    },
    Taken(AttemptId, Result<(), Box<Failed>>),
}

/// One attempt, as it stood when the step was decided.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub shared: Arc<Shared>,
    pub task: BoardTask,
    pub attempt: Attempt,
    /// Whether what it does is to be broken off.
    pub cancellation: watch::Receiver<Cancellation>,
}

/// Whether a step that takes long is to be broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancellation {
    NotRequested,
    /// The attempt is over, or everything was stopped.
    Requested,
}

/// A step that failed for a reason that may pass.
#[derive(Debug)]
pub(crate) struct Failed {
    pub work: Work,
    pub why: String,
}

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// Only a person can change that: trying again is of no use.
    #[error("{0}")]
    NeedsPerson(String),
    /// The attempt ended, or everything was stopped, while it was under way.
    #[error("it was not wanted any more")]
    Cancelled,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    #[error("{what}: {source}")]
    Io {
        what: String,
        source: std::io::Error,
    },
}

/// This daemon, acting on the board now.
pub(crate) fn act(shared: &Shared) -> Act {
    Act {
        now: shared.clock.now(),
        daemon: shared.id,
        trace: TraceContext::root(),
    }
}

impl Work {
    pub(crate) fn new(shared: Arc<Shared>, task: BoardTask, attempt: Attempt) -> Self {
        Self {
            shared,
            task,
            attempt,
            cancellation: watch::channel(Cancellation::NotRequested).1,
        }
    }

    /// The claim, which causes whatever is done in the attempt.
    pub(super) fn trace(&self) -> TraceContext {
        TraceContext::of(self.task.id).began(self.attempt.id)
    }

    /// Returns when it is not wanted any more; never, when nobody can say so.
    pub(super) async fn cancelled(&self) {
        let mut cancellation = self.cancellation.clone();
        if cancellation
            .wait_for(|cancellation| *cancellation == Cancellation::Requested)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn engine(&self) -> CliEngine {
        let usual = || self.shared.config().autopilot.engine.clone();
        self.task.engine.clone().unwrap_or_else(usual)
    }

    /// The conversation holds something that can be gone on with.
    pub(super) async fn record_session(&self) -> Result<(), JobError> {
        let Some(execution) = self.attempt.execution else {
            return Ok(());
        };
        let Ok(row) = self.shared.executions.find(&execution.to_string()).await else {
            return Ok(());
        };
        if let Some(conversation) = row.conversation {
            let now = self.shared.clock.now();
            self.shared
                .db
                .write(move |tx| {
                    Box::pin(async move {
                        slot_sessions::prompted(tx, execution, &conversation, now).await
                    })
                })
                .await?;
        }
        Ok(())
    }
}
