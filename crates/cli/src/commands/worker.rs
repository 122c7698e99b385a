//! `mission worker …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::worker::{
    MemoryAction, MemoryControl, MemoryControlParams, WorkerAction, WorkerControl,
    WorkerControlParams, WorkerDetails, WorkerLine, WorkerList, WorkerRun, WorkerShow,
    WorkerShowParams, WorkerTrigger, WorkerUnit, WorkersControlled, WorkersPage,
};
use missiond_core::{ControlNode, Limit, Text, WorkerSwitch};

use crate::args::{WorkerCommand, WorkerTargetArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, moment, moment_with_seconds, printable};

pub(super) fn run(
    command: WorkerCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let controlled = match command {
        WorkerCommand::List => {
            let page = client.call::<WorkerList>(&NoParams {})?;
            output.result(&page, list);
            return Ok(ExitCode::SUCCESS);
        }
        WorkerCommand::Show { worker } => {
            let limit = Limit::default();
            let details = client.call::<WorkerShow>(&WorkerShowParams { worker, limit })?;
            output.result(&details, show);
            return Ok(ExitCode::SUCCESS);
        }
        WorkerCommand::Logs { worker, limit } => {
            let details = client.call::<WorkerShow>(&WorkerShowParams { worker, limit })?;
            output.result(&details.runs, |output, runs| logs(output, runs));
            return Ok(ExitCode::SUCCESS);
        }
        WorkerCommand::Pause(args) => {
            let (one, memory) = if args.drain {
                (WorkerAction::Drain, MemoryAction::Drain)
            } else {
                (WorkerAction::Pause, MemoryAction::Pause)
            };
            match params(&args.target, one, args.reason.clone()) {
                Some(params) => client.call::<WorkerControl>(&params)?,
                None => client.call::<MemoryControl>(&MemoryControlParams {
                    action: memory,
                    reason: args.reason,
                })?,
            }
        }
        WorkerCommand::Resume(args) => {
            let action = if args.force {
                WorkerAction::Force
            } else {
                WorkerAction::Resume
            };
            match params(&args.target, action, args.reason.clone()) {
                Some(params) => client.call::<WorkerControl>(&params)?,
                None => client.call::<MemoryControl>(&MemoryControlParams {
                    action: MemoryAction::Resume,
                    reason: args.reason,
                })?,
            }
        }
        WorkerCommand::Run { worker } => one(&mut client, &worker, WorkerAction::Run)?,
        WorkerCommand::Retry { worker } => one(&mut client, &worker, WorkerAction::Retry)?,
    };
    output.result(&controlled, changed);
    Ok(ExitCode::SUCCESS)
}

fn one(
    client: &mut missiond_api::Client,
    worker: &Text<64>,
    action: WorkerAction,
) -> Result<WorkersControlled, Failure> {
    Ok(client.call::<WorkerControl>(&WorkerControlParams {
        target: Text::excerpt(worker).expect("the name of a worker is not empty"),
        action,
        reason: None,
    })?)
}

/// None where it is about all that is remembered.
fn params(
    target: &WorkerTargetArgs,
    action: WorkerAction,
    reason: Option<Text<500>>,
) -> Option<WorkerControlParams> {
    let node = match (&target.worker, target.kind, target.domain) {
        (Some(worker), _, _) => ControlNode::Worker(worker.to_string()),
        (None, Some(kind), _) => ControlNode::Kind(kind),
        (None, None, Some(domain)) => ControlNode::Domain(domain),
        (None, None, None) if target.all => ControlNode::All,
        (None, None, None) => return None,
    };
    Some(WorkerControlParams {
        target: Text::excerpt(&node.to_string()).expect("a switch has a name"),
        action,
        reason,
    })
}

fn list(output: &mut Output, page: &WorkersPage) {
    let rows: Vec<_> = page.workers.iter().map(row).collect();
    let header = [
        "worker", "domain", "kind", "state", "waiting", "done", "failed", "last",
    ];
    output.table(&header, &rows);
    for switch in &page.switches {
        output.line(format!(
            "{} {} since {} by {}: {}",
            printable(&switch.node),
            switch.switch,
            moment(switch.changed_at),
            printable(&switch.changed_by),
            printable(&switch.reason)
        ));
    }
}

