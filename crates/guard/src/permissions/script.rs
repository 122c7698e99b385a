//! What a line for a shell would do, as rules look at it: generously for those that
//! deny or ask. Every program it runs, in every spelling, and every path it names.

use std::cell::OnceCell;

use super::command;
use super::compared::{Compared, is_in_doubt};
use super::hidden::{bare, hidden_strings};
use super::path::{PathBase, PathPattern};
use super::pattern::Pattern;
use super::place::{Meets, Place};
use super::request::{Argument, Request, Shown};
use crate::programs::{Args, Fact, profile};
use crate::shell::value::{Atom, Value};
use crate::shell::{Run, Trace, Unclear, parse, trace::trace};

/// A line and what can be told of it, in each way to read it.
pub(super) struct Script {
    text: String,
    readings: Vec<(String, Result<Trace, Unclear>)>,
    /// Whether the last of several readings, rows put together within a word, can be so.
    cut_within_word: bool,
    base: PathBase,
    /// What rules that deny or ask compare, made for the first of them.
    compared: OnceCell<Compared>,
}

/// No screen is so narrow that a shorter row was cut within a word.
const NARROWEST: usize = 20;

impl Script {
    /// The readings that must all be allowed.
    pub(super) fn plausible(&self) -> &[(String, Result<Trace, Unclear>)] {
        let all = self.readings.len();
        let count = if all > 2 && !self.cut_within_word {
            all - 1
        } else {
            all
        };
        &self.readings[..count]
    }

    /// Of a request that is about a command.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let Some(Argument::Command(text)) = &request.argument else {
            return None;
        };
        let readings = match request.shown {
            Shown::Exact => vec![text.clone()],
            Shown::Whole | Shown::InPart => command::readings(text),
        };
        let mut rows: Vec<&str> = text.lines().map(str::trim).collect();
        rows.pop();
        let cut_within_word = rows.iter().all(|row| row.chars().count() >= NARROWEST);
        let traced = readings.into_iter().map(|reading| {
            let traced = parse(&reading).map(|script| trace(&script, &request.base));
            (reading, traced)
        });
        Some(Self {
            text: text.clone(),
            readings: traced.collect(),
            cut_within_word,
            base: request.base.clone(),
            compared: OnceCell::new(),
        })
    }

    /// Whether a pattern on commands falls on something it runs.
    pub(super) fn concerns(&self, pattern: &Pattern) -> Meets {
        self.compared
            .get_or_init(|| Compared::of(&self.text, &self.readings, &self.base))
            .meets(pattern)
    }

    /// Whether it names a path under a pattern, or something above it to go into.
    pub(super) fn touches(&self, pattern: &PathPattern, applies: &dyn Fn(bool) -> bool) -> Meets {
        let mut most = Meets::No;
        let base = &self.base;
        for (_, traced) in &self.readings {
            if is_in_doubt(traced) {
                let words = command::words(&self.text);
                let named = words
                    .iter()
                    .any(|word| pattern.matches(&base.absolute(word), base));
                if named && applies(false) {
                    return Meets::Yes;
                }
            }
            let Ok(traced) = traced else { continue };
            for access in &traced.accesses {
                if applies(access.writes) {
                    let place = Place::of(&access.path, access.folder.as_deref(), base);
                    most = most.max(place.meets(pattern, base, false));
                }
            }
            for run in &traced.runs {
                if applies(false) || applies(true) {
                    most = most.max(run_touches(run, pattern, base));
                }
            }
            for text in hidden_strings(traced) {
                let place = Place::of(&Value::text(&text), Some(&base.folder), base);
                if place.meets(pattern, base, false) == Meets::Yes && applies(false) {
                    return Meets::Yes;
                }
            }
        }
        most
    }
}

