//! A place to work in: a worktree of the attempt's own, the one an earlier
//! attempt left, the repository's tree, or a folder.

use std::path::{Path, PathBuf};

use missiond_core::{Attempt, Isolation, Outcome, TraceContext};
use missiond_os::files;
use missiond_runtime::blocking;
use missiond_store::board::{self, AttemptLocation};
use missiond_workspace::{Repository, WorkspaceError, Worktree, WorktreePlan};

use super::work::{JobError, Work};
use super::{check, doubts, settle};
use crate::board::sparse_paths;
use crate::slot_names;

/// The attempt with its place.
pub(super) async fn prepare(work: &Work) -> Result<Attempt, JobError> {
    let place = match work.task.isolation {
        Isolation::Worktree => worktree(work).await?,
        Isolation::Shared => AttemptLocation {
            worktree: Some(repository(work).await?.path().to_owned()),
            ..AttemptLocation::default()
        },
        Isolation::None => AttemptLocation {
            worktree: Some(folder(work).await?),
            ..AttemptLocation::default()
        },
    };
    if let Some(path) = &place.worktree {
        set_up(work, path).await?;
        if work.task.isolation == Isolation::Worktree {
            doubts::remember_programs(work, &Worktree::open(path).await?).await;
        }
    }
    let board = &work.shared.board;
    let recorded = board.record_location(&work.attempt, place, TraceContext::root());
    Ok(recorded.await?)
}

async fn worktree(work: &Work) -> Result<AttemptLocation, JobError> {
    let worktree = match inherited(work).await? {
        Some(worktree) => worktree,
        None => {
            let repository = repository(work).await?;
            let data = work.shared.home.data_dir();
            let place =
                slot_names::worktree(data, repository.common_dir(), &work.task, &work.attempt);
            let branch = slot_names::branch(&work.task, &work.attempt);
            let mut plan = WorktreePlan::new(place, branch);
            plan.base.clone_from(&work.task.base);
            // A small local file; the blocking read is shorter than a thread hop.
            let sparse = sparse_paths(repository.path());
            plan.sparse = sparse.map_err(|error| JobError::NeedsPerson(error.to_string()))?;
            repository.prepare(&plan).await.map_err(for_person)?
        }
    };
    // Checks that were cut off here: from now on somebody else works in it.
    settle::settle(work, &worktree).await?;
    Ok(AttemptLocation {
        worktree: Some(worktree.path().to_owned()),
        branch: Some(worktree.branch().to_owned()),
        base_commit: Some(worktree.base_commit().to_owned()),
        ..AttemptLocation::default()
    })
}

/// What the last attempt left: its work goes on where it is. An attempt whose
/// lease ran out may still have somebody at work in its place.
async fn inherited(work: &Work) -> Result<Option<Worktree>, JobError> {
    // One that was over before it had a place left nothing, and after a fresh start
    // nothing counts that was before it.
    let placed = |attempt: &Attempt| attempt.worktree.is_some() && !attempt.abandoned;
    let Some(before) = earlier(work).await?.into_iter().rfind(placed) else {
        return Ok(None);
    };
    let data = work.shared.home.data_dir();
    let ours = before.outcome != Some(Outcome::Expired) || before.holder == work.attempt.holder;
    let place = before.worktree.clone();
    match place.filter(|path| ours && path.starts_with(data)) {
        // One that is gone or not ours any more is simply not gone on with.
        Some(path) => match Worktree::open(&path).await {
            Ok(worktree) => Ok(Some(worktree)),
            Err(_) if before.outcome == Some(Outcome::Verified) => {
                Ok(crate::worktrees::reattach(&before, &work.task).await.ok())
            }
            Err(_) => Ok(None),
        },
        None => Ok(None),
    }
}

/// The attempt before this one.
pub(super) async fn before(work: &Work) -> Result<Option<Attempt>, JobError> {
    let last = earlier(work).await?.pop();
    Ok(last.filter(|attempt| !attempt.abandoned))
}

/// The attempts before this one, the first one first.
async fn earlier(work: &Work) -> Result<Vec<Attempt>, JobError> {
    let (task, number) = (work.task.id, work.attempt.number);
    let mut all = work
        .shared
        .db
        .read(move |tx| Box::pin(board::attempts(tx, task)))
        .await?;
    all.retain(|attempt| attempt.number < number);
    Ok(all)
}

async fn repository(work: &Work) -> Result<Repository, JobError> {
    let path = work.task.repository.as_ref().ok_or_else(|| {
        let number = work.task.number;
        JobError::NeedsPerson(format!(
            "it has no repository to work in: give it one with `mission task edit {number} \
             --repository PATH`, or `--isolation none`"
        ))
    })?;
    Repository::open(path).await.map_err(for_person)
}

/// What is wrong with a repository is the person's to mend.
fn for_person(error: WorkspaceError) -> JobError {
    use std::io::ErrorKind::{AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem};

    match error {
        // Waiting does not change what is in the way.
        WorkspaceError::Io { ref source, .. }
            if matches!(
                source.kind(),
                AlreadyExists | NotADirectory | PermissionDenied | ReadOnlyFilesystem
            ) =>
        {
            JobError::NeedsPerson(error.to_string())
        }
        WorkspaceError::GitTimedOut { .. }
        | WorkspaceError::Locked { .. }
        | WorkspaceError::Io { .. } => error.into(),
        error => JobError::NeedsPerson(error.to_string()),
    }
}

async fn folder(work: &Work) -> Result<PathBuf, JobError> {
    let folder = match &work.task.repository {
        Some(folder) => folder.clone(),
        None => slot_names::folder(work.shared.home.data_dir(), &work.task),
    };
    let made = folder.clone();
    let making = blocking(move || files::create_private_dir(&made));
    let failed = |source| JobError::Io {
        what: format!("cannot make the folder {}", folder.display()),
        source,
    };
    making.await.map_err(failed)?;
    Ok(folder)
}

async fn set_up(work: &Work, path: &Path) -> Result<(), JobError> {
    for step in &work.task.setup {
        let keep = missiond_workspace::Leftovers::Keep;
        let wall = work.shared.config().sandbox.around_setup();
        let ran = check::run(work, step, path, wall, keep, work.cancelled()).await;
        if ran.ending == missiond_workspace::Ending::Cancelled {
            return Err(JobError::Cancelled);
        }
        if !ran.passed() {
            return Err(JobError::NeedsPerson(format!(
                "the setup `{}` failed: {ran}\n{}",
                step.label(),
                ran.tail.trim_end()
            )));
        }
    }
    Ok(())
}
