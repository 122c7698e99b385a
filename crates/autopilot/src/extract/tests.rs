//! What tasks teach, as a table of records and candidates.

use std::time::Duration;

use missiond_core::{
    AttemptId, BoardTaskId, BoardTaskStatus, Claim, ClaimKind, DaemonId, ExecutionId, FencingToken,
    ObservationId, Outcome, QuestionId, QuestionNumber, SlotId, TaskDraft, TaskNumber, Timestamp,
};

use super::*;

fn at(seconds: u64) -> Timestamp {
    let start: Timestamp = "2026-01-04T10:00:00Z".parse().unwrap();
    start.plus(Duration::from_secs(seconds))
}

fn finished() -> Finished {
    let draft = TaskDraft {
        title: Some("Say goodbye".to_owned()),
        repository: Some("/home/me/greeter".into()),
        ..TaskDraft::default()
    };
    let task = BoardTask::drafted(BoardTaskId::generate(), TaskNumber(7), draft, at(0)).unwrap();
    Finished {
        task: BoardTask {
            status: BoardTaskStatus::Done,
            ..task
        },
        attempts: Vec::new(),
        conversation: Some("talk-1".to_owned()),
        questions: Vec::new(),
    }
}

fn attempt(number: u32, outcome: Outcome) -> Attempt {
    Attempt {
        id: AttemptId::generate(),
        task: BoardTaskId::generate(),
        number,
        token: FencingToken(1),
        holder: "here".to_owned(),
        daemon: DaemonId::generate(),
        slot: None,
        execution: Some(ExecutionId::generate()),
        worktree: None,
        branch: None,
        base_commit: None,
        claim: None,
        outcome: Some(outcome),
        reason: None,
        check_rounds: 0,
        abandoned: false,
        started_at: at(0),
        ended_at: Some(at(9)),
    }
}

fn evidence(round: u32, check: &str, exit: i32, tail: &str) -> Evidence {
    Evidence {
        attempt: AttemptId::generate(),
        round,
        check: check.to_owned(),
        exit: Some(exit),
        signal: None,
        timed_out: false,
        passed: exit == 0,
        tail: tail.to_owned(),
        commit: Some(format!("c{round}")),
        at: at(u64::from(round)),
        millis: 1,
        note: None,
    }
}

fn question(origin: QuestionOrigin, answer: Option<&str>) -> Question {
    Question {
        id: QuestionId::generate(),
        number: QuestionNumber(3),
        origin,
        task: None,
        question: "Which port?".to_owned(),
        headline: "Which port?".to_owned(),
        context: None,
        options: Vec::new(),
        blocks: 1,
        asked_at: at(1),
        status: match answer {
            Some(_) => QuestionStatus::Answered,
            None => QuestionStatus::Dismissed,
        },
        answer: answer.map(str::to_owned),
        closed_at: Some(at(2)),
        closed_by: Some("ann".to_owned()),
        reason: None,
    }
}

fn needs_input() -> QuestionOrigin {
    QuestionOrigin::NeedsInput {
        execution: ExecutionId::generate(),
        slot: SlotId::generate(),
        request: ObservationId::generate(),
    }
}

fn summaries(finished: &Finished) -> Vec<String> {
    let found = candidates(finished);
    found.into_iter().map(|draft| draft.summary).collect()
}

#[test]
fn that_a_task_is_done_is_no_lesson() {
    let mut finished = finished();
    let mut verified = attempt(2, Outcome::Verified);
    verified.claim = Some(Claim {
        kind: ClaimKind::Completed,
        text: "It says goodbye.".to_owned(),
        at: at(3),
    });
    finished.attempts = vec![
        (attempt(1, Outcome::AgentLost), Vec::new()),
        (verified, vec![evidence(1, "cargo test", 0, "ok")]),
    ];
    assert_eq!(candidates(&finished), []);
}

#[test]
fn a_failure_that_said_nothing_is_no_lesson_and_one_that_did_has_its_provenance() {
    let mut finished = finished();
    let mut verified = attempt(2, Outcome::Verified);
    verified.claim = Some(Claim {
        kind: ClaimKind::Completed,
        text: "The file was not read in full.".to_owned(),
        at: at(3),
    });
    let rounds = vec![
        evidence(1, "grep -q div README.md", 1, " \n"),
        evidence(1, "cargo test", 101, "unexpected end of file\n"),
        evidence(2, "grep -q div README.md", 0, ""),
        evidence(2, "cargo test", 0, "ok"),
    ];
    finished.attempts = vec![(verified, rounds)];
    assert_eq!(
        candidates(&finished),
        [Draft {
            key: Some(format!("{}/fix/1", finished.task.id)),
            category: EntryCategory::Bugfix,
            summary: "while T-7 was worked on, the check `cargo test` failed with exit code 101: \
                      \"unexpected end of file\" and passed after a change"
                .to_owned(),
            detail: "it wrote:\nunexpected end of file\nfailed at commit c1\npassed at commit c2\n\
                     the agent said of its change: The file was not read in full.\n"
                .to_owned(),
            labels: vec!["task".to_owned(), "T-7".to_owned()],
            scope: "greeter".to_owned(),
            source: Some("task T-7 attempt 2".to_owned()),
            conversation: Some("talk-1".to_owned()),
            turn: None,
            author: Some("autopilot".to_owned()),
            tier: AuthorTier::Machine,
        }]
    );
}

