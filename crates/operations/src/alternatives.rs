//! The alternatives of a task in the words of the catalogue: what came of each.

use futures::future::join_all;
use missiond_api::ApiError;
use missiond_api::operations::board::{AlternativeSummary, ChangeSize};
use missiond_autopilot::board::AlternativeTask;

use crate::call::Call;
use crate::observe;

/// What each came to, for whoever is to keep one.
pub(super) async fn compared(
    call: &Call,
    alternatives: Vec<AlternativeTask>,
) -> Result<Vec<AlternativeSummary>, ApiError> {
    let ids = alternatives.iter().map(|one| one.task.id).collect();
    let mut usage = observe::of_tasks(call, ids).await?;
    let usual = call.daemon.config().autopilot.engine.clone();
    let sizes = join_all(alternatives.iter().map(|one| size_of(call, one))).await;
    let summary = |(one, size): (AlternativeTask, Option<ChangeSize>)| {
        let AlternativeTask { task, checks, .. } = one;
        AlternativeSummary {
            number: task.number,
            status: task.status,
            usage: usage.remove(&task.id),
            engine: task.engine.unwrap_or_else(|| usual.clone()),
            model: task.model,
            checks,
            size,
        }
    };
    Ok(alternatives.into_iter().zip(sizes).map(summary).collect())
}

async fn size_of(call: &Call, one: &AlternativeTask) -> Option<ChangeSize> {
    let attempt = one.attempt.as_ref()?;
    let size = call.daemon.worktrees.size_of(attempt, &one.task).await?;
    Some(ChangeSize {
        files: size.files,
        additions: size.additions,
        deletions: size.deletions,
    })
}
