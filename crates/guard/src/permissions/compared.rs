//! What a line runs, made ready once to be compared with each rule that denies or asks:
//! every program in every spelling, what it may start in turn, and the lines that hide in
//! its words.

use super::command;
use super::hidden::{bare, hidden_scripts, is_launcher, names_package};
use super::path::PathBase;
use super::pattern::Pattern;
use super::place::Meets;
use crate::programs::{Profile, profile, ungnu, without_options};
use crate::shell::value::{Atom, Value, Wild};
use crate::shell::{Run, Trace, Unclear, parse, trace::trace};

#[derive(Debug)]
pub(super) struct Compared {
    /// The text as it is, and the parts of the simple cutter.
    texts: Vec<String>,
    /// Pieces that were cut out crudely, of what is not understood.
    pieces: Vec<(String, Option<Started>)>,
    runs: Vec<Started>,
    /// What runs in lines that are hidden elsewhere.
    hidden: Vec<Started>,
}

/// A program, and what it starts if it is one that starts others.
#[derive(Debug)]
struct Started {
    line: Line,
    /// The same with what is not known left out.
    left: Option<Line>,
    /// The line from each of its words on, and whether that is surely run.
    inner: Vec<(Line, bool)>,
    /// Whether it is told to run what is not known.
    open: bool,
}

/// A command line in the forms that patterns are compared with.
#[derive(Debug)]
struct Line {
    /// The bare name of the program.
    program: Value,
    name: Option<String>,
    /// With the program as it is written, and by its bare name.
    lines: [Value; 2],
    shown: [String; 2],
    is_known: bool,
    /// Whether a word may be anything.
    has_open_word: bool,
    options: Vec<String>,
    plain: Vec<Value>,
}

impl Compared {
    pub(super) fn of(
        text: &str,
        readings: &[(String, Result<Trace, Unclear>)],
        base: &PathBase,
    ) -> Self {
        let mut texts = vec![text.split_whitespace().collect::<Vec<_>>().join(" ")];
        let mut pieces = Vec::new();
        if readings.iter().any(|(_, traced)| is_in_doubt(traced)) {
            for piece in command::possible_commands(text) {
                let argv: Vec<Value> = piece.split_whitespace().map(Value::text).collect();
                let run = (!argv.is_empty()).then(|| Started::of(&Run::of(argv)));
                pieces.push((piece, run));
            }
        }
        let mut runs = Vec::new();
        let mut hidden = Vec::new();
        for (reading, traced) in readings {
            for part in command::parts(reading).unwrap_or_default() {
                texts.extend(part.spellings().map(str::to_owned));
            }
            let Ok(traced) = traced else { continue };
            runs.extend(traced.runs.iter().map(Started::of));
            for script in hidden_scripts(traced) {
                if let Ok(inner) = parse(&script) {
                    let inner = trace(&inner, base);
                    hidden.extend(inner.runs.iter().map(Started::of));
                }
            }
        }
        Self {
            texts,
            pieces,
            runs,
            hidden,
        }
    }

    /// Whether a pattern on commands falls on something of it.
    pub(super) fn meets(&self, pattern: &Pattern) -> Meets {
        let surely = |started: &Started| started.meets(pattern) == Meets::Yes;
        let said = self.texts.iter().any(|text| pattern.matches(text));
        let cut_out = self
            .pieces
            .iter()
            .any(|(piece, started)| pattern.matches(piece) || started.as_ref().is_some_and(surely));
        if said || cut_out {
            return Meets::Yes;
        }
        let most = self.runs.iter().map(|started| started.meets(pattern)).max();
        if most == Some(Meets::Yes) || self.hidden.iter().any(surely) {
            return Meets::Yes;
        }
        most.unwrap_or(Meets::No)
    }
}

