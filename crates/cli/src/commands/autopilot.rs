//! `mission autopilot …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::autopilot::{
    AutopilotMode, AutopilotReport, AutopilotSet, AutopilotSetParams, AutopilotShow,
};

use crate::args::{AutopilotCommand, WhyArg};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, moment, printable};

pub(super) fn run(
    command: AutopilotCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let (mode, WhyArg { reason }) = match command {
        AutopilotCommand::Status => {
            let report = client.call::<AutopilotShow>(&NoParams {})?;
            output.result(&report, show);
            return Ok(ExitCode::SUCCESS);
        }
        AutopilotCommand::Resume(why) => (AutopilotMode::Running, why),
        AutopilotCommand::Pause(why) => (AutopilotMode::Paused, why),
        AutopilotCommand::Drain(why) => (AutopilotMode::Draining, why),
        AutopilotCommand::Stop(why) => (AutopilotMode::Stopped, why),
    };
    let report = client.call::<AutopilotSet>(&AutopilotSetParams { mode, reason })?;
    output.result(&report, |output, report| output.line(changed(report)));
    Ok(ExitCode::SUCCESS)
}

/// What a change of the mode means for what runs.
fn changed(report: &AutopilotReport) -> String {
    let at_work = report.attempts.len() as u64;
    match report.mode {
        AutopilotMode::Running => format!(
            "The autopilot is on: up to {} on the tasks of the board.",
            counted(report.max_agents.into(), "agent works", "agents work")
        ),
        AutopilotMode::Paused if at_work == 0 => "The autopilot is paused.".to_owned(),
        AutopilotMode::Paused => format!(
            "The autopilot is paused: {} no more when this turn ends.",
            counted(at_work, "agent is told", "agents are told")
        ),
        AutopilotMode::Draining => format!(
            "The autopilot begins nothing new; {}.",
            counted(at_work, "agent still works", "agents still work")
        ),
        AutopilotMode::Stopped => match at_work + u64::from(report.leaving) {
            0 => "The autopilot is stopped. No agent of a task runs.".to_owned(),
            count => format!(
                "The autopilot is stopped. {} being ended, and the tasks go back to the board.",
                counted(count, "agent is", "agents are")
            ),
        },
    }
}

fn show(output: &mut Output, report: &AutopilotReport) {
    let (style, mode) = match report.mode {
        AutopilotMode::Running => (Style::Green, "running"),
        AutopilotMode::Paused => (Style::Yellow, "paused"),
        AutopilotMode::Draining => (Style::Yellow, "draining"),
        AutopilotMode::Stopped => (Style::Red, "stopped"),
    };
    let mode = output.paint.apply(style, mode);
    output.line(match report.changed_at {
        None => format!("The autopilot is {mode}: nobody has switched it on yet."),
        Some(at) => format!(
            "The autopilot is {mode} since {} ({}, by {}).",
            moment(at),
            printable(&report.reason),
            printable(&report.changed_by)
        ),
    });
    output.line(format!(
        "{} of {} agents work on tasks.",
        report.attempts.len(),
        report.max_agents
    ));
    if report.leaving > 0 {
        let agents = counted(report.leaving.into(), "agent is", "agents are");
        output.line(format!("{agents} being ended."));
    }
    if report.tokens_per_day > 0 {
        output.line(format!(
            "{} of {} tokens are used today.",
            report.tokens_today, report.tokens_per_day
        ));
    }
    let rows: Vec<_> = report
        .attempts
        .iter()
        .map(|attempt| {
            vec![
                attempt.task.to_string(),
                attempt.number.to_string(),
                attempt.slot.clone().unwrap_or_else(|| "-".to_owned()),
                attempt.check_rounds.to_string(),
                printable(&attempt.title),
            ]
        })
        .collect();
    if !rows.is_empty() {
        output.table(&["task", "attempt", "slot", "checked", "title"], &rows);
    }
    for parked in &report.parked {
        output.line(format!(
            "{} waits for {} until {}: {}",
            parked.task,
            parked.engine,
            moment(parked.until),
            printable(&parked.reason)
        ));
    }
    if let Some(memory) = &report.memory {
        let aged = match memory.aged {
            0 => String::new(),
            1 => ", 1 has aged unused (`mission kb gc` shows it)".to_owned(),
            aged => format!(", {aged} have aged unused (`mission kb gc` shows them)"),
        };
        let waiting = match memory.waiting {
            0 => String::new(),
            1 => ", 1 candidate waits (`mission kb inbox`)".to_owned(),
            waiting => format!(", {waiting} candidates wait (`mission kb inbox`)"),
        };
        output.line(format!(
            "Memory: {}, {} found by meaning{waiting}{aged}.",
            counted(memory.entries, "entry", "entries"),
            memory.embedded
        ));
    }
}
