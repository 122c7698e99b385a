//! What is on the board: tasks, what verifies them, and the attempts made.
//!
//! The agent's claim, the checks' outcome and the state of the execution are
//! three facts and stored apart. That a task is ready, and why it waits, is
//! never stored: it is computed from these facts ([`Wait`]).

mod alternative;
mod check;
mod choice;
mod draft;
mod format;
mod number;
mod outcome;
mod pull_request;
mod touches;
mod wait;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AttemptId, BoardTaskId, BoardTaskStatus, CliEngine, Controller, DaemonId, EngineeringPhase,
    ExecutionId, FencingToken, List, Permission, SlotId, Text, Timestamp,
};

pub use alternative::{Alternative, Alternatives, InvalidAlternative, MOST_ALTERNATIVES};
pub use check::Check;
pub use choice::{Finish, Isolation, Priority, ReviewGate, UnknownChoice};
pub use draft::{DraftError, TaskDraft};
pub use format::{ExportFormat, ImportFormat};
pub use number::{InvalidTaskRef, TaskNumber, TaskRef};
pub use outcome::{ClaimKind, Consequence, Outcome};
pub use pull_request::{PullRequest, PullRequestState};
pub use touches::{InvalidTouch, check_touch, touches_overlap};
pub use wait::{BudgetScope, Wait};

/// What a note on a task says.
pub type NoteText = Text<8192>;

/// The parts a task is divided into.
pub type Parts<T> = List<T, 1, 200>;

/// How long a check may take when it does not say.
pub const DEFAULT_CHECK_TIMEOUT_SECS: u64 = 600;

/// The longest a check may take: thirty days, which every clock can count.
pub const MOST_CHECK_SECS: u64 = 30 * 24 * 60 * 60;

/// How often a task is tried when it does not say.
pub const DEFAULT_MAX_ATTEMPTS: u32 = 3;

/// The most of a check's output that is kept.
pub const EVIDENCE_TAIL_BYTES: usize = 8 * 1024;

impl BoardTask {
    /// What it has in common with its alternatives: the first of them.
    #[must_use]
    pub fn group(&self) -> BoardTaskId {
        self.alternative_of.unwrap_or(self.id)
    }

    /// Whether somebody ended it: what failed by itself has used up its attempts.
    #[must_use]
    pub const fn was_cancelled(&self) -> bool {
        matches!(self.status, BoardTaskStatus::Failed) && self.tries < self.max_attempts
    }

    /// Whether its verified work waits for a person instead of being merged: because
    /// one wants to look, because the work is left on its branch, or because others
    /// judge it in a pull request.
    #[must_use]
    pub fn is_reviewed(&self) -> bool {
        self.isolation == Isolation::Worktree
            && (self.review == ReviewGate::AfterApproval
                || self.pull_request.is_some()
                || matches!(
                    self.finish,
                    Finish::Branch | Finish::Patch | Finish::PullRequest
                ))
    }
}

/// A card on the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardTask {
    pub id: BoardTaskId,
    /// What people call it: `T-12`.
    pub number: TaskNumber,
    pub title: String,
    pub description: String,
    pub status: BoardTaskStatus,
    pub phase: EngineeringPhase,
    /// The phases this task goes through, in order.
    pub phases: Vec<EngineeringPhase>,
    pub priority: Priority,
    /// The place among tasks of the same priority: smaller comes first.
    pub rank: f64,
    pub parent: Option<BoardTaskId>,
    /// The task that it tries too, with another engine: one of them is kept.
    #[serde(default)]
    pub alternative_of: Option<BoardTaskId>,
    pub labels: Vec<String>,
    /// Globs of the paths it will change, relative to the repository.
    pub touches: Vec<String>,
    pub due: Option<Timestamp>,
    pub engine: Option<CliEngine>,
    /// For the engine's program.
    pub args: Vec<String>,
    pub permission: Option<Permission>,
    pub model: Option<String>,
    /// What drives its agent; as for every run of the engine when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Controller>,
    pub repository: Option<PathBuf>,
    pub isolation: Isolation,
    /// What the work starts from; the repository's own branch when absent.
    pub base: Option<String>,
    pub finish: Finish,
    /// Whether a person looks at it before it is merged.
    #[serde(default)]
    pub review: ReviewGate,
    /// Where its work is judged, once that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequest>,
    pub checks: Vec<Check>,
    pub setup: Vec<Check>,
    pub teardown: Vec<Check>,
    pub max_attempts: u32,
    pub budget: Option<Budget>,
    /// Attempts that failed since it was made or last retried.
    pub tries: u32,
    /// Not to be claimed before this moment.
    pub not_before: Option<Timestamp>,
    /// Why it is blocked or failed.
    pub blocked: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// A budget beyond this is none.
pub(crate) const MOST_TOKENS: u64 = 1_000_000_000;

/// The most a task may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MOST_TOKENS))]
    pub tokens: Option<u64>,
}

/// What an agent said of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub kind: ClaimKind,
    pub text: String,
    pub at: Timestamp,
}

