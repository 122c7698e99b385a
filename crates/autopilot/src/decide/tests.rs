//! The decisions as a table: what is known of one attempt, and its next step.

use std::time::Duration;

use missiond_core::{
    Attempt, AttemptId, BoardTask, BoardTaskId, BoardTaskStatus, BudgetScope, Claim, DaemonId,
    EngineeringPhase, FencingToken, TaskDraft, TaskNumber,
};

use super::super::view::{Limit, Round};
use super::*;

const RULES: Rules = Rules {
    check_rounds: 3,
    unchanged_rounds: 2,
    conflicts: 1,
    limit_resumes: 1,
    claimed_settle: Duration::from_millis(300),
    settle: Duration::from_secs(2),
    unseen_settle: Duration::from_secs(20),
    stall: Duration::from_secs(300),
};

/// Seconds on the clock of these tests.
fn at(seconds: u64) -> Timestamp {
    let start: Timestamp = "2026-01-04T10:00:00Z".parse().unwrap();
    start.plus(Duration::from_secs(seconds))
}

fn task() -> BoardTask {
    let draft = TaskDraft {
        title: Some("Say goodbye".to_owned()),
        repository: Some("/r".into()),
        ..TaskDraft::default()
    };
    let task = BoardTask::drafted(BoardTaskId::generate(), TaskNumber(1), draft, at(0)).unwrap();
    BoardTask {
        status: BoardTaskStatus::Running,
        ..task
    }
}

/// An attempt whose agent has its prompt and works.
fn view() -> View {
    let task = task();
    View {
        attempt: Attempt {
            id: AttemptId::generate(),
            task: task.id,
            number: 1,
            token: FencingToken(1),
            holder: "here".to_owned(),
            daemon: DaemonId::generate(),
            slot: None,
            execution: None,
            worktree: Some("/w".into()),
            branch: None,
            base_commit: None,
            claim: None,
            outcome: None,
            reason: None,
            check_rounds: 0,
            abandoned: false,
            started_at: at(0),
            ended_at: None,
        },
        task,
        busy: Busy::No,
        agent: Agent::Running(watched()),
        round: None,
        conflicts: 0,
        conflict_round: None,
        conflict_files: String::new(),
        failed_checks: "cargo test".to_owned(),
        resumes: 0,
        spent: None,
    }
}

fn watched() -> Watched {
    Watched {
        attention: ExecutionAttention::Autonomous,
        requests: 0,
        prompted: Sent::Yes,
        undelivered: 0,
        unreachable: None,
        rest: Rest::Working,
        spoken_to_at: Some(at(10)),
        heard_at: at(10),
        limit: None,
        stuck: None,
    }
}

fn agent(change: impl FnOnce(&mut Watched)) -> View {
    let mut watched = watched();
    change(&mut watched);
    View {
        agent: Agent::Running(watched),
        ..view()
    }
}

fn resting(since: u64, worked: Worked) -> View {
    agent(|agent| {
        agent.rest = Rest::Resting {
            since: at(since),
            worked,
        };
    })
}

fn claims(mut view: View, kind: ClaimKind, when: u64) -> View {
    view.attempt.claim = Some(Claim {
        kind,
        text: "as far as I see".to_owned(),
        at: at(when),
    });
    view
}

fn checked(mut view: View, number: u32, failed: u32, told: Sent) -> View {
    view.round = Some(Round {
        number,
        failed,
        unchanged: 0,
        at: at(9),
        told,
    });
    view
}

fn ended(lifecycle: ExecutionLifecycle, prompted: Sent) -> View {
    View {
        agent: Agent::Ended(Ending {
            lifecycle,
            prompted,
            why: None,
        }),
        ..view()
    }
}

fn steps(mode: Mode, views: Vec<View>, now: u64) -> Vec<Step> {
    let snapshot = Snapshot {
        now: at(now),
        mode,
        hours: Hours::Open,
        free_places: 0,
        rules: RULES,
        attempts: views,
    };
    let step = |action| match action {
        Action::For(_, step) => step,
        Action::Dispatch { .. } => panic!("there is no place"),
    };
    decide(&snapshot).into_iter().map(step).collect()
}

fn step_of(view: View, now: u64) -> Option<Step> {
    steps(Mode::Running, vec![view], now).pop()
}

