//! Checking the work: what the agent left is committed, then every check of the
//! task runs on it, and what each said is kept.

use std::path::Path;

use missiond_core::{Check, Evidence, Isolation, TraceContext};
use missiond_workspace::{Command, CommandResult, Ending, Leftovers, WorkspaceError, Worktree};

use super::work::{JobError, Work};

pub(super) async fn check(work: &Work, round: u32) -> Result<(), JobError> {
    work.record_session().await?;
    let Some(path) = &work.attempt.worktree else {
        return Ok(());
    };
    let mut evidence = Vec::new();
    let mut unable = None;
    match save(work, path).await? {
        Saved::At(commit) => {
            for one in &work.task.checks {
                let ran = run(work, one, path, Leftovers::End, work.cancelled()).await;
                if ran.ending == Ending::Cancelled {
                    return Err(JobError::Cancelled);
                }
                if let Ending::NotStarted(why) = &ran.ending {
                    unable = Some(format!("the check `{}` cannot be run: {why}", one.label()));
                }
                evidence.push(of_ran(work, round, one.label(), &ran, commit.clone()));
            }
            if work.task.checks.is_empty() {
                evidence.push(unchecked(work, round, commit));
            }
        }
        Saved::Not(why) => evidence.push(unsaved(work, round, why)),
    }
    let board = &work.shared.board;
    board
        .record_evidence(&work.attempt, round, evidence, TraceContext::root())
        .await?;
    match unable {
        // No agent can mend that the daemon has nothing to check with.
        Some(why) => Err(JobError::NeedsPerson(why)),
        None => Ok(()),
    }
}

/// Runs one command of a task in its place, until it is `cancelled`.
pub(super) async fn run(
    work: &Work,
    check: &Check,
    path: &Path,
    leftovers: Leftovers,
    cancelled: impl Future<Output = ()> + Send,
) -> CommandResult {
    let mut command = Command::new(check.run.clone(), path);
    command.env.clone_from(&check.env);
    let number = work.task.number.to_string();
    command
        .env
        .entry("MISSION_TASK".to_owned())
        .or_insert(number);
    command.timeout = check.timeout();
    command.expected_exit = check.expected_exit;
    command.tail_limit = missiond_core::EVIDENCE_TAIL_BYTES;
    command.leftovers = leftovers;
    missiond_workspace::run(&command, cancelled).await
}

enum Saved {
    At(Option<String>),
    /// The agent has to tidy up first.
    Not(String),
}

async fn save(work: &Work, path: &Path) -> Result<Saved, JobError> {
    if work.task.isolation != Isolation::Worktree {
        return Ok(Saved::At(None));
    }
    let worktree = Worktree::open(path).await?;
    let message = format!("{}: {}", work.task.number, work.task.title);
    match worktree.commit_all(&message).await {
        Ok(Some(commit)) => Ok(Saved::At(Some(commit))),
        Ok(None) => Ok(Saved::At(Some(worktree.status().await?.head))),
        Err(error @ (WorkspaceError::InProgress { .. } | WorkspaceError::OffBranch { .. })) => {
            Ok(Saved::Not(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

fn of_ran(
    work: &Work,
    round: u32,
    check: String,
    ran: &CommandResult,
    commit: Option<String>,
) -> Evidence {
    let tail = match &ran.ending {
        Ending::NotStarted(why) => why.clone(),
        _ => ran.tail.clone(),
    };
    Evidence {
        attempt: work.attempt.id,
        round,
        check,
        exit: ran.exit(),
        signal: ran.signal(),
        timed_out: ran.timed_out(),
        passed: ran.passed(),
        tail,
        commit,
        at: work.shared.clock.now(),
        millis: ran.millis,
    }
}

/// That nothing was checked is to be seen too.
fn unchecked(work: &Work, round: u32, commit: Option<String>) -> Evidence {
    Evidence {
        attempt: work.attempt.id,
        round,
        check: "no checks".to_owned(),
        exit: None,
        signal: None,
        timed_out: false,
        passed: true,
        tail: "The task has no checks: the agent's word was taken.".to_owned(),
        commit,
        at: work.shared.clock.now(),
        millis: 0,
    }
}

fn unsaved(work: &Work, round: u32, why: String) -> Evidence {
    Evidence {
        check: "commit".to_owned(),
        passed: false,
        tail: why,
        ..unchecked(work, round, None)
    }
}
