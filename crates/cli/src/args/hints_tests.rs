//! No message names a command or a key that does not exist: what stands in the strings of
//! every crate as `mission …` is held against the command line, and what is named like a
//! key against the keys.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ErrorKind};
use missiond_config::KEYS;

/// The sources of the program without its tests.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                found.push((path, own.to_owned()));
            }
        }
    }
    found
}

/// What the strings of a source say, one after the other; comments are left out, and a
/// string that goes on in the next line is one.
fn strings(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = source.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        match letter {
            '/' if letters.peek() == Some(&'/') => {
                for letter in letters.by_ref() {
                    if letter == '\n' {
                        break;
                    }
                }
            }
            // The letter of a quotation mark is no string.
            '"' if last == '\'' && letters.peek() == Some(&'\'') => {}
            '"' if last == '#' || last == 'r' => {
                // A raw string ends with as many marks as it began with; one is enough here.
                let mut text = String::new();
                let end = if last == '#' { "\"#" } else { "\"" };
                for letter in letters.by_ref() {
                    text.push(letter);
                    if text.ends_with(end) {
                        break;
                    }
                }
                found.push(text.trim_end_matches(end).to_owned());
            }
            '"' => found.push(string(&mut letters)),
            _ => {}
        }
        last = letter;
    }
    found
}

fn string(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => break,
            ('\\', Some('\n')) => {
                while letters.peek().is_some_and(|letter| letter.is_whitespace()) {
                    letters.next();
                }
            }
            ('\\', Some('n')) => {
                letters.next();
                text.push('\n');
            }
            ('\\', Some(_)) => text.extend(letters.next()),
            (letter, _) => text.push(letter),
        }
    }
    text
}

/// Every command that a text shows in backticks or that it is as a whole.
fn commands(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    // What it is for stands two spaces behind it; a sentence ends with a full stop, and
    // what says who speaks with a colon.
    let whole = text
        .lines()
        .filter(|line| !line.contains('`') && !line.ends_with('.'));
    let whole = whole.filter_map(|line| line.trim().split("  ").next());
    let whole = whole.filter(|line| !line.contains(": "));
    let all = quoted.chain(whole);
    all.filter(|text| text.starts_with("mission ")).collect()
}

/// Why the command line does not take it; what a placeholder stands for is not known.
fn refused(command: &str) -> Option<String> {
    let mut words = Vec::new();
    // A string that is cut off has no end to its quotes.
    for word in shlex::split(command)? {
        if ["|", ">", "<", "&&", "·", "(or"].contains(&word.as_str()) {
            break;
        }
        if word != "…" {
            words.push(word);
        }
    }
    let error = super::command().try_get_matches_from(&words).err()?;
    let named = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let unknown = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument => {
            named.into_iter().find_map(|kind| error.get(kind))?
        }
        _ => return None,
    };
    // What is filled in when it is said is right or wrong there.
    (!unknown.to_string().contains('{')).then(|| format!("`{command}`: {error}"))
}

#[test]
fn every_command_that_a_message_names_exists() {
    let mut read = 0;
    let mut wrong = Vec::new();
    for (file, source) in sources() {
        for text in strings(&source) {
            for command in commands(&text) {
                read += 1;
                let error = refused(command);
                wrong.extend(error.map(|error| format!("{}: {error}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 150, "{read}");
}

#[test]
fn every_key_that_a_message_names_exists() {
    let is_section = |name: &str| {
        let of = |key: &str| key.split_once('.').is_some_and(|(first, _)| first == name);
        KEYS.iter().any(|spec| of(spec.key))
    };
    let mut read = 0;
    let mut wrong = Vec::new();
    for (file, source) in sources() {
        for text in strings(&source) {
            for name in text.split('`').skip(1).step_by(2) {
                let plain = |letter: char| letter.is_ascii_lowercase() || "._".contains(letter);
                let Some((section, _)) = name.split_once('.') else {
                    continue;
                };
                if !name.chars().all(plain) || !is_section(section) {
                    continue;
                }
                read += 1;
                let begins = |key: &str| key == name || key.starts_with(&format!("{name}."));
                if !KEYS.iter().any(|spec| begins(spec.key)) {
                    wrong.push(format!("{}: `{name}`", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 15, "{read}");
}

#[test]
fn strings_are_read_as_the_compiler_reads_them() {
    let source = "// \"no\"\nlet a = \"one \\\n   `mission \\\"x\\\"`\"; let b = '\"'; let c = r#\"r\"aw\"#; \"two\"";
    let expected = ["one `mission \"x\"`", "r\"aw", "two"];
    assert_eq!(strings(source), expected);
    assert_eq!(commands(expected[0]), ["mission \"x\""]);
    assert!(refused("mission task ad").is_some());
    assert!(refused("mission task add --tittle x").is_some());
    assert_eq!(refused("mission task show {}"), None);
}
