//! `mission up` and `mission status`: one look at everything.

use std::process::ExitCode;

use missiond_api::ClientError;
use missiond_api::operations::NoParams;
use missiond_api::operations::system::{DaemonState, DaemonStatus, StatusReport};
use missiond_core::ErrorCode;

use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::process::{self, Started};
use crate::term::{Style, duration};

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
        output.line("Next:  mission timeline tail   watch what happens");
        output.line("       mission doctor          check this installation");
        output.line("       mission down            stop the daemon");
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn status(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    match reach.running() {
        Ok(mut client) => {
            let report = client.call::<DaemonStatus>(&NoParams {})?;
            output.result(&report, |output, report| {
                let state = match report.state {
                    DaemonState::Running => output.paint.apply(Style::Green, "running"),
                    DaemonState::Draining => output.paint.apply(Style::Yellow, "stopping"),
                };
                output.line(format!(
                    "The daemon is {state}: process {}, up {}.",
                    report.pid,
                    duration(report.uptime_secs)
                ));
                describe(output, report);
            });
            Ok(ExitCode::SUCCESS)
        }
        // A state, not an error: `status` answers the question it was asked.
        Err(error @ ClientError::NotRunning { .. }) => {
            let died = process::died(&reach.home);
            let stopped = serde_json::json!({"state": "stopped", "ended_without_closing": died});
            output.result(&stopped, |output, _| {
                if let Some(pid) = died {
                    output.line(format!(
                        "The last daemon (process {pid}) ended without closing."
                    ));
                }
                output.line("The daemon is not running. `mission up` starts it.");
            });
            Ok(Failure::from(error).exit_code())
        }
        Err(error) => Err(error.into()),
    }
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
