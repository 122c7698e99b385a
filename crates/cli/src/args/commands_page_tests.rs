//! `docs/reference/commands.md` is printed from the declaration of the command line: every
//! command with what it does, its usage, its arguments and its examples.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command};

use super::groups::GROUPS;

/// Set to write the page instead of comparing it.
const WRITE: &str = "MISSION_WRITE_DOCUMENTS";
const PAGE: &str = "docs/reference/commands.md";

/// A sentence of the help as Markdown: nothing of it is markup but what is in backticks.
fn text(said: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for letter in said.chars() {
        if letter == '`' {
            is_code = !is_code;
        }
        if !is_code && "*<[|".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// With the full stop that the help of a terminal leaves out.
fn sentence(said: &str) -> String {
    let is_whole = said.is_empty() || said.ends_with(['.', ':', '?', '!']);
    format!("{said}{}", if is_whole { "" } else { "." })
}

/// The same in the cell of a table, where a bar ends it in code too.
fn cell(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = text(&line);
    line.replace("\\|", "|").replace('|', "\\|")
}

fn page() -> String {
    let mut root = super::command();
    root.build();
    let mut page = String::from(
        "# Commands\n\n\
         Printed from the declaration of the command line, as `mission help` is; a test compares\n\
         them. With `--help` a command prints the same of itself; `mission man` prints the manual\n\
         page, `mission completions` completions for your shell.\n\n\
         ## Everywhere\n\n",
    );
    let global: Vec<_> = root.get_arguments().filter(|arg| is_shown(arg)).collect();
    table(&global, &mut page);
    let exit = root.get_after_help().map(ToString::to_string);
    let exit = exit.unwrap_or_default();
    let (_, after) = exit.split_once("Environment:").unwrap();
    writeln!(page, "\n```text\nEnvironment:{}\n```", after.trim_end()).unwrap();
    for (heading, names) in GROUPS {
        writeln!(page, "\n## {heading}").unwrap();
        for name in *names {
            let command = root.find_subcommand(name).unwrap();
            describe(command, &mut page);
        }
    }
    page
}

/// A command, then each of its own.
fn describe(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_default();
    writeln!(page, "\n### {name}\n").unwrap();
    let about = command.get_long_about().or(command.get_about());
    for paragraph in about
        .map(ToString::to_string)
        .unwrap_or_default()
        .split("\n\n")
    {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(page, "{}\n", text(&sentence(&paragraph))).unwrap();
    }
    let usage = command.clone().render_usage().to_string();
    writeln!(page, "```text\n{}\n```", usage.trim()).unwrap();
    let own: Vec<_> = command
        .get_arguments()
        .filter(|arg| is_shown(arg) && !arg.is_global_set())
        .collect();
    if !own.is_empty() {
        page.push('\n');
        table(&own, page);
    }
    if let Some(after) = command.get_after_help() {
        writeln!(page, "\n```text\n{}\n```", after.to_string().trim()).unwrap();
    }
    for below in command.get_subcommands() {
        if !below.is_hide_set() && below.get_name() != "help" {
            describe(below, page);
        }
    }
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn table(args: &[&Arg], page: &mut String) {
    page.push_str("| argument | meaning |\n|---|---|\n");
    for arg in args {
        let help = arg.get_long_help().or(arg.get_help());
        let mut said = sentence(&help.map(ToString::to_string).unwrap_or_default());
        let values: Vec<_> = arg
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() && arg.get_action().takes_values() {
            write!(said, " One of {}.", values.join(", ")).unwrap();
        }
        let default: Vec<_> = arg
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        if !default.is_empty() && arg.get_action().takes_values() {
            write!(said, " `{}` when left out.", default.join(" ")).unwrap();
        }
        writeln!(
            page,
            "| `{}` | {} |",
            spelled(arg).replace('|', "\\|"),
            cell(&said)
        )
        .unwrap();
    }
}

/// `-w, --watch`, `--limit <LIMIT>`, `<TASK>`
fn spelled(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<_> = names.iter().map(|name| format!("<{name}>")).collect();
    let value = if arg.get_action().takes_values() {
        names.join(" ")
    } else {
        String::new()
    };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let flags: Vec<_> = short.into_iter().chain(long).collect();
    match (flags.is_empty(), value.is_empty()) {
        (true, _) => value,
        (false, true) => flags.join(", "),
        (false, false) => format!("{} {value}", flags.join(", ")),
    }
}

#[test]
fn the_page_of_commands_is_printed_from_their_declaration() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PAGE);
    let expected = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == expected,
        "{PAGE} is not what crates/cli declares; write it with {WRITE}=1 cargo nextest run \
         --workspace -E 'test(/the_page_of_commands/)'"
    );
}

#[test]
fn every_command_of_a_person_is_on_the_page() {
    let page = page();
    let mut root = super::command();
    root.build();
    let mut commands: Vec<Command> = root.get_subcommands().cloned().collect();
    let mut looked_at = 0;
    while let Some(command) = commands.pop() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let name = command.get_bin_name().unwrap_or_default();
        assert!(page.contains(&format!("\n### {name}\n")), "{name}");
        commands.extend(command.get_subcommands().cloned());
        looked_at += 1;
    }
    assert!(looked_at > 100, "{looked_at}");
}
