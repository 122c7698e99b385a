//! Questions about what is reached through the daemon's proxy: for whom they are asked, and
//! about what.

use missiond_core::{BoardTaskId, ExecutionId, QuestionId, QuestionOrigin};

/// How the key of such a question begins.
const KEY: &str = "reach/";

/// Whom a person is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachFor {
    Agent(ExecutionId),
    /// What the daemon runs for a task.
    Task(BoardTaskId),
}

/// Where a question about this comes from. It is another one each time: an answer holds for
/// as long as it says and not for ever.
pub(crate) fn reach_origin(whom: ReachFor, access: &str) -> QuestionOrigin {
    let id = QuestionId::generate();
    match whom {
        ReachFor::Agent(execution) => QuestionOrigin::Tool {
            execution: Some(execution),
            key: format!("{KEY}{access} {id}"),
        },
        ReachFor::Task(task) => QuestionOrigin::Tool {
            execution: None,
            key: format!("{KEY}{access} {task}/{id}"),
        },
    }
}

/// Whom a question about what is reached is asked for.
pub(crate) fn reach_for(origin: &QuestionOrigin) -> Option<ReachFor> {
    let QuestionOrigin::Tool { execution, key } = origin else {
        return None;
    };
    let (_, last) = key.strip_prefix(KEY)?.rsplit_once(' ')?;
    match execution {
        Some(execution) => Some(ReachFor::Agent(*execution)),
        None => Some(ReachFor::Task(last.split_once('/')?.0.parse().ok()?)),
    }
}

/// What a question is about, if it is about what is reached.
pub(crate) fn reach_asked(origin: &QuestionOrigin) -> Option<&str> {
    match origin {
        QuestionOrigin::Tool { key, .. } => {
            let asked = key.strip_prefix(KEY)?;
            Some(asked.rsplit_once(' ')?.0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_says_what_it_is_about_and_is_never_the_one_before() {
        let access = "GET a.example:80/x y";
        let (agent, task) = (ExecutionId::generate(), BoardTaskId::generate());
        for whom in [ReachFor::Agent(agent), ReachFor::Task(task)] {
            let one = reach_origin(whom, access);
            assert_eq!(reach_asked(&one), Some(access));
            assert_eq!(reach_for(&one), Some(whom));
            assert_ne!(one, reach_origin(whom, access));
        }
        let other = QuestionOrigin::Tool {
            execution: None,
            key: "drift/x".to_owned(),
        };
        assert_eq!((reach_asked(&other), reach_for(&other)), (None, None));
    }
}
