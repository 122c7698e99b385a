//! What is started: functions, builtins and programs with their words, and what those
//! start in turn by their profiles (`env`, `xargs`, `find -exec`, `bash -c`).

use super::evaluate;
use super::parse::parse_at;
use super::trace::{Run, Tracer};
use super::value::{Atom, Value};
use crate::programs::{Fact, facts, profile};

impl Tracer<'_> {
    /// A program, a function or a builtin with its words.
    pub(super) fn invoke(
        &mut self,
        argv: &[Value],
        written: String,
        settings: Vec<String>,
        inner: bool,
    ) -> Value {
        if argv.is_empty() || !self.step() {
            return Value::of(Atom::Any);
        }
        let name = argv[0].known();
        if let Some(name) = &name {
            if let Some(value) = self.aliases.get(name).cloned() {
                let mut line = value;
                for word in &argv[1..] {
                    line.0.push(Atom::Char(' '));
                    line.push(word);
                }
                self.aliases.remove(name);
                self.script(&line, false);
            }
            if let Some(body) = self.functions.get(name).cloned() {
                let arguments = self.arguments.replace(argv[1..].to_vec());
                let shadowed = self.functions.remove(name);
                self.depth += 1;
                let printed = self.with_numbers(&argv[1..], |tracer| tracer.command(&body));
                self.depth -= 1;
                if let Some(body) = shadowed {
                    self.functions.entry(name.clone()).or_insert(body);
                }
                self.arguments = arguments;
                return printed;
            }
        } else {
            self.doubt("which program runs cannot be told");
        }
        let bare = name
            .as_deref()
            .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
        let profile = bare.as_deref().and_then(profile);
        let facts = profile.map_or_else(Vec::new, |profile| facts(profile, &argv[1..]));
        self.out.runs.push(Run {
            argv: argv.to_owned(),
            written,
            settings,
            folder: self.vars.folder.clone(),
            input: self.input.clone(),
            inner: inner || self.inner,
            facts: facts.clone(),
        });
        let Some(bare) = bare else {
            return Value::of(Atom::Any);
        };
        self.run_what_was_made(argv, &facts);
        if self.builtin(&bare, &argv[1..]) {
            return Value::default();
        }
        let folder = self.vars.folder.clone();
        for fact in &facts {
            if let Fact::Folder(to) = fact {
                self.vars.folder = self.folder_after(to);
            }
        }
        let given = facts.iter().find_map(|fact| match fact {
            Fact::Arguments(words) => Some(words.as_slice()),
            _ => None,
        });
        for fact in &facts {
            match fact {
                Fact::Command(command) => {
                    let command = self.with_input(&bare, argv, command.clone());
                    let written = spelled(&command);
                    self.invoke(&command, written, Vec::new(), true);
                }
                Fact::Script(line) => self.script_with(line, true, given),
                _ => {}
            }
        }
        let remote = matches!(
            bare.as_str(),
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "at" | "batch" | "parallel"
        ) && !facts.iter().any(|fact| matches!(fact, Fact::Command(_)));
        if remote
            && let Some(input) = self.input.clone()
            && !facts.iter().any(|fact| matches!(fact, Fact::Script(_)))
        {
            self.script(&input, true);
        }
        self.vars.folder = folder;
        evaluate::output(
            &bare,
            &argv[1..],
            self.input.as_ref(),
            self.vars.folder.as_deref(),
        )
    }

    fn with_numbers(&mut self, arguments: &[Value], run: impl FnOnce(&mut Self) -> Value) -> Value {
        let before = self.vars.held.clone();
        for index in 1..10 {
            let value = arguments.get(index - 1).cloned().unwrap_or_default();
            self.vars.set(&index.to_string(), value);
        }
        let printed = run(self);
        for index in 1..10 {
            let name = index.to_string();
            match before.get(&name) {
                Some(value) => self.vars.set(&name, value.clone()),
                None => drop(self.vars.held.remove(&name)),
            }
        }
        printed
    }

    /// A command that another program completes: what `xargs` and `find` add.
    fn with_input(&mut self, bare: &str, argv: &[Value], mut command: Vec<Value>) -> Vec<Value> {
        let names = match bare {
            "xargs" | "gxargs" | "parallel" => match &self.input {
                Some(input) if argv.iter().any(is_null_separated) => pieces_of(input),
                // With a marker each line is one word.
                Some(input) if argv.iter().any(has_marker) => lines_of(input),
                Some(input) => words_of(input),
                None => vec![Value::of(Atom::Any)],
            },
            "find" | "gfind" if evaluate::found(&argv[1..]).is_some() => {
                evaluate::found(&argv[1..]).unwrap_or_default()
            }
            "find" | "gfind" => {
                let starts = argv[1..]
                    .iter()
                    .take_while(|word| !word.beginning().starts_with(['-', '(', '!']));
                starts
                    .map(|start| {
                        let mut path = start.clone();
                        path.0.push(Atom::Char('/'));
                        path.0.push(Atom::Below);
                        path
                    })
                    .collect()
            }
            "fd" | "fdfind" | "entr" => vec![Value::of(Atom::Below)],
            _ => return command,
        };
        let names = if names.is_empty() {
            vec![Value::of(Atom::Below)]
        } else {
            names
        };
        let mut replaced = false;
        let mut all = Vec::new();
        for word in command.drain(..) {
            let marker = word.known().is_some_and(|text| text == "{}");
            let within = word.known().filter(|text| text.contains("{}"));
            if marker {
                replaced = true;
                all.extend(names.iter().cloned());
            } else if let Some(text) = within {
                replaced = true;
                for name in &names {
                    let mut made = Value::default();
                    for (index, part) in text.split("{}").enumerate() {
                        if index > 0 {
                            made.push(name);
                        }
                        made.push(&Value::text(part));
                    }
                    all.push(made);
                }
            } else {
                all.push(word);
            }
        }
        if !replaced && bare != "find" {
            all.extend(names);
        }
        all
    }

    /// `$0`, `$1` and so on.
    fn set_arguments(&mut self, words: &[Value]) {
        let name = words.first().cloned();
        self.vars
            .set("0", name.unwrap_or_else(|| Value::of(Atom::Any)));
        self.take_arguments(words.get(1..).unwrap_or_default().to_vec());
    }

    /// `$1` and so on.
    pub(super) fn take_arguments(&mut self, words: Vec<Value>) {
        for index in 1..10 {
            let value = words.get(index - 1).cloned().unwrap_or_default();
            self.vars.set(&index.to_string(), value);
        }
        self.arguments = Some(words);
    }

    pub(super) fn forget_arguments(&mut self) {
        self.arguments = None;
        for index in 1..10 {
            self.vars.set(&index.to_string(), Value::of(Atom::Any));
        }
    }

    /// A line for a shell of its own, or for this one.
    pub(super) fn script(&mut self, line: &Value, own_shell: bool) {
        self.script_with(line, own_shell, None);
    }

    /// The same, with the words that the line is given, the first as `$0`.
    fn script_with(&mut self, line: &Value, own_shell: bool, given: Option<&[Value]>) {
        self.depth += 1;
        let known = line.known();
        let known = known.map(|text| text.strip_prefix('!').map(str::to_owned).unwrap_or(text));
        let arguments = self.arguments.clone();
        let numbers = self.vars.clone();
        if own_shell {
            match given {
                Some(words) => self.set_arguments(words),
                None => self.forget_arguments(),
            }
        }
        match known.as_deref().map(|text| parse_at(text, self.depth)) {
            Some(Ok(script)) => {
                let inner = std::mem::replace(&mut self.inner, true);
                let input = self.input.take();
                if own_shell {
                    self.subshell(&script);
                } else {
                    self.list(&script);
                }
                self.input = input;
                self.inner = inner;
            }
            Some(Err(why)) => self.doubt(&format!("a line for a shell cannot be read: {why}")),
            None => {
                self.doubt("a line for a shell is not known before it runs");
                // What is known of it may already be too much.
                let shown = line.to_string().replace('\u{2026}', "_");
                if let Ok(script) = parse_at(&shown, self.depth) {
                    let inner = std::mem::replace(&mut self.inner, true);
                    self.subshell(&script);
                    self.inner = inner;
                }
            }
        }
        if own_shell {
            self.arguments = arguments;
            self.vars = numbers;
        }
        self.depth -= 1;
    }
}

