//! A script followed as a shell would run it: every branch, every iteration once,
//! functions and scripts within scripts where they are called.

use std::collections::{BTreeMap, HashMap};

use super::MAX_DEPTH;
use super::evaluate;
use super::parse::parse_at;
use super::tree::{Command, Redirect, RedirectKind, Simple, Word};
use super::value::{Atom, Value};
use super::variables::{Vars, is_harmless_variable, steers};
use crate::permissions::PathBase;
use crate::programs::{Fact, facts, profile};

/// Commands followed at most, in all.
const MAX_STEPS: u32 = 4000;

/// One program that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) argv: Vec<Value>,
    /// As it stands in the script; of what another program runs, as it would be run.
    pub(crate) written: String,
    /// Variables set for it that steer programs.
    pub(crate) settings: Vec<String>,
    pub(crate) folder: Option<String>,
    /// Whether its input comes from another program or a text, and what it is.
    pub(crate) input: Option<Value>,
    /// Whether another program of this script runs it.
    pub(crate) inner: bool,
    pub(crate) facts: Vec<Fact>,
}

impl Run {
    /// A program with its words and nothing else.
    pub(crate) fn of(argv: Vec<Value>) -> Self {
        Self {
            argv,
            written: String::new(),
            settings: Vec::new(),
            folder: None,
            input: None,
            inner: true,
            facts: Vec::new(),
        }
    }
}

/// A file that is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) path: Value,
    pub(crate) folder: Option<String>,
    pub(crate) writes: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) runs: Vec<Run>,
    /// What the shell itself opens.
    pub(crate) accesses: Vec<Access>,
    /// Variables of the session that steer programs.
    pub(crate) settings: Vec<String>,
    /// What could not be told.
    pub(crate) doubts: Vec<String>,
}

pub(super) struct Tracer<'a> {
    pub(super) base: &'a PathBase,
    pub(super) out: Trace,
    pub(super) vars: Vars,
    functions: HashMap<String, Command>,
    pub(super) aliases: HashMap<String, Value>,
    /// `$1` and so on; none where they are not known.
    pub(super) arguments: Option<Vec<Value>>,
    pub(super) input: Option<Value>,
    inner: bool,
    depth: u32,
    steps: u32,
}

/// Follows a script that is started in a folder.
pub(crate) fn trace(script: &[Command], base: &PathBase) -> Trace {
    let mut held = BTreeMap::new();
    if let Some(home) = &base.home {
        held.insert("HOME".to_owned(), Value::text(home));
        let user = home.rsplit('/').next().unwrap_or_default();
        for name in ["USER", "LOGNAME"] {
            held.insert(name.to_owned(), Value::text(user));
        }
    }
    held.insert("IFS".to_owned(), Value::text(" \t\n"));
    let mut tracer = Tracer {
        base,
        out: Trace::default(),
        vars: Vars {
            held,
            folder: Some(base.folder.clone()),
        },
        functions: HashMap::new(),
        aliases: HashMap::new(),
        // A line that an agent has run is given no words of its own.
        arguments: Some(Vec::new()),
        input: None,
        inner: false,
        depth: 0,
        steps: 0,
    };
    for index in 1..10 {
        tracer.vars.set(&index.to_string(), Value::default());
    }
    tracer.list(script);
    // What no call reached may still be reached in a way that was not seen.
    for body in std::mem::take(&mut tracer.functions).into_values() {
        tracer.forget_arguments();
        tracer.subshell(std::slice::from_ref(&body));
    }
    tracer.out
}

