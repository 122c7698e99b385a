//! A worktree in few words: whose it is, what it holds, and how it stands.

use missiond_api::operations::worktree::{WorktreeLanding, WorktreeStanding, WorktreeSummary};
use missiond_autopilot::worktrees::{WorktreeEntry, WorktreeState};
use missiond_core::{BoardTaskStatus, CliEngine};
use missiond_workspace::{Landed, Removal};

pub(super) fn summary(found: &WorktreeEntry, usual_engine: &CliEngine) -> WorktreeSummary {
    let seen = found.seen.as_ref();
    let (standing, reason) = standing(found);
    let worktree = seen.ok().map(|seen| &seen.worktree);
    let attempt = found.attempt.as_ref().map(|(attempt, _)| attempt);
    let task = found.attempt.as_ref().map(|(_, task)| task);
    let size = match (seen, found.branch_left) {
        (Ok(seen), _) => seen.size,
        (Err(_), left) => left.unwrap_or_default(),
    };
    let path_text = |path: &std::path::Path| path.display().to_string();
    let repository = worktree.map(|worktree| path_text(worktree.repository().main_path()));
    let branch = worktree.map(|worktree| worktree.branch().to_owned());
    let left = |value: Option<String>| value.filter(|_| found.branch_left.is_some());
    let moments = attempt.map(|attempt| {
        let checked = found.checks.as_ref().map(|checks| checks.at);
        let ended = attempt.ended_at;
        let moments = [Some(attempt.started_at), ended, checked];
        moments.into_iter().flatten().max()
    });
    WorktreeSummary {
        path: path_text(&found.path),
        repository: repository.or_else(|| left(task?.repository.as_deref().map(path_text))),
        branch: branch.or_else(|| left(attempt?.branch.clone())),
        base: worktree.and_then(|worktree| worktree.base().map(str::to_owned)),
        commits: seen.map_or(0, |seen| seen.commits),
        task: task.map(|task| task.number),
        title: task.map(|task| task.title.clone()),
        attempt: attempt.map(|attempt| attempt.number),
        status: task.map(|task| task.status),
        engine: task.map(|task| task.engine.as_ref().unwrap_or(usual_engine).clone()),
        files: size.files,
        additions: size.additions,
        deletions: size.deletions,
        checks: found.checks.clone(),
        updated_at: moments.flatten(),
        pull_request: task.and_then(|task| task.pull_request.clone()),
        standing,
        landed: seen.ok().and_then(|seen| landing(&seen.landed)),
        reason,
    }
}

fn landing(landed: &Landed) -> Option<WorktreeLanding> {
    match landed {
        Landed::Nothing => Some(WorktreeLanding::NoChanges),
        Landed::Merged { .. } => Some(WorktreeLanding::Merged),
        Landed::OnBranch => Some(WorktreeLanding::Branch),
        Landed::InPatch => Some(WorktreeLanding::Patch),
        Landed::Nowhere => None,
    }
}

/// How a worktree stands, and why.
fn standing(found: &WorktreeEntry) -> (WorktreeStanding, String) {
    let task = found.attempt.as_ref().map(|(_, task)| task);
    let reviewed = task.is_some_and(|task| task.status == BoardTaskStatus::Review);
    match (&found.user, &found.seen) {
        (Some(user), _) => (WorktreeStanding::InUse, user.clone()),
        (None, Err(_)) if found.branch_left.is_some() => (
            WorktreeStanding::ReadyForReview,
            "is ready for review, on its branch alone".to_owned(),
        ),
        (None, Err(error)) => (WorktreeStanding::Unreadable, error.to_string()),
        (None, Ok(_)) if reviewed => {
            let opened = task.and_then(|task| task.pull_request.as_ref());
            let reason = match opened {
                Some(opened) => format!("waits for {opened}"),
                None => "is ready for review".to_owned(),
            };
            (WorktreeStanding::ReadyForReview, reason)
        }
        (None, Ok(seen)) => match &seen.removal {
            Removal::Safe => (WorktreeStanding::Removable, whereabouts(seen)),
            holds => (WorktreeStanding::HoldsWork, format!("holds {holds}")),
        },
    }
}

/// Where the work of a worktree is that holds nothing of its own.
fn whereabouts(seen: &WorktreeState) -> String {
    match &seen.landed {
        Landed::Nothing => "holds nothing: nothing was committed in it".to_owned(),
        Landed::Merged { into } => format!("holds nothing of its own: {into} has its work"),
        Landed::OnBranch => {
            let branch = seen.worktree.branch();
            format!("holds nothing of its own: its work is left on {branch}")
        }
        Landed::InPatch => "holds nothing of its own: its work is in a patch file".to_owned(),
        Landed::Nowhere => "holds nothing of its own".to_owned(),
    }
}
