//! What a rule that allows says by name, and whether two readings of a line agree.

use super::command;
use super::rule::Rule;
use crate::programs::{Kind, profile};
use crate::shell::parts::plain_parts;
use crate::shell::value::Value;
use crate::shell::{Run, language, parse};

/// Whether an option takes code of a language that is understood.
pub(super) fn is_code(name: &str, option: &str) -> bool {
    let kind = profile(name).and_then(|profile| profile.options.get(option));
    language::check_of(name).is_some() && kind == Some(&Kind::Code)
}

/// A command line without the options that stand before its subcommand and do nothing
/// or only say where: `git --no-pager log` is `git log`.
pub(super) fn without_global_options(run: &Run, name: &str) -> Option<String> {
    let profile = profile(name).filter(|profile| !profile.subcommands.is_empty())?;
    let mut rest = &run.argv[1..];
    while let Some(option) = rest.first().and_then(Value::known) {
        match profile.options.get(&option) {
            Some(Kind::Flag) => rest = &rest[1..],
            Some(Kind::Folder) => rest = rest.get(2..)?,
            _ => break,
        }
    }
    let shorter = rest.len() + 1 < run.argv.len();
    let words = rest.iter().map(ToString::to_string);
    shorter.then(|| {
        std::iter::once(name.to_owned())
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    })
}

pub(super) fn name_of(run: &Run) -> String {
    let name = run.argv[0].known().unwrap_or_default();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

pub(super) fn spelled(run: &Run) -> String {
    let words: Vec<String> = run.argv.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// A pattern that fits one text only: a person has seen all of it.
pub(crate) fn is_exact(rule: &Rule) -> bool {
    rule.argument.as_ref().is_some_and(|pattern| {
        let text = pattern.as_str();
        match text.strip_prefix("re:") {
            Some(source) => {
                let mut chars = source.chars();
                let mut plain = true;
                while let Some(c) = chars.next() {
                    if c == '\\' {
                        plain &= chars.next().is_some_and(|c| !c.is_ascii_alphanumeric());
                    } else {
                        plain &= !".*+?[]{}()^$".contains(c);
                    }
                }
                plain
            }
            None => !text.contains(['*', '?']),
        }
    })
}

/// Whether a rule's pattern has a word literally. Where no word is meant, whether it
/// says more than the program.
pub(super) fn names(rule: &Rule, word: &str) -> bool {
    let Some(pattern) = &rule.argument else {
        return false;
    };
    let text = pattern.as_str();
    if text.starts_with("re:") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if word.is_empty() {
        let said = words
            .iter()
            .filter(|known| !known.chars().all(|c| c == '*'));
        return said.count() > 1;
    }
    words.iter().skip(1).any(|known| {
        let literal = !known.ends_with('*') || !known.starts_with('-');
        literal && known.trim_end_matches('*') == word
    })
}

pub(super) fn names_settings(rule: &Rule, run: &Run) -> bool {
    let pattern = rule.argument.as_ref().map(|pattern| pattern.as_str());
    is_exact(rule)
        && run.settings.iter().all(|setting| {
            let name = setting.split('=').next().unwrap_or_default();
            pattern.is_some_and(|pattern| pattern.contains(name))
        })
}

/// Both ways to cut a line see the same parts, where both can cut it.
pub(super) fn agree(reading: &str) -> Result<(), String> {
    let (Ok(cut), Ok(tree)) = (command::parts(reading), parse(reading)) else {
        return Ok(());
    };
    let Some(mut tree) = plain_parts(&tree) else {
        return Ok(());
    };
    let mut cut: Vec<String> = cut
        .iter()
        .filter_map(|part| {
            let text = part.spellings().last().unwrap_or_default();
            let text = if text.starts_with('#') {
                ""
            } else {
                text.split(" #").next().unwrap_or(text)
            };
            (!text.is_empty()).then(|| text.to_owned())
        })
        .collect();
    let squeeze = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    tree.retain(|part| !part.is_empty());
    let tree: Vec<String> = tree.iter().map(squeeze).collect();
    cut = cut.iter().map(squeeze).collect();
    let without_reserved = |part: &String| {
        let mut text = part.as_str();
        while let Some(rest) = text
            .strip_prefix("! ")
            .or_else(|| text.strip_prefix("time "))
        {
            text = rest;
        }
        text.to_owned()
    };
    let cut: Vec<String> = cut.iter().map(without_reserved).collect();
    if cut == tree {
        Ok(())
    } else {
        Err("two readings of the command differ".to_owned())
    }
}