/// One try of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    pub id: AttemptId,
    pub task: BoardTaskId,
    /// 1 for the first try of the task.
    pub number: u32,
    pub token: FencingToken,
    pub holder: String,
    pub daemon: DaemonId,
    /// Chosen with the claim, so that whoever finds the attempt after a crash
    /// starts that one or finds it running, and never a second.
    pub slot: Option<SlotId>,
    pub execution: Option<ExecutionId>,
    pub worktree: Option<PathBuf>,
    pub branch: Option<String>,
    pub base_commit: Option<String>,
    pub claim: Option<Claim>,
    pub outcome: Option<Outcome>,
    pub reason: Option<String>,
    /// How often the checks ran.
    pub check_rounds: u32,
    /// The task was begun from scratch after it: later attempts take nothing of it.
    #[serde(default)]
    pub abandoned: bool,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What one check said in one round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    pub attempt: AttemptId,
    /// 1 for the first round of the attempt.
    pub round: u32,
    pub check: String,
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    pub passed: bool,
    /// The end of what it wrote, at most [`EVIDENCE_TAIL_BYTES`].
    pub tail: String,
    /// The commit it ran on.
    pub commit: Option<String>,
    pub at: Timestamp,
    pub millis: u64,
    /// Of the round: which files were not taken for work, and which of those that the
    /// checks wrote were put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Evidence {
    /// Whether something was checked. That a task has no checks is on record too, as
    /// something that passed; a check passes by how it ends.
    #[must_use]
    pub fn is_of_check(&self) -> bool {
        !self.passed || self.exit.is_some()
    }
}

/// What the last round of checks of an attempt came to; none passed and none failed where
/// the task has no checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckVerdict {
    pub round: u32,
    pub passed: u32,
    pub failed: u32,
    /// The names of those that failed.
    pub failed_checks: Vec<String>,
    /// The commit they ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub at: Timestamp,
}

impl CheckVerdict {
    /// Of what all rounds said; nothing when none ran.
    #[must_use]
    pub fn of(evidence: &[Evidence]) -> Option<Self> {
        let round = evidence.iter().map(|said| said.round).max()?;
        let last = || evidence.iter().filter(|said| said.round == round);
        let failed: Vec<_> = last().filter(|said| !said.passed).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Some(Self {
            round,
            passed: count(
                last()
                    .filter(|said| said.passed && said.is_of_check())
                    .count(),
            ),
            failed: count(failed.len()),
            failed_checks: failed.iter().map(|said| said.check.clone()).collect(),
            commit: last().find_map(|said| said.commit.clone()),
            at: last().map(|said| said.at).max()?,
        })
    }

    /// The checks that failed, named for a sentence; nothing when all passed.
    #[must_use]
    pub fn red(&self) -> Option<String> {
        const NAMED: usize = 5;
        let names = self.failed_checks.iter().take(NAMED);
        let mut names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        let more = self.failed_checks.len().saturating_sub(NAMED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        (self.failed > 0).then(|| names.join(", "))
    }
}

/// Something written on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    pub task: BoardTaskId,
    pub author: String,
    pub text: String,
    pub at: Timestamp,
}

/// How long a task waits after its `tries`-th failed attempt: ten seconds,
/// doubled with each, and five minutes at most.
#[must_use]
pub fn backoff(tries: u32) -> Duration {
    const MOST: u64 = 300;
    let doublings = tries.saturating_sub(1).min(16);
    Duration::from_secs((10_u64 << doublings).min(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_round_is_the_verdict() {
        let said = |round, check: &str, passed: bool| Evidence {
            attempt: AttemptId::generate(),
            round,
            check: check.to_owned(),
            exit: Some(i32::from(!passed)),
            signal: None,
            timed_out: false,
            passed,
            tail: String::new(),
            commit: Some(format!("c{round}")),
            at: Timestamp::from_micros(i64::from(round)),
            millis: 1,
            note: None,
        };
        assert_eq!(CheckVerdict::of(&[]), None);
        let mut unchecked = said(1, "no checks", true);
        unchecked.exit = None;
        let verdict = CheckVerdict::of(&[unchecked]).unwrap();
        assert_eq!(
            (verdict.passed, verdict.failed, verdict.red()),
            (0, 0, None)
        );
        let rounds = [
            said(1, "test", false),
            said(2, "test", false),
            said(2, "lint", true),
        ];
        let verdict = CheckVerdict::of(&rounds).unwrap();
        assert_eq!((verdict.round, verdict.passed, verdict.failed), (2, 1, 1));
        assert_eq!(verdict.commit.as_deref(), Some("c2"));
        assert_eq!(verdict.red().as_deref(), Some("`test`"));
        let green = CheckVerdict::of(&[said(1, "test", false), said(2, "test", true)]);
        assert_eq!(green.unwrap().red(), None);
    }

    #[test]
    fn the_wait_between_attempts_doubles_up_to_five_minutes() {
        let waits: Vec<_> = (1..=8).map(|tries| backoff(tries).as_secs()).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(backoff(u32::MAX).as_secs(), 300);
    }
}
