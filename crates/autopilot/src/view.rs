//! What the autopilot knows at one moment, as plain data: the attempts under
//! way with what their agents do, and what it may do about them.

use std::time::Duration;

use missiond_core::{
    Attempt, AttemptId, BoardTask, BudgetScope, ClaimKind, EngineeringPhase, ExecutionAttention,
    ExecutionLifecycle, Outcome, Timestamp,
};

use crate::shared::Doing;

/// How much the autopilot does by itself. Stored, so that it survives a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Claims tasks and sees them through.
    Running,
    /// Claims nothing and says nothing to agents; they end the turn they are in.
    Paused,
    /// Claims nothing, and sees through what runs.
    Draining,
    /// Nothing runs: agents of tasks are ended, their tasks given back.
    Stopped,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Running, Self::Paused, Self::Draining, Self::Stopped];
        all.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// Whether new work may begin at this hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hours {
    Open,
    Quiet,
}

/// The limits that are the same for every attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// How often checks may fail before a person is asked.
    pub check_rounds: u32,
    /// How many rounds in a row may find the same work.
    pub unchanged_rounds: u32,
    /// How often a merge may conflict before a person is asked.
    pub conflicts: u32,
    /// How often a task may go on after a usage limit.
    pub limit_resumes: u32,
    /// How long an agent that claims to be done must rest.
    pub claimed_settle: Duration,
    /// How long an agent that has worked must rest until its turn is over.
    pub settle: Duration,
    /// The same when nobody saw it work since it was last spoken to.
    pub unseen_settle: Duration,
    /// How long an agent that works may give no sign of it.
    pub stall: Duration,
}

#[derive(Debug)]
pub(super) struct Snapshot {
    pub now: Timestamp,
    pub mode: Mode,
    pub hours: Hours,
    /// How many more agents may run.
    pub free_places: u32,
    pub rules: Rules,
    pub attempts: Vec<View>,
}

/// One attempt that has no outcome yet.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub task: BoardTask,
    pub attempt: Attempt,
    /// Something is being done for it; what comes next is decided after that.
    pub busy: Busy,
    pub agent: Agent,
    /// The last round of checks.
    pub round: Option<Round>,
    /// How often bringing the work back conflicted, and after which round last.
    pub conflicts: u32,
    pub conflict_round: Option<u32>,
    /// The files of the last one, one a line.
    pub conflict_files: String,
    /// The checks that failed in the last round, a line each.
    pub failed_checks: String,
    /// How often the task was parked by a usage limit.
    pub resumes: u32,
    /// Whose budget is used up.
    pub spent: Option<BudgetScope>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    No,
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    pub number: u32,
    pub failed: u32,
    /// How many rounds in a row before it found the very same work.
    pub unchanged: u32,
    pub at: Timestamp,
    /// The agent was told what it found.
    pub told: Sent,
}

/// Whether an agent was sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    No,
    Yes,
}

impl From<bool> for Sent {
    fn from(sent: bool) -> Self {
        if sent { Self::Yes } else { Self::No }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agent {
    NotStarted,
    Running(Watched),
    Ended(Ending),
}

/// An agent whose program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watched {
    pub attention: ExecutionAttention,
    /// Questions of its own that nobody has answered.
    pub requests: usize,
    /// The prompt of the phase was handed to it.
    pub prompted: Sent,
    /// Messages that are still to be typed.
    pub undelivered: usize,
    /// Why the last message never reached it.
    pub unreachable: Option<String>,
    pub rest: Rest,
    /// When it was last spoken to.
    pub spoken_to_at: Option<Timestamp>,
    /// When anything was last heard of it.
    pub heard_at: Timestamp,
    pub limit: Option<Limit>,
    /// Why it counts as stuck or as going in circles.
    pub stuck: Option<Stuck>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    Working,
    Resting { since: Timestamp, worked: Worked },
}

/// Whether it was seen at work since it was last spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worked {
    Seen,
    Unseen,
}

/// A limit of the vendor's that an agent ran into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    pub resets_at: Option<Timestamp>,
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Its terminal shows no progress.
    Still(String),
    /// It makes the same call again and again.
    Circling(String),
}

/// An agent whose program is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub lifecycle: ExecutionLifecycle,
    /// It had been given its task.
    pub prompted: Sent,
    /// What its journal says about why.
    pub why: Option<String>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Claim what is ready, at most this many.
    Dispatch { places: u32 },
    /// Something for one attempt.
    For(AttemptId, Step),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A place to work in.
    Prepare,
    Start,
    /// Say what the phase is about.
    Prompt,
    EnterPhase(EngineeringPhase),
    /// Save the work and run the checks on it.
    Check {
        round: u32,
    },
    /// Tell the agent what failed in this round.
    SendBack {
        round: u32,
    },
    /// Tell the agent that its work conflicts with what others did.
    SendConflict,
    /// Bring the work back and be done.
    Integrate,
    /// Wait for the vendor's limit to reset.
    Park(Limit),
    Conclude {
        outcome: Outcome,
        reason: String,
    },
    /// End its agent at once and give its task back.
    Stop,
}

impl Step {
    /// What of it is worth telling a person who looks on.
    pub(super) const fn doing(&self) -> Doing {
        match self {
            Self::Prepare => Doing::Prepare,
            Self::Start => Doing::Start,
            Self::Check { round } => Doing::Check { round: *round },
            Self::Integrate => Doing::Integrate,
            _ => Doing::Other,
        }
    }
}

impl View {
    /// A claim that was made after everything the agent was told.
    pub(super) fn fresh_claim(&self) -> Option<ClaimKind> {
        let claim = self.attempt.claim.as_ref()?;
        let spoken_to = match &self.agent {
            Agent::Running(watched) => watched.spoken_to_at,
            Agent::NotStarted | Agent::Ended(_) => None,
        };
        let answered = self.round.is_some_and(|round| round.at >= claim.at)
            || spoken_to.is_some_and(|at| at >= claim.at);
        (!answered).then_some(claim.kind)
    }

    /// The phase after the one the task is in.
    pub(super) fn next_phase(&self) -> Option<EngineeringPhase> {
        let mut phases = self.task.phases.iter();
        phases.find(|phase| **phase == self.task.phase)?;
        phases.next().copied()
    }
}
