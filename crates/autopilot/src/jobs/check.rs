//! Checking the work: what the agent left is committed, then every check of the
//! task runs on it, and what each said is kept. What the checks wrote is not the
//! agent's work: a worktree is put back to the commit they ran on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::machines::Machine;
use missiond_core::{Check, Evidence, Isolation, TraceContext};
use missiond_workspace::{
    Command, CommandResult, Ending, Leftovers, Restored, WorkspaceError, Worktree, named_files,
};

use super::work::{JobError, Work};
use crate::watch;

/// An agent that still works after so long has begun something new.
const REST: Duration = Duration::from_secs(10);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(50);

pub(super) async fn check(work: &Work, round: u32) -> Result<(), JobError> {
    work.record_session().await?;
    let Some(path) = &work.attempt.worktree else {
        return Ok(());
    };
    let mut evidence = Vec::new();
    let mut unable = None;
    match save(work, path).await? {
        Saved::At {
            commit,
            left_out,
            worktree,
        } => {
            if let Some(worktree) = &worktree {
                worktree.begin_checks().await?;
            }
            let mut cancelled = false;
            for one in &work.task.checks {
                let ran = run(work, one, path, Leftovers::End, work.cancelled()).await;
                if ran.ending == Ending::Cancelled {
                    cancelled = true;
                    break;
                }
                if let Ending::NotStarted(why) = &ran.ending {
                    unable = Some(format!("the check `{}` cannot be run: {why}", one.label()));
                }
                evidence.push(of_ran(work, round, one.label(), &ran, commit.clone()));
            }
            if work.task.checks.is_empty() {
                evidence.push(unchecked(work, round, commit));
            }
            let restored = match &worktree {
                Some(worktree) => put_back(work, worktree).await?,
                None => Restored::default(),
            };
            if cancelled {
                return Err(JobError::Cancelled);
            }
            if let Some(last) = evidence.last_mut() {
                last.note = note(&left_out, &restored);
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

/// Puts back what the checks wrote, unless the agent has begun to work again: what
/// is different now may be its own.
async fn put_back(work: &Work, worktree: &Worktree) -> Result<Restored, JobError> {
    if tokio::time::timeout(REST, at_rest(work)).await.is_err() {
        tracing::warn!(task = %work.task.number, "worktree not restored after checks: its agent works");
        worktree.forget_checks()?;
        return Ok(Restored::default());
    }
    let restored = worktree.end_checks().await?;
    if !restored.is_empty() {
        tracing::info!(task = %work.task.number, %restored, "worktree restored after checks");
    }
    Ok(restored)
}

/// Returns when the agent does nothing. Quick checks are over before the last that the
/// agent did before it claimed to be done is read from its screen, so one look at it
/// says too little.
async fn at_rest(work: &Work) {
    let Some(execution) = work.attempt.execution else {
        return;
    };
    let works = || {
        work.shared.executions.peek(execution, |state| {
            !state.lifecycle.is_final() && watch::works(state.activity)
        })
    };
    while works() == Some(true) {
        tokio::time::sleep(LOOK).await;
    }
}

/// What is said of files that are not the agent's work.
fn note(left_out: &[PathBuf], restored: &Restored) -> Option<String> {
    let mut sentences = Vec::new();
    if !left_out.is_empty() {
        let (count, names) = (left_out.len(), named_files(left_out));
        sentences.push(match count {
            1 => format!("Left out 1 file of caches and builds: {names}."),
            count => format!("Left out {count} files of caches and builds: {names}."),
        });
    }
    if !restored.is_empty() {
        sentences.push(format!("After the checks: {restored}."));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

enum Saved {
    At {
        commit: Option<String>,
        left_out: Vec<PathBuf>,
        /// What is put back after the checks; nothing where others work too.
        worktree: Option<Box<Worktree>>,
    },
    /// The agent has to tidy up first.
    Not(String),
}

async fn save(work: &Work, path: &Path) -> Result<Saved, JobError> {
    if work.task.isolation != Isolation::Worktree {
        return Ok(Saved::At {
            commit: None,
            left_out: Vec::new(),
            worktree: None,
        });
    }
    let worktree = Worktree::open(path).await?;
    let message = format!("{}: {}", work.task.number, work.task.title);
    match worktree.commit_all(&message).await {
        Ok(committed) => {
            let commit = match committed.commit {
                Some(commit) => commit,
                None => worktree.status().await?.head,
            };
            Ok(Saved::At {
                commit: Some(commit),
                left_out: committed.left_out,
                worktree: Some(Box::new(worktree)),
            })
        }
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
        note: None,
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
        note: None,
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
