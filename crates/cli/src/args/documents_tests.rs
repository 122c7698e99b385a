//! No command that a document shows is one that the command line does not know:
//! commands in blocks are read in full, those in backticks as far as they go.
//! `tests/documents.rs` runs those that begin with `$ `.

use clap::error::ErrorKind;
use missiond_core::DocKind;

/// What ends a command of a line: another program has the rest.
const ENDS: [&str; 5] = ["|", ">", "<", "&&", "||"];

/// Every document that people write, with its name.
fn documents() -> Vec<(&'static str, &'static str)> {
    let pages = missiond_docs::pages().iter();
    let written = pages.filter(|page| !matches!(page.kind, DocKind::Operation | DocKind::Key));
    let mut documents: Vec<_> = written
        .map(|page| (page.path.as_str(), page.markdown.as_str()))
        .collect();
    documents.push(("README", include_str!("../../../../README.md")));
    documents
}

/// The words of a command, without a comment and what is for another program.
fn words(command: &str) -> Vec<String> {
    let words = shlex::split(command).unwrap_or_else(|| panic!("`{command}` is not closed"));
    let own = words
        .into_iter()
        .take_while(|word| !ENDS.contains(&word.as_str()));
    own.collect()
}

fn refused(words: &[String]) -> Option<clap::Error> {
    let error = super::command().try_get_matches_from(words).err()?;
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    (!asked).then_some(error)
}

/// The lines of the blocks of a document, joined where one goes on in the next, and
/// what is between them.
fn blocks(text: &str) -> (Vec<String>, String) {
    let (mut lines, mut outside) = (Vec::new(), String::new());
    for (number, piece) in text.split("```").enumerate() {
        if number % 2 == 0 {
            outside.push_str(piece);
        } else {
            let joined = piece.replace("\\\n", " ");
            lines.extend(joined.lines().map(|line| line.trim().to_owned()));
        }
    }
    (lines, outside)
}

#[test]
fn every_command_in_a_block_is_one_of_the_command_line() {
    let mut read = 0;
    for (document, text) in documents() {
        for line in blocks(text).0 {
            // What it is for stands two spaces behind it, in the examples of the help.
            let command = line.strip_prefix("$ ").unwrap_or(&line);
            let command = command.split("  ").next().unwrap_or_default();
            if !command.starts_with("mission ") {
                continue;
            }
            let wrong = refused(&words(command));
            assert!(wrong.is_none(), "{document}: `{line}`: {wrong:?}");
            read += 1;
        }
    }
    assert!(read > 100, "{read}");
}

/// In a sentence a command need not be whole, and a word in capitals stands for one.
#[test]
fn every_command_in_backticks_has_subcommands_and_options_that_exist() {
    let mut read = 0;
    for (document, text) in documents() {
        // What was is no promise.
        if document == "changelog" {
            continue;
        }
        let outside = blocks(text).1;
        for span in outside.split('`').skip(1).step_by(2) {
            let span = span.split_whitespace().collect::<Vec<_>>().join(" ");
            let command = span.trim_end_matches('…');
            if !command.starts_with("mission ") {
                continue;
            }
            let words = words(command);
            let words: Vec<_> = words.into_iter().filter(|word| word != "…").collect();
            if let Some(error) = refused(&words) {
                let unknown = [ErrorKind::InvalidSubcommand, ErrorKind::UnknownArgument];
                assert!(
                    !unknown.contains(&error.kind()),
                    "{document}: `{span}`: {error}"
                );
            }
            read += 1;
        }
    }
    assert!(read > 150, "{read}");
}
