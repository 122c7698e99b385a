//! From what is known to what is done next: no clock, no store, no agent.
//!
//! Each attempt gets at most one step at a time, chosen from facts that survive
//! a crash. So a daemon that takes over decides what the one before it would
//! have decided, and a step that was cut off is taken again.

use missiond_core::{ClaimKind, ExecutionAttention, ExecutionLifecycle, Outcome, Timestamp};

use super::view::{
    Action, Agent, Busy, Ending, Hours, Mode, Rest, Rules, Sent, Snapshot, Step, Stuck, View,
    Watched, Worked,
};

pub(super) fn decide(snapshot: &Snapshot) -> Vec<Action> {
    let mut actions = Vec::new();
    for view in &snapshot.attempts {
        let step = match (snapshot.mode, view.busy) {
            (Mode::Paused, _) | (_, Busy::Yes) => None,
            (Mode::Stopped, Busy::No) => Some(Step::Stop),
            (Mode::Running | Mode::Draining, Busy::No) => next(view, &snapshot.rules, snapshot.now),
        };
        actions.extend(step.map(|step| Action::For(view.attempt.id, step)));
    }
    let may_begin = snapshot.mode == Mode::Running && snapshot.hours == Hours::Open;
    if may_begin && snapshot.free_places > 0 {
        actions.push(Action::Dispatch {
            places: snapshot.free_places,
        });
    }
    actions
}

fn next(view: &View, rules: &Rules, now: Timestamp) -> Option<Step> {
    if let Some(scope) = &view.spent {
        let reason = format!("{scope} is used up");
        return Some(match scope {
            missiond_core::BudgetScope::Task => conclude(Outcome::NeedsPerson, reason),
            // Others have used up what it shares with them: it waits its turn.
            _ => conclude(Outcome::Superseded, reason),
        });
    }
    if view.attempt.worktree.is_none() {
        return Some(Step::Prepare);
    }
    match &view.agent {
        Agent::NotStarted => Some(Step::Start),
        Agent::Ended(ending) => Some(after_the_end(view, ending)),
        Agent::Running(watched) => with_agent(view, watched, rules, now),
    }
}

/// What the last round of checks asks for, if it was not yet seen to.
fn after_checks(view: &View, rules: &Rules) -> Option<Step> {
    let round = view.round?;
    if round.failed == 0 {
        if view.conflict_round != Some(round.number) {
            return Some(Step::Integrate);
        }
        if round.told == Sent::Yes {
            return None;
        }
        if view.conflicts > rules.conflicts {
            let files = named(&view.conflict_files);
            let reason = format!(
                "the work conflicts with what others did, also after the agent was told: {files}"
            );
            return Some(conclude(Outcome::Conflict, reason));
        }
        return Some(Step::SendConflict);
    }
    if round.told == Sent::Yes {
        return None;
    }
    let what = match round.failed {
        1 => format!("the check `{}` fails", view.failed_checks),
        n => format!("{n} checks fail ({})", named(&view.failed_checks)),
    };
    if round.number >= rules.check_rounds {
        let reason = format!("{what} after {} rounds", round.number);
        return Some(conclude(Outcome::ChecksFailed, reason));
    }
    if round.unchanged >= rules.unchanged_rounds {
        let reason = format!("{what}, and the agent changes nothing any more");
        return Some(conclude(Outcome::ChecksFailed, reason));
    }
    Some(Step::SendBack {
        round: round.number,
    })
}

