//! The daemon's memory under a steady load. What matters is the slope: a daemon that grows
//! without end has one after any time, one that fills its caches has none in the end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::communication::{TimelineNote, TimelineNoteParams};
use missiond_api::operations::overview::{Overview, OverviewParams};
use missiond_api::operations::system::{DaemonStats, DaemonStatus};
use missiond_api::{Client, Home};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::{ErrorCode, Text};

use crate::Report;
use crate::temporary::{Mission, TemporaryDaemon};

const CLIENTS: u32 = 4;

/// Between two rounds of one client.
const PAUSE: Duration = Duration::from_millis(20);

/// Samples of the memory in all, as long as that is not more than ten a second.
const SAMPLES: u32 = 240;
const SHORTEST: Duration = Duration::from_millis(100);

pub(super) fn run(lasts: Duration, mission: &Mission, output: &Output) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "loading the daemon");
    let mut report = Report::new("soak");
    let daemon = TemporaryDaemon::new(mission)?;
    daemon.run(&["daemon", "start"])?;
    let home = daemon.home();
    let (over, requests) = (AtomicBool::new(false), AtomicU64::new(0));
    let (samples, loaded) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| load(&home, &over, &requests)))
            .collect();
        let samples = sample(&home, lasts);
        over.store(true, Ordering::Release);
        let loaded = clients.into_iter().filter_map(|client| client.join().ok());
        (samples, loaded.collect::<Result<(), Failure>>())
    });
    let samples = samples?;
    loaded?;
    let memory = |sample: Option<&Sample>| sample.map_or(0.0, |sample| sample.megabytes);
    let most = samples.iter().map(|sample| sample.megabytes);
    report.condition("seconds", lasts.as_secs());
    report.condition("clients", CLIENTS);
    report.condition("database", "sqlite");
    report.condition(
        "load",
        "each client writes a note, reads the overview and the status, and rests 20 ms",
    );
    report.condition(
        "slope_mb_per_hour",
        "least squares over the second half, when caches are full",
    );
    report.metric("samples", samples.len() as f64);
    report.metric(
        "requests_per_s",
        requests.load(Ordering::Acquire) as f64 / lasts.as_secs_f64(),
    );
    report.metric("rss_start_mb", memory(samples.first()));
    report.metric("rss_end_mb", memory(samples.last()));
    report.metric("rss_most_mb", most.fold(0.0, f64::max));
    report.metric(
        "slope_mb_per_hour",
        slope(&samples[samples.len() / 2..]) * 3600.0,
    );
    Ok(report)
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    seconds: f64,
    megabytes: f64,
}

fn sample(home: &Home, lasts: Duration) -> Result<Vec<Sample>, Failure> {
    let mut client = Client::connect(home)?;
    let every = (lasts / SAMPLES).max(SHORTEST);
    let started = Instant::now();
    let mut samples = Vec::new();
    loop {
        let stats = client.call::<DaemonStats>(&NoParams {})?;
        let passed = started.elapsed();
        samples.push(Sample {
            seconds: passed.as_secs_f64(),
            megabytes: stats.memory_usage_mb,
        });
        if passed >= lasts {
            return Ok(samples);
        }
        std::thread::sleep(every.min(lasts.saturating_sub(passed)));
    }
}

fn load(home: &Home, over: &AtomicBool, requests: &AtomicU64) -> Result<(), Failure> {
    let mut client = Client::connect(home)?;
    let note = TimelineNoteParams {
        text: Text::new("a note of the soak").map_err(wrong)?,
        author: None,
        trace_id: None,
        parent_span_id: None,
    };
    let overview = OverviewParams::default();
    while !over.load(Ordering::Acquire) {
        client.call::<TimelineNote>(&note)?;
        client.call::<Overview>(&overview)?;
        client.call::<DaemonStatus>(&NoParams {})?;
        requests.fetch_add(3, Ordering::AcqRel);
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Internal, error.to_string())
}

/// Megabytes per second, by least squares.
fn slope(samples: &[Sample]) -> f64 {
    let count = samples.len() as f64;
    let mean = |value: fn(&Sample) -> f64| samples.iter().map(value).sum::<f64>() / count;
    let (time, memory) = (mean(|one| one.seconds), mean(|one| one.megabytes));
    let (mut both, mut spread) = (0.0, 0.0);
    for one in samples {
        let off = one.seconds - time;
        both += off * (one.megabytes - memory);
        spread += off * off;
    }
    if spread > 0.0 { both / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_point_none() {
        let line: Vec<_> = (0..10)
            .map(|second| Sample {
                seconds: f64::from(second),
                megabytes: 30.0 + 0.5 * f64::from(second),
            })
            .collect();
        assert!((slope(&line) - 0.5).abs() < 1e-9);
        assert!(slope(&line[..1]).abs() < 1e-9);
    }
}
