//! What the autopilot says to agents, and the key each text is sent under: a
//! text that was sent is not sent again, whoever crashed in between.

use std::fmt::Write as _;

use missiond_core::{Attempt, BoardTask, EngineeringPhase, Evidence, Isolation, Note};

/// How much of the end of a failed check's output an agent is shown.
const SHOWN_TAIL: usize = 3_000;
/// How many notes of a task an agent is shown, the newest ones.
const SHOWN_NOTES: usize = 5;

pub(super) fn phase_key(attempt: &Attempt, phase: EngineeringPhase) -> String {
    format!("phase/{}/{phase}", attempt.id)
}

pub(super) fn checks_key(attempt: &Attempt, round: u32) -> String {
    format!("checks/{}/{round}", attempt.id)
}

pub(super) fn conflict_key(attempt: &Attempt, round: u32) -> String {
    format!("conflict/{}/{round}", attempt.id)
}

/// Whether the agent knows its task from an earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptOrigin {
    Fresh,
    /// The conversation goes on where the last attempt ended.
    Resumed,
    /// The place holds what an earlier attempt left, but nobody remembers it.
    Inherited,
}

/// The text that begins a phase.
pub(super) fn of_phase(
    task: &BoardTask,
    attempt: &Attempt,
    notes: &[Note],
    before: Option<&Attempt>,
    origin: AttemptOrigin,
) -> String {
    let first = task.phases.first() == Some(&task.phase);
    let mut text = String::new();
    match (first, origin) {
        (true, AttemptOrigin::Fresh) => task_text(&mut text, task, attempt),
        (true, AttemptOrigin::Inherited) => {
            task_text(&mut text, task, attempt);
            text.push_str(
                "\n\nAn earlier attempt left its work in this folder: look at it first, then go on.",
            );
        }
        (_, AttemptOrigin::Resumed) => {
            let _ = write!(
                text,
                "{}: go on with your task, {}.",
                task.number, task.title
            );
        }
        (false, _) => {
            let _ = write!(text, "{}: the next step.", task.number);
        }
    }
    if let Some(reason) = before.and_then(|before| before.reason.as_deref()) {
        let _ = write!(text, "\n\nThe last attempt ended because {reason}.");
    }
    let shown = notes.len().saturating_sub(SHOWN_NOTES);
    for note in &notes[shown..] {
        let _ = write!(text, "\n\nNote by {}: {}", note.author, note.text);
    }
    text.push_str("\n\n");
    text.push_str(ask_of(task, first));
    text
}

fn task_text(text: &mut String, task: &BoardTask, attempt: &Attempt) {
    let _ = write!(text, "{}: {}", task.number, task.title);
    if !task.description.trim().is_empty() {
        let _ = write!(text, "\n\n{}", task.description.trim());
    }
    if task.isolation == Isolation::Worktree
        && let Some(branch) = &attempt.branch
    {
        let _ = write!(
            text,
            "\n\nYou are in a git worktree of your own, on the branch {branch}. Stay on it; what \
             you leave here is committed and brought back for you."
        );
    }
}

/// What is to be done in a phase, and how to say that it is.
fn ask_of(task: &BoardTask, first: bool) -> &'static str {
    let only = task.phases.len() == 1;
    match task.phase {
        EngineeringPhase::Investigate => {
            "Investigate first: find out what is there and what the task needs. Change nothing yet. \
             Say what you found and stop."
        }
        EngineeringPhase::Consult => {
            "Say what is open and cannot be decided without a person, and ask for it with \
             needs_input. If nothing is open, say so and stop."
        }
        EngineeringPhase::Plan => {
            "Make a plan: which files, in which order, and how it will be checked. Change nothing \
             yet. Say the plan and stop."
        }
        EngineeringPhase::Execute if only || first => {
            "Do it now. When it is done, report completed_claim and stop; it is then checked. If \
             you need an answer, ask with needs_input; if you cannot do it, report failed_claim \
             with the reason."
        }
        EngineeringPhase::Execute => {
            "Now carry the plan out. When it is done, report completed_claim and stop; it is then \
             checked."
        }
        EngineeringPhase::Finalize => {
            "Finalize: tidy up, bring documents and tests up to date, and look over what you \
             changed. When it is done, report completed_claim and stop."
        }
    }
}

/// What an agent is told about the checks that failed.
pub(super) fn of_checks(evidence: &[Evidence], round: u32, rounds: u32) -> String {
    let failed: Vec<_> = evidence
        .iter()
        .filter(|said| said.round == round && !said.passed)
        .collect();
    let mut text = String::from("Your work was checked, and it is not done yet.");
    for said in failed {
        let how = match (said.exit, said.signal, said.timed_out) {
            (_, _, true) => "took too long and was ended".to_owned(),
            (Some(code), _, _) => format!("ended with exit code {code}"),
            (_, Some(signal), _) => format!("was ended by signal {signal}"),
            _ => "could not be run".to_owned(),
        };
        let _ = write!(text, "\n\nThe check `{}` {how}.", said.check);
        let tail = said.tail.trim_end();
        if !tail.is_empty() {
            let begin = tail.len().saturating_sub(SHOWN_TAIL);
            let begin = tail.ceil_char_boundary(begin);
            let _ = write!(text, " It said at its end:\n\n{}", &tail[begin..]);
        }
    }
    let left = rounds.saturating_sub(round);
    let _ = write!(
        text,
        "\n\nMend it and report completed_claim again. {}",
        match left {
            1 => "After one more failure a person is asked.".to_owned(),
            n => format!("After {n} more failures a person is asked."),
        }
    );
    text
}

/// What an agent is told about a merge that conflicts.
pub(super) fn of_conflict(into: &str, files: &str) -> String {
    format!(
        "Your work is good by itself, but others have changed the same files on {into} meanwhile:\n\
         \n{files}\n\nRun `git merge {into}` in your worktree, resolve the conflicts so that both \
         changes keep their meaning, commit, and report completed_claim again."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use missiond_core::AttemptId;

    #[test]
    fn a_failed_check_is_told_with_the_end_of_what_it_said() {
        let said = |check: &str, passed, exit| Evidence {
            attempt: AttemptId::generate(),
            round: 2,
            check: check.to_owned(),
            exit: Some(exit),
            signal: None,
            timed_out: false,
            passed,
            tail: format!("{}ä last line\n", "x".repeat(5_000)),
            commit: None,
            at: missiond_core::Timestamp::from_micros(0),
            millis: 3,
            note: None,
        };
        let text = of_checks(&[said("lint", true, 0), said("sh test.sh", false, 1)], 2, 3);
        assert!(text.contains("The check `sh test.sh` ended with exit code 1. It said"));
        assert!(!text.contains("lint"), "{text}");
        assert!(text.contains("last line\n\nMend it"), "{text}");
        assert!(text.ends_with("After one more failure a person is asked."));
        assert!(text.len() < SHOWN_TAIL + 400);
    }
}
