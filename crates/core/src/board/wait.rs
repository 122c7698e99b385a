//! Why a task is not worked on now, each reason as one sentence.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskNumber;
use crate::{BoardTaskStatus, CliEngine, Timestamp};

/// One thing a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum Wait {
    /// A task it depends on is not done.
    Dependency {
        task: TaskNumber,
        status: BoardTaskStatus,
    },
    /// A running task touches the same paths.
    Touches { task: TaskNumber },
    /// The last attempt failed a moment ago.
    Backoff { until: Timestamp },
    /// What it may use is used up.
    Budget {
        scope: BudgetScope,
        /// When it is filled again; a person has to raise it when absent.
        until: Option<Timestamp>,
    },
    /// The vendor's limit is reached.
    Quota {
        engine: CliEngine,
        until: Option<Timestamp>,
    },
    /// As many agents run as may.
    Capacity {
        /// Of one engine, or of all.
        engine: Option<CliEngine>,
        limit: u32,
    },
    /// Nothing begins at this hour.
    QuietHours { hours: String },
    /// Something a person must do first.
    Blocked { reason: String },
}

/// Whose budget is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum BudgetScope {
    Task,
    Slot { name: String },
    Day,
    Engine { engine: CliEngine },
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependency { task, status } => match status {
                BoardTaskStatus::Open => write!(f, "waits for {task}"),
                BoardTaskStatus::Running => write!(f, "waits for {task}, which is running"),
                BoardTaskStatus::Review => {
                    write!(f, "waits for {task}, which waits for your review")
                }
                BoardTaskStatus::Failed => {
                    write!(
                        f,
                        "waits for {task}, which failed: retry it or drop the dependency"
                    )
                }
                BoardTaskStatus::Blocked => write!(f, "waits for {task}, which is blocked"),
                BoardTaskStatus::Done => write!(f, "waited for {task}, which is done"),
            },
            Self::Touches { task } => {
                write!(
                    f,
                    "waits for {task}, which is running and touches the same paths"
                )
            }
            Self::Backoff { until } => {
                write!(
                    f,
                    "will be tried again at {}, after a failed attempt",
                    until.in_utc()
                )
            }
            Self::Budget { scope, until } => {
                write!(f, "{scope} is used up")?;
                upto(f, *until)
            }
            Self::Quota { engine, until } => {
                write!(f, "the usage limit of {engine} is reached")?;
                upto(f, *until)
            }
            Self::Capacity {
                engine: None,
                limit: 1,
            } => write!(f, "waits for a place: 1 agent may run at once"),
            Self::Capacity {
                engine: None,
                limit,
            } => write!(f, "waits for a place: {limit} agents may run at once"),
            Self::Capacity {
                engine: Some(engine),
                limit,
            } => write!(f, "waits for a place: {limit} of {engine} may run at once"),
            Self::QuietHours { hours } => {
                write!(f, "waits for the end of the quiet hours ({hours})")
            }
            Self::Blocked { reason } => write!(f, "is blocked: {reason}"),
        }
    }
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task => f.write_str("the budget of this task"),
            Self::Slot { name } => write!(f, "the budget of the slot {name}"),
            Self::Day => f.write_str("the budget of the day"),
            Self::Engine { engine } => write!(f, "the budget of {engine}"),
        }
    }
}

fn upto(f: &mut fmt::Formatter<'_>, until: Option<Timestamp>) -> fmt::Result {
    match until {
        Some(until) => write!(f, " until {}", until.in_utc()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_one_sentence() {
        let until: Timestamp = "2026-01-04T15:00:00Z".parse().unwrap();
        let dependency = |status| Wait::Dependency {
            task: TaskNumber(12),
            status,
        };
        let sentences = [
            (dependency(BoardTaskStatus::Open), "waits for T-12"),
            (
                dependency(BoardTaskStatus::Review),
                "waits for T-12, which waits for your review",
            ),
            (
                dependency(BoardTaskStatus::Failed),
                "waits for T-12, which failed: retry it or drop the dependency",
            ),
            (
                Wait::Backoff { until },
                "will be tried again at 2026-01-04 15:00 UTC, after a failed attempt",
            ),
            (
                Wait::Quota {
                    engine: CliEngine::Claude,
                    until: Some(until),
                },
                "the usage limit of claude is reached until 2026-01-04 15:00 UTC",
            ),
            (
                Wait::Budget {
                    scope: BudgetScope::Day,
                    until: None,
                },
                "the budget of the day is used up",
            ),
            (
                Wait::Capacity {
                    engine: None,
                    limit: 1,
                },
                "waits for a place: 1 agent may run at once",
            ),
            (
                Wait::Capacity {
                    engine: Some(CliEngine::Codex),
                    limit: 2,
                },
                "waits for a place: 2 of codex may run at once",
            ),
        ];
        for (wait, sentence) in sentences {
            assert_eq!(wait.to_string(), sentence);
        }
    }
}