pub(super) fn run_touches(run: &Run, pattern: &PathPattern, base: &PathBase) -> Meets {
    let mut folders = vec![run.folder.clone()];
    for fact in &run.facts {
        if let Fact::Folder(to) = fact {
            folders.push(Place::of(to, run.folder.as_deref(), base).known());
        }
    }
    let program = bare(&run.argv[0]).known().unwrap_or_default();
    let known = profile(&program).is_some();
    let lists = profile(&program).is_some_and(|profile| profile.args == Args::Lists);
    let tests = matches!(program.as_str(), "[" | "[[" | "test");
    let whole = base.absolute(pattern.as_str());
    let below = whole.strip_prefix(&base.folder).unwrap_or(&whole);
    let hidden = below.contains("/.") || pattern.as_str().starts_with("**/.");
    let mut most = Meets::No;
    for folder in &folders {
        let folder = folder.as_deref();
        let meets =
            |word: &Value, below: bool| Place::of(word, folder, base).meets(pattern, base, below);
        for word in &run.argv {
            for part in path_parts(word) {
                let one = meets(&part, false);
                let unknown = part
                    .0
                    .iter()
                    .any(|atom| matches!(atom, Atom::Any | Atom::Below | Atom::Name));
                // What a program that is known does with a word is told by its facts.
                if one == Meets::Yes || (one == Meets::Maybe && !(known && unknown)) {
                    most = most.max(one);
                }
            }
        }
        // They are told the files on their input.
        if matches!(program.as_str(), "cpio" | "pax" | "zip")
            && let Some(input) = &run.input
        {
            let words = input.to_string();
            let words = words.split_whitespace().map(Value::text);
            most = most.max(
                words
                    .map(|word| meets(&word, false))
                    .max()
                    .unwrap_or(Meets::No),
            );
        }
        for fact in &run.facts {
            let one = match fact {
                Fact::Reads(path) | Fact::Writes(path) | Fact::Lists(path) | Fact::Folder(path) => {
                    meets(path, false)
                }
                Fact::Recurses(path) if lists => {
                    let place = Place::of(path, folder, base);
                    // Names within the folder are no secret.
                    if place.is_within(&base.folder) {
                        Meets::No
                    } else {
                        meets(path, true).min(Meets::Maybe)
                    }
                }
                Fact::RecursesVisible(path)
                    if hidden && Place::of(path, folder, base).is_within(&base.folder) =>
                {
                    Meets::No
                }
                Fact::Recurses(path) | Fact::RecursesVisible(path) => {
                    meets(path, true).min(Meets::Maybe)
                }
                _ => Meets::No,
            };
            if one == Meets::Yes || !tests {
                most = most.max(one);
            }
        }
        if !known && run.argv.len() > 1 {
            let above = run.argv[1..].iter().filter(|word| {
                let text = word.beginning();
                text.contains('/') || matches!(text.as_str(), "~" | "." | "..")
            });
            for word in above {
                most = most.max(meets(word, true).min(Meets::Maybe));
            }
        }
    }
    most
}

/// The word, and what in it may be a path of its own.
fn path_parts(word: &Value) -> Vec<Value> {
    let mut parts = vec![word.clone()];
    let head = word
        .0
        .iter()
        .position(|atom| matches!(atom, Atom::Char(c) if ":,=".contains(*c)));
    parts.extend(head.map(|end| Value(word.0[..end].to_vec())));
    let signs = ['=', ':', ',', '@', '<', '>', ' ', '(', '\'', '"'];
    for (index, atom) in word.0.iter().enumerate() {
        if let Atom::Char(c) = atom
            && signs.contains(c)
            && parts.len() < 64
        {
            let rest = &word.0[index + 1..];
            let end = rest
                .iter()
                .position(|atom| matches!(atom, Atom::Char(c) if signs.contains(c)));
            parts.push(Value(rest[..end.unwrap_or(rest.len())].to_vec()));
        }
    }
    // `file://host/path`
    let text = word.beginning();
    if let Some((_, rest)) = text.split_once("file://")
        && let Some(slash) = rest.find('/')
    {
        parts.push(Value::text(&rest[slash..]));
    }
    // A path right behind the letter of an option.
    if word.beginning().starts_with('-') && !word.beginning().starts_with("--") {
        parts.push(word.skip(2));
    }
    parts.retain(|part| !part.0.is_empty());
    parts
}