fn with_agent(view: &View, watched: &Watched, rules: &Rules, now: Timestamp) -> Option<Step> {
    if let Some(limit) = &watched.limit {
        if view.resumes >= rules.limit_resumes {
            let reason = format!(
                "the usage limit was reached again after the task went on: {}",
                limit.said
            );
            return Some(conclude(Outcome::NeedsPerson, reason));
        }
        return Some(Step::Park(limit.clone()));
    }
    if watched.attention == ExecutionAttention::AwaitingOperator || watched.requests > 0 {
        return None;
    }
    if watched.prompted == Sent::No {
        return Some(Step::Prompt);
    }
    if let Some(step) = after_checks(view, rules) {
        return Some(step);
    }
    if let Some(why) = &watched.unreachable {
        let reason = format!("a message did not reach the agent: {why}");
        return Some(conclude(Outcome::Stalled, reason));
    }
    match &watched.stuck {
        Some(Stuck::Still(why)) => return Some(conclude(Outcome::Stalled, why.clone())),
        Some(Stuck::Circling(call)) => {
            let reason = format!("the agent goes in circles: {call}");
            return Some(conclude(Outcome::NeedsPerson, reason));
        }
        None => {}
    }
    if turn_is_over(view, watched, rules, now) {
        return Some(after_turn(view));
    }
    let silent = now.since(watched.heard_at);
    let at_work = watched.rest == Rest::Working || watched.undelivered > 0;
    (at_work && silent >= rules.stall).then(|| {
        let reason = format!("nothing was heard of the agent for {} s", silent.as_secs());
        conclude(Outcome::Stalled, reason)
    })
}

fn turn_is_over(view: &View, watched: &Watched, rules: &Rules, now: Timestamp) -> bool {
    let Rest::Resting { since, worked } = &watched.rest else {
        return false;
    };
    // A claim that came after the last word is one about what was asked. After a
    // restart nobody knows when the last word was.
    let claimed = view.fresh_claim().is_some() && watched.spoken_to_at.is_some();
    let enough = match worked {
        _ if claimed => rules.claimed_settle,
        Worked::Seen => rules.settle,
        Worked::Unseen => rules.unseen_settle,
    };
    watched.undelivered == 0 && now.since(*since) >= enough
}

fn after_turn(view: &View) -> Step {
    if let Some(kind @ (ClaimKind::Failed | ClaimKind::Blocked)) = view.fresh_claim() {
        let said = view.attempt.claim.as_ref().map_or("", |claim| &claim.text);
        let reason = match kind {
            ClaimKind::Failed => format!("the agent says that it failed: {said}"),
            _ => format!("the agent says that it cannot go on: {said}"),
        };
        return conclude(Outcome::NeedsPerson, reason);
    }
    match view.next_phase() {
        Some(phase) => Step::EnterPhase(phase),
        None => Step::Check {
            round: view.round.map_or(0, |round| round.number) + 1,
        },
    }
}

/// Nobody is there to be told anything. What it left may still be all of it.
fn after_the_end(view: &View, ending: &Ending) -> Step {
    let lost = |what: &str| {
        let how = match ending.lifecycle {
            ExecutionLifecycle::Completed => "ended",
            ExecutionLifecycle::Failed => "failed",
            ExecutionLifecycle::Cancelled => "was cancelled",
            _ => "was lost",
        };
        let reason = match &ending.why {
            Some(why) => format!("the agent's program {how}{what}: {why}"),
            None => format!("the agent's program {how}{what}"),
        };
        conclude(Outcome::AgentLost, reason)
    };
    if ending.lifecycle == ExecutionLifecycle::Cancelled {
        return conclude(Outcome::Cancelled, "its execution was cancelled".to_owned());
    }
    match view.round {
        Some(round) if round.failed == 0 && view.conflict_round != Some(round.number) => {
            return Step::Integrate;
        }
        Some(_) => return lost(" before the checks passed"),
        None => {}
    }
    let claimed = matches!(
        view.fresh_claim(),
        Some(ClaimKind::Completed | ClaimKind::ReadyForVerification)
    );
    let in_order = ending.lifecycle == ExecutionLifecycle::Completed;
    let prompted = ending.prompted == Sent::Yes;
    if prompted && (claimed || in_order) && view.next_phase().is_none() {
        return Step::Check { round: 1 };
    }
    lost(if prompted {
        ""
    } else {
        " before it took its task"
    })
}

/// The first few of these lines, in a sentence.
fn named(lines: &str) -> String {
    const NAMED: usize = 5;
    let all: Vec<_> = lines.lines().collect();
    let more = all.len().saturating_sub(NAMED);
    let first = all[..all.len() - more].join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn conclude(outcome: Outcome, reason: String) -> Step {
    Step::Conclude { outcome, reason }
}

#[cfg(test)]
mod tests;
