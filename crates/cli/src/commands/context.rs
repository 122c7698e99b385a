//! `mission context …` and `mission skill …`

use std::path::Path;
use std::process::ExitCode;

use missiond_api::operations::context::{
    ContextItem, ContextOutcome, ContextPreview, ContextPreviewParams, ContextShow,
    ContextShowParams, ContextView, SkillList, SkillListParams, SkillListResult, SourceState,
};

use crate::args::{ContextCommand, SkillCommand};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, Progress};
use crate::term::{Style, counted, duration, printable};

pub(super) fn run(
    command: ContextCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let (view, text) = match command {
        ContextCommand::Preview(args) => {
            // A task knows its folder.
            let cwd = match (&args.cwd, &args.task) {
                (None, Some(_)) => None,
                (cwd, _) => Some(folder::real(cwd.as_deref().unwrap_or(Path::new(".")))?),
            };
            let params = ContextPreviewParams {
                prompt: args.prompt,
                task: args.task,
                cwd,
                engine: args.engine,
                tokens: args.tokens,
            };
            let _progress = Progress::start(output, "asking the sources");
            (client.call::<ContextPreview>(&params)?, args.text)
        }
        ContextCommand::Show { execution, text } => {
            let params = ContextShowParams { execution };
            (client.call::<ContextShow>(&params)?, text)
        }
    };
    output.result(&view, |output, view| {
        if text {
            print_text(output, view);
        } else {
            describe(output, view);
        }
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn skill(
    command: SkillCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let SkillCommand::List { cwd } = command;
    let cwd = folder::real(cwd.as_deref().unwrap_or(Path::new(".")))?;
    let mut client = reach.client(output)?;
    let found = client.call::<SkillList>(&SkillListParams { cwd })?;
    output.result(&found, list);
    Ok(ExitCode::SUCCESS)
}

/// The text alone.
fn print_text(output: &mut Output, view: &ContextView) {
    for line in view.text.lines() {
        output.line(printable(line));
    }
    if view.text.is_empty() {
        output.notice("Nothing is told.");
    }
}

fn describe(output: &mut Output, view: &ContextView) {
    let told = format!("{} of {} tokens", view.used, view.budget);
    let told = output.paint.apply(Style::Bold, &told);
    output.line(format!(
        "{told} for {} in {}",
        view.engine,
        printable(&view.cwd)
    ));
    if let Some(why) = &view.withheld {
        output.notice(&format!("Nothing is told: {}.", printable(why)));
    }
    let rows: Vec<Vec<String>> = view.items.iter().map(|item| row(item, view)).collect();
    if rows.is_empty() {
        output.line("There is nothing to tell.");
    } else {
        output.table(&["SOURCE", "WHAT", "FROM", "AGE", "TOKENS", ""], &rows);
    }
    for source in &view.sources {
        let notice = source.notice.as_deref().unwrap_or_default();
        let said = match source.state {
            SourceState::Answered if notice.is_empty() => continue,
            SourceState::Answered => printable(notice),
            SourceState::Off => "off in the configuration".to_owned(),
            SourceState::Late => format!("left out: {}", printable(notice)),
            SourceState::Failed => format!("failed: {}", printable(notice)),
        };
        output.notice(&format!("{}: {said}.", source.source));
    }
    if view.masked > 0 {
        let secrets = counted(view.masked.into(), "secret was", "secrets were");
        output.notice(&format!("{secrets} taken out."));
    }
}

fn row(item: &ContextItem, view: &ContextView) -> Vec<String> {
    let age = item.at.map(|at| duration(view.at.since(at).as_secs()));
    let (tokens, what) = match &item.outcome {
        ContextOutcome::Given { tokens } => (tokens.to_string(), String::new()),
        ContextOutcome::Shortened { tokens, of } => {
            (tokens.to_string(), format!("shortened, of {of}"))
        }
        ContextOutcome::Cut { reason } => ("-".to_owned(), format!("cut: {reason}")),
    };
    vec![
        item.source.clone(),
        short(&item.title),
        short(&item.origin),
        age.unwrap_or_default(),
        tokens,
        printable(&what),
    ]
}

fn short(text: &str) -> String {
    const LONGEST: usize = 48;
    let text = printable(text);
    if text.chars().count() > LONGEST {
        text.chars().take(LONGEST - 1).chain(['…']).collect()
    } else {
        text
    }
}

fn list(output: &mut Output, found: &SkillListResult) {
    for skill in &found.skills {
        let name = output.paint.apply(Style::Bold, &printable(&skill.name));
        output.line(format!("{name}: {}", printable(&skill.description)));
        let readers: Vec<_> = skill.read_by.iter().map(ToString::to_string).collect();
        let read_by = if readers.is_empty() {
            "told to agents whose prompt it fits".to_owned()
        } else {
            format!("read by {} itself", readers.join(", "))
        };
        let path = printable(&skill.path);
        output.line(format!(
            "    {path}, about {} tokens, {read_by}",
            skill.tokens
        ));
    }
    for refused in &found.refused {
        let (path, reason) = (printable(&refused.path), printable(&refused.reason));
        output.notice(&format!("{path} is not used: {reason}."));
    }
    if found.more {
        output.notice("There are more; only the first 200 files are looked at.");
    }
    if found.skills.is_empty() && found.refused.is_empty() {
        output.line("No skills: a folder with a SKILL.md below .agents/skills is one.");
    }
}
