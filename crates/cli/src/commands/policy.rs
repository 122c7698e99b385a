//! `mission policy …`

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use missiond_api::operations::attention::PermissionEffect;
use missiond_api::operations::policy::{
    PolicyCheck, PolicyCheckParams, PolicyChecked, PolicyExplain, PolicyExplainParams,
    PolicyExplanation, PolicyPage, PolicyProblem, PolicyShow, PolicyShowParams, PolicySuggest,
    PolicySuggestParams, PolicySuggestions,
};
use missiond_api::{Client, Home};
use missiond_core::{ErrorCode, Text};
use missiond_guard::policy::{MAX_FILE_BYTES, NEW_POLICY};
use missiond_os::files::{create_private, create_private_dir};
use serde::Serialize;

use crate::args::{PolicyCommand, PolicyExplainArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, printable};

pub(super) fn run(
    command: PolicyCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    match command {
        PolicyCommand::Init { print } => return init(print, output),
        PolicyCommand::Show { layer } => {
            let params = PolicyShowParams {
                folder: here(),
                layer: layer.map(Into::into),
            };
            let page = reach.client(output)?.call::<PolicyShow>(&params)?;
            output.result(&page, show);
        }
        PolicyCommand::Check { file, repository } => {
            let mut client = reach.client(output)?;
            return match file {
                Some(file) => check_file(&file, repository, &mut client, output),
                None => check_all(&mut client, output),
            };
        }
        PolicyCommand::Explain(args) => {
            let params = explain_params(args);
            let explained = reach.client(output)?.call::<PolicyExplain>(&params)?;
            output.result(&explained, explain);
        }
        PolicyCommand::Suggest { days } => {
            let params = PolicySuggestParams {
                days,
                folder: here(),
            };
            let proposed = reach.client(output)?.call::<PolicySuggest>(&params)?;
            output.result(&proposed, suggest);
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Written {
    file: String,
}

/// Writes the first policy of a person; one that is there stays as it is.
fn init(print: bool, output: &mut Output) -> Result<ExitCode, Failure> {
    if print {
        output.line(NEW_POLICY.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let home = Home::from_env()?;
    let file = home.policy_file();
    create_private_dir(home.config_dir())?;
    let mut created = match create_private(&file) {
        Ok(created) => created,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let there = format!("{} is there already and stays as it is", file.display());
            return Err(Failure::new(ErrorCode::Conflict, there)
                .hint("`mission policy init --print` shows what would be written"));
        }
        Err(error) => return Err(error.into()),
    };
    std::io::Write::write_all(&mut created, NEW_POLICY.as_bytes())?;
    let written = Written {
        file: file.display().to_string(),
    };
    output.result(&written, |output, written| {
        output.line(format!("{} is in force.", printable(&written.file)));
        output.line("Reading, building, testing and everyday git need no question now.");
        output.line("mission policy show      every rule, with its line");
    });
    Ok(ExitCode::SUCCESS)
}

fn here() -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    Some(folder.display().to_string())
}

fn explain_params(args: PolicyExplainArgs) -> PolicyExplainParams {
    PolicyExplainParams {
        tool: args.tool,
        argument: args.command,
        path: args.path,
        server: args.server,
        engine: args.engine,
        folder: here(),
        url: args.url,
        method: args.method,
    }
}

fn check_file(
    file: &Path,
    repository: bool,
    client: &mut Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut text = String::new();
    let most = MAX_FILE_BYTES as u64 + 1;
    if file == Path::new("-") {
        std::io::stdin().take(most).read_to_string(&mut text)?;
    } else {
        let opened = std::fs::File::open(file).map_err(|error| {
            let said = format!("cannot read {}: {error}", file.display());
            Failure::new(ErrorCode::InvalidParams, said)
        })?;
        opened.take(most).read_to_string(&mut text)?;
    }
    let text = Text::new(text).map_err(|_| {
        let said = format!(
            "{} is larger than {} KiB",
            file.display(),
            MAX_FILE_BYTES / 1024
        );
        Failure::new(ErrorCode::InvalidParams, said)
    })?;
    let params = PolicyCheckParams { text, repository };
    let checked = client.call::<PolicyCheck>(&params)?;
    let usable = checked.usable;
    output.result(&checked, |output, checked: &PolicyChecked| {
        problems(output, &checked.problems, &checked.warnings);
        if checked.usable {
            output.line(format!(
                "It can be used: {}.",
                counted(checked.rules.into(), "rule", "rules")
            ));
        }
    });
    Ok(code(usable))
}

/// The files that hold here, as they are now.
fn check_all(client: &mut Client, output: &mut Output) -> Result<ExitCode, Failure> {
    let page = client.call::<PolicyShow>(&PolicyShowParams {
        folder: here(),
        layer: None,
    })?;
    let usable = page.problems.is_empty();
    output.result(&page, |output, page| {
        files(output, page);
        problems(output, &page.problems, &page.warnings);
    });
    Ok(code(usable))
}

const fn code(usable: bool) -> ExitCode {
    if usable {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn files(output: &mut Output, page: &PolicyPage) {
    for file in &page.files {
        let state = if file.in_force {
            "in force"
        } else {
            "not in force"
        };
        output.line(format!("{}: {state}", printable(&file.file)));
    }
    if !page.files.iter().any(|file| file.in_force) {
        output.line("There is no policy yet; `mission policy init` writes one to begin with.");
    }
}

fn problems(output: &mut Output, wrong: &[PolicyProblem], odd: &[PolicyProblem]) {
    let line = |problem: &PolicyProblem| {
        let place = problem
            .line
            .map_or_else(String::new, |line| format!(", line {line}"));
        printable(&format!("{}{place}: {}", problem.file, problem.problem))
    };
    for problem in wrong {
        let word = output.paint.apply(Style::Red, "wrong");
        output.line(format!("{word}  {}", line(problem)));
    }
    for problem in odd {
        let word = output.paint.apply(Style::Yellow, "odd");
        output.line(format!("{word}  {}", line(problem)));
    }
}

fn show(output: &mut Output, page: &PolicyPage) {
    files(output, page);
    problems(output, &page.problems, &page.warnings);
    let rows: Vec<_> = page
        .rules
        .iter()
        .map(|rule| {
            vec![
                printable(&rule.name),
                rule.layer.as_str().to_owned(),
                printable(&rule.sentence),
            ]
        })
        .collect();
    output.table(&["RULE", "LAYER", "SAYS"], &rows);
}

fn explain(output: &mut Output, explained: &PolicyExplanation) {
    let (word, style) = word(explained.effect);
    let word = output.paint.apply(style, word);
    let layer = explained
        .layer
        .map_or_else(String::new, |layer| format!(" ({})", layer.as_str()));
    output.line(format!("{word}{layer}: {}", printable(&explained.reason)));
    if let Some(change) = &explained.change {
        output.line(format!("to change it: {}", printable(change)));
    }
    if explained.considered.len() < 2 {
        return;
    }
    for one in &explained.considered {
        let text = format!(
            "  {} {}: {}, {}",
            one.layer.as_str(),
            one.subject,
            self::word(one.effect).0,
            one.reason
        );
        output.line(printable(&text));
    }
}

fn suggest(output: &mut Output, proposed: &PolicySuggestions) {
    if proposed.suggestions.is_empty() {
        output.line(format!(
            "Nothing to propose from {} of the last {}.",
            counted(proposed.decisions.into(), "decision", "decisions"),
            counted(proposed.days.into(), "day", "days"),
        ));
        return;
    }
    for one in &proposed.suggestions {
        for line in one.toml.lines() {
            output.line(printable(line));
        }
        output.line("");
    }
}

const fn word(effect: PermissionEffect) -> (&'static str, Style) {
    match effect {
        PermissionEffect::Allow => ("allow", Style::Green),
        PermissionEffect::Ask => ("ask", Style::Yellow),
        PermissionEffect::Deny => ("deny", Style::Red),
    }
}
