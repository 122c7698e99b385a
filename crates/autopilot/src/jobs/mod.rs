//! What the autopilot does for an attempt, one step at a time. A step may take
//! long and may be cut off anywhere: taken again, it finds what it did before.

mod ask;
mod check;
mod conclude;
mod dispatch;
mod integrate;
mod prepare;
mod prompt;
mod start;
mod tidy;

use std::sync::Arc;

use missiond_core::{
    Attempt, AttemptId, BoardTask, Claim, CliEngine, ExecutionId, Outcome, TraceContext,
};
use missiond_journal::StatedClaim;
use missiond_store::board::Act;
use missiond_store::{StoreError, slot_sessions};
use missiond_workspace::WorkspaceError;
use tokio::sync::watch;

use super::view::Step;
use crate::board::BoardError;
use crate::shared::Shared;
use missiond_attention::questions::QuestionError;
use missiond_executions::{ExecutionError, Leave};

pub(super) use ask::look_after;
pub(super) use dispatch::dispatch;
pub(super) use tidy::{dismiss, tidy_up};

/// What a job reports to the loop.
#[derive(Debug)]
pub(super) enum Report {
    Dispatched,
    /// Something that belongs to no attempt under way.
    Done,
    /// An agent that had nothing left to do is gone.
    Dismissed(ExecutionId),
    LookedAfter,
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
pub(super) struct Work {
    pub shared: Arc<Shared>,
    pub task: BoardTask,
    pub attempt: Attempt,
    /// Whether what it does is still wanted.
    pub wanted: watch::Receiver<Wanted>,
}

/// Whether a step that takes long is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Yes,
    /// The attempt is over, or everything was stopped.
    No,
}

/// A step that failed for a reason that may pass.
#[derive(Debug)]
pub(super) struct Failed {
    pub work: Work,
    pub why: String,
}

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum JobError {
    /// Only a person can change that: trying again is of no use.
    #[error("{0}")]
    NeedsPerson(String),
    /// The attempt ended, or everything was stopped, while it was under way.
    #[error("it was not wanted any more")]
    Unwanted,
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
pub(super) fn act(shared: &Shared) -> Act {
    Act {
        now: shared.clock.now(),
        daemon: shared.id,
        trace: TraceContext::root(),
    }
}

/// Takes the step, and says what came of it.
pub(super) async fn take(mut work: Work, step: Step) -> Report {
    let id = work.attempt.id;
    let taken = match step {
        // What follows is certain, and the place is on record: no need to decide.
        Step::Prepare => match prepare::prepare(&work).await {
            Ok(attempt) => {
                work.attempt = attempt;
                start::start(&work).await
            }
            Err(error) => Err(error),
        },
        Step::Start => start::start(&work).await,
        Step::Prompt => prompt::begin_phase(&work).await,
        Step::EnterPhase(phase) => prompt::enter_phase(&work, phase).await,
        Step::Check { round } => check::check(&work, round).await,
        Step::SendBack { round } => prompt::send_back(&work, round).await,
        Step::SendConflict => prompt::send_conflict(&work).await,
        Step::Integrate => integrate::integrate(&work).await,
        Step::Park(limit) => conclude::park(&work, &limit).await,
        Step::Conclude { outcome, reason } => conclude::conclude(&work, outcome, &reason).await,
        Step::Stop => conclude::stop(&work).await,
    };
    let taken = match taken {
        Err(JobError::NeedsPerson(reason)) => {
            conclude::conclude(&work, Outcome::NeedsPerson, &reason).await
        }
        other => other,
    };
    Report::Taken(id, settled(work, taken).await)
}

/// Somebody else has the task: what this one did counts for nothing. Anything
/// else may pass.
async fn settled(work: Work, taken: Result<(), JobError>) -> Result<(), Box<Failed>> {
    match taken {
        Ok(()) | Err(JobError::Unwanted) => Ok(()),
        Err(JobError::Board(BoardError::Store(StoreError::StaleLease { .. }))) => {
            conclude::end_agent(&work, "its lease was lost", Leave::AtOnce).await;
            Ok(())
        }
        Err(error) => Err(Box::new(Failed {
            why: error.to_string(),
            work,
        })),
    }
}

/// Puts what the agent said of its work on record.
pub(super) async fn record_claim(work: Work, claim: StatedClaim) -> Report {
    let id = work.attempt.id;
    let claim = Claim {
        kind: claim.kind,
        text: claim.text,
        at: claim.at,
    };
    let board = &work.shared.board;
    let recorded = board
        .record_claim(&work.attempt, claim, TraceContext::root())
        .await;
    let recorded = recorded.map(drop).map_err(JobError::from);
    Report::Taken(id, settled(work, recorded).await)
}

/// The attempt is over: the step it stands at does not succeed.
pub(super) async fn give_up(failed: Failed) -> Report {
    let id = failed.work.attempt.id;
    let concluded = conclude::conclude(&failed.work, Outcome::Error, &failed.why).await;
    Report::Taken(id, settled(failed.work, concluded).await)
}

impl Work {
    pub(super) fn new(shared: Arc<Shared>, task: BoardTask, attempt: Attempt) -> Self {
        Self {
            shared,
            task,
            attempt,
            wanted: watch::channel(Wanted::Yes).1,
        }
    }

    /// Returns when it is not wanted any more; never, when nobody can say so.
    async fn unwanted(&self) {
        let mut wanted = self.wanted.clone();
        if wanted
            .wait_for(|wanted| *wanted == Wanted::No)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    fn engine(&self) -> CliEngine {
        let usual = || self.shared.config().autopilot.engine.clone();
        self.task.engine.clone().unwrap_or_else(usual)
    }

    /// The conversation holds something that can be gone on with.
    async fn note_session(&self) -> Result<(), JobError> {
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