/// The outcome of an attempt that is given up.
fn outcome_of(view: View, now: u64) -> Option<Outcome> {
    match step_of(view, now) {
        Some(Step::Conclude { outcome, .. }) => Some(outcome),
        _ => None,
    }
}

#[test]
fn an_attempt_goes_from_its_place_to_its_prompt() {
    let mut unprepared = view();
    unprepared.attempt.worktree = None;
    unprepared.agent = Agent::NotStarted;
    assert_eq!(step_of(unprepared.clone(), 10), Some(Step::Prepare));
    unprepared.attempt.worktree = Some("/w".into());
    assert_eq!(step_of(unprepared, 10), Some(Step::Start));
    let silent = agent(|agent| agent.prompted = Sent::No);
    assert_eq!(step_of(silent, 10), Some(Step::Prompt));
    assert_eq!(step_of(view(), 11), None, "it works");
}

#[test]
fn a_turn_is_over_when_the_agent_has_rested_long_enough() {
    let check = Some(Step::Check { round: 1 });
    assert_eq!(step_of(resting(20, Worked::Seen), 21), None);
    assert_eq!(step_of(resting(20, Worked::Seen), 22), check);
    // One that was never seen working may not have begun.
    assert_eq!(step_of(resting(20, Worked::Unseen), 30), None);
    assert_eq!(step_of(resting(20, Worked::Unseen), 40), check);
    let claimed = claims(resting(20, Worked::Unseen), ClaimKind::Completed, 19);
    assert_eq!(step_of(claimed, 21), check);
    let before_it_was_told = claims(resting(20, Worked::Seen), ClaimKind::Completed, 9);
    assert_eq!(step_of(before_it_was_told, 21), None);
}

#[test]
fn an_agent_that_waits_for_a_person_is_left_alone() {
    let mut asks = resting(20, Worked::Seen);
    if let Agent::Running(agent) = &mut asks.agent {
        agent.requests = 1;
    }
    assert_eq!(step_of(asks, 9_000), None);
    let confirms = agent(|agent| agent.attention = ExecutionAttention::AwaitingOperator);
    assert_eq!(step_of(confirms, 9_000), None);
}

#[test]
fn failed_checks_go_back_until_the_cap_and_then_to_the_person() {
    let failed = |number, told| checked(resting(20, Worked::Seen), number, 1, told);
    assert_eq!(
        step_of(failed(1, Sent::No), 21),
        Some(Step::SendBack { round: 1 })
    );
    assert_eq!(step_of(failed(1, Sent::Yes), 21), None, "it is at it");
    assert_eq!(
        step_of(failed(1, Sent::Yes), 22),
        Some(Step::Check { round: 2 })
    );
    assert_eq!(
        outcome_of(failed(3, Sent::No), 21),
        Some(Outcome::ChecksFailed)
    );
    let mut unchanged = failed(2, Sent::No);
    unchanged.round.as_mut().unwrap().unchanged = 2;
    assert_eq!(outcome_of(unchanged, 21), Some(Outcome::ChecksFailed));
}

#[test]
fn work_that_passed_is_brought_back_and_a_conflict_goes_back_once() {
    let passed = checked(resting(20, Worked::Seen), 1, 0, Sent::No);
    assert_eq!(step_of(passed.clone(), 20), Some(Step::Integrate));
    let conflicts = |times, round| {
        let mut view = passed.clone();
        view.conflicts = times;
        view.conflict_round = Some(round);
        view
    };
    assert_eq!(step_of(conflicts(1, 1), 20), Some(Step::SendConflict));
    let mut told = conflicts(1, 1);
    told.round.as_mut().unwrap().told = Sent::Yes;
    assert_eq!(step_of(told, 30), Some(Step::Check { round: 2 }));
    assert_eq!(outcome_of(conflicts(2, 1), 20), Some(Outcome::Conflict));
    let mended = checked(conflicts(1, 1), 2, 0, Sent::No);
    assert_eq!(step_of(mended, 20), Some(Step::Integrate));
}

#[test]
fn phases_follow_each_other_and_only_the_last_is_checked() {
    let mut view = resting(20, Worked::Seen);
    view.task.phases = vec![EngineeringPhase::Plan, EngineeringPhase::Execute];
    view.task.phase = EngineeringPhase::Plan;
    let execute = Some(Step::EnterPhase(EngineeringPhase::Execute));
    assert_eq!(step_of(view.clone(), 30), execute);
    view.task.phase = EngineeringPhase::Execute;
    assert_eq!(step_of(view, 30), Some(Step::Check { round: 1 }));
}

