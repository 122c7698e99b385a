//! What a call costs: a no-op through a kept connection, through 32 at once,
//! and by a fresh process.

use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::system::Health;
use missiond_api::{Client, Home};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, micros, millis, percentile};

const CONNECTIONS: u32 = 32;
const SPAWNS: u32 = 60;

pub(super) fn run(calls: u32, mission: &Mission, output: &Output) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "calling the daemon");
    let mut report = Report::new("ipc");
    let daemon = TemporaryDaemon::new(mission)?;
    daemon.run(&["daemon", "start"])?;
    let home = daemon.home();

    // Once around before counting: caches, the allocator, the clock's frequency.
    call_in_turn(&home, calls / 10 + 1)?;
    let started = Instant::now();
    let mut latencies = call_in_turn(&home, calls)?;
    let alone = started.elapsed();

    let each = calls.div_ceil(CONNECTIONS);
    let started = Instant::now();
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CONNECTIONS)
            .map(|_| scope.spawn(|| call_in_turn(&home, each)))
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });
    let together = started.elapsed();
    for result in results {
        result?;
    }

    let mut spawns = Vec::new();
    for _ in 0..SPAWNS {
        let started = Instant::now();
        daemon.run(&["call", "health", "--json"])?;
        spawns.push(started.elapsed());
    }

    report.condition("operation", "health");
    report.condition("calls", calls);
    report.condition("connections", [1, CONNECTIONS]);
    report.condition("cli_spawns", SPAWNS);
    report.metric("calls_per_s_1", f64::from(calls) / alone.as_secs_f64());
    report.metric(
        "calls_per_s_32",
        f64::from(each * CONNECTIONS) / together.as_secs_f64(),
    );
    report.metric("p50_us", micros(percentile(&mut latencies, 0.50)));
    report.metric("p99_us", micros(percentile(&mut latencies, 0.99)));
    report.metric("cli_spawn_p50_ms", millis(percentile(&mut spawns, 0.50)));
    Ok(report)
}

fn call_in_turn(home: &Home, calls: u32) -> Result<Vec<Duration>, Failure> {
    let mut client = Client::connect(home)?;
    let mut latencies = Vec::with_capacity(calls as usize);
    for _ in 0..calls {
        let started = Instant::now();
        client.call::<Health>(&NoParams {})?;
        latencies.push(started.elapsed());
    }
    Ok(latencies)
}
