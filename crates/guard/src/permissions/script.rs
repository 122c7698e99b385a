//! What a line for a shell would do, as rules look at it: generously for those that
//! deny or ask. Every program it runs, in every spelling, and every path it names.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::command;
use super::path::{PathBase, PathPattern};
use super::pattern::Pattern;
use super::place::{Meets, Place};
use super::request::{Argument, Request, Shown};
use crate::programs::{Fact, Profile, profile, without_options};
use crate::shell::value::{Atom, Value, Wild};
use crate::shell::{Run, Trace, Unclear, parse, trace::trace};

/// A line and what can be told of it, in each way to read it.
pub(super) struct Script {
    text: String,
    readings: Vec<(String, Result<Trace, Unclear>)>,
    /// Whether the last of several readings, rows put together within a word, can be so.
    cut_within_word: bool,
    base: PathBase,
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
        })
    }

    /// Whether a pattern on commands falls on something it runs.
    pub(super) fn concerns(&self, pattern: &Pattern) -> Meets {
        let mut most = Meets::No;
        let whole = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if pattern.matches(&whole) {
            return Meets::Yes;
        }
        let crude = self.readings.iter().any(|(_, traced)| is_in_doubt(traced));
        let falls = |one: &String| pattern.matches(one) || words_meet(one, pattern);
        if crude && command::possible_commands(&self.text).iter().any(falls) {
            return Meets::Yes;
        }
        for (reading, traced) in &self.readings {
            // The other way to cut it, where that is one.
            for part in command::parts(reading).unwrap_or_default() {
                if part.spellings().any(|spelling| pattern.matches(spelling)) {
                    return Meets::Yes;
                }
            }
            let Ok(traced) = traced else { continue };
            for run in &traced.runs {
                most = most.max(run_meets(run, pattern));
            }
            for script in hidden_scripts(traced) {
                if let Ok(inner) = parse(&script) {
                    let inner = trace(&inner, &self.base);
                    let runs = inner.runs.iter().map(|run| run_meets(run, pattern));
                    if runs.max() == Some(Meets::Yes) {
                        return Meets::Yes;
                    }
                }
            }
        }
        most
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

fn is_in_doubt(traced: &Result<Trace, Unclear>) -> bool {
    match traced {
        Err(_) => true,
        Ok(traced) => traced
            .doubts
            .iter()
            .any(|doubt| doubt.contains("cannot be read") || doubt.contains("not known before")),
    }
}

/// The last name of the program, where the path before it may be anything.
fn bare(program: &Value) -> Value {
    let slash = program.0.iter().rposition(|atom| *atom == Atom::Char('/'));
    program.skip(slash.map_or(0, |index| index + 1))
}

/// A piece that was cut out crudely, taken for a command line.
fn words_meet(piece: &str, pattern: &Pattern) -> bool {
    let argv: Vec<Value> = piece.split_whitespace().map(Value::text).collect();
    !argv.is_empty() && run_meets(&Run::of(argv), pattern) == Meets::Yes
}

/// Programs that are given a command somewhere among their words, or a line in one.
const LAUNCHERS: &str = "tmux screen expect ssh su docker podman nerdctl kubectl oc vim vi ex nvim emacs gdb \
    psql sqlite3 mysql make npm npx yarn pnpm osascript systemd-run parallel watch nsenter entr runuser \
    machinectl lxc vagrant ansible salt chrt taskset at batch crontab git";

fn is_launcher(program: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| LAUNCHERS.split_whitespace().collect());
    NAMES.contains(program)
}

