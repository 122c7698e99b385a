//! `mission up`, `mission status` and bare `mission`: one look at everything.

mod keys;
mod lines;
pub(super) mod screen;
mod selection;
mod watch;

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::overview::{
    Overview, OverviewParams, OverviewReport, OverviewSeen, OverviewSeenParams,
};
use missiond_api::operations::system::{Availability, DaemonState, DaemonStatus, StatusReport};
use missiond_api::{Client, ClientError};
use missiond_core::ErrorCode;
use missiond_daemon::Instance;
use missiond_pty::host::HostFiles;
use serde::Serialize;

use super::startable::{Finding, Readiness, Verdict};
use crate::args::StatusArgs;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::{Output, Progress, fitted};
use crate::process::{self, Started};
use crate::term::{Style, columns, counted, duration};

pub(super) fn up(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    if !reach.may_start() {
        let message = "`up` starts the daemon, and `--no-start` (or MISSION_NO_START) says not to";
        return Err(
            Failure::new(ErrorCode::InvalidParams, message).hint("`mission status` only looks")
        );
    }
    let died = process::died(&reach.home);
    let started = {
        let _progress = Progress::start(output, "starting the daemon");
        process::start(&reach.home)?
    };
    let report = reach.running()?.call::<DaemonStatus>(&NoParams {})?;
    output.result(&report, |output, report| {
        let line = match &started {
            Started::Now { pid } => format!("The daemon is running (process {pid})."),
            Started::Already { pid } => format!("The daemon was already running (process {pid})."),
        };
        let line = output.paint.apply(Style::Green, &line);
        output.line(line);
        if let (Some(pid), Started::Now { .. }) = (died, &started) {
            output.line(format!(
                "The one before it (process {pid}) ended without closing; nothing acknowledged is lost."
            ));
        }
        describe(output, report);
        output.line("");
        output.line("Next:  mission status --watch  see who works on what");
        output.line("       mission doctor          check this installation");
        output.line("       mission down            stop the daemon");
    });
    Ok(ExitCode::SUCCESS)
}

/// The daemon's state and the overview in one value, for programs.
#[derive(Serialize)]
struct Everything<'a> {
    #[serde(flatten)]
    daemon: &'a StatusReport,
    #[serde(flatten)]
    overview: &'a OverviewReport,
}

