//! The overview: who needs a person, who works on what, and what was finished since
//! the person looked last.
//!
//! Everything is read once for all lines ([`facts`]): the rows in one transaction,
//! the journals of running agents in memory, and each open terminal with one look.
//! What stands on a line is made of that without asking again ([`lines`]).

mod facts;
mod lines;
mod words;

use missiond_api::ApiError;
use missiond_api::operations::autopilot::AutopilotMode;
use missiond_api::operations::observe::{Cost, UsedTokens};
use missiond_api::operations::overview::{
    Overview, OverviewKind, OverviewLine, OverviewParams, OverviewReport, OverviewSeen,
    OverviewSeenParams, OverviewSeenResult,
};
use missiond_core::Timestamp;
use missiond_memory::cost;
use missiond_store::overview;

use crate::call::{Call, Operations, of_store};
use crate::observe;
use facts::Facts;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<Overview, _, _>(show);
    operations.add::<OverviewSeen, _, _>(seen);
}

async fn show(call: Call, params: OverviewParams) -> Result<OverviewReport, ApiError> {
    let limit = params.limit.to_u32();
    let repository = params.repository.as_ref();
    let repository = repository.map(|path| path.trim_end_matches('/').to_owned());
    let facts = Facts::gather(&call, repository.clone(), limit).await?;
    let config = call.daemon.config();
    let mut all = lines::lines(&facts, &config.usage);
    if let Some(wanted) = &repository {
        all.retain(|line| {
            let of = line.repository.as_ref();
            of.is_some_and(|of| of.path == *wanted)
        });
    }
    let mut needs_you = Vec::new();
    let mut working = Vec::new();
    let mut idle = Vec::new();
    let mut terminals = Vec::new();
    let mut finished = Vec::new();
    let mode = crate::autopilot::mode(&facts.rows.mode.mode);
    for line in all {
        match group(&line, mode) {
            Group::NeedsYou => needs_you.push(line),
            Group::Working => working.push(line),
            Group::Idle => idle.push(line),
            Group::Terminals => terminals.push(line),
            Group::Finished => finished.push(line),
        }
    }
    needs_you.sort_by_key(|line: &OverviewLine| (urgency(line), line.since, line.task));
    for lines in [&mut working, &mut idle, &mut terminals] {
        lines.sort_by_key(|line: &OverviewLine| std::cmp::Reverse((line.started_at, line.task)));
    }
    finished.sort_by_key(|line: &OverviewLine| std::cmp::Reverse((line.ended_at, line.task)));
    let mut left_out = facts.finished_beyond;
    for lines in [&mut working, &mut idle, &mut terminals, &mut finished] {
        left_out += cut(lines, limit);
    }
    let mut tokens_today = UsedTokens::default();
    let mut cost_today = Cost::default();
    for spent in &facts.rows.today {
        for model in &spent.models {
            observe::add(&mut tokens_today, model.tokens);
        }
        let cost = cost::of(&config.usage, &spent.models, spent.reported_cost);
        cost::join(&mut cost_today, cost);
    }
    Ok(OverviewReport {
        at: facts.now,
        autopilot: mode,
        agents: u32::try_from(facts.rows.live.len()).unwrap_or(u32::MAX),
        max_agents: config.autopilot.max_agents,
        ready: facts.rows.open.ready,
        waiting: facts.rows.open.waiting,
        needs_you,
        incidents: facts.rows.incidents,
        working,
        idle,
        terminals,
        finished,
        left_out,
        seen_at: facts.rows.seen,
        tokens_today,
        cost_today,
    })
}

async fn seen(call: Call, params: OverviewSeenParams) -> Result<OverviewSeenResult, ApiError> {
    // What has not happened yet cannot have been seen.
    let until: Timestamp = params.until.min(call.daemon.clock.now());
    let marked = call
        .daemon
        .db
        .write(move |tx| Box::pin(overview::set_seen(tx, until)))
        .await;
    Ok(OverviewSeenResult {
        seen_at: marked.map_err(|error| of_store(&error))?,
    })
}

enum Group {
    NeedsYou,
    Working,
    Idle,
    Terminals,
    Finished,
}

const fn group(line: &OverviewLine, mode: AutopilotMode) -> Group {
    match line.kind {
        OverviewKind::Asks
        | OverviewKind::Error
        | OverviewKind::Question
        | OverviewKind::Review
        | OverviewKind::Blocked => Group::NeedsYou,
        // Between two turns of a task the autopilot is about to go on, while it does.
        OverviewKind::Idle
            if line.holds_place
                && matches!(mode, AutopilotMode::Running | AutopilotMode::Draining) =>
        {
            Group::Working
        }
        OverviewKind::Idle => Group::Idle,
        OverviewKind::Works | OverviewKind::Checks | OverviewKind::Waits => Group::Working,
        OverviewKind::Terminal => Group::Terminals,
        OverviewKind::Done
        | OverviewKind::Failed
        | OverviewKind::NotKept
        | OverviewKind::Ended
        | OverviewKind::Cancelled
        | OverviewKind::Crashed => Group::Finished,
    }
}

/// Who keeps others from working comes first.
const fn urgency(line: &OverviewLine) -> u8 {
    match line.kind {
        OverviewKind::Asks if line.holds_place => 0,
        OverviewKind::Asks | OverviewKind::Error => 1,
        OverviewKind::Question => 2,
        OverviewKind::Review => 3,
        _ => 4,
    }
}

fn cut(lines: &mut Vec<OverviewLine>, limit: u32) -> u64 {
    let limit = limit as usize;
    let beyond = lines.len().saturating_sub(limit);
    lines.truncate(limit);
    beyond as u64
}