/// Compared with what is known, with what is not left out, and as what it may launch.
fn run_meets(run: &Run, pattern: &Pattern) -> Meets {
    let mut most = line_meets(run, pattern);
    if most == Meets::Yes {
        return most;
    }
    if run.argv.iter().any(Value::has_any) {
        let left = run.argv.iter().map(Value::without_unknown);
        let left: Vec<Value> = left.filter(|word| !word.0.is_empty()).collect();
        if !left.is_empty() && left[0] != run.argv[0] {
            most = most.max(line_meets(&Run::of(left), pattern));
        }
    }
    let program = bare(&run.argv[0]).known().unwrap_or_default();
    if is_launcher(&program) && program != "git" {
        for begin in 1..run.argv.len().min(64) {
            if line_meets(&Run::of(run.argv[begin..].to_vec()), pattern) == Meets::Yes {
                return Meets::Yes;
            }
        }
    }
    most
}

fn line_meets(run: &Run, pattern: &Pattern) -> Meets {
    let program = bare(&run.argv[0]);
    let mut line = Value::default();
    let mut short = program.clone();
    for (index, word) in run.argv.iter().enumerate() {
        if index > 0 {
            line.0.push(Atom::Char(' '));
            short.0.push(Atom::Char(' '));
            short.push(word);
        }
        line.push(word);
    }
    let lines = [line, short];
    if lines.iter().any(|line| pattern.matches(&line.to_string())) {
        return Meets::Yes;
    }
    if pattern.is_regex() {
        let unknown = program.known().is_none();
        return if unknown { Meets::Maybe } else { Meets::No };
    }
    let text = pattern.as_str();
    if lines.iter().any(|line| line.may_match(text, Wild::Globs)) {
        return Meets::Yes;
    }
    if has_shape(run, &program, text) {
        return Meets::Yes;
    }
    if lines.iter().any(|line| line.may_match(text, Wild::All)) {
        return Meets::Maybe;
    }
    // Words that are not known may be the options that are missing.
    let first = text.split([' ', '*']).next().unwrap_or_default();
    let known = program.known();
    let unknown = run.argv[1..]
        .iter()
        .any(|word| matches!(word.0.first(), Some(Atom::Any)));
    if unknown && !first.is_empty() && known.as_deref() == Some(first) {
        return Meets::Maybe;
    }
    Meets::No
}

/// Whether the program, its options in any order and spelling and its other words are
/// those of a pattern.
fn has_shape(run: &Run, program: &Value, text: &str) -> bool {
    if text.contains(['|', ';', '&', '<', '>']) {
        return false;
    }
    let mut tokens: Vec<&str> = text.split_whitespace().collect();
    if tokens.is_empty() || tokens[0].chars().all(|c| c == '*') {
        return false;
    }
    let open_end = tokens.last().is_some_and(|token| token.ends_with('*'));
    let name = tokens.remove(0);
    let name = if tokens.is_empty() {
        name
    } else {
        name.trim_end_matches('*')
    };
    if !program.may_match(name.rsplit('/').next().unwrap_or(name), Wild::Globs) {
        return false;
    }
    let known = program.known().and_then(|name| profile(&name));
    let (options, plain) = without_options(known, &run.argv[1..]);
    let wanted: Vec<&str> = tokens
        .iter()
        .map(|token| {
            if token.len() > 1 {
                token.trim_end_matches('*')
            } else {
                token
            }
        })
        .collect();
    let mut words = Vec::new();
    for token in wanted {
        if token.starts_with("--") || (token.starts_with('-') && is_long(known, token)) {
            let other = same(known, token);
            let given = |option: &String| *option == other || option.starts_with(token);
            if !options.iter().any(given) {
                return false;
            }
        } else if token.len() > 1 && token.starts_with('-') {
            for letter in token.chars().skip(1) {
                let option = same(known, &format!("-{letter}"));
                if !options.contains(&option) {
                    return false;
                }
            }
        } else if token != "*" && !token.is_empty() {
            words.push(token);
        }
    }
    let at_end = if open_end {
        words.len().saturating_sub(1)
    } else {
        usize::MAX
    };
    let fits = words.iter().enumerate().all(|(index, token)| {
        plain.get(index).is_some_and(|word| {
            let beginning = format!("{token}*");
            let ends_open = index == at_end
                && tokens
                    .last()
                    .is_some_and(|last| !last.starts_with('-') && *last != "*");
            word.may_match(if ends_open { &beginning } else { token }, Wild::Globs)
        })
    });
    fits && (open_end || plain.len() == words.len())
}

