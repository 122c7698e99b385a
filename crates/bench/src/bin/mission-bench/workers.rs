//! Background workers: from an event to the effect of its unit, units per second, and what
//! a daemon takes whose workers all wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, join_all};
use missiond_api::Client;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStatus;
use missiond_cognition::{
    BackgroundWorker, Budget, Cognition, Parts, Scope, Trigger, Unit, WorkError, Worked, WorkerSpec,
};
use missiond_config::TimelineConfig;
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::{
    DaemonId, ErrorCode, Event, Seq, SystemClock, TraceContext, WorkerDomain, WorkerKind,
};
use missiond_runtime::{Component, Supervisor};
use missiond_store::{DbUrl, MissionDb, watermarks};
use missiond_timeline::metrics::Metrics;
use missiond_timeline::{Consumers, Timeline, TimelineError};
use tokio::sync::mpsc;

use crate::temporary::{Mission, TemporaryDaemon};
use crate::terminal::Usage;
use crate::{Report, scratch};

/// A daemon that has just started still opens what it needs.
const SETTLES: Duration = Duration::from_secs(5);

pub(super) fn run(
    units: u32,
    idle: Duration,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let mut report = Report::new("workers");
    report.condition("units", units);
    report.condition("idle_seconds", idle.as_secs());
    report.condition(
        "database",
        "sqlite, each effect committed with the end of its unit",
    );
    report.condition(
        "idle_cpu",
        "of a daemon whose workers all wait, all threads, in percent of one core",
    );
    {
        let _progress = Progress::start(output, "measuring units of work");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let folder = scratch::folder()?;
        let url = DbUrl::sqlite(folder.path().join("mission.db"));
        runtime.block_on(measure(&url, units, &mut report))?;
    }
    let _progress = Progress::start(output, "measuring a daemon whose workers wait");
    report.exact("idle_cpu_pct", idle_percent(idle, mission)?);
    Ok(report)
}

/// Counts how often it has worked, and says when that is committed.
#[derive(Debug)]
struct Counter {
    done: mpsc::UnboundedSender<Instant>,
}

const SPEC: WorkerSpec = WorkerSpec {
    name: "counter",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Knowledge,
    trigger: Trigger::Events {
        cursor: "counter",
        quiet: Duration::ZERO,
        longest: Duration::ZERO,
        scope: Scope::Database,
    },
    budget: Budget {
        at_once: 8,
        waiting: 1_000_000,
        ..Budget::SMALL
    },
    description: "is measured",
};

impl BackgroundWorker for Counter {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn subject(&self, event: &Event) -> Option<String> {
        match event {
            Event::NoteAdded { text, .. } => Some(text.clone()),
            _ => None,
        }
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            Ok(Worked::did("counted").with_effect(|tx| {
                Box::pin(async move {
                    let before = watermarks::get(tx, "effects").await?.unwrap_or_default();
                    watermarks::advance(tx, "effects", Seq(before.0 + 1)).await
                })
            }))
        })
    }

    fn committed(&self) {
        let _ = self.done.send(Instant::now());
    }
}

async fn measure(url: &DbUrl, units: u32, report: &mut Report) -> Result<(), Failure> {
    let db = MissionDb::open(url).await?;
    let supervisor = Supervisor::standalone();
    let (daemon, clock) = (DaemonId::generate(), Arc::new(SystemClock));
    let config = TimelineConfig::default();
    let timeline = Timeline::start(
        db.clone(),
        daemon,
        Arc::clone(&clock) as _,
        Arc::new(Metrics::default()),
        &config,
        &supervisor,
    );
    let timeline = timeline.await?;
    let (done, mut ends) = mpsc::unbounded_channel();
    let parts = Parts {
        daemon,
        home: "bench".to_owned(),
        db: db.clone(),
        timeline: timeline.clone(),
        clock,
        supervisor: supervisor.clone(),
    };
    let cognition = Arc::new(Cognition::new(parts, vec![Arc::new(Counter { done })]));
    let mut consumers = Consumers::start(&timeline, cognition.consumers(), &supervisor).await?;
    let started = Arc::clone(&cognition).start().await;
    started.map_err(|error| Failure::new(error.code, error.to_string()))?;
    // One after the other: from the event to its effect.
    let mut latencies = Vec::new();
    for number in 0..units.div_ceil(20).max(5) {
        let began = Instant::now();
        note(&timeline, format!("one {number}")).await?;
        latencies.extend(ends.recv().await.map(|end| end.duration_since(began)));
    }
    report.times("events_to_effect_", &mut latencies);
    // All at once: how many a second.
    let began = Instant::now();
    let told = (0..units).map(|number| note(&timeline, format!("many {number}")));
    for told in join_all(told).await {
        told?;
    }
    for _ in 0..units {
        ends.recv().await;
    }
    report.metric(
        "units_per_s",
        f64::from(units) / began.elapsed().as_secs_f64(),
    );
    cognition.stop().await;
    consumers.stop().await;
    Ok(())
}

async fn note(timeline: &Timeline, text: String) -> Result<(), Failure> {
    let author = "bench".to_owned();
    let told = timeline.record(Event::NoteAdded { text, author }, TraceContext::root());
    told.await
        .map(drop)
        .map_err(|error: TimelineError| Failure::new(error.code(), error.to_string()))
}

fn idle_percent(lasts: Duration, mission: &Mission) -> Result<f64, Failure> {
    let daemon = TemporaryDaemon::new(mission)?;
    daemon.run(&["daemon", "start"])?;
    let process = Client::connect(&daemon.home())?
        .call::<DaemonStatus>(&NoParams {})?
        .pid;
    std::thread::sleep(SETTLES);
    let before = Usage::of(&[process])?;
    std::thread::sleep(lasts);
    let percent = Usage::of(&[process])?.cpu_percent_since(&before);
    if percent.is_finite() {
        return Ok(percent);
    }
    Err(Failure::new(ErrorCode::Internal, "no time has passed"))
}
