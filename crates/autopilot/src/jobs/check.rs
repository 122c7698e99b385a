//! Checking the work: what the agent left is committed, then every check of the
//! task runs on it, and what each said is kept. What the checks wrote is not the
//! agent's work: a worktree is put back to the commit they ran on.

use std::path::{Path, PathBuf};

use missiond_core::{Check, Evidence, Isolation, TraceContext};
use missiond_egress::{Caller, CallerKind, MachinePort};
use missiond_sandbox::Profile;
use missiond_workspace::{
    Command, CommandResult, Committed, Ending, Leftovers, WorkspaceError, Worktree, named_files,
};

use super::doubts;
use super::settle::{self, Settled};
use super::work::{JobError, Work};

pub(super) async fn check(work: &Work, round: u32) -> Result<(), JobError> {
    work.record_session().await?;
    let Some(path) = &work.attempt.worktree else {
        return Ok(());
    };
    let mut evidence = Vec::new();
    let mut unable = None;
    match save(work, path).await? {
        Saved::At {
            committed,
            worktree,
        } => {
            let commit = committed.commit.clone();
            if let Some(worktree) = &worktree {
                settle::begin(work, worktree).await?;
            }
            let mut cancelled = false;
            for one in &work.task.checks {
                let wall = work.shared.config().sandbox.around_checks();
                let ran = run(work, one, path, wall, Leftovers::End, work.cancelled()).await;
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
            let settled = match &worktree {
                Some(worktree) => settle::end(work, worktree).await?,
                None => Settled::default(),
            };
            if cancelled {
                return Err(JobError::Cancelled);
            }
            let doubts = match &worktree {
                Some(worktree) => doubts(work, worktree).await?,
                None => Vec::new(),
            };
            if let Some(last) = evidence.last_mut() {
                last.note = note(&committed, &settled, doubts);
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

/// Runs one command of a task in its place, until it is `cancelled`, behind a wall of this
/// thickness.
pub(super) async fn run(
    work: &Work,
    check: &Check,
    path: &Path,
    wall: Profile,
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
    let config = work.shared.config();
    let hidden = work.shared.home.own_folders();
    let mut place = config.sandbox.place(wall, path, hidden);
    // An attempt has one command at a time.
    let (number, attempt) = (work.task.number, work.attempt.id);
    let caller = Caller {
        kind: CallerKind::Check,
        name: format!("{} of {number} in {attempt}", check.label()),
        task: Some(work.task.id),
        folder: path.to_owned(),
    };
    let egress = &work.shared.egress;
    if config.sandbox.goes_out_by_daemon(wall) {
        let ports = MachinePort::each(&config.sandbox.ports, "sandbox.ports");
        if let Err(error) = egress.lead_out(&caller, ports, &mut place) {
            return CommandResult::not_started(&command, format!("no way out: {error}"));
        }
    }
    command.sandbox = Some(place);
    let ran = missiond_workspace::run(&command, cancelled).await;
    egress.close(caller.kind, &caller.name).await;
    ran
}

/// What a person should know of before they believe the checks.
async fn doubts(work: &Work, worktree: &Worktree) -> Result<Vec<String>, JobError> {
    let changed = doubts::changed_checks(work).await?;
    let mut sentences = Vec::new();
    if !changed.is_empty() {
        sentences.push(format!(
            "The work changes what it was checked by: {}. A person decides whether it is taken.",
            changed.join(", ")
        ));
    }
    sentences.extend(doubts::new_programs(work, worktree).await);
    Ok(sentences)
}

/// What is said of files that are not the agent's work, or do not look like it.
fn note(committed: &Committed, settled: &Settled, doubts: Vec<String>) -> Option<String> {
    let mut sentences = doubts;
    let counted = |files: &[PathBuf]| match files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let (doubtful, mut sure) = (&committed.doubtful, committed.left_out.clone());
    sure.retain(|file| !doubtful.contains(file));
    if !sure.is_empty() {
        let (count, names) = (counted(&sure), named_files(&sure));
        sentences.push(format!("Left out {count} of caches and builds: {names}."));
    }
    if !doubtful.is_empty() {
        let (count, names) = (counted(doubtful), named_files(doubtful));
        sentences.push(format!(
            "The checks saw {count} that no commit has and that will be deleted with the \
             worktree, because they look like build output: {names}. If they are work, commit \
             them with `git add --force`."
        ));
    }
    match settled {
        Settled::PutBack(restored) if restored.is_empty() => {}
        Settled::PutBack(restored) => sentences.push(format!("After the checks: {restored}.")),
        Settled::Left(what) => sentences.push(format!(
            "What the checks wrote was not put back, because {what} meanwhile."
        )),
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

enum Saved {
    At {
        /// With the commit the checks run on; nothing where others work too.
        committed: Committed,
        /// What is put back after the checks; nothing where others work too.
        worktree: Option<Box<Worktree>>,
    },
    /// The agent has to tidy up first.
    Not(String),
}

async fn save(work: &Work, path: &Path) -> Result<Saved, JobError> {
    if work.task.isolation != Isolation::Worktree {
        return Ok(Saved::At {
            committed: Committed::default(),
            worktree: None,
        });
    }
    let worktree = Worktree::open(path).await?;
    settle::settle(work, &worktree).await?;
    let message = format!("{}: {}", work.task.number, work.task.title);
    match worktree.commit_all(&message).await {
        Ok(mut committed) => {
            if committed.commit.is_none() {
                committed.commit = Some(worktree.status().await?.head);
            }
            Ok(Saved::At {
                committed,
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
