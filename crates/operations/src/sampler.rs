//! Takes the daemon's numbers at regular moments and keeps them for plots.
//!
//! What counts upwards is kept as a rate, per minute; the rest as it is. So
//! neighbouring samples can be put together by their mean, however far apart
//! they were taken.

use std::time::{Duration, Instant};

use missiond_api::operations::system::StatsReport;
use missiond_store::stats_samples::{self, Numbers, Sample, Standing};

use crate::state::Daemon;

/// Numbers that are rates; every other is a level.
pub const RATES: [&str; 4] = ["calls", "calls_failed", "events_stored", "events_passed"];

/// Samples until it is dropped.
pub async fn run(daemon: Daemon) {
    let mut before: Option<(Instant, StatsReport)> = None;
    loop {
        let now = (Instant::now(), daemon.metrics.report());
        let since = before.as_ref().map(|(at, report)| (now.0 - *at, report));
        match record_sample(&daemon, &now.1, since).await {
            Ok(()) => before = Some(now),
            Err(error) => tracing::warn!(%error, "the numbers of this moment were not kept"),
        }
        tokio::time::sleep(Duration::from_secs(daemon.config().daemon.sample_secs)).await;
    }
}

async fn record_sample(
    daemon: &Daemon,
    report: &StatsReport,
    since: Option<(Duration, &StatsReport)>,
) -> Result<(), missiond_store::StoreError> {
    let slots = slots(daemon).await;
    let standing = daemon
        .db
        .read(|tx| Box::pin(stats_samples::standing(tx)))
        .await?;
    let sample = Sample {
        at: daemon.clock.now(),
        numbers: numbers(report, since, &standing, slots),
    };
    let host = daemon.host.clone();
    daemon
        .db
        .write(move |tx| Box::pin(async move { stats_samples::add(tx, &host, &sample).await }))
        .await
}

/// Open slots, each by what it is taken to be doing.
async fn slots(daemon: &Daemon) -> Vec<String> {
    let mut states = Vec::new();
    for open in daemon.slots.open() {
        if let Some(look) = open.inspect().await
            && let Ok(serde_json::Value::String(state)) = serde_json::to_value(look.reading.state)
        {
            states.push(state);
        }
    }
    states
}

fn numbers(
    report: &StatsReport,
    since: Option<(Duration, &StatsReport)>,
    standing: &Standing,
    slots: Vec<String>,
) -> Numbers {
    let mut numbers = Numbers::new();
    if let Some((passed, before)) = since {
        let minutes = passed.as_secs_f64().max(0.001) / 60.0;
        let counts = [
            (before.requests_total, report.requests_total),
            (before.requests_failed, report.requests_failed),
            (before.events_stored, report.events_stored),
            (before.events_ephemeral, report.events_ephemeral),
        ];
        for (name, (before, now)) in RATES.iter().zip(counts) {
            numbers.insert(
                (*name).to_owned(),
                now.saturating_sub(before) as f64 / minutes,
            );
        }
        if let Some(mean) = mean_time(before, report) {
            numbers.insert("response_ms".to_owned(), mean);
        }
    }
    let levels = [
        ("connections", report.active_connections as f64),
        ("memory_mb", report.memory_usage_mb),
        ("database_mb", standing.database_bytes as f64 / 1e6),
        ("questions", standing.open_questions as f64),
        ("incidents", standing.open_incidents as f64),
        ("runs", standing.running_executions as f64),
        ("slots", slots.len() as f64),
    ];
    numbers.extend(levels.map(|(name, level)| (name.to_owned(), level)));
    for state in slots {
        *numbers.entry(format!("slots.{state}")).or_default() += 1.0;
    }
    for (status, count) in &standing.tasks {
        numbers.insert(format!("tasks.{status}"), *count as f64);
    }
    numbers
}

/// The mean time of the calls between two reports, which tell it since the start.
fn mean_time(before: &StatsReport, now: &StatsReport) -> Option<f64> {
    let spent = |report: &StatsReport| report.avg_response_time_ms * report.requests_total as f64;
    let calls = now.requests_total.checked_sub(before.requests_total)?;
    (calls > 0).then(|| ((spent(now) - spent(before)) / calls as f64).max(0.0))
}