#[test]
fn what_a_program_showed_around_its_question_is_not_kept() {
    let mut finished = finished();
    finished.attempts = vec![(attempt(1, Outcome::Superseded), Vec::new())];
    let dialog = QuestionOrigin::Dialog {
        slot: SlotId::generate(),
        slot_name: "T-7".to_owned(),
        execution: None,
        dialog: "d".to_owned(),
        permission: None,
        allows: None,
        denies: None,
    };
    let mut asked = question(dialog, Some("8080, always"));
    asked.context = Some("==== End of the background ====".to_owned());
    let mut by_agent = question(needs_input(), Some("8080"));
    by_agent.context = Some("Both are free.".to_owned());
    finished.questions = vec![asked, by_agent];
    let details: Vec<_> = candidates(&finished)
        .into_iter()
        .map(|draft| draft.detail)
        .collect();
    assert_eq!(
        details,
        [
            "ann answered: 8080, always\n",
            "ann answered: 8080\ncontext: Both are free.\n"
        ]
    );
}

#[test]
fn a_check_that_failed_and_then_passed_is_one_candidate() {
    let mut finished = finished();
    let rounds = vec![
        evidence(1, "lint", 0, ""),
        evidence(1, "test", 101, "assertion failed\n\n"),
        evidence(2, "lint", 0, ""),
        evidence(2, "test", 101, "still failing"),
        evidence(3, "lint", 0, ""),
        evidence(3, "test", 0, ""),
    ];
    finished.attempts = vec![(attempt(1, Outcome::ChecksFailed), rounds)];
    let found = candidates(&finished);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        found[0].summary,
        "while T-7 was worked on, the check `test` failed with exit code 101: \
         \"assertion failed\" and passed after a change"
    );
    assert_eq!(found[0].category, EntryCategory::Bugfix);
    assert_eq!(
        found[0].detail,
        "it wrote:\nassertion failed\nfailed at commit c1\npassed at commit c3\n"
    );
}

#[test]
fn a_fix_by_the_next_attempt_counts_and_a_failure_that_stays_does_not() {
    let mut finished = finished();
    let first = vec![evidence(1, "test", 1, "no"), evidence(1, "lint", 1, "bad")];
    let second = vec![evidence(1, "test", 0, ""), evidence(1, "lint", 1, "bad")];
    finished.attempts = vec![
        (attempt(1, Outcome::Stalled), first),
        (attempt(2, Outcome::ChecksFailed), second),
    ];
    let found = candidates(&finished);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].source.as_deref(), Some("task T-7 attempt 2"));
    assert!(found[0].summary.contains("`test`"), "{found:#?}");
}

#[test]
fn an_answer_in_words_is_a_candidate_and_an_order_or_a_permission_is_not() {
    let dialog = QuestionOrigin::Dialog {
        slot: SlotId::generate(),
        slot_name: "T-7".to_owned(),
        execution: None,
        dialog: "d".to_owned(),
        permission: None,
        allows: None,
        denies: None,
    };
    let task = QuestionOrigin::Task {
        task: BoardTaskId::generate(),
        key: "k".to_owned(),
    };
    let cases = [
        (needs_input(), Some("8080, always"), 1),
        (task.clone(), Some("use the old parser"), 1),
        (task, Some(" Try again "), 0),
        (needs_input(), Some("  "), 0),
        (needs_input(), None, 0),
        (dialog.clone(), Some("in words"), 1),
    ];
    let mut permission = question(dialog, Some("Yes"));
    permission.options = vec!["Yes".to_owned(), "No".to_owned()];
    let mut asked = finished();
    asked.attempts = vec![(attempt(1, Outcome::Superseded), Vec::new())];
    asked.questions = vec![permission];
    assert_eq!(summaries(&asked), [""; 0]);
    for (origin, answer, expected) in cases {
        let mut finished = finished();
        finished.attempts = vec![(attempt(1, Outcome::Superseded), Vec::new())];
        finished.questions = vec![question(origin, answer)];
        let found = summaries(&finished);
        assert_eq!(found.len(), expected, "{answer:?}: {found:?}");
        if let (Some(answer), 1) = (answer, expected) {
            let said = format!("asked \"Which port?\", ann said: {answer}");
            assert_eq!(found, [said]);
        }
    }
}

#[test]
fn a_task_nobody_worked_on_teaches_nothing() {
    let mut finished = finished();
    finished.questions = vec![question(needs_input(), Some("8080"))];
    assert_eq!(summaries(&finished), [""; 0]);
}

#[test]
fn whatever_is_on_record_makes_drafts_that_can_be_kept() {
    let mut finished = finished();
    let long = "\u{1b}[31mä\n".repeat(5_000);
    finished.task.title = long.clone();
    finished.task.repository = Some(format!("/r/{}", "n".repeat(250)).into());
    let mut rounds = Vec::new();
    for number in 0..40 {
        rounds.push(evidence(1, &format!("{number} {long}"), 1, &long));
        rounds.push(evidence(2, &format!("{number} {long}"), 0, &long));
    }
    let mut verified = attempt(1, Outcome::Verified);
    verified.claim = Some(Claim {
        kind: ClaimKind::Completed,
        text: long.clone(),
        at: at(1),
    });
    finished.attempts = vec![(verified, rounds)];
    let mut asked = question(needs_input(), Some(&long));
    asked.context = Some(long.clone());
    asked.closed_by = Some(long);
    finished.questions = vec![asked; 40];
    let found = candidates(&finished);
    assert_eq!(found.len(), 2 * MOST);
    for draft in found {
        let checked = draft.clone().checked();
        assert!(checked.is_ok(), "{:?}", checked.map(|_| draft.key));
    }
}
