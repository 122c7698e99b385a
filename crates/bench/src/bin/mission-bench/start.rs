//! How long until a daemon answers, and what it weighs when it has nothing to
//! do.

use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStats;
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, median, millis, percentile};

/// Long enough for what runs after a start to have run.
const SETTLE: Duration = Duration::from_secs(2);

pub(super) fn run(rounds: u32, mission: &Mission, output: &Output) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "starting daemons");
    let mut report = Report::new("start");
    let (mut first, mut again, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let daemon = TemporaryDaemon::new(mission)?;
        first.push(time_start(&daemon)?);
        daemon.run(&["daemon", "stop"])?;
        again.push(time_start(&daemon)?);
        if resident.len() < 3 {
            std::thread::sleep(SETTLE);
            let mut client = Client::connect(&daemon.home())?;
            resident.push(client.call::<DaemonStats>(&NoParams {})?.memory_usage_mb);
        }
    }
    report.condition("rounds", rounds.max(1));
    report.condition("database", "sqlite");
    report.condition(
        "ready_ms",
        "from the start of the process `mission daemon start` to the first answer, existing home",
    );
    report.condition("idle_rss_mb", "resident memory 2 s after the start");
    report.metric("ready_ms", millis(percentile(&mut again, 0.50)));
    report.metric("ready_new_home_ms", millis(percentile(&mut first, 0.50)));
    report.metric("idle_rss_mb", median(&mut resident));
    Ok(report)
}

fn time_start(daemon: &TemporaryDaemon) -> Result<Duration, Failure> {
    let started = Instant::now();
    daemon.run(&["daemon", "start"])?;
    Client::connect(&daemon.home())?;
    Ok(started.elapsed())
}
