//! What the autopilot says to agents, and the key each text is sent under: a
//! text that was sent is not sent again, whoever crashed in between.

use std::fmt::Write as _;

use missiond_context::{own_words, with_own_words};
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

/// The text that begins a phase: what people ask for, then what the autopilot says
/// about it, within its own lines so that nobody takes it for their words.
pub(super) fn of_phase(
    task: &BoardTask,
    attempt: &Attempt,
    notes: &[Note],
    before: Option<&Attempt>,
    origin: AttemptOrigin,
) -> String {
    let first = task.phases.first() == Some(&task.phase);
    let mut request = format!("{}: {}", task.number, task.title);
    let mut own: Vec<String> = Vec::new();
    if first && origin != AttemptOrigin::Resumed {
        if !task.description.trim().is_empty() {
            let _ = write!(request, "\n\n{}", task.description.trim());
        }
        own.extend(of_worktree(task, attempt));
    }
    match (first, origin) {
        (true, AttemptOrigin::Fresh) => {}
        (true, AttemptOrigin::Inherited) => own.push(
            "An earlier attempt left its work in this folder: look at it first, then go on."
                .to_owned(),
        ),
        (_, AttemptOrigin::Resumed) => own.push("Please go on with your task.".to_owned()),
        (false, _) => own.push("This is the next step.".to_owned()),
    }
    if let Some(reason) = before.and_then(|before| before.reason.as_deref()) {
        own.push(format!("The last attempt ended because {reason}."));
    }
    let shown = notes.len().saturating_sub(SHOWN_NOTES);
    for note in &notes[shown..] {
        let _ = write!(request, "\n\nNote by {}: {}", note.author, note.text);
    }
    own.push(ask_of(task, first).to_owned());
    with_own_words(&request, &own.join("\n\n"))
}

fn of_worktree(task: &BoardTask, attempt: &Attempt) -> Option<String> {
    let branch = attempt.branch.as_ref()?;
    (task.isolation == Isolation::Worktree).then(|| {
        format!(
            "You are in a git worktree of your own, on the branch {branch}. Stay on it; what you \
             leave here is committed and brought back for you."
        )
    })
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
    own_words(&text)
}

/// What an agent is told about a merge that conflicts.
pub(super) fn of_conflict(into: &str, files: &str) -> String {
    let text = format!(
        "Your work is good by itself, but others have changed the same files on {into} meanwhile:\n\
         \n{files}\n\nRun `git merge {into}` in your worktree, resolve the conflicts so that both \
         changes keep their meaning, commit, and report completed_claim again."
    );
    own_words(&text)
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
        assert!(text.contains("After one more failure a person is asked.\n===="));
        assert!(text.len() < SHOWN_TAIL + 400);
    }

    #[test]
    fn nothing_the_autopilot_says_is_taken_for_a_persons_words() {
        let at = missiond_core::Timestamp::from_micros(0);
        let draft = missiond_core::TaskDraft {
            title: Some("Say goodbye".to_owned()),
            description: Some("In every language.".to_owned()),
            repository: Some("/src/greeter".into()),
            ..missiond_core::TaskDraft::default()
        };
        let id = missiond_core::BoardTaskId::generate();
        let number = missiond_core::TaskNumber(7);
        let task = BoardTask::drafted(id, number, draft, at).unwrap();
        let attempt = Attempt {
            id: AttemptId::generate(),
            task: id,
            number: 2,
            token: missiond_core::FencingToken(1),
            holder: "here".to_owned(),
            daemon: missiond_core::DaemonId::generate(),
            slot: None,
            execution: None,
            worktree: None,
            branch: Some("mission/T-7".to_owned()),
            abandoned: false,
            base_commit: None,
            claim: None,
            outcome: None,
            reason: Some("the agent was lost".to_owned()),
            check_rounds: 0,
            started_at: at,
            ended_at: None,
        };
        let asked = "T-7: Say goodbye\n\nIn every language.";
        for (origin, said) in [
            (AttemptOrigin::Fresh, asked),
            (AttemptOrigin::Inherited, asked),
            (AttemptOrigin::Resumed, "T-7: Say goodbye"),
        ] {
            let text = of_phase(&task, &attempt, &[], Some(&attempt), origin);
            assert_eq!(
                missiond_context::speech_of(&text),
                said,
                "{origin:?}: {text}"
            );
            assert!(text.contains("because the agent was lost."), "{text}");
        }
        for text in [of_checks(&[], 1, 3), of_conflict("main", "a.txt")] {
            assert_eq!(missiond_context::speech_of(&text), "", "{text}");
        }
    }
}