impl Tracer<'_> {
    pub(super) fn doubt(&mut self, why: &str) {
        if !self.out.doubts.iter().any(|known| known == why) {
            self.out.doubts.push(why.to_owned());
        }
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.depth > MAX_DEPTH {
            self.doubt("it runs more than is followed");
            return false;
        }
        true
    }

    /// Runs a list; what it prints.
    fn list(&mut self, list: &[Command]) -> Value {
        let mut printed = Value::default();
        for command in list {
            let one = self.command(command);
            printed.push(&one);
        }
        printed
    }

    /// A list whose folder and variables are its own.
    pub(super) fn subshell(&mut self, list: &[Command]) -> Value {
        let vars = self.vars.clone();
        self.depth += 1;
        let printed = self.list(list);
        self.depth -= 1;
        self.vars = vars;
        printed
    }

    /// What a substitution becomes.
    pub(super) fn output(&mut self, script: &[Command]) -> Value {
        let input = self.input.take();
        let mut printed = self.subshell(script);
        self.input = input;
        while printed.0.last() == Some(&Atom::Char('\n')) {
            printed.0.pop();
        }
        printed
    }

    fn command(&mut self, command: &Command) -> Value {
        if !self.step() {
            return Value::of(Atom::Any);
        }
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Pipeline(commands) => {
                let before = self.input.take();
                let vars = self.vars.clone();
                let mut printed = Value::default();
                for (index, command) in commands.iter().enumerate() {
                    if index > 0 {
                        self.input = Some(printed);
                    }
                    printed = self.command(command);
                    self.vars = vars.clone();
                }
                self.input = before;
                printed
            }
            Command::Block {
                lists,
                redirects,
                subshell,
            } => {
                let input = self.input.clone();
                self.redirects(redirects);
                let vars = self.vars.clone();
                let mut printed = Vec::new();
                // What a branch or a round of a loop sets is not surely set after it.
                let before = self.vars.clone();
                for list in lists {
                    printed.push(self.list(list));
                }
                if lists.len() > 1 {
                    self.forget_changes(&before);
                }
                if *subshell {
                    self.vars = vars;
                }
                self.input = input;
                match printed.len() {
                    1 => printed.remove(0),
                    _ => Value::of(Atom::Any),
                }
            }
            Command::For {
                name,
                words,
                body,
                redirects,
            } => {
                let input = self.input.clone();
                self.redirects(redirects);
                let values = match words {
                    Some(words) => {
                        let all: Vec<Value> =
                            words.iter().flat_map(|word| self.words(word)).collect();
                        all
                    }
                    None => self
                        .arguments
                        .clone()
                        .unwrap_or_else(|| vec![Value::of(Atom::Any)]),
                };
                let before = self.vars.clone();
                for value in values {
                    self.vars.set(name, value);
                    self.list(body);
                }
                self.forget_changes(&before);
                self.input = input;
                Value::of(Atom::Any)
            }
            Command::Case {
                word,
                arms,
                redirects,
            } => {
                let input = self.input.clone();
                self.redirects(redirects);
                self.plain(word);
                let before = self.vars.clone();
                for (patterns, body) in arms {
                    for pattern in patterns {
                        self.plain(pattern);
                    }
                    self.list(body);
                }
                self.forget_changes(&before);
                self.input = input;
                Value::of(Atom::Any)
            }
            Command::Function { name, body } => {
                self.functions.insert(name.clone(), (**body).clone());
                Value::default()
            }
            Command::Condition(words) => {
                for word in words {
                    let value = self.plain(word).to_string();
                    // An index within a number is run.
                    if value.contains('[') && value.contains(['$', '`']) {
                        self.doubt("a condition holds text that is evaluated again");
                    }
                }
                Value::default()
            }
        }
    }

    /// After what may or may not have run, what it changed is not known.
    fn forget_changes(&mut self, before: &Vars) {
        let changed: Vec<String> = self
            .vars
            .held
            .iter()
            .filter(|(name, value)| before.held.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in changed {
            self.vars.set(&name, Value::of(Atom::Any));
        }
        if self.vars.folder != before.folder {
            self.vars.folder = None;
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            match redirect.kind {
                RedirectKind::Duplicate => {}
                RedirectKind::Text => {
                    let mut text = self.plain(&redirect.target);
                    if !redirect.target.written.starts_with("<<") {
                        text.0.push(Atom::Char('\n'));
                    }
                    self.input = Some(text);
                }
                kind => {
                    let path = self.text(&redirect.target);
                    if kind != RedirectKind::Write {
                        self.open(path.clone(), false);
                        self.input = Some(Value::of(Atom::Any));
                    }
                    if kind != RedirectKind::Read {
                        self.open(path, true);
                    }
                }
            }
        }
    }

    fn open(&mut self, path: Value, writes: bool) {
        let folder = self.vars.folder.clone();
        self.out.accesses.push(Access {
            path,
            folder,
            writes,
        });
    }

    fn simple(&mut self, simple: &Simple) -> Value {
        let before = self.input.clone();
        let mut settings = Vec::new();
        let mut assigned = Vec::new();
        for assign in &simple.assigns {
            let mut value = self.text(&assign.value);
            if assign.partial {
                value = Value::of(Atom::Any);
            }
            if steers(&assign.name, &value) {
                settings.push(format!("{}={value}", assign.name));
            }
            assigned.push((assign.name.clone(), value));
        }
        let argv: Vec<Value> = simple
            .words
            .iter()
            .flat_map(|word| self.words(word))
            .collect();
        self.redirects(&simple.redirects);
        let printed = if argv.is_empty() {
            for (name, value) in assigned {
                self.vars.set(&name, value);
            }
            for setting in settings {
                self.out.settings.push(setting);
            }
            Value::default()
        } else {
            // Any variable set for a program that is not known to be harmless may steer it.
            let reads = argv[0].known().as_deref() == Some("read");
            for (name, value) in &assigned {
                let known = settings
                    .iter()
                    .any(|setting| setting.starts_with(&format!("{name}=")));
                let for_read = reads && name == "IFS";
                if !known && !is_harmless_variable(name) && !for_read {
                    settings.push(format!("{name}={value}"));
                }
            }
            if reads {
                settings.retain(|setting| !setting.starts_with("IFS="));
            }
            let mut written: Vec<&str> = Vec::new();
            written.extend(simple.words.iter().map(|word| word.written.as_str()));
            self.invoke(&argv, written.join(" "), settings, false)
        };
        self.input = before;
        let redirected = simple
            .redirects
            .iter()
            .any(|redirect| redirect.kind == RedirectKind::Write);
        if redirected {
            Value::default()
        } else {
            printed
        }
    }

    /// A program, a function or a builtin with its words.
    fn invoke(
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
        if self.builtin(&bare, &argv[1..]) {
            return Value::default();
        }
        let folder = self.vars.folder.clone();
        for fact in &facts {
            if let Fact::Folder(to) = fact {
                self.vars.folder = self.folder_after(to);
            }
        }
        for fact in &facts {
            match fact {
                Fact::Command(command) => {
                    let command = self.with_input(&bare, argv, command.clone());
                    let written = spelled(&command);
                    self.invoke(&command, written, Vec::new(), true);
                }
                Fact::Script(line) => self.script(line, true),
                _ => {}
            }
        }
        let remote = matches!(
            bare.as_str(),
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "at" | "batch"
        );
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
            "xargs" | "parallel" => match &self.input {
                // With a marker each line is one word.
                Some(input) if argv.iter().any(has_marker) => lines_of(input),
                Some(input) => words_of(input),
                None => vec![Value::of(Atom::Any)],
            },
            "find" => {
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

    pub(super) fn forget_arguments(&mut self) {
        self.arguments = None;
        for index in 1..10 {
            self.vars.set(&index.to_string(), Value::of(Atom::Any));
        }
    }

    /// A line for a shell of its own, or for this one.
    pub(super) fn script(&mut self, line: &Value, own_shell: bool) {
        self.depth += 1;
        let known = line.known();
        let known = known.map(|text| text.strip_prefix('!').map(str::to_owned).unwrap_or(text));
        let arguments = self.arguments.clone();
        let numbers = self.vars.clone();
        if own_shell {
            // `sh -c LINE name words`: the words are not followed.
            self.forget_arguments();
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

fn lines_of(input: &Value) -> Vec<Value> {
    let lines = input.0.split(|atom| *atom == Atom::Char('\n'));
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| Value(line.to_vec())).collect()
}

/// The words that an input is cut into.
fn words_of(input: &Value) -> Vec<Value> {
    let blank = |atom: &Atom| matches!(atom, Atom::Char(' ' | '\n' | '\t'));
    let words = input.0.split(blank).filter(|word| !word.is_empty());
    words.map(|word| Value(word.to_vec())).collect()
}

/// The simple commands of a script in order, as they were written and without quotes,
/// for comparing with another reading of it. None where they cannot be so compared.
pub(crate) fn plain_parts(script: &[Command]) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for command in script {
        match command {
            Command::Simple(simple) => parts.push(plain_part(simple)?),
            Command::Pipeline(commands) => parts.extend(plain_parts(commands)?),
            _ => return None,
        }
    }
    Some(parts)
}

fn plain_part(simple: &Simple) -> Option<String> {
    let mut words = Vec::new();
    for assign in &simple.assigns {
        let sign = if assign.partial { return None } else { "=" };
        words.push(format!("{}{sign}{}", assign.name, assign.value.literal()?));
    }
    let literal = |word: &Word| word.literal();
    for word in &simple.words {
        words.push(literal(word)?);
    }
    Some(words.join(" "))
}