pub(super) fn status(
    args: &StatusArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if args.watch {
        return watch::watch(reach, output);
    }
    let Some(mut client) = running(reach, output)? else {
        return Ok(not_running());
    };
    let report = client.call::<DaemonStatus>(&NoParams {})?;
    let overview = client.call::<Overview>(&OverviewParams::default())?;
    let everything = Everything {
        daemon: &report,
        overview: &overview,
    };
    output.result(&everything, |output, _| {
        say(output, &report, &overview);
    });
    if args.seen {
        let until = overview.at;
        client.call::<OverviewSeen>(&OverviewSeenParams { until })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a person is who typed nothing but the name of the program.
pub(super) fn bare(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let runs = match reach.running() {
        Ok(_) => true,
        Err(ClientError::NotRunning { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if runs || output.is_json() {
        let looked = status(&StatusArgs::default(), reach, output);
        // It says how things are; that nothing runs is an answer.
        return looked.map(|_| ExitCode::SUCCESS);
    }
    let obstacle = obstacle(reach);
    match (&obstacle, agents_left(reach)) {
        (None, 0) => {
            output.line("missiond runs coding agents for you. Nothing runs at the moment.");
        }
        (None, agents) => {
            output.line("missiond runs coding agents for you. Its daemon is not running.");
            output.line(go_on(agents));
        }
        (Some(obstacle), _) => {
            output.line("missiond runs coding agents for you. Its daemon cannot start:");
            say_obstacle(output, obstacle);
        }
    }
    output.line("");
    output.line("  mission demo               watch agents work off five tasks, without a key");
    output.line("  mission run \"fix the bug\"  give an agent work in this folder");
    output.line("  mission open               the board, in your browser");
    output.line("");
    output.line("`mission help` lists all commands; `mission doctor` says what is missing.");
    Ok(ExitCode::SUCCESS)
}

/// `mission daemon status`: the daemon alone, with where everything is.
pub(super) fn daemon_status(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let Some(mut client) = running(reach, output)? else {
        return Ok(not_running());
    };
    let report = client.call::<DaemonStatus>(&NoParams {})?;
    output.result(&report, |output, report| {
        let state = state(output, report);
        output.line(format!(
            "The daemon is {state}: process {}, up {}.",
            report.pid,
            duration(report.uptime_secs)
        ));
        describe(output, report);
    });
    Ok(ExitCode::SUCCESS)
}

/// The running daemon. When there is none, that is said: a state, not an error.
fn running(reach: &Reach, output: &mut Output) -> Result<Option<Client>, Failure> {
    match reach.running() {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning { .. }) => {
            let died = process::died(&reach.home);
            let agents = agents_left(reach);
            let obstacle = obstacle(reach);
            let stopped = serde_json::json!({
                "state": "stopped", "ended_without_closing": died, "agents": agents,
                "cannot_start": obstacle,
            });
            output.result(&stopped, |output, _| {
                if let Some(pid) = died {
                    output.line(format!(
                        "The last daemon (process {pid}) ended without closing."
                    ));
                }
                match &obstacle {
                    None => output.line("The daemon is not running. `mission up` starts it."),
                    Some(obstacle) => {
                        output.line("The daemon is not running, and it cannot start:");
                        say_obstacle(output, obstacle);
                    }
                }
                if agents > 0 {
                    output.line(go_on(agents));
                }
            });
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// What keeps a daemon from starting; one that is starting or stuck keeps the next.
fn obstacle(reach: &Reach) -> Option<Finding> {
    if Instance::is_held(&reach.home).unwrap_or(false) {
        return Some(Finding {
            check: "daemon",
            verdict: Verdict::Failed,
            detail: "one is starting, or it is stuck: it holds its lock and does not answer; \
                     `mission daemon stop --force` ends it"
                .to_owned(),
        });
    }
    Readiness::of(&reach.home).obstacle().cloned()
}

fn say_obstacle(output: &mut Output, obstacle: &Finding) {
    let mut lines = obstacle.detail.lines();
    let first = lines.next().unwrap_or_default();
    output.line(format!("  {}: {first}", obstacle.check));
    for line in lines {
        output.line(format!("  {line}"));
    }
    output.line("`mission doctor` checks everything.");
}

/// How many agents go on without a daemon.
fn agents_left(reach: &Reach) -> usize {
    let records = HostFiles::records(&reach.home.slots_dir()).unwrap_or_default();
    records.iter().filter(|record| record.is_running()).count()
}

fn go_on(agents: usize) -> String {
    match agents {
        1 => "1 agent goes on without it; `mission up` takes it up again.".to_owned(),
        n => format!("{n} agents go on without it; `mission up` takes them up again."),
    }
}

fn not_running() -> ExitCode {
    Failure::new(ErrorCode::Unreachable, "").exit_code()
}

fn state(output: &Output, report: &StatusReport) -> String {
    match report.state {
        DaemonState::Running => output.paint.apply(Style::Green, "running"),
        DaemonState::Draining => output.paint.apply(Style::Yellow, "stopping"),
    }
}

/// Everything a person wants to know first.
fn say(output: &mut Output, report: &StatusReport, overview: &OverviewReport) {
    let room = columns().unwrap_or(usize::MAX);
    for group in lines::groups(overview) {
        if group.is_empty() {
            continue;
        }
        let heading = output.paint.apply(group.style, group.heading);
        output.line(heading);
        for line in group.lines {
            let shown = lines::line(line, overview.at);
            let text = fitted(&shown.to_text(), room.saturating_sub(2));
            output.line(format!("  {text}"));
            for under in shown.last_line.into_iter().chain(lines::next_steps(line)) {
                say_under(output, &under, room);
            }
        }
        for incident in group.incidents {
            let text = fitted(&lines::incident(incident), room.saturating_sub(2));
            output.line(format!("  {text}"));
        }
        if !group.incidents.is_empty() {
            say_under(output, "mission incident list", room);
        }
        output.line("");
    }
    if lines::is_quiet(overview) {
        output.line(lines::idle(overview));
        output.line("");
    }
    if overview.left_out > 0 {
        output.line(format!("… and {} more.", overview.left_out));
        output.line("");
    }
    let state = state(output, report);
    output.line(format!(
        "The daemon is {state}: process {}, up {}. {}",
        report.pid,
        duration(report.uptime_secs),
        lines::autopilot(overview)
    ));
    if let Some(spent) = lines::spent(&overview.tokens_today, &overview.cost_today) {
        output.line(format!("Used today: {spent}."));
    }
}

fn say_under(output: &mut Output, text: &str, room: usize) {
    let text = fitted(text, room.saturating_sub(6));
    let text = output.paint.apply(Style::Dim, &text);
    output.line(format!("      {text}"));
}

fn describe(output: &mut Output, report: &StatusReport) {
    let mut field = |name: &str, value: &str| output.line(format!("  {name:<11}{value}"));
    field("version", &report.version);
    let database = &report.database;
    field(
        "database",
        &format!("{} (timeline at {})", database.url, database.timeline_head),
    );
    field("socket", &report.socket);
    if let Some(http) = &report.http {
        field("web", &format!("{http} (`mission open` logs in)"));
    }
    field("log", &report.log_file);
    // A minute of it is no share of anything yet, unless it has crashed in it.
    let measured = report.availability.as_ref().filter(|availability| {
        let Availability {
            up_secs,
            stopped_secs,
            crashed_secs,
            crashes,
            ..
        } = availability;
        *crashes > 0 || up_secs + stopped_secs + crashed_secs >= 60
    });
    if let Some(availability) = measured {
        field("uptime", &uptime(availability));
    }
    for consumer in report
        .consumers
        .iter()
        .filter(|consumer| consumer.failures > 0)
    {
        let text = format!(
            "`{}` has failed {} times in a row",
            consumer.name, consumer.failures
        );
        field("trouble", &text);
    }
    let questions = (report.open_questions > 0).then(|| open_questions(report.open_questions));
    let incidents = (report.open_incidents > 0).then(|| open_incidents(report.open_incidents));
    for text in questions.into_iter().chain(incidents) {
        let text = output.paint.apply(Style::Yellow, &text);
        output.line(format!("  {:<11}{text}", "attention"));
    }
}

/// Nothing is said of planned stops that cost nothing, nor of crashes that were none.
fn uptime(availability: &Availability) -> String {
    let days = match availability.up_secs + availability.stopped_secs + availability.crashed_secs {
        all if all >= 30 * 24 * 3600 => "the last 30 days".to_owned(),
        all => format!("the last {}", duration(all)),
    };
    let mut text = format!("{} % of {days}", availability.up_percent);
    if availability.crashes > 0 {
        let crashes = counted(availability.crashes, "crash", "crashes");
        let lost = duration(availability.crashed_secs);
        text.push_str(&format!("; {crashes} cost {lost}"));
    }
    if availability.stopped_secs > 0 {
        let stopped = duration(availability.stopped_secs);
        text.push_str(&format!("; stopped on purpose for {stopped}"));
    }
    text
}

fn open_questions(count: u64) -> String {
    match count {
        1 => "1 question waits for you: `mission inbox`".to_owned(),
        n => format!("{n} questions wait for you: `mission inbox`"),
    }
}

pub(super) fn open_incidents(count: u64) -> String {
    match count {
        1 => "1 open incident: `mission incident list`".to_owned(),
        n => format!("{n} open incidents: `mission incident list`"),
    }
}
