//! How fast `append` is beside raw inserts of the same rows in transactions of
//! the same size: `cargo run --release -p missiond-bench --example append_ratio`.
//! Arguments: the folder to measure in, and one engine if not both. The two
//! sides take turns, so that a slow moment of the disk falls on both.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::time::{Duration, Instant};

use missiond_core::{Clock, DaemonId, Event, PtyState, SlotId, SystemClock, TraceContext};
use missiond_store::private_postgres::{PrivatePostgres, create_database};
use missiond_store::{DbUrl, MissionDb, NewEvent, StoreError, baseline};

const ROUNDS: usize = 15;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(measure()).expect("the databases work");
}

async fn measure() -> Result<(), StoreError> {
    let folder = tempfile::tempdir_in(std::env::args().nth(1).unwrap_or_else(|| "/tmp".into()))
        .expect("a folder can be made");
    let server = PrivatePostgres::start().expect("PostgreSQL starts");
    let mut number = 0;
    let only = std::env::args().nth(2);
    for engine in ["sqlite", "postgres"] {
        if only.as_deref().is_some_and(|only| only != engine) {
            continue;
        }
        for (appenders, batch, total) in [(64, 1, 12_800), (1, 64, 12_800), (8, 64, 51_200)] {
            let mut ratios = Vec::new();
            for _ in 0..ROUNDS {
                number += 1;
                let place = |name: String| {
                    let (folder, server) = (folder.path().to_owned(), server.url().clone());
                    async move {
                        match engine {
                            "sqlite" => Ok(DbUrl::sqlite(folder.join(name))),
                            _ => create_database(&server, &name).await,
                        }
                    }
                };
                let ours = place(format!("ours{number}")).await?;
                let raw = place(format!("raw{number}")).await?;
                let (elapsed, commits) = append(&ours, appenders, batch, total).await?;
                let effective = total.div_ceil(commits as usize);
                let raw = baseline::raw_appends(&raw, &events(total)?, effective).await?;
                ratios.push((
                    raw.as_secs_f64() / elapsed.as_secs_f64(),
                    elapsed,
                    raw,
                    effective,
                ));
            }
            ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (ratio, elapsed, raw, effective) = ratios[ROUNDS / 2];
            let rate = |time: Duration| total as f64 / time.as_secs_f64();
            println!(
                "{engine:9} {appenders:3} appenders x {batch:3}: {:8.0}/s, raw {:8.0}/s in \
                 transactions of {effective}; ratio {ratio:.2} (of {:.2} to {:.2})",
                rate(elapsed),
                rate(raw),
                ratios[0].0,
                ratios[ROUNDS - 1].0,
            );
        }
    }
    Ok(())
}

/// How long it takes, and how many commits it came to.
async fn append(
    url: &DbUrl,
    appenders: usize,
    batch: usize,
    total: usize,
) -> Result<(Duration, u64), StoreError> {
    let db = MissionDb::open(url).await?;
    let mut waiting = events(total)?;
    let mut shares = Vec::new();
    while !waiting.is_empty() {
        shares.push(waiting.split_off(waiting.len() - total / appenders));
    }
    let began = Instant::now();
    let running: Vec<_> = shares
        .into_iter()
        .map(|mut share| {
            let db = db.clone();
            tokio::spawn(async move {
                while !share.is_empty() {
                    let events = share.split_off(share.len() - batch.min(share.len()));
                    db.append(&events).await?;
                }
                Ok::<(), StoreError>(())
            })
        })
        .collect();
    for appender in running {
        appender.await.expect("no appender panics")?;
    }
    let elapsed = began.elapsed();
    let commits = db.stats().commits;
    db.close().await?;
    Ok((elapsed, commits))
}

fn events(count: usize) -> Result<Vec<NewEvent>, StoreError> {
    let daemon = DaemonId::generate();
    let slot = SlotId::generate();
    let event = |number| {
        let changed = Event::PtyStateChanged {
            slot,
            from: PtyState::Thinking,
            to: PtyState::Idle,
            confidence: 0.9,
            reason: format!(
                "the prompt is back, the spinner is gone {number} {}",
                "·".repeat(64)
            ),
        };
        let trace = TraceContext::root().child();
        NewEvent::new(SystemClock.now(), daemon, trace, changed)
    };
    (0..count).map(event).collect()
}
