//! What a crash of the daemon costs its clients: it is killed again and again under a
//! steady load, and the first client that finds it gone starts it, as every command does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::system::Health;
use missiond_api::{Client, ClientError, Home};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;
use missiond_os::processes::signal_each;
use rustix::process::Signal;

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, millis, percentile};

const CLIENTS: u32 = 4;

/// Between two requests of one client.
const PAUSE: Duration = Duration::from_millis(10);

/// What is aimed at, in percent of requests and of time.
const AIM: f64 = 99.9;

const DAY: f64 = 86_400.0;

pub(super) fn run(
    kills: u32,
    every: Duration,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "killing the daemon");
    let mut report = Report::new("uptime");
    let daemon = TemporaryDaemon::new(mission)?;
    daemon.run(&["daemon", "start"])?;
    let over = AtomicBool::new(false);
    let started = Instant::now();
    let (killed, mut clients) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| ask_until(&daemon, &over)))
            .collect();
        let killed = kill_again_and_again(&daemon.home(), kills, every);
        over.store(true, Ordering::Release);
        let clients: Vec<_> = clients
            .into_iter()
            .filter_map(|client| client.join().ok())
            .collect();
        (killed, clients)
    });
    let lasted = started.elapsed();
    killed?;
    let mut all = Asked::default();
    for client in &mut clients {
        all.requests += client.requests;
        all.unanswered += client.unanswered;
        all.outages.append(&mut client.outages);
    }
    if all.requests == 0 {
        return Err(Failure::new(ErrorCode::Internal, "no client could ask"));
    }
    let away: Duration = all.outages.iter().sum();
    let available = 100.0 * (1.0 - away.as_secs_f64() / (lasted * CLIENTS).as_secs_f64());
    let answered = 100.0 * (1.0 - all.unanswered as f64 / all.requests as f64);
    let outage = percentile(&mut all.outages, 0.50);
    report.condition("kills", kills);
    report.condition("every_ms", millis(every));
    report.condition("clients", CLIENTS);
    report.condition("pause_ms", millis(PAUSE));
    report.condition("database", "sqlite");
    report.condition("aim_percent", AIM);
    report.condition(
        "outage_ms",
        "from a client's first request without an answer to its next answer; it starts the \
         daemon by `mission call health`",
    );
    report.condition(
        "crashes_per_day_within_aim",
        "at the median outage, as many crashes a day leave the aim standing",
    );
    report.metric("requests", all.requests as f64);
    report.metric("unanswered", all.unanswered as f64);
    report.exact("answered_percent", answered);
    report.exact("available_percent", available);
    report.times("outage_", &mut all.outages);
    let allowed = DAY * (1.0 - AIM / 100.0);
    report.metric(
        "crashes_per_day_within_aim",
        allowed / outage.as_secs_f64().max(1e-3),
    );
    Ok(report)
}

/// What one client asked and got.
#[derive(Debug, Default)]
struct Asked {
    requests: u64,
    unanswered: u64,
    outages: Vec<Duration>,
}

fn ask_until(daemon: &TemporaryDaemon, over: &AtomicBool) -> Asked {
    let home = daemon.home();
    let mut asked = Asked::default();
    let mut client = None;
    let mut away_since = None;
    // A client that waits for an answer at the end waits for it.
    while !over.load(Ordering::Acquire) || away_since.is_some() {
        let sent = Instant::now();
        asked.requests += 1;
        match ask(&home, &mut client) {
            Ok(()) => {
                if let Some(since) = away_since.take() {
                    asked.outages.push(sent.duration_since(since));
                }
                std::thread::sleep(PAUSE);
            }
            Err(_) => {
                asked.unanswered += 1;
                client = None;
                away_since.get_or_insert(sent);
                if daemon.run(&["call", "health"]).is_err() {
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
    asked
}

fn ask(home: &Home, client: &mut Option<Client>) -> Result<(), ClientError> {
    let mut open = match client.take() {
        Some(open) => open,
        None => Client::connect(home)?,
    };
    open.call::<Health>(&NoParams {})?;
    *client = Some(open);
    Ok(())
}

fn kill_again_and_again(home: &Home, kills: u32, every: Duration) -> Result<(), Failure> {
    /// Several times the longest start.
    const PATIENCE: Duration = Duration::from_secs(120);
    for _ in 0..kills {
        std::thread::sleep(every);
        let deadline = Instant::now() + PATIENCE;
        // The clients may not have brought the last one back yet.
        let pid = loop {
            match Client::connect(home) {
                Ok(client) => break client.welcome().pid,
                Err(error) if Instant::now() > deadline => return Err(error.into()),
                Err(_) => std::thread::sleep(PAUSE),
            }
        };
        signal_each(&[pid], Signal::KILL);
    }
    std::thread::sleep(every);
    Ok(())
}