#[test]
fn what_an_ended_agent_left_is_checked_if_it_may_be_all_of_it() {
    use ExecutionLifecycle::{Cancelled, Completed, Failed, Terminated};
    let check = Some(Step::Check { round: 1 });
    assert_eq!(step_of(ended(Completed, Sent::Yes), 20), check);
    let lost = Some(Outcome::AgentLost);
    assert_eq!(outcome_of(ended(Completed, Sent::No), 20), lost);
    assert_eq!(outcome_of(ended(Failed, Sent::Yes), 20), lost);
    let claimed = claims(ended(Terminated, Sent::Yes), ClaimKind::Completed, 15);
    assert_eq!(step_of(claimed, 20), check);
    let failing = checked(ended(Completed, Sent::Yes), 1, 1, Sent::Yes);
    assert_eq!(outcome_of(failing, 20), lost);
    let passed = checked(ended(Terminated, Sent::Yes), 1, 0, Sent::No);
    assert_eq!(step_of(passed, 20), Some(Step::Integrate));
    let cancelled = ended(Cancelled, Sent::Yes);
    assert_eq!(outcome_of(cancelled, 20), Some(Outcome::Cancelled));
}

#[test]
fn an_agent_that_gives_no_sign_or_goes_in_circles_is_given_up() {
    assert_eq!(outcome_of(view(), 309), None);
    assert_eq!(outcome_of(view(), 310), Some(Outcome::Stalled));
    let held = agent(|agent| agent.undelivered = 1);
    assert_eq!(outcome_of(held, 310), Some(Outcome::Stalled));
    let circling = agent(|agent| agent.stuck = Some(Stuck::Circling("Run(ls)".to_owned())));
    assert_eq!(outcome_of(circling, 11), Some(Outcome::NeedsPerson));
    let unreachable = agent(|agent| agent.unreachable = Some("typed, never taken".to_owned()));
    assert_eq!(outcome_of(unreachable, 11), Some(Outcome::Stalled));
    let gives_up = claims(resting(20, Worked::Seen), ClaimKind::Failed, 19);
    assert_eq!(outcome_of(gives_up, 21), Some(Outcome::NeedsPerson));
}

#[test]
fn a_usage_limit_parks_the_task_once() {
    let limit = Limit {
        resets_at: Some(at(900)),
        said: "Limit reached".to_owned(),
    };
    let limited = agent(|agent| agent.limit = Some(limit.clone()));
    assert_eq!(step_of(limited.clone(), 20), Some(Step::Park(limit)));
    let again = View {
        resumes: 1,
        ..limited
    };
    assert_eq!(outcome_of(again, 20), Some(Outcome::NeedsPerson));
}

#[test]
fn a_used_up_budget_asks_for_the_task_and_waits_for_the_day() {
    let spent = |scope| View {
        spent: Some(scope),
        ..view()
    };
    assert_eq!(
        outcome_of(spent(BudgetScope::Task), 11),
        Some(Outcome::NeedsPerson)
    );
    assert_eq!(
        outcome_of(spent(BudgetScope::Day), 11),
        Some(Outcome::Superseded)
    );
}

#[test]
fn modes_and_hours_decide_what_may_be_done_at_all() {
    let due = || resting(20, Worked::Seen);
    let busy = View {
        busy: Busy::Yes,
        ..due()
    };
    assert_eq!(steps(Mode::Paused, vec![due()], 30), []);
    assert_eq!(steps(Mode::Draining, vec![due(), busy], 30).len(), 1);
    let stopped = steps(Mode::Stopped, vec![view()], 30);
    let given_back = matches!(&stopped[..], [Step::Stop]);
    assert!(given_back, "{stopped:?}");
    let dispatches = |mode, hours, free_places| {
        let snapshot = Snapshot {
            now: at(0),
            mode,
            hours,
            free_places,
            rules: RULES,
            attempts: Vec::new(),
        };
        decide(&snapshot)
    };
    assert_eq!(
        dispatches(Mode::Running, Hours::Open, 2),
        [Action::Dispatch { places: 2 }]
    );
    assert_eq!(dispatches(Mode::Running, Hours::Open, 0), []);
    assert_eq!(dispatches(Mode::Running, Hours::Quiet, 2), []);
    assert_eq!(dispatches(Mode::Draining, Hours::Open, 2), []);
}
