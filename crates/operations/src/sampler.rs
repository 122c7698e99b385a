//! Takes the daemon's numbers at regular moments and keeps them for plots.
//!
//! What counts upwards is kept as a rate, per minute; the rest as it is. So
//! neighbouring samples can be put together by their mean, however far apart
//! they were taken.

use std::time::{Duration, Instant};

use missiond_store::stats_samples::{self, Numbers, Sample, Standing};
use missiond_timeline::metrics::MetricsSnapshot;

use crate::state::Daemon;

/// Numbers that are rates; every other is a level.
pub const RATES: [&str; 4] = ["calls", "calls_failed", "events_stored", "events_passed"];

/// Samples until it is dropped.
pub async fn run(daemon: Daemon) {
    let mut before: Option<(Instant, MetricsSnapshot)> = None;
    loop {
        let now = (Instant::now(), daemon.metrics.snapshot());
        let since = before
            .as_ref()
            .map(|(at, snapshot)| (now.0 - *at, snapshot));
        match record_sample(&daemon, &now.1, since).await {
            Ok(()) => before = Some(now),
            Err(error) => tracing::warn!(%error, "statistics sample not stored"),
        }
        tokio::time::sleep(Duration::from_secs(daemon.config().daemon.sample_secs)).await;
    }
}

async fn record_sample(
    daemon: &Daemon,
    now: &MetricsSnapshot,
    since: Option<(Duration, &MetricsSnapshot)>,
) -> Result<(), missiond_store::StoreError> {
    let slots = slots(daemon).await;
    let standing = daemon
        .db
        .read(|tx| Box::pin(stats_samples::standing(tx)))
        .await?;
    let sample = Sample {
        at: daemon.clock.now(),
        numbers: numbers(now, since, &standing, slots),
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
    now: &MetricsSnapshot,
    since: Option<(Duration, &MetricsSnapshot)>,
    standing: &Standing,
    slots: Vec<String>,
) -> Numbers {
    let mut numbers = Numbers::new();
    if let Some((passed, before)) = since {
        let minutes = passed.as_secs_f64().max(0.001) / 60.0;
        let counts = [
            (before.requests(), now.requests()),
            (before.requests_failed, now.requests_failed),
            (before.events_stored, now.events_stored),
            (before.events_ephemeral, now.events_ephemeral),
        ];
        for (name, (then, now)) in RATES.iter().zip(counts) {
            numbers.insert(
                (*name).to_owned(),
                now.saturating_sub(then) as f64 / minutes,
            );
        }
        if let Some(mean) = mean_time(before, now) {
            numbers.insert("response_ms".to_owned(), mean);
        }
    }
    let levels = [
        ("connections", now.connections_active as f64),
        ("memory_mb", now.resident_bytes as f64 / 1e6),
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

/// The mean time of the calls between two moments, in milliseconds.
fn mean_time(before: &MetricsSnapshot, now: &MetricsSnapshot) -> Option<f64> {
    let calls = now.requests().checked_sub(before.requests())?;
    let spent = now.response_time.saturating_sub(before.response_time);
    (calls > 0).then(|| spent.as_secs_f64() * 1000.0 / calls as f64)
}
