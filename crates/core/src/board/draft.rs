//! A task as somebody wrote it down: on the command line, in a file, in a
//! template. What is left out is filled from the layer below, and in the end
//! from what is usual; what is wrong is refused here, before anything is kept.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::touches::LONGEST_TOUCH;
use super::{
    BoardTask, Budget, Check, DEFAULT_MAX_ATTEMPTS, Finish, InvalidTouch, Isolation,
    MOST_CHECK_SECS, MOST_TOKENS, Priority, ReviewGate, TaskNumber, check_touch,
};
use crate::machines::Machine;
use crate::{
    BoardTaskId, BoardTaskStatus, CliEngine, Controller, EngineeringPhase, Permission, Timestamp,
};

/// All but the title may be left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskDraft {
    /// One line that says what is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MOST_TITLE))]
    pub title: Option<String>,
    /// All an agent needs to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_DESCRIPTION))]
    pub description: Option<String>,
    /// The phases to go through, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<EngineeringPhase>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Place within its priority: smaller first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LEAST_RANK, max = MOST_RANK))]
    pub rank: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_OF_A_LIST), inner(length(min = 1, max = LONGEST_LABEL)))]
    pub labels: Option<Vec<String>>,
    /// Globs of paths it will change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_OF_A_LIST), inner(length(min = 1, max = LONGEST_TOUCH)))]
    pub touches: Option<Vec<String>>,
    /// When it is due, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// Which agent CLI; any when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// More arguments for the engine's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// What the agent may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    // What drives its agent; as for every run of the engine when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Controller>,
    /// The repository to work in, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// A branch, tag or commit to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What becomes of verified work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    // Whether a person approves verified work before it is merged: its words say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewGate>,
    /// Commands that must succeed for it to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// Commands that prepare the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Vec<Check>>,
    /// Commands that tidy it up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teardown: Option<Vec<Check>>,
    /// Tries before it fails; 3 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_ATTEMPTS))]
    pub max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// Why a draft cannot become a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    #[error("the task has no title: say in one line what is to be done")]
    NoTitle,
    #[error("the title is longer than {MOST_TITLE} characters: put the rest into the description")]
    LongTitle,
    #[error("the title has a line break or a control character in it: write it as one line")]
    BrokenTitle,
    #[error("the description is longer than {MOST_DESCRIPTION} characters")]
    LongDescription,
    #[error(
        "the task has no repository to work in: name one, or say that it needs none with the \
         isolation `none`"
    )]
    NoRepository,
    #[error("the repository `{0}` is not an absolute path")]
    RelativeRepository(String),
    #[error("the repository's path is not text: {0}")]
    UnspeakableRepository(String),
    #[error("`{0}` is not a label: use 1 to {LONGEST_LABEL} characters without line breaks")]
    BadLabel(String),
    #[error(transparent)]
    BadTouch(#[from] InvalidTouch),
    #[error("a {what} has no command: write the program and its arguments")]
    EmptyCommand { what: &'static str },
    #[error("the {what} `{command}` may take {seconds} seconds: give it 1 to {MOST_CHECK_SECS}")]
    BadTime {
        what: &'static str,
        command: String,
        seconds: u64,
    },
    #[error("a task may use 0 to {MOST_TOKENS} tokens, not {0}")]
    BadTokens(u64),
    #[error("a task is tried 1 to {MOST_ATTEMPTS} times, not {0}")]
    BadAttempts(u32),
    #[error("the task has no phase: leave `phases` out, or name at least one")]
    NoPhase,
    #[error("the phases must follow each other: {0} cannot come right after {1}")]
    PhaseOrder(EngineeringPhase, EngineeringPhase),
    #[error("the rank must be a number from {LEAST_RANK} to {MOST_RANK}")]
    BadRank,
    #[error("there are {count} {what}, {most} are allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        most: usize,
    },
}

