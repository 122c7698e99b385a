//! What `daemon.health_check_secs` costs: processor time of a daemon that asks its MCP servers
//! for a sign of life every second, beside that of one that does so once an hour.
//!
//! The daemon asks, the server answers and nothing else goes on, so the difference is the
//! checks'. It is counted in time on a processor, which another program that is busy stretches
//! far less than it does a clock on the wall.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::DaemonStatus;
use missiond_api::operations::tools::{McpToolList, McpToolListParams};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;
use missiond_toolhub::{ServerEntry, ServerName};
use serde_json::{Value, json};

use crate::temporary::{Mission, TemporaryDaemon};
use crate::terminal::Usage;
use crate::{Report, micros};

/// How often it is asked, in seconds, and how often if it is to be as good as never: the
/// least and the most that the key takes.
const OFTEN: u64 = 1;
const SELDOM: u64 = 3600;

pub(super) fn run(
    servers: u32,
    lasts: Duration,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "asking MCP servers for signs of life");
    let mut report = Report::new("health");
    let seldom = measure(SELDOM, servers, lasts, mission)?;
    let often = measure(OFTEN, servers, lasts, mission)?;
    if often.checks == 0 {
        let message = "no server was asked for a sign of life: measure for longer";
        return Err(Failure::new(ErrorCode::Internal, message));
    }
    report.condition("servers", servers);
    report.condition("seconds", lasts.as_secs());
    report.condition("health_check_secs", OFTEN);
    report.condition("against_health_check_secs", SELDOM);
    report.condition("database", "sqlite");
    report.condition(
        "cpu",
        "of the daemon alone, all threads, in percent of one core; its servers do nothing but \
         answer",
    );
    report.metric("checks", often.checks as f64);
    report.metric(
        "checks_per_s",
        often.checks as f64 / often.took.as_secs_f64(),
    );
    report.metric("checks_against", seldom.checks as f64);
    report.metric("cpu_percent", often.cpu_percent());
    report.metric("cpu_percent_against", seldom.cpu_percent());
    // What does nothing does not do it evenly: less than nothing is within the error.
    report.metric(
        "added_cpu_percent",
        often.cpu_percent() - seldom.cpu_percent(),
    );
    let idle = seldom.cpu.as_secs_f64() * often.took.as_secs_f64() / seldom.took.as_secs_f64();
    report.metric(
        "added_cpu_us_per_check",
        (micros(often.cpu) - idle * 1e6) / often.checks as f64,
    );
    Ok(report)
}

/// What a daemon took while it was left alone with its servers.
struct Spent {
    cpu: Duration,
    took: Duration,
    /// Signs of life that were asked for.
    checks: u64,
}

impl Spent {
    fn cpu_percent(&self) -> f64 {
        100.0 * self.cpu.as_secs_f64() / self.took.as_secs_f64()
    }
}

fn measure(every: u64, servers: u32, lasts: Duration, mission: &Mission) -> Result<Spent, Failure> {
    let daemon = TemporaryDaemon::new(mission)?;
    let home = daemon.home();
    let settings = format!("[daemon]\nhealth_check_secs = {every}\n");
    fs::create_dir_all(home.config_dir())?;
    fs::write(home.config_file(), settings)?;
    let own = std::env::current_exe()?;
    let counted: Vec<_> = (0..servers)
        .map(|number| daemon.path().join(format!("asked-{number}")))
        .collect();
    for (number, file) in counted.iter().enumerate() {
        let entry = ServerEntry {
            command: Some(own.display().to_string()),
            args: vec!["tool-server".to_owned(), file.display().to_string()],
            // It is asked for as long as it is kept.
            idle_secs: Some(0),
            ..ServerEntry::default()
        };
        let listed = ServerName::new(&format!("server-{number}"))
            .and_then(|name| missiond_toolhub::add(home.config_dir(), &name, &entry));
        listed.map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
    }
    daemon.run(&["daemon", "start"])?;
    let mut client = Client::connect(&home)?;
    for number in 0..servers {
        // A list of its tools starts it.
        let listed = client.call::<McpToolList>(&McpToolListParams {
            server: Some(format!("server-{number}")),
            schemas: false,
        })?;
        if let Some(failed) = listed.failures.first() {
            return Err(Failure::new(ErrorCode::Upstream, format!("{failed:?}")));
        }
    }
    let pid = client.call::<DaemonStatus>(&NoParams {})?.pid;
    drop(client);
    let (before, asked_before) = (Usage::of(&[pid])?, asked(&counted));
    let began = Instant::now();
    std::thread::sleep(lasts);
    let (after, took) = (Usage::of(&[pid])?, began.elapsed());
    Ok(Spent {
        cpu: after.cpu_since(&before),
        took,
        checks: asked(&counted) - asked_before,
    })
}

/// How often all of them were asked. What was not asked yet has no file.
fn asked(counted: &[PathBuf]) -> u64 {
    let sizes = counted.iter().filter_map(|file| fs::metadata(file).ok());
    sizes.map(|file| file.len()).sum()
}

/// `mission-bench tool-server`: a server of the older era that has no tools, until its input
/// ends.
pub(crate) fn serve(counted: &Path) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?).unwrap_or_default();
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            continue;
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match method {
            "initialize" => {
                answer["result"] = json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bench", "version": "1"},
                });
            }
            "tools/list" => answer["result"] = json!({"tools": []}),
            "ping" => {
                let mut counter = OpenOptions::new().create(true).append(true).open(counted)?;
                counter.write_all(b".")?;
                answer["result"] = json!({});
            }
            _ => answer["error"] = json!({"code": -32601, "message": "there is no such method"}),
        }
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