impl Started {
    fn of(run: &Run) -> Self {
        let line = Line::of(run);
        let mut left = None;
        if run.argv.iter().any(Value::has_any) {
            let words = run.argv.iter().map(Value::without_unknown);
            let words: Vec<Value> = words.filter(|word| !word.0.is_empty()).collect();
            if !words.is_empty() && words[0] != run.argv[0] {
                left = Some(Line::of(&Run::of(words)));
            }
        }
        let program = bare(&run.argv[0]).known().unwrap_or_default();
        let launcher = is_launcher(&program);
        let words = &run.argv[1..];
        let told_to_run = |word: &Value| matches!(word.known().as_deref(), Some("exec" | "run"));
        let open = launcher
            && words.iter().any(told_to_run)
            && words.iter().any(|word| word.0.first() == Some(&Atom::Any));
        let launches = launcher && program != "git";
        let mut inner = Vec::new();
        if launches || (!program.is_empty() && profile(&program).is_none()) {
            for begin in 1..run.argv.len().min(64) {
                // Of a program that nobody knows, what stands behind these is run.
                let before = run.argv[begin - 1].known().unwrap_or_default();
                if names_package(&before) {
                    break;
                }
                let told = begin > 1 && matches!(before.as_str(), "--" | "exec" | "run" | "x");
                let line = Line::of(&Run::of(run.argv[begin..].to_vec()));
                inner.push((line, launches || told));
            }
        }
        Self {
            line,
            left,
            inner,
            open,
        }
    }

    fn meets(&self, pattern: &Pattern) -> Meets {
        let mut most = self.line.meets(pattern);
        if most == Meets::Yes {
            return most;
        }
        if let Some(left) = &self.left {
            most = most.max(left.meets(pattern));
        }
        if self.open {
            most = most.max(Meets::Maybe);
        }
        for (line, surely) in &self.inner {
            if line.meets(pattern) == Meets::Yes {
                most = most.max(if *surely { Meets::Yes } else { Meets::Maybe });
            }
        }
        most
    }
}

impl Line {
    fn of(run: &Run) -> Self {
        let program = usual_name(bare(&run.argv[0]));
        let mut whole = Value::default();
        let mut short = program.clone();
        for (index, word) in run.argv.iter().enumerate() {
            if index > 0 {
                whole.0.push(Atom::Char(' '));
                short.0.push(Atom::Char(' '));
                short.push(word);
            }
            whole.push(word);
        }
        let name = program.known();
        let known = name.as_deref().and_then(profile);
        let (options, plain) = without_options(known, &run.argv[1..]);
        let open = |word: &Value| matches!(word.0.first(), Some(Atom::Any));
        Self {
            shown: [whole.to_string(), short.to_string()],
            is_known: whole.is_known(),
            has_open_word: run.argv[1..].iter().any(open),
            lines: [whole, short],
            program,
            name,
            options,
            plain,
        }
    }

    fn meets(&self, pattern: &Pattern) -> Meets {
        if self.shown.iter().any(|line| pattern.matches(line)) {
            return Meets::Yes;
        }
        if pattern.is_regex() {
            let unknown = self.name.is_none();
            return if unknown { Meets::Maybe } else { Meets::No };
        }
        let text = pattern.as_str();
        let may = |open: Wild| self.lines.iter().any(|line| line.may_match(text, open));
        if (!self.is_known && may(Wild::Globs)) || has_shape(self, text) {
            return Meets::Yes;
        }
        if self.is_known {
            return Meets::No;
        }
        if may(Wild::All) {
            return Meets::Maybe;
        }
        // Words that are not known may be the options that are missing.
        let first = text.split([' ', '*']).next().unwrap_or_default();
        if self.has_open_word && !first.is_empty() && self.name.as_deref() == Some(first) {
            return Meets::Maybe;
        }
        Meets::No
    }
}

/// The program by the name that others know it by: `grm` is `rm`, `git-push` is `git push`.
fn usual_name(program: Value) -> Value {
    let Some(name) = program.known() else {
        return program;
    };
    match (ungnu(&name), name.strip_prefix("git-")) {
        (Some(name), _) => Value::text(name),
        (None, Some(sub)) => Value::text(&format!("git {sub}")),
        (None, None) => program,
    }
}

/// Whether the program, its options in any order and spelling and its other words are
/// those of a pattern.
fn has_shape(line: &Line, text: &str) -> bool {
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
    if !line
        .program
        .may_match(name.rsplit('/').next().unwrap_or(name), Wild::Globs)
    {
        return false;
    }
    let known = line.name.as_deref().and_then(profile);
    let (options, plain) = (&line.options, &line.plain);
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

/// Whether something of a reading is not understood, or not known before it runs.
pub(super) fn is_in_doubt(traced: &Result<Trace, Unclear>) -> bool {
    match traced {
        Err(_) => true,
        Ok(traced) => traced
            .doubts
            .iter()
            .any(|doubt| doubt.contains("cannot be read") || doubt.contains("not known before")),
    }
}
