//! Durable events per second through the timeline, beside raw inserts of the
//! same rows by the same driver.
//!
//! Each producer waits until its event is committed before it makes the next,
//! so at most one event per producer is under way: that is also the size of the
//! raw batches it is compared with.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_config::TimelineConfig;
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::{Clock, DaemonId, ErrorCode, Event, SystemClock, TraceContext};
use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use missiond_store::{DbUrl, MissionDb, NewEvent, StoreError, baseline};
use missiond_timeline::Timeline;
use missiond_timeline::metrics::Metrics;

use crate::{Report, median, micros, percentile, scratch};

const PRODUCERS: [u32; 3] = [1, 8, 64];
const MOST_PRODUCERS: u32 = 64;

/// Each comparison is made this often, in turns; the median counts.
const ROUNDS: u32 = 5;

/// A single producer waits for one flush per event: fewer events say as much.
const EVENTS_OF_ONE: u32 = 500;

pub(super) fn run(
    events: u32,
    postgres: Option<&str>,
    output: &mut Output,
) -> Result<Report, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = scratch::folder()?;
    let mut report = Report::new("timeline");
    report.condition("events_per_round", events);
    report.condition("rounds", ROUNDS);
    report.condition("raw_rows_per_commit", MOST_PRODUCERS);
    report.condition("sqlite_synchronous", "FULL");

    {
        let _progress = Progress::start(output, "measuring SQLite");
        let sqlite = Sqlite {
            folder: folder.path(),
        };
        runtime.block_on(measure("sqlite", &sqlite, events, &mut report))?;
    }
    let server = match postgres {
        Some(url) => Ok((url.parse::<DbUrl>()?, None)),
        None => PrivatePostgres::start().map(|server| (server.url().clone(), Some(server))),
    };
    match server {
        Ok((url, _private)) => {
            let _progress = Progress::start(output, "measuring PostgreSQL");
            report.condition("postgres_synchronous_commit", "on");
            runtime.block_on(measure("postgres", &Postgres { url }, events, &mut report))?;
        }
        Err(error) => report.condition("postgres", format!("not measured: {error}")),
    }
    Ok(report)
}

/// Where fresh databases come from.
trait Databases {
    async fn fresh(&self, name: &str) -> Result<DbUrl, Failure>;
    async fn discard(&self, name: &str);
}

struct Sqlite<'a> {
    folder: &'a Path,
}

impl Databases for Sqlite<'_> {
    async fn fresh(&self, name: &str) -> Result<DbUrl, Failure> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(DbUrl::sqlite(folder.join("mission.db")))
    }

    async fn discard(&self, name: &str) {
        let _ = std::fs::remove_dir_all(self.folder.join(name));
    }
}

struct Postgres {
    url: DbUrl,
}

impl Databases for Postgres {
    async fn fresh(&self, name: &str) -> Result<DbUrl, Failure> {
        Ok(create_database(&self.url, &format!("mission_bench_{name}")).await?)
    }

    async fn discard(&self, name: &str) {
        let _ = drop_database(&self.url, &format!("mission_bench_{name}")).await;
    }
}

