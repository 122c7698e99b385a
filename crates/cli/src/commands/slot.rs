//! `mission slot …`

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::compute::{
    AnswerOutcome, SendWhen, SlotAnswer, SlotAnswerParams, SlotDelivery, SlotExplain,
    SlotInterrupt, SlotKill, SlotKillParams, SlotList, SlotListParams, SlotParams, SlotRead,
    SlotReading, SlotResize, SlotResizeParams, SlotScreenshot, SlotScreenshotParams, SlotSend,
    SlotSendParams, SlotSpawn, SlotSpawnParams, SlotSummary, TextLanded,
};
use missiond_core::{ErrorCode, PtyState, Text};
use serde_json::Value;

use super::picture::{self, EncodedPicture};
use crate::args::{PictureArgs, SlotCommand, SpawnArgs};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::folder;
use crate::output::Output;
use crate::term::{Style, printable};

pub(super) fn run(
    command: SlotCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        SlotCommand::Attach(args) => return super::attach::attach(args, client, reach, output),
        SlotCommand::Spawn(args) => spawn(args, &mut client, output)?,
        SlotCommand::List { all } => list(all, &mut client, output)?,
        SlotCommand::Read { slot } => read(slot, &mut client, output)?,
        SlotCommand::Send {
            slot,
            text,
            no_enter,
            now,
            wait,
            force,
        } => {
            let params = SlotSendParams {
                slot,
                text: parameter("the text", Text::new(text_or_stdin(text)?))?,
                submit: !no_enter,
                when: if now { SendWhen::Now } else { SendWhen::Idle },
                wait_ms: wait,
                force,
            };
            return send(&params, &mut client, output);
        }
        SlotCommand::Answer {
            slot,
            option,
            expect,
            wait,
        } => {
            let params = SlotAnswerParams {
                slot,
                option,
                expect,
                wait_ms: wait,
            };
            return answer(&params, &mut client, output);
        }
        SlotCommand::Interrupt { slot } => {
            let result = client.call::<SlotInterrupt>(&SlotParams { slot })?;
            output.result(&result, |output, _| output.line("Pressed Ctrl-C."));
        }
        SlotCommand::Resize {
            slot,
            size: (columns, rows),
        } => {
            let params = SlotResizeParams {
                slot,
                columns,
                rows,
                attachment: None,
            };
            let result = client.call::<SlotResize>(&params)?;
            output.result(&result, |output, result| {
                output.line(format!(
                    "The terminal is {}x{}.",
                    result.columns, result.rows
                ));
            });
        }
        SlotCommand::Kill { slot, grace } => {
            let params = SlotKillParams {
                slot,
                grace_ms: grace,
            };
            let result = client.call::<SlotKill>(&params)?;
            output.result(&result, |output, result| {
                output.line(format!("The slot is closed: {}.", result.outcome));
            });
        }
        SlotCommand::Screenshot { slot, picture } => {
            return screenshot(slot, &picture, &mut client, output);
        }
        SlotCommand::Explain { slot, all } => explain(slot, all, &mut client, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn spawn(args: SpawnArgs, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let cwd = folder::or_this(args.cwd.as_deref())?;
    let params = SlotSpawnParams {
        argv: args.argv,
        engine: args.engine,
        name: args.name,
        cwd: Some(cwd),
        env: variables(&args.env)?,
        columns: args.size.0.into(),
        rows: args.size.1.into(),
    };
    let summary = client.call::<SlotSpawn>(&params)?;
    output.result(&summary, |output, summary| {
        let pid = summary.program.as_ref().map_or(0, |program| program.pid);
        match summary.reading.state {
            PtyState::Exited => output.line(format!("{} ran and has ended.", summary.name)),
            _ => output.line(format!("{} runs (process {pid}).", summary.name)),
        }
        output.line(format!("See it with: mission slot read {}", summary.name));
    });
    Ok(())
}

/// A text that was typed and not taken is a failure to whoever sent it.
fn send(
    params: &SlotSendParams,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let delivery: SlotDelivery = client.call::<SlotSend>(params)?;
    output.result(&delivery, |output, delivery| {
        let happened = match (delivery.landed, params.submit) {
            (TextLanded::Confirmed, true) => "The agent took it",
            (TextLanded::Confirmed, false) => "Typed, without Enter",
            (TextLanded::Unconfirmed, _) => "Typed; whether it was read cannot be told",
            (TextLanded::Stalled, _) => "It was not taken",
        };
        output.line(format!("{happened}: {}.", delivery.evidence));
    });
    Ok(match delivery.landed {
        TextLanded::Confirmed | TextLanded::Unconfirmed => ExitCode::SUCCESS,
        TextLanded::Stalled => ExitCode::from(5),
    })
}

fn answer(
    params: &SlotAnswerParams,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let answered = client.call::<SlotAnswer>(params)?;
    output.result(&answered, |output, answered| {
        output.line(format!(
            "{} — {}",
            printable(&answered.question),
            printable(&answered.option)
        ));
        output.line(match answered.outcome {
            AnswerOutcome::Taken => format!("Taken: {}.", printable(&answered.evidence)),
            AnswerOutcome::StillOpen => format!("Not done yet: {}.", answered.evidence),
        });
    });
    Ok(match answered.outcome {
        AnswerOutcome::Taken => ExitCode::SUCCESS,
        AnswerOutcome::StillOpen => ExitCode::from(5),
    })
}

fn list(all: bool, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let page = client.call::<SlotList>(&SlotListParams { all })?;
    output.result(&page, |output, page| {
        if page.slots.is_empty() {
            output.line("No slot is open. Start one with: mission slot spawn -- PROGRAM");
            return;
        }
        let row = |summary: &SlotSummary| {
            let program = match &summary.program {
                Some(program) => printable(&program.argv.join(" ")),
                None => summary.slot.to_string(),
            };
            vec![
                summary.name.clone(),
                summary.engine.to_string(),
                summary.reading.state.as_str().to_owned(),
                format!("{:.2}", summary.reading.confidence),
                program,
            ]
        };
        let rows: Vec<_> = page.slots.iter().map(row).collect();
        output.table(&["NAME", "ENGINE", "STATE", "CONFIDENCE", "PROGRAM"], &rows);
        for summary in &page.slots {
            if let Some(trouble) = &summary.trouble {
                output.line(format!("{}: {}", summary.name, printable(trouble)));
            }
        }
    });
    Ok(())
}

fn read(slot: String, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let screen = client.call::<SlotRead>(&SlotParams { slot })?;
    output.result(&screen, |output, screen| {
        let used = screen.lines.iter().rposition(|line| !line.is_empty());
        for line in screen.lines.iter().take(used.map_or(0, |last| last + 1)) {
            output.line(printable(line));
        }
        let state = state_line(output, &screen.reading);
        output.line(state);
        if let Some(trouble) = &screen.trouble {
            output.line(format!("trouble: {}", printable(trouble)));
        }
    });
    Ok(())
}

fn screenshot(
    slot: String,
    args: &PictureArgs,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let format = picture::format_of(args, output)?;
    let taken = client.call::<SlotScreenshot>(&SlotScreenshotParams { slot, format })?;
    if args.output.is_none() && output.is_json() {
        output.json_line(&taken);
        return Ok(ExitCode::SUCCESS);
    }
    let drawn = EncodedPicture::of_slot(taken)?;
    picture::deliver(args, &drawn, output)
}

fn state_line(output: &Output, reading: &SlotReading) -> String {
    let style = match reading.state {
        PtyState::Confirming | PtyState::Error => Style::Yellow,
        _ => Style::Dim,
    };
    let text = format!(
        "[{}, {:.2} by {}: {}]",
        reading.state.as_str(),
        reading.confidence,
        reading.authority,
        printable(&reading.reason)
    );
    output.paint.apply(style, &text)
}

fn explain(
    slot: String,
    all: bool,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let result = client.call::<SlotExplain>(&SlotParams { slot })?;
    output.result(&result, |output, result| {
        let text = |value: &Value| printable(value.as_str().unwrap_or_default());
        let shown = &result.explanation;
        let reading = &shown["reading"];
        output.line(format!(
            "{} ({:.2} by {}): {}",
            text(&reading["state"]),
            reading["confidence"].as_f64().unwrap_or_default(),
            text(&reading["authority"]),
            text(&reading["reason"])
        ));
        let rule = |output: &mut Output, label: &str, rule: &Value| {
            output.line(format!(
                "{label} {} ({}, line {} of the manifest {})",
                text(&rule["rule"]),
                text(&rule["state"]),
                rule["line"],
                printable(&result.manifest)
            ));
            for fact in rule["evidence"].as_array().into_iter().flatten() {
                let row = match fact["row"].as_u64() {
                    Some(row) => format!(" row {row}"),
                    None => String::new(),
                };
                output.line(format!(
                    "    {}{row}: {}",
                    text(&fact["source"]),
                    text(&fact["text"])
                ));
            }
        };
        match &shown["decided"] {
            Value::Null => output.line("no rule holds for this screen"),
            decided => rule(output, "decided by", decided),
        }
        for also in shown["also"].as_array().into_iter().flatten() {
            rule(output, "also holds:", also);
        }
        let near = shown["near"].as_array().filter(|near| !near.is_empty());
        if !all && near.is_some() {
            output.notice("`--all` lists the rules that nearly hold, for authors of manifests.");
        }
        for near in near.filter(|_| all).into_iter().flatten() {
            output.line(format!(
                "nearly: {} ({}), but for {}",
                text(&near["rule"]),
                text(&near["state"]),
                text(&near["missing"])
            ));
        }
    });
    Ok(())
}

pub(super) fn variables(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let variable = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => match std::env::var(given) {
            Ok(value) => Ok((given.clone(), value)),
            Err(error) => Err(Failure::new(
                ErrorCode::InvalidParams,
                format!("the variable {given} cannot be passed on: {error}"),
            )),
        },
    };
    given.iter().map(variable).collect()
}

pub(super) fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    let mut read = String::new();
    std::io::stdin().read_to_string(&mut read)?;
    let end = read.trim_end_matches('\n').len();
    read.truncate(end);
    Ok(read)
}