fn is_long(profile: Option<&Profile>, token: &str) -> bool {
    token.len() > 2 && profile.is_some_and(|profile| profile.single_dash)
}

fn same(profile: Option<&Profile>, option: &str) -> String {
    let find = |profile: &Profile| profile.same.get(option).cloned();
    let subs = || {
        let mut subs = profile?.subcommands.values();
        subs.find_map(find)
    };
    profile
        .and_then(find)
        .or_else(subs)
        .unwrap_or_else(|| option.to_owned())
}

/// Lines for a shell that stand in code of another language, or in a variable that
/// programs run.
fn hidden_scripts(traced: &Trace) -> Vec<String> {
    let strings = hidden_strings(traced);
    let mut scripts = strings.clone();
    if strings.len() > 1 {
        scripts.push(strings.join(" "));
    }
    scripts
}

fn hidden_strings(traced: &Trace) -> Vec<String> {
    let mut all = Vec::new();
    for run in &traced.runs {
        let program = bare(&run.argv[0]).known().unwrap_or_default();
        for fact in &run.facts {
            if let Fact::Code(code) = fact {
                quoted_strings(&code.to_string(), &mut all);
            }
        }
        let interpreter = is_interpreter(&program);
        if interpreter && let Some(input) = &run.input {
            quoted_strings(&input.to_string(), &mut all);
        }
        let launcher = is_launcher(&program);
        let tells = matches!(program.as_str(), "awk" | "gawk" | "mawk" | "sed");
        for word in &run.argv[1..] {
            let text = word.to_string();
            // `:!line`, `alias.x=!line`
            if let Some((_, line)) = text.split_once('!') {
                all.push(line.to_owned());
            }
            if tells || launcher {
                quoted_strings(&text, &mut all);
            }
            let told = launcher || matches!(program.as_str(), "env" | "sudo" | "doas");
            if told && let Some((name, value)) = text.split_once('=') {
                all.push(value.to_owned());
                if name.starts_with("alias.") {
                    all.push(format!("git {value}"));
                }
            }
            if launcher && program != "git" && text.contains(' ') {
                all.push(text);
            }
        }
        for setting in &run.settings {
            all.extend(setting.split_once('=').map(|(_, value)| value.to_owned()));
        }
    }
    for setting in &traced.settings {
        all.extend(setting.split_once('=').map(|(_, value)| value.to_owned()));
    }
    all.retain(|text| !text.trim().is_empty());
    all.truncate(200);
    all
}

/// What stands between quotes.
fn quoted_strings(code: &str, all: &mut Vec<String>) {
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(inner) = chars.next() {
            if inner == c {
                break;
            }
            if inner == '\\' {
                text.extend(chars.next());
            } else {
                text.push(inner);
            }
        }
        all.push(text);
    }
}

pub(super) fn is_interpreter(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "php"
            | "lua"
            | "deno"
            | "bun"
            | "Rscript"
            | "R"
            | "tclsh"
            | "osascript"
            | "ipython"
            | "julia"
            | "elixir"
            | "ghci"
            | "irb"
            | "groovy"
    )
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
        for fact in &run.facts {
            let one = match fact {
                Fact::Reads(path) | Fact::Writes(path) | Fact::Lists(path) | Fact::Folder(path) => {
                    meets(path, false)
                }
                Fact::Recurses(path) => meets(path, true).min(Meets::Maybe),
                _ => Meets::No,
            };
            most = most.max(one);
        }
        if !known && run.argv.len() > 1 {
            let above = run.argv[1..]
                .iter()
                .filter(|word| word.beginning().contains('/') || word.beginning() == "~");
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
    // A path right behind the letter of an option.
    if word.beginning().starts_with('-') && !word.beginning().starts_with("--") {
        parts.push(word.skip(2));
    }
    parts.retain(|part| !part.0.is_empty());
    parts
}
