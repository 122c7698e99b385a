//! `mission init`: the agents on this machine learn of our MCP server, and forget
//! it again.

use std::collections::BTreeMap;
use std::process::ExitCode;

use missiond_api::Home;
use missiond_core::ErrorCode;
use missiond_toolhub::{
    ChangedSince, ImportClient, Plan, RegisterError, Registration, UndoOutcome, apply_plan,
    is_used, plan, undo,
};
use serde_json::json;

use super::mcp::list::{of_arg, places};
use crate::args::InitArgs;
use crate::failure::Failure;
use crate::output::Output;

/// Lines around a change.
const AROUND: usize = 3;

pub(super) fn run(args: &InitArgs, home: &Home, output: &mut Output) -> Result<ExitCode, Failure> {
    let chosen: Vec<_> = args.clients.iter().map(|&client| of_arg(client)).collect();
    if args.undo {
        return undo_setup(args, &chosen, home, output);
    }
    let places = places(None)?;
    let clients: Vec<_> = if chosen.is_empty() {
        let used = ImportClient::ALL
            .into_iter()
            .filter(|&client| is_used(client, &places));
        used.collect()
    } else {
        chosen
    };
    let kept = home.init_dir();
    let mut values = Vec::new();
    let mut code = ExitCode::SUCCESS;
    for client in clients {
        let registration = registration(client)?;
        let planned = plan(client, &places, &registration, &kept).and_then(|plan| {
            if !args.dry_run {
                apply_plan(&plan, &kept)?;
            }
            Ok(plan)
        });
        let (outcome, file, diff) = match planned {
            Ok(plan) if plan.changes_nothing() => ("is there already", plan.file, String::new()),
            Ok(plan) if args.dry_run => {
                let diff = diff(&plan);
                ("would be added", plan.file, diff)
            }
            Ok(plan) => ("added", plan.file, String::new()),
            // One client's odd file is no reason to leave out the others.
            Err(error) => {
                code = ExitCode::FAILURE;
                let value = json!({ "client": client.name(), "error": error.to_string() });
                output.notice(&format!("{}: {error}", client.name()));
                values.push(value);
                continue;
            }
        };
        values.push(json!({
            "client": client.name(), "file": file, "outcome": outcome, "diff": diff,
        }));
    }
    output.result(&values, |output, values| {
        for value in values {
            let text = |key: &str| value[key].as_str().unwrap_or_default();
            if value.get("error").is_some() {
                continue;
            }
            output.line(format!(
                "{}: mission {} ({})",
                text("client"),
                text("outcome"),
                text("file")
            ));
            for line in text("diff").lines() {
                output.line(line);
            }
        }
        if values.is_empty() {
            output.line("no agent was found; name one: `mission init claude`");
        }
    });
    Ok(code)
}

fn undo_setup(
    args: &InitArgs,
    chosen: &[ImportClient],
    home: &Home,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if args.dry_run {
        let message = "--undo restores what was kept; there is nothing else it would do";
        return Err(Failure::new(ErrorCode::InvalidParams, message));
    }
    let clients = match chosen {
        [] => &ImportClient::ALL[..],
        chosen => chosen,
    };
    let changed = if args.force {
        ChangedSince::TakeOut
    } else {
        ChangedSince::Leave
    };
    let undone = undo(&home.init_dir(), clients, changed).map_err(|error| refused(&error))?;
    let mut code = ExitCode::SUCCESS;
    let values: Vec<_> = undone
        .iter()
        .map(|undone| {
            let outcome = match undone.outcome {
                UndoOutcome::Restored => "restored",
                UndoOutcome::Removed => "removed, there was none before",
                UndoOutcome::NothingToDo => "is as it was",
                UndoOutcome::TakenOut => "changed since: mission was taken out of it",
                UndoOutcome::ChangedSince => {
                    code = ExitCode::FAILURE;
                    "changed since and left alone: `mission init --undo --force` takes only \
                     mission out of it"
                }
            };
            json!({ "client": undone.client.name(), "file": undone.file, "outcome": outcome })
        })
        .collect();
    output.result(&values, |output, values| {
        for value in values {
            let text = |key: &str| value[key].as_str().unwrap_or_default();
            output.line(format!("{}: {}", text("file"), text("outcome")));
        }
        if values.is_empty() {
            output.line("nothing to undo");
        }
    });
    Ok(code)
}

/// This program as it is, and the home it works in when that is not the usual one.
fn registration(client: ImportClient) -> Result<Registration, Failure> {
    let mut env = BTreeMap::new();
    if let Ok(home) = std::env::var("MISSION_HOME")
        && !home.is_empty()
    {
        env.insert("MISSION_HOME".to_owned(), home);
    }
    let args = ["mcp", "serve", "--client", client.name()];
    Ok(Registration {
        command: missiond_os::programs::own_program()?,
        args: args.map(str::to_owned).to_vec(),
        env,
    })
}

fn refused(error: &RegisterError) -> Failure {
    Failure::new(ErrorCode::InvalidConfig, error.to_string())
}

/// The lines that differ, with a few around them.
fn diff(plan: &Plan) -> String {
    let before: Vec<_> = plan.before.as_deref().unwrap_or("").lines().collect();
    let after: Vec<_> = plan.after.lines().collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let head = same(&mut before.iter().zip(&after));
    let (rest, rest_after) = (&before[head..], &after[head..]);
    let tail = same(&mut rest.iter().rev().zip(rest_after.iter().rev()));
    let begin = head.saturating_sub(AROUND);
    let end = before.len() - tail;
    let mut lines = vec![
        format!("--- {}", plan.file.display()),
        format!("+++ {}", plan.file.display()),
    ];
    let marked = |mark: &str, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark}{line}")).collect()
    };
    lines.extend(marked(" ", &before[begin..head]));
    lines.extend(marked("-", &before[head..end]));
    lines.extend(marked("+", &after[head..after.len() - tail]));
    lines.extend(marked(" ", &before[end..before.len().min(end + AROUND)]));
    lines.join("\n")
}
