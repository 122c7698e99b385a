//! What a shell and `man` want to know about the command line.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::json;

use super::upgrade::built_in_key;
use crate::args::Cli;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn completions(
    shell: clap_complete::Shell,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mission", &mut script);
    Ok(print("script", &script, output))
}

pub(super) fn man(output: &mut Output) -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    let command = crate::args::command();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    write_subcommands(&command, "mission", &mut page)?;
    Ok(print("page", &page, output))
}

/// One page for everything: each command with its own text.
fn write_subcommands(command: &clap::Command, path: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        let about = sub
            .get_long_about()
            .or(sub.get_about())
            .map(ToString::to_string);
        writeln!(page, ".SH \"{}\"", path.to_uppercase())?;
        writeln!(page, "{}", about.unwrap_or_default())?;
        let man = clap_mangen::Man::new(sub.clone());
        man.render_options_section(page).ok();
        write_subcommands(sub, &path, page)?;
    }
    Ok(())
}

/// The commit of a release, which `cargo xtask dist` knows; a build by hand has none, since
/// nobody could say what was changed in its folder.
const COMMIT: Option<&str> = option_env!("MISSION_COMMIT");

pub(super) fn version(output: &mut Output) -> Result<ExitCode, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let commit = COMMIT.filter(|commit| !commit.is_empty());
    output.result(
        &json!({ "version": version, "commit": commit, "release_key": built_in_key() }),
        |output, _| {
            output.line(version_line(version, commit));
        },
    );
    Ok(ExitCode::SUCCESS)
}

fn version_line(version: &str, commit: Option<&str>) -> String {
    match commit {
        Some(commit) => format!("mission {version} (commit {commit})"),
        None => format!("mission {version}"),
    }
}

fn print(name: &str, bytes: &[u8], output: &mut Output) -> ExitCode {
    let text = String::from_utf8_lossy(bytes);
    output.result(&json!({ name: text }), |output, _| {
        output.line(text.trim_end());
    });
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_its_commit_where_that_is_known() {
        assert_eq!(version_line("1.2.3", None), "mission 1.2.3");
        let known = version_line("1.2.3", Some("5e1f0c2"));
        assert_eq!(known, "mission 1.2.3 (commit 5e1f0c2)");
    }
}