async fn measure(
    engine: &str,
    databases: &impl Databases,
    events: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let (mut rates, mut raw_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut delays = Vec::new();
    for round in 0..ROUNDS {
        let name = format!("raw_{round}");
        let rows: Vec<_> = (0..events).map(new_event).collect::<Result<_, _>>()?;
        let url = databases.fresh(&name).await?;
        let raw = baseline::raw_appends(&url, &rows, MOST_PRODUCERS as usize).await?;
        databases.discard(&name).await;

        let produced = produce(
            databases,
            &format!("timeline_{round}"),
            MOST_PRODUCERS,
            events,
        )
        .await?;
        delays.extend(produced.delays);
        let (raw_rate, rate) = (rate(events, raw), rate(events, produced.took));
        raw_rates.push(raw_rate);
        rates.push(rate);
        ratios.push(rate / raw_rate);
    }
    for producers in PRODUCERS {
        let metric = format!("{engine}_events_per_s_{producers}");
        if producers == MOST_PRODUCERS {
            report.metric(metric, median(&mut rates));
            continue;
        }
        let events = if producers == 1 {
            events.min(EVENTS_OF_ONE)
        } else {
            events / 4
        };
        let name = format!("producers_{producers}");
        let produced = produce(databases, &name, producers, events).await?;
        report.metric(metric, rate(events, produced.took));
    }
    report.metric(format!("{engine}_events_per_s"), median(&mut rates));
    report.metric(format!("{engine}_raw_events_per_s"), median(&mut raw_rates));
    report.metric(format!("{engine}_ratio"), median(&mut ratios));
    if engine == "sqlite" {
        report.condition(
            "emit_to_broadcast",
            "SQLite, 64 producers; `_alone`: one producer",
        );
        report.metric(
            "emit_to_broadcast_p50_us",
            micros(percentile(&mut delays, 0.50)),
        );
        report.metric(
            "emit_to_broadcast_p99_us",
            micros(percentile(&mut delays, 0.99)),
        );
        let mut alone = produce(databases, "alone", 1, events.min(EVENTS_OF_ONE))
            .await?
            .delays;
        report.metric(
            "emit_to_broadcast_alone_p50_us",
            micros(percentile(&mut alone, 0.50)),
        );
        report.metric(
            "emit_to_broadcast_alone_p99_us",
            micros(percentile(&mut alone, 0.99)),
        );
    }
    Ok(())
}

fn rate(events: u32, took: Duration) -> f64 {
    f64::from(events) / took.as_secs_f64()
}

fn new_event(number: u32) -> Result<NewEvent, StoreError> {
    let daemon = DaemonId::generate();
    NewEvent::new(
        SystemClock.now(),
        daemon,
        TraceContext::root(),
        note(number),
    )
}

fn note(number: u32) -> Event {
    Event::NoteAdded {
        text: format!("benchmark event number {number}"),
        author: "bench".to_owned(),
    }
}

struct Produced {
    took: Duration,
    /// From the call that records an event until a listener has it.
    delays: Vec<Duration>,
}

/// Records `events` events from so many producers on a fresh database.
async fn produce(
    databases: &impl Databases,
    name: &str,
    producers: u32,
    events: u32,
) -> Result<Produced, Failure> {
    let db = MissionDb::open(&databases.fresh(name).await?).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let timeline = Timeline::start(
        db.clone(),
        DaemonId::generate(),
        Arc::clone(&clock),
        Arc::new(Metrics::default()),
        &TimelineConfig::default(),
        &missiond_runtime::Supervisor::standalone(),
    )
    .await?;

    // The event carries the time at which it was made, so the listener can tell
    // how long it was under way.
    let mut follower = timeline.follow();
    let listener_clock = Arc::clone(&clock);
    let listener = tokio::spawn(async move {
        let mut delays = Vec::with_capacity(events as usize);
        while delays.len() < events as usize {
            match follower.next().await {
                Ok(event) => delays.push(listener_clock.now().since(event.at)),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(delays)
    });

    let each = events / producers;
    let started = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..producers {
        let timeline = timeline.clone();
        let share = each + u32::from(worker < events % producers);
        workers.spawn(async move {
            for number in 0..share {
                timeline.record(note(number), TraceContext::root()).await?;
            }
            Ok::<_, missiond_timeline::TimelineError>(())
        });
    }
    while let Some(done) = workers.join_next().await {
        let failed = |message: String| Failure::new(ErrorCode::Internal, message);
        done.map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
    }
    let took = started.elapsed();
    let delays = listener
        .await
        .map_err(|error| error.to_string())
        .and_then(|delays| delays);
    let delays = delays.map_err(|message| Failure::new(ErrorCode::Internal, message))?;
    db.close().await?;
    databases.discard(name).await;
    Ok(Produced { took, delays })
}