pub(super) fn joined(words: &[Value]) -> Value {
    let mut line = Value::default();
    for word in words {
        if !line.0.is_empty() {
            line.0.push(Atom::Char(' '));
        }
        line.push(word);
    }
    line
}

fn spelled(command: &[Value]) -> String {
    let words: Vec<String> = command.iter().map(ToString::to_string).collect();
    words.join(" ")
}

fn has_marker(word: &Value) -> bool {
    let text = word.beginning();
    ["-I", "-i", "--replace"]
        .iter()
        .any(|option| text.starts_with(option))
}

fn is_null_separated(word: &Value) -> bool {
    let text = word.known().unwrap_or_default();
    let short = text.starts_with('-') && !text.starts_with("--") && text.ends_with('0');
    short || text == "--null"
}

/// What stands between the NUL characters of an input.
fn pieces_of(input: &Value) -> Vec<Value> {
    let pieces = input.0.split(|atom| *atom == Atom::Char('\0'));
    let pieces = pieces.filter(|piece| !piece.is_empty());
    pieces.map(|piece| Value(piece.to_vec())).collect()
}

fn lines_of(input: &Value) -> Vec<Value> {
    let lines = input.0.split(|atom| *atom == Atom::Char('\n'));
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| Value(line.to_vec())).collect()
}

/// The words that an input is cut into; quotes hold them together.
fn words_of(input: &Value) -> Vec<Value> {
    let quoted = |atom: &Atom| matches!(atom, Atom::Char('"' | '\'' | '\\'));
    if input.is_known() && input.0.iter().any(quoted) {
        return quoted_words(input);
    }
    let blank = |atom: &Atom| matches!(atom, Atom::Char(' ' | '\n' | '\t'));
    let words = input.0.split(blank).filter(|word| !word.is_empty());
    words.map(|word| Value(word.to_vec())).collect()
}

fn quoted_words(input: &Value) -> Vec<Value> {
    let mut words: Vec<Value> = Vec::new();
    let mut word: Option<Value> = None;
    let mut quote = None;
    let mut atoms = input.0.iter();
    while let Some(atom) = atoms.next() {
        match atom {
            Atom::Char('\\') if quote.is_none() => {
                let word = word.get_or_insert_default();
                word.0.extend(atoms.next());
            }
            Atom::Char(c @ ('"' | '\'')) if quote.is_none_or(|open| open == *c) => {
                quote = if quote.is_none() { Some(*c) } else { None };
                word.get_or_insert_default();
            }
            Atom::Char(' ' | '\t' | '\n') if quote.is_none() => words.extend(word.take()),
            atom => word.get_or_insert_default().0.push(*atom),
        }
    }
    words.extend(word);
    words
}
