//! The alternatives of a task in the words of the catalogue: what came of each.

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
    let mut compared = Vec::with_capacity(alternatives.len());
    for AlternativeTask {
        task,
        attempt,
        checks,
    } in alternatives
    {
        let size = match &attempt {
            Some(attempt) => call.daemon.worktrees.size_of(attempt, &task).await,
            None => None,
        };
        compared.push(AlternativeSummary {
            number: task.number,
            status: task.status,
            usage: usage.remove(&task.id),
            engine: task.engine.unwrap_or_else(|| usual.clone()),
            model: task.model,
            checks,
            size: size.map(|size| ChangeSize {
                files: size.files,
                additions: size.additions,
                deletions: size.deletions,
            }),
        });
    }
    Ok(compared)
}
