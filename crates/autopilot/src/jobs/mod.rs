//! What the autopilot does for an attempt, one step at a time. A step may take
//! long and may be cut off anywhere: taken again, it finds what it did before.

mod ask;
mod check;
mod conclude;
mod dispatch;
mod doubts;
mod integrate;
mod prepare;
mod prompt;
mod settle;
mod start;
mod tidy;
mod work;

use missiond_core::{Claim, Outcome, TraceContext};
use missiond_executions::FinishMode;
use missiond_journal::StatedClaim;
use missiond_store::StoreError;

use crate::board::BoardError;
use crate::view::Step;
use work::JobError;

pub(super) use ask::follow_up;
pub(super) use dispatch::dispatch;
pub(super) use tidy::{dismiss, tidy_up};
pub(super) use work::{Cancellation, Failed, Report, Work};

/// Takes the step, and says what came of it.
pub(super) async fn run_step(mut work: Work, step: Step) -> Report {
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
        Ok(()) | Err(JobError::Cancelled) => Ok(()),
        Err(JobError::Board(BoardError::Store(StoreError::StaleLease { .. }))) => {
            conclude::end_agent(&work, "its lease was lost", FinishMode::AtOnce).await;
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
