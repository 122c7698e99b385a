//! `mission daemon …`: the life of the daemon's process.

use std::io::Write;
use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::system::{
    ControlAction, DaemonControl, DaemonControlParams, DaemonStats, StatsReport,
};
use missiond_core::ErrorCode;
use missiond_daemon::{InstanceError, StartError};
use serde_json::json;

use super::{logs, service, status};
use crate::args::DaemonCommand;
use crate::connect::{Reach, startable_config};
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::process::{self, Force, Started, Startup, Stopped};
use crate::term::duration;

pub(super) fn run(
    command: DaemonCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    match command {
        DaemonCommand::Start => start(reach, output),
        DaemonCommand::Stop { force } => stop(reach, force_of(force), output),
        DaemonCommand::Restart { force } => restart(reach, force_of(force), output),
        DaemonCommand::Status => status::daemon_status(reach, output),
        DaemonCommand::Stats => stats(reach, output),
        DaemonCommand::Reload => reload(reach, output),
        DaemonCommand::Logs(args) => logs::logs(&args, reach, output),
        DaemonCommand::Run { detached } => run_daemon(reach, detached, output),
        DaemonCommand::Install { print, manager } => {
            service::install(reach, print, manager, output)
        }
        DaemonCommand::Uninstall { manager } => service::uninstall(manager, output),
    }
}

fn force_of(force: bool) -> Force {
    if force { Force::Kill } else { Force::Ask }
}

fn start(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let started = {
        let _progress = Progress::start(output, "starting the daemon");
        process::start(&reach.home)?
    };
    let (pid, text) = match started {
        Started::Now { pid } => (pid, "The daemon is running"),
        Started::Already { pid } => (pid, "The daemon was already running"),
    };
    let started = started == Started::Now { pid };
    output.result(&json!({"pid": pid, "started": started}), |output, _| {
        output.line(format!("{text} (process {pid})."));
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn stop(reach: &Reach, force: Force, output: &mut Output) -> Result<ExitCode, Failure> {
    let stopped = {
        let _progress = Progress::start(output, "stopping the daemon");
        process::stop(&reach.home, force)?
    };
    let (was_running, slots_running) = match stopped {
        Stopped::Now { slots_running } => (true, slots_running),
        Stopped::WasNot => (false, 0),
    };
    let value = json!({"stopped": was_running, "slots_running": slots_running});
    output.result(&value, |output, _| {
        output.line(match (was_running, slots_running) {
            (true, 0) => "The daemon has stopped.".to_owned(),
            (true, 1) => "The daemon has stopped. 1 agent keeps running.".to_owned(),
            (true, n) => format!("The daemon has stopped. {n} agents keep running."),
            (false, _) => "The daemon was not running.".to_owned(),
        });
    });
    Ok(ExitCode::SUCCESS)
}

fn restart(reach: &Reach, force: Force, output: &mut Output) -> Result<ExitCode, Failure> {
    startable_config(&reach.home, "not restarted")?;
    {
        let _progress = Progress::start(output, "stopping the daemon");
        process::stop(&reach.home, force)?;
    }
    start(reach, output)
}

fn stats(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let report: StatsReport = reach.client(output)?.call::<DaemonStats>(&NoParams {})?;
    output.result(&report, |output, report| {
        let mut field = |name: &str, value: String| output.line(format!("{name:<22}{value}"));
        field("uptime", duration(report.uptime_secs));
        field(
            "requests",
            format!(
                "{} ({} failed, {} under way)",
                report.requests_total, report.requests_failed, report.requests_in_flight
            ),
        );
        field(
            "average response",
            format!("{:.3} ms", report.avg_response_time_ms),
        );
        field(
            "connections",
            format!(
                "{} ({} refused)",
                report.active_connections, report.connections_refused
            ),
        );
        field(
            "external MCP servers",
            format!(
                "{} ({} healthy)",
                report.servers_connected, report.servers_healthy
            ),
        );
        field(
            "events",
            format!(
                "{} stored, {} told ({} of them folded into newer ones)",
                report.events_stored, report.events_ephemeral, report.events_coalesced
            ),
        );
        field("memory", format!("{:.1} MB", report.memory_usage_mb));
    });
    Ok(ExitCode::SUCCESS)
}

fn reload(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let params = DaemonControlParams {
        action: ControlAction::ReloadConfig,
    };
    let result = reach.running()?.call::<DaemonControl>(&params)?;
    output.result(&result, |output, result| {
        if result.applied.is_empty() && result.needs_restart.is_empty() {
            output.line("Nothing has changed.");
        }
        for key in &result.applied {
            output.line(format!("{key} has its new value."));
        }
        for key in &result.needs_restart {
            output.line(format!(
                "{key} takes its new value at `mission daemon restart`."
            ));
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Runs the daemon in this process until it is told to stop.
fn run_daemon(reach: &Reach, detached: bool, output: &mut Output) -> Result<ExitCode, Failure> {
    if detached {
        // This process was just spawned and leads no group, so it may leave the
        // session of the terminal that started it, and its signals.
        let _ = rustix::process::setsid();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let home = reach.home.clone();
    let result = runtime.block_on(missiond_daemon::run(home, |ready| {
        if detached {
            report(&Startup::Ready { pid: ready.pid });
        } else {
            let value = json!({"pid": ready.pid, "http": ready.http});
            output.result(&value, |output, _| {
                output.line(format!(
                    "The daemon is running (process {}). Ctrl-C stops it.",
                    ready.pid
                ));
            });
        }
    }));
    // What still runs on the runtime's threads has had its time.
    runtime.shutdown_background();
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if detached => {
            let message = error.to_string();
            report(&match error {
                StartError::Instance(InstanceError::AlreadyRunning { .. }) => {
                    Startup::AlreadyRunning { message }
                }
                _ => Startup::Failed {
                    code: error.code(),
                    message,
                    way_out: error.way_out(&reach.home),
                },
            });
            Ok(ExitCode::FAILURE)
        }
        Err(error) => {
            let failure = Failure::new(error.code(), error.to_string());
            Err(match error.code() {
                ErrorCode::Conflict => failure.hint("`mission status` describes it"),
                _ => Failure {
                    hint: error.way_out(&reach.home),
                    ..failure
                },
            })
        }
    }
}

/// To the process that started this one. It may be gone; then nobody asks.
fn report(startup: &Startup) {
    if let Ok(line) = serde_json::to_string(startup) {
        let mut stdout = std::io::stdout();
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}
