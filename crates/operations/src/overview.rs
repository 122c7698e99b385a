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
use missiond_api::operations::overview::{
    Overview, OverviewKind, OverviewLine, OverviewParams, OverviewReport, OverviewSeen,
    OverviewSeenParams, OverviewSeenResult,
};
use missiond_autopilot::Mode;
use missiond_core::Timestamp;
use missiond_memory::cost;
use missiond_store::overview;

use crate::call::{Call, Operations, of_store};
use facts::Facts;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<Overview, _, _>(show);
    operations.add::<OverviewSeen, _, _>(seen);
}

async fn show(call: Call, params: OverviewParams) -> Result<OverviewReport, ApiError> {
    let limit = params.limit.to_u32();
    let facts = Facts::gather(&call, limit).await?;
    let config = call.daemon.config();
    let mut all = lines::lines(&facts, &config.usage);
    if let Some(repository) = &params.repository {
        let wanted = repository.trim_end_matches('/');
        all.retain(|line| {
            let of = line.repository.as_ref();
            of.is_some_and(|of| of.path.trim_end_matches('/') == wanted)
        });
    }
    let mut needs_you = Vec::new();
    let mut working = Vec::new();
    let mut finished = Vec::new();
    for line in all {
        match group(line.kind) {
            Group::NeedsYou => needs_you.push(line),
            Group::Working => working.push(line),
            Group::Finished => finished.push(line),
        }
    }
    needs_you.sort_by_key(|line: &OverviewLine| (urgency(line), line.since, line.task));
    working.sort_by_key(|line: &OverviewLine| std::cmp::Reverse((line.started_at, line.task)));
    finished.sort_by_key(|line: &OverviewLine| std::cmp::Reverse((line.ended_at, line.task)));
    // Of another repository nothing was counted beyond what was read.
    let beyond = if params.repository.is_none() {
        facts.finished_beyond
    } else {
        0
    };
    let left_out = beyond + cut(&mut working, limit) + cut(&mut finished, limit);
    Ok(OverviewReport {
        at: facts.now,
        autopilot: match Mode::named(&facts.rows.mode.mode) {
            Some(Mode::Running) => AutopilotMode::Running,
            Some(Mode::Draining) => AutopilotMode::Draining,
            Some(Mode::Stopped) => AutopilotMode::Stopped,
            Some(Mode::Paused) | None => AutopilotMode::Paused,
        },
        agents: u32::try_from(facts.rows.live.len()).unwrap_or(u32::MAX),
        max_agents: config.autopilot.max_agents,
        ready: facts.rows.open.ready,
        waiting: facts.rows.open.waiting,
        needs_you,
        working,
        finished,
        left_out,
        seen_at: facts.rows.seen,
        tokens_today: lines::used_tokens(facts.rows.used_today),
        cost_today: cost::of(
            &config.usage,
            &facts.rows.models_today,
            facts.rows.reported_cost_today,
        ),
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
    Finished,
}

const fn group(kind: OverviewKind) -> Group {
    match kind {
        OverviewKind::Asks
        | OverviewKind::Question
        | OverviewKind::Review
        | OverviewKind::Blocked => Group::NeedsYou,
        OverviewKind::Works | OverviewKind::Idle | OverviewKind::Checks => Group::Working,
        OverviewKind::Done | OverviewKind::Failed | OverviewKind::Ended => Group::Finished,
    }
}

/// Who keeps others from working comes first.
const fn urgency(line: &OverviewLine) -> u8 {
    match line.kind {
        OverviewKind::Asks if line.holds_place => 0,
        OverviewKind::Asks => 1,
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
