//! The state machines.
//!
//! Each is an enum with one `transition` function; the table in its doc comment
//! is the whole truth about it. The tests read that table out of the source and
//! hold the function to it, so neither can change alone.

mod board_task;
mod delivery;
mod execution;
mod extraction;
mod phase;
mod pty;
mod question;
mod task;

pub use board_task::BoardTaskStatus;
pub use delivery::DeliveryStatus;
pub use execution::{ExecutionActivity, ExecutionAttention, ExecutionLifecycle};
pub use extraction::ExtractionPhase;
pub use phase::EngineeringPhase;
pub use pty::PtyState;
pub use question::QuestionStatus;
pub use task::TaskStatus;

/// A move the machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {machine} cannot go from {from} to {to}")]
pub struct IllegalMove {
    pub machine: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// What all have in common: their states, the states' names (as stored and
/// as sent) and the moves.
pub trait Machine: Copy + Eq + std::fmt::Debug + 'static {
    const NAME: &'static str;
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    /// The state after the move, or the reason why there is no such move.
    /// Staying is not a move.
    fn transition(self, to: Self) -> Result<Self, IllegalMove>;

    /// No move leads out.
    fn is_final(self) -> bool {
        Self::ALL.iter().all(|&to| self.transition(to).is_err())
    }

    #[doc(hidden)]
    fn illegal(self, to: Self) -> IllegalMove {
        IllegalMove {
            machine: Self::NAME,
            from: self.name(),
            to: to.name(),
        }
    }
}

/// Names, parsing and serde of a machine's states, from one list.
macro_rules! states {
    ($machine:ident, $what:literal, { $($state:ident = $name:literal),* $(,)? }) => {
        impl $machine {
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$state => $name),* }
            }

            const STATES: &'static [Self] = &[$(Self::$state),*];
        }

        impl std::fmt::Display for $machine {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $machine {
            type Err = $crate::machines::UnknownState;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok(Self::$state),)*
                    other => Err($crate::machines::UnknownState {
                        machine: $what,
                        text: other.chars().take(64).collect(),
                    }),
                }
            }
        }
    };
}
use states;

/// The text names no state of the machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a state of a {machine}")]
pub struct UnknownState {
    pub machine: &'static str,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde::{Serialize, de::DeserializeOwned};

    use super::*;

    /// The moves of the table in a doc comment: rows `/// | From | To, To |`.
    fn documented<M: Machine>(source: &str) -> BTreeSet<(&'static str, &'static str)> {
        let by_variant = |variant: &str| {
            M::ALL
                .iter()
                .find(|state| format!("{state:?}") == variant)
                .unwrap_or_else(|| panic!("the table names {variant}, which is no state"))
                .name()
        };
        let mut moves = BTreeSet::new();
        let mut from_states = BTreeSet::new();
        for line in source
            .lines()
            .filter_map(|line| line.strip_prefix("/// | "))
        {
            let cells: Vec<_> = line
                .trim_end_matches('|')
                .split('|')
                .map(str::trim)
                .collect();
            if cells[0] == "from" || cells[0].starts_with('-') {
                continue;
            }
            let from = by_variant(cells[0]);
            from_states.insert(from);
            for to in cells[1].split(',').map(str::trim).filter(|to| *to != "–") {
                moves.insert((from, by_variant(to)));
            }
        }
        assert_eq!(from_states.len(), M::ALL.len(), "every state has a row");
        moves
    }

    fn holds_to_its_table<M: Machine + Serialize + DeserializeOwned>(source: &str) {
        let table = documented::<M>(source);
        for &from in M::ALL {
            for &to in M::ALL {
                let expected = table.contains(&(from.name(), to.name()));
                match from.transition(to) {
                    Ok(state) => {
                        assert_eq!(state, to);
                        assert!(
                            expected,
                            "{from:?} to {to:?} is possible but not in the table"
                        );
                    }
                    Err(error) => {
                        assert_eq!(error, from.illegal(to));
                        assert!(!expected, "{from:?} to {to:?} is in the table but refused");
                    }
                }
            }
            let written = serde_json::to_string(&from).unwrap();
            assert_eq!(written, format!("\"{}\"", from.name()));
            assert_eq!(serde_json::from_str::<M>(&written).unwrap(), from);
        }
    }

    /// However a machine is driven, it is only ever where its table allows.
    fn never_strays<M: Machine>(source: &str, start: M, targets: &[usize]) {
        let table = documented::<M>(source);
        let mut at = start;
        for target in targets {
            let to = M::ALL[target % M::ALL.len()];
            match at.transition(to) {
                Ok(next) => {
                    assert!(table.contains(&(at.name(), next.name())));
                    at = next;
                }
                Err(_) => assert!(!table.contains(&(at.name(), to.name()))),
            }
        }
    }

    macro_rules! machine_tests {
        ($($test:ident, $machine:ident, $file:literal, $start:ident;)*) => {$(
            mod $test {
                use super::*;
                const SOURCE: &str = include_str!($file);

                #[test]
                fn holds_to_its_table() {
                    super::holds_to_its_table::<$machine>(SOURCE);
                }

                proptest! {
                    #[test]
                    fn never_strays(targets in prop::collection::vec(0usize..64, 0..200)) {
                        super::never_strays(SOURCE, $machine::$start, &targets);
                    }
                }
            }
        )*};
    }

    machine_tests! {
        pty, PtyState, "pty.rs", Starting;
        board_task, BoardTaskStatus, "board_task.rs", Open;
        phase, EngineeringPhase, "phase.rs", Investigate;
        task, TaskStatus, "task.rs", Queued;
        question, QuestionStatus, "question.rs", Pending;
        extraction, ExtractionPhase, "extraction.rs", Idle;
        delivery, DeliveryStatus, "delivery.rs", Queued;
        lifecycle, ExecutionLifecycle, "execution/lifecycle.rs", Starting;
        attention, ExecutionAttention, "execution/attention.rs", Autonomous;
        activity, ExecutionActivity, "execution/activity.rs", Unknown;
    }

    #[test]
    fn the_final_states_are_those_meant_to_be_final() {
        fn finals<M: Machine>() -> Vec<M> {
            M::ALL
                .iter()
                .copied()
                .filter(|state| state.is_final())
                .collect()
        }
        assert_eq!(finals::<PtyState>(), [PtyState::Exited]);
        assert_eq!(finals::<BoardTaskStatus>(), [BoardTaskStatus::Done]);
        assert_eq!(finals::<EngineeringPhase>(), []);
        assert_eq!(
            finals::<TaskStatus>(),
            [TaskStatus::Completed, TaskStatus::Failed]
        );
        assert_eq!(
            finals::<QuestionStatus>(),
            [QuestionStatus::Answered, QuestionStatus::Dismissed]
        );
        assert_eq!(finals::<ExtractionPhase>(), []);
        assert_eq!(
            finals::<DeliveryStatus>(),
            [DeliveryStatus::Delivered, DeliveryStatus::Failed]
        );
        assert_eq!(
            finals::<ExecutionLifecycle>(),
            [
                ExecutionLifecycle::Completed,
                ExecutionLifecycle::Failed,
                ExecutionLifecycle::Cancelled,
                ExecutionLifecycle::Terminated
            ]
        );
        assert_eq!(finals::<ExecutionAttention>(), []);
        assert_eq!(finals::<ExecutionActivity>(), []);
    }
}
