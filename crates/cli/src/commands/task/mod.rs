//! `mission task …`

mod draft;
mod exchange;
mod graph;
mod propose;
mod show;

use std::path::Path;
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::NoParams;
use missiond_api::operations::autopilot::{AutopilotMode, AutopilotShow};
use missiond_api::operations::board::{
    BoardAdd, BoardAddParams, BoardAlternative, BoardAlternativeParams, BoardCancel,
    BoardCancelParams, BoardDecompose, BoardDecomposeParams, BoardEdit, BoardEditParams,
    BoardGraph, BoardGraphParams, BoardList, BoardListParams, BoardNote, BoardNoteParams,
    BoardReady, BoardReadyParams, BoardRetry, BoardRetryParams, BoardShow, BoardTaskParams, Step,
    TaskAdded,
};
use missiond_core::{BoardTaskStatus, BoundedOr, ErrorCode, Limit, List, TaskDraft, TaskRef, Text};

use super::slot::text_or_stdin;
use crate::args::{AddArgs, EditArgs, ListArgs, TaskCommand};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::counted;

pub(super) fn run(
    command: TaskCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let client = &mut client;
    match command {
        TaskCommand::Import(args) => exchange::import(args, reach, client, output)?,
        TaskCommand::Export { format, output: to } => {
            exchange::export(format, to.as_deref(), client, output)?;
        }
        TaskCommand::Add(args) => add(*args, client, output)?,
        TaskCommand::List(args) => list(args, client, output)?,
        TaskCommand::Show { task } => {
            let details = client.call::<BoardShow>(&BoardTaskParams { task })?;
            output.result(&details, show::details);
        }
        TaskCommand::Edit(args) => edit(*args, client, output)?,
        TaskCommand::Ready { limit } => {
            let report = client.call::<BoardReady>(&BoardReadyParams { limit })?;
            output.result(&report, show::ready);
        }
        TaskCommand::Graph { task, all, dot } => {
            let report = client.call::<BoardGraph>(&BoardGraphParams { task, all })?;
            output.result(&report, |output, report| {
                if dot {
                    graph::dot(output, report);
                } else {
                    graph::draw(output, report);
                }
            });
        }
        TaskCommand::Propose(args) => propose::propose(args, client, output)?,
        TaskCommand::Decompose { task, steps, file } => {
            decompose(task, &steps, file.as_deref(), client, output)?;
        }
        TaskCommand::Alternative {
            task,
            engine,
            model,
            control,
        } => {
            let params = BoardAlternativeParams {
                task,
                engine,
                model,
                control,
            };
            let added = client.call::<BoardAlternative>(&params)?;
            print_added(&added, client, output)?;
        }
        TaskCommand::Note { task, text } => {
            let text = parameter("the note", Text::new(text_or_stdin(text)?))?;
            let author = std::env::var("USER").ok();
            let author = author.and_then(|user| Text::new(user).ok());
            let params = BoardNoteParams { task, text, author };
            let note = client.call::<BoardNote>(&params)?;
            output.result(&note, |output, _| output.line(format!("Noted on {task}.")));
        }
        TaskCommand::Retry { task, fresh } => {
            let task = client.call::<BoardRetry>(&BoardRetryParams { task, fresh })?;
            output.result(&task, |output, task| {
                output.line(format!("{} is open again.", task.number));
            });
        }
        TaskCommand::Cancel { task, reason } => {
            let task = client.call::<BoardCancel>(&BoardCancelParams { task, reason })?;
            output.result(&task, |output, task| {
                output.line(format!("{} is cancelled.", task.number));
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add(args: AddArgs, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let mut task = draft::of(args.draft)?;
    task.title = Some(args.title);
    task.phases = draft::some(args.phases);
    task.args = draft::some(args.args);
    task.repository = draft::repository(task.repository, task.isolation)?;
    let params = BoardAddParams {
        task,
        template: args.template,
        parent: args.parent,
        depends_on: args.after,
        alternatives: parameter("also-engine", List::new(args.also_engines))?,
    };
    let added = client.call::<BoardAdd>(&params)?;
    print_added(&added, client, output)
}

/// Where the task stands, and who else tries it.
fn print_added(added: &TaskAdded, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let autopilot = client.call::<AutopilotShow>(&NoParams {})?.mode;
    for warning in &added.warnings {
        output.notice(&format!("warning: {warning}"));
    }
    output.result(added, |output, added| {
        let number = added.task.number;
        match added.waits.as_slice() {
            [] => output.line(format!("{number} is on the board and ready.")),
            waits => {
                let waits: Vec<_> = waits.iter().map(|wait| wait.sentence.as_str()).collect();
                output.line(format!(
                    "{number} is on the board; it {}.",
                    waits.join("; ")
                ));
            }
        }
        if !added.alternatives.is_empty() {
            let others: Vec<_> = added.alternatives.iter().map(ToString::to_string).collect();
            let (others, try_it) = match others.as_slice() {
                [one] => (one.clone(), "tries the same with another engine"),
                several => (several.join(", "), "try the same with other engines"),
            };
            output.line(format!("{others} {try_it}; you keep one."));
        }
        if autopilot != AutopilotMode::Running {
            output.line("Nobody works on it yet: `mission autopilot resume` has agents do so.");
        }
    });
    Ok(())
}

fn list(args: ListArgs, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let unfinished = [
        BoardTaskStatus::Open,
        BoardTaskStatus::Running,
        BoardTaskStatus::Review,
        BoardTaskStatus::Blocked,
    ];
    let status = match (args.all, args.status.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => unfinished.to_vec(),
        (false, false) => args.status,
    };
    let params = BoardListParams {
        status,
        label: args.label,
        parent: args.parent,
        search: args.search,
        offset: BoundedOr::default(),
        limit: args.limit,
    };
    let page = client.call::<BoardList>(&params)?;
    let failed = if params.status == unfinished {
        let failed = BoardListParams {
            status: vec![BoardTaskStatus::Failed],
            limit: Limit::of::<1>(),
            ..params
        };
        client.call::<BoardList>(&failed)?.total
    } else {
        0
    };
    output.result(&page, |output, page| {
        show::list(output, page);
        if failed > 0 {
            output.line(format!(
                "{failed} failed: mission task list --status failed"
            ));
        }
    });
    Ok(())
}

fn edit(args: EditArgs, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let mut set = draft::of(args.draft)?;
    set.title = args.title;
    set.args = draft::some(args.args);
    let params = BoardEditParams {
        task: args.task,
        set,
        clear: args.clear.into_iter().map(Into::into).collect(),
        depend: args.after,
        undepend: args.not_after,
        phase: args.phase,
    };
    let nothing = BoardEditParams {
        task: args.task,
        set: TaskDraft::default(),
        clear: Vec::new(),
        depend: Vec::new(),
        undepend: Vec::new(),
        phase: None,
    };
    if params == nothing {
        let failure = Failure::new(ErrorCode::InvalidParams, "nothing is to be changed");
        return Err(failure.hint("`mission task edit --help` shows what can be"));
    }
    let task = client.call::<BoardEdit>(&params)?;
    output.result(&task, |output, task| {
        output.line(format!("{} is changed.", task.number));
    });
    Ok(())
}

fn decompose(
    task: TaskRef,
    steps: &[String],
    file: Option<&Path>,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let steps = match file {
        Some(file) => draft::steps_of_file(file)?,
        None => steps
            .iter()
            .map(|step| draft::step(step))
            .collect::<Result<Vec<Step>, _>>()?,
    };
    let divided = client.call::<BoardDecompose>(&BoardDecomposeParams {
        task,
        steps: parameter("steps", List::new(steps))?,
    })?;
    output.result(&divided, |output, divided| {
        output.line(format!(
            "{} waits for {}:",
            divided.parent.number,
            counted(divided.steps.len() as u64, "step", "steps")
        ));
        for step in &divided.steps {
            output.line(format!("  {}", show::line(step)));
        }
    });
    Ok(())
}