fn row(worker: &WorkerLine) -> Vec<String> {
    let waiting = worker.units.map_or_else(
        || "-".to_owned(),
        |units| (units.waiting + units.running).to_string(),
    );
    let last = worker.last.as_ref().map_or_else(
        || "-".to_owned(),
        |last| format!("{} {}", moment(last.began_at), printable(&last.said)),
    );
    vec![
        worker.name.clone(),
        worker.domain.to_string(),
        worker.kind.to_string(),
        state(worker).1.to_owned(),
        waiting,
        worker.done.to_string(),
        worker.failed.to_string(),
        last,
    ]
}

fn state(worker: &WorkerLine) -> (Style, &'static str) {
    match worker.switch {
        WorkerSwitch::Paused if worker.at_hand > 0 => (Style::Yellow, "pausing"),
        WorkerSwitch::Paused => (Style::Yellow, "paused"),
        WorkerSwitch::Running if worker.failing > 0 => (Style::Red, "failing"),
        WorkerSwitch::Running if worker.at_hand > 0 => (Style::Green, "at work"),
        WorkerSwitch::Running => (Style::Green, "ready"),
    }
}

fn painted_state(output: &Output, worker: &WorkerLine) -> String {
    let (style, word) = state(worker);
    output.paint.apply(style, word)
}

fn show(output: &mut Output, details: &WorkerDetails) {
    let worker = &details.worker;
    let state = painted_state(output, worker);
    output.line(format!("{} is {state}.", worker.name));
    output.line(format!("It {}.", printable(&worker.description)));
    output.line(match worker.trigger {
        WorkerTrigger::Events {
            quiet_ms,
            longest_ms,
        } => format!(
            "Set to work by events, {quiet_ms} ms after the last of a subject and {longest_ms} ms \
             after the first at the latest."
        ),
        WorkerTrigger::Looks { every_ms } => {
            format!("Looks every {every_ms} ms, or when there is word of something.")
        }
    });
    if let Some(because) = &worker.because {
        output.line(format!(
            "{} was switched to {} {} by {}: {}",
            printable(&because.node),
            because.switch,
            moment(because.changed_at),
            printable(&because.changed_by),
            printable(&because.reason)
        ));
    }
    if let Some(units) = worker.units {
        output.line(format!(
            "{} waiting ({} failed before), {} at work, {} done, {} given up.",
            units.waiting, units.failing, units.running, units.done, units.dead
        ));
    }
    let units = details.open.iter().chain(&details.ended);
    let rows: Vec<_> = units.map(unit).collect();
    if !rows.is_empty() {
        output.table(
            &["unit", "state", "attempts", "queued", "what came of it"],
            &rows,
        );
    }
    if !details.runs.is_empty() {
        output.line("");
        logs(output, &details.runs);
    }
}

fn unit(unit: &WorkerUnit) -> Vec<String> {
    vec![
        printable(&unit.subject),
        unit.state.clone(),
        unit.attempts.to_string(),
        moment(unit.queued_at),
        unit.said.as_deref().map(printable).unwrap_or_default(),
    ]
}

fn logs(output: &mut Output, runs: &[WorkerRun]) {
    if runs.is_empty() {
        output.line("It has done nothing since the daemon began.");
    }
    for run in runs {
        let subject = run.subject.as_deref().map(printable);
        let subject = subject.map(|subject| format!("{subject}: "));
        output.line(format!(
            "{}  {:>6} ms  {:<6}  {}{}",
            moment_with_seconds(run.began_at),
            run.took_ms,
            run.ended,
            subject.unwrap_or_default(),
            printable(&run.said)
        ));
    }
}

fn changed(output: &mut Output, controlled: &WorkersControlled) {
    for worker in &controlled.workers {
        let state = painted_state(output, worker);
        output.line(match &worker.because {
            Some(because) => format!("{}: {state} ({})", worker.name, printable(&because.node)),
            None => format!("{}: {state}", worker.name),
        });
    }
    if controlled.units > 0 {
        let units = counted(controlled.units, "unit is", "units are");
        output.line(format!("{units} due now."));
    }
    if controlled.at_hand > 0 {
        let units = counted(controlled.at_hand.into(), "unit is", "units are");
        output.line(format!("{units} at hand and will be finished."));
    }
}