const MOST_ATTEMPTS: u32 = 100;
const MOST_TITLE: usize = 500;
const MOST_DESCRIPTION: usize = 256 * 1024;
const MOST_OF_A_LIST: usize = 200;
const LONGEST_LABEL: usize = 64;
/// Far beyond what dragging gives, and far below what a number tells apart.
const MOST_RANK: f64 = 1e9;
const LEAST_RANK: f64 = -MOST_RANK;

impl TaskDraft {
    /// This draft, with what it leaves out taken from `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            title: self.title.or(below.title),
            description: self.description.or(below.description),
            phases: self.phases.or(below.phases),
            priority: self.priority.or(below.priority),
            rank: self.rank.or(below.rank),
            labels: self.labels.or(below.labels),
            touches: self.touches.or(below.touches),
            due: self.due.or(below.due),
            engine: self.engine.or(below.engine),
            args: self.args.or(below.args),
            permission: self.permission.or(below.permission),
            model: self.model.or(below.model),
            control: self.control.or(below.control),
            repository: self.repository.or(below.repository),
            isolation: self.isolation.or(below.isolation),
            base: self.base.or(below.base),
            finish: self.finish.or(below.finish),
            review: self.review.or(below.review),
            checks: self.checks.or(below.checks),
            setup: self.setup.or(below.setup),
            teardown: self.teardown.or(below.teardown),
            max_attempts: self.max_attempts.or(below.max_attempts),
            budget: self.budget.or(below.budget),
        }
    }

    /// Whether it can become a task.
    pub fn check(&self) -> Result<(), DraftError> {
        self.check_text()?;
        self.check_lists()?;
        if self
            .max_attempts
            .is_some_and(|most| !(1..=MOST_ATTEMPTS).contains(&most))
        {
            return Err(DraftError::BadAttempts(self.max_attempts.unwrap_or(0)));
        }
        if self
            .rank
            .is_some_and(|rank| !(LEAST_RANK..=MOST_RANK).contains(&rank))
        {
            return Err(DraftError::BadRank);
        }
        if let Some(tokens) = self.budget.and_then(|budget| budget.tokens)
            && tokens > MOST_TOKENS
        {
            return Err(DraftError::BadTokens(tokens));
        }
        match &self.repository {
            None if self.isolation != Some(Isolation::None) => Err(DraftError::NoRepository),
            Some(path) if path.to_str().is_none() => Err(DraftError::UnspeakableRepository(
                path.display().to_string(),
            )),
            Some(path) if !path.is_absolute() => {
                Err(DraftError::RelativeRepository(path.display().to_string()))
            }
            _ => Ok(()),
        }
    }

    fn check_text(&self) -> Result<(), DraftError> {
        let title = self.title.as_deref().unwrap_or_default();
        if title.trim().is_empty() {
            return Err(DraftError::NoTitle);
        }
        if title.chars().count() > MOST_TITLE {
            return Err(DraftError::LongTitle);
        }
        if title.chars().any(char::is_control) {
            return Err(DraftError::BrokenTitle);
        }
        match &self.description {
            Some(text) if text.chars().count() > MOST_DESCRIPTION => {
                Err(DraftError::LongDescription)
            }
            _ => Ok(()),
        }
    }

    fn check_lists(&self) -> Result<(), DraftError> {
        let labels = self.labels.as_deref().unwrap_or_default();
        let touches = self.touches.as_deref().unwrap_or_default();
        few("labels", labels)?;
        few("touches", touches)?;
        for label in labels {
            let long = label.chars().count() > LONGEST_LABEL;
            if label.trim().is_empty() || long || label.chars().any(char::is_control) {
                let shown = label.chars().take(LONGEST_LABEL).collect();
                return Err(DraftError::BadLabel(shown));
            }
        }
        for glob in touches {
            check_touch(glob)?;
        }
        let commands = [
            ("check", &self.checks),
            ("setup command", &self.setup),
            ("teardown command", &self.teardown),
        ];
        for (what, commands) in commands {
            let commands = commands.as_deref().unwrap_or_default();
            few("commands", commands)?;
            for command in commands {
                if command.run.first().is_none_or(|program| program.is_empty()) {
                    return Err(DraftError::EmptyCommand { what });
                }
                if !(1..=MOST_CHECK_SECS).contains(&command.timeout_secs) {
                    return Err(DraftError::BadTime {
                        what,
                        command: command.label(),
                        seconds: command.timeout_secs,
                    });
                }
            }
        }
        match self.phases.as_deref() {
            Some([]) => Err(DraftError::NoPhase),
            Some(phases) => match phases.windows(2).find(|pair| !forward(pair)) {
                Some(pair) => Err(DraftError::PhaseOrder(pair[1], pair[0])),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }
}

/// Whether the second phase may follow the first on the way through a task.
fn forward(pair: &[EngineeringPhase]) -> bool {
    pair[1] > pair[0] && pair[0].transition(pair[1]).is_ok()
}

fn few<T>(what: &'static str, list: &[T]) -> Result<(), DraftError> {
    match list.len() {
        count if count > MOST_OF_A_LIST => Err(DraftError::TooMany {
            what,
            count,
            most: MOST_OF_A_LIST,
        }),
        _ => Ok(()),
    }
}

impl BoardTask {
    /// The open task a draft describes.
    pub fn drafted(
        id: BoardTaskId,
        number: TaskNumber,
        draft: TaskDraft,
        now: Timestamp,
    ) -> Result<Self, DraftError> {
        draft.check()?;
        let phases = draft
            .phases
            .unwrap_or_else(|| vec![EngineeringPhase::Execute]);
        Ok(Self {
            id,
            number,
            title: draft.title.unwrap_or_default().trim().to_owned(),
            description: draft.description.unwrap_or_default(),
            status: BoardTaskStatus::Open,
            phase: phases.first().copied().unwrap_or(EngineeringPhase::Execute),
            phases,
            priority: draft.priority.unwrap_or_default(),
            rank: draft.rank.unwrap_or(number.0 as f64),
            parent: None,
            alternative_of: None,
            labels: draft.labels.unwrap_or_default(),
            touches: draft.touches.unwrap_or_default(),
            due: draft.due,
            engine: draft.engine,
            args: draft.args.unwrap_or_default(),
            permission: draft.permission,
            model: draft.model,
            control: draft.control,
            repository: draft.repository,
            isolation: draft.isolation.unwrap_or_default(),
            base: draft.base,
            finish: draft.finish.unwrap_or_default(),
            review: draft.review.unwrap_or_default(),
            pull_request: None,
            checks: draft.checks.unwrap_or_default(),
            setup: draft.setup.unwrap_or_default(),
            teardown: draft.teardown.unwrap_or_default(),
            max_attempts: draft.max_attempts.unwrap_or(DEFAULT_MAX_ATTEMPTS),
            budget: draft.budget,
            tries: 0,
            not_before: None,
            blocked: None,
            created_at: now,
            updated_at: now,
            finished_at: None,
        })
    }

    /// The draft that would make this task again.
    #[must_use]
    pub fn draft(&self) -> TaskDraft {
        TaskDraft {
            title: Some(self.title.clone()),
            description: filled(&self.description),
            phases: (self.phases != [EngineeringPhase::Execute]).then(|| self.phases.clone()),
            priority: (self.priority != Priority::Normal).then_some(self.priority),
            rank: Some(self.rank).filter(|rank| *rank != self.number.0 as f64),
            labels: any(&self.labels),
            touches: any(&self.touches),
            due: self.due,
            engine: self.engine.clone(),
            args: any(&self.args),
            permission: self.permission,
            model: self.model.clone(),
            control: self.control,
            repository: self.repository.clone(),
            isolation: (self.isolation != Isolation::Worktree).then_some(self.isolation),
            base: self.base.clone(),
            finish: (self.finish != Finish::Merge).then_some(self.finish),
            review: (self.review != ReviewGate::MergeAtOnce).then_some(self.review),
            checks: any(&self.checks),
            setup: any(&self.setup),
            teardown: any(&self.teardown),
            max_attempts: (self.max_attempts != DEFAULT_MAX_ATTEMPTS).then_some(self.max_attempts),
            budget: self.budget,
        }
    }
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn any<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(title: &str) -> TaskDraft {
        TaskDraft {
            title: Some(title.into()),
            repository: Some("/src/app".into()),
            ..TaskDraft::default()
        }
    }

    #[test]
    fn a_draft_is_refused_with_what_to_do() {
        let no_home = TaskDraft {
            repository: None,
            ..titled("x")
        };
        assert_eq!(no_home.check(), Err(DraftError::NoRepository));
        let nowhere = TaskDraft {
            isolation: Some(Isolation::None),
            ..no_home
        };
        assert_eq!(nowhere.check(), Ok(()));
        assert_eq!(titled("  ").check(), Err(DraftError::NoTitle));
        assert_eq!(titled("a\nb").check(), Err(DraftError::BrokenTitle));
        assert_eq!(titled(&"ä".repeat(500)).check(), Ok(()));
        assert_eq!(titled(&"ä".repeat(501)).check(), Err(DraftError::LongTitle));
        let empty_check = TaskDraft {
            checks: Some(vec![Check::of(Vec::new())]),
            ..titled("x")
        };
        let error = empty_check.check().unwrap_err().to_string();
        assert_eq!(
            error,
            "a check has no command: write the program and its arguments"
        );
        let timed = |seconds| TaskDraft {
            checks: Some(vec![Check {
                timeout_secs: seconds,
                ..Check::of(vec!["true".into()])
            }]),
            ..titled("x")
        };
        assert_eq!(timed(MOST_CHECK_SECS).check(), Ok(()));
        let error = timed(0).check().unwrap_err().to_string();
        assert!(error.starts_with("the check `true` may take 0 seconds"));
        assert!(timed(MOST_CHECK_SECS + 1).check().is_err());
        let ranked = |rank| TaskDraft {
            rank: Some(rank),
            ..titled("x")
        };
        assert_eq!(ranked(-1.5).check(), Ok(()));
        for rank in [f64::NAN, f64::INFINITY, -1e300] {
            assert_eq!(ranked(rank).check(), Err(DraftError::BadRank));
        }
        let backwards = TaskDraft {
            phases: Some(vec![EngineeringPhase::Plan, EngineeringPhase::Investigate]),
            ..titled("x")
        };
        assert!(backwards.check().is_err());
    }

    #[test]
    fn what_is_left_out_comes_from_below() {
        let below = TaskDraft {
            engine: Some(CliEngine::Codex),
            title: Some("from the template".into()),
            ..TaskDraft::default()
        };
        let draft = titled("mine").over(below);
        assert_eq!(draft.title.as_deref(), Some("mine"));
        assert_eq!(draft.engine, Some(CliEngine::Codex));
    }

    #[test]
    fn a_task_and_its_draft_describe_each_other() {
        let draft = TaskDraft {
            description: Some("all of it".into()),
            priority: Some(Priority::Urgent),
            control: Some(Controller::Terminal),
            labels: Some(vec!["a b".into()]),
            checks: Some(vec![Check::of(vec!["true".into()])]),
            finish: Some(Finish::Patch),
            review: Some(ReviewGate::AfterApproval),
            ..titled("it's \"quoted\"")
        };
        let now = Timestamp::from_micros(7);
        let task =
            BoardTask::drafted(BoardTaskId::generate(), TaskNumber(4), draft.clone(), now).unwrap();
        assert_eq!(task.draft(), draft);
    }
}
