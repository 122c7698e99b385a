//! A script followed as a shell would run it: every branch and every iteration once. What
//! a program does with its words, and what it starts in turn, is told in `launch`.

use std::collections::{BTreeMap, HashMap};

use super::MAX_DEPTH;
use super::tree::{Command, Redirect, RedirectKind, Simple};
use super::value::{Atom, Value};
use super::variables::{Vars, is_harmless_variable, steers};
use crate::permissions::PathBase;
use crate::programs::Fact;

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

/// What a script makes itself; `made` follows it.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// What files hold, by their absolute paths.
    pub(super) held: HashMap<String, Value>,
    /// The programs that other names lead to.
    pub(super) named: HashMap<String, Value>,
}

pub(super) struct Tracer<'a> {
    pub(super) base: &'a PathBase,
    pub(super) out: Trace,
    pub(super) vars: Vars,
    pub(super) functions: HashMap<String, Command>,
    /// What it wrote, copied and piped into itself.
    pub(super) made: Made,
    pub(super) aliases: HashMap<String, Value>,
    /// `$1` and so on; none where they are not known.
    pub(super) arguments: Option<Vec<Value>>,
    pub(super) input: Option<Value>,
    /// Whether what runs now is run by another program of this script.
    pub(super) inner: bool,
    pub(super) depth: u32,
    steps: u32,
    /// Whether the words that are read now are only tested, and not shown to anybody.
    pub(super) only_tested: bool,
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
        made: Made::default(),
        aliases: HashMap::new(),
        // A line that an agent has run is given no words of its own.
        arguments: Some(Vec::new()),
        input: None,
        inner: false,
        depth: 0,
        steps: 0,
        only_tested: false,
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

    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.depth > MAX_DEPTH {
            self.doubt("it runs more than is followed");
            return false;
        }
        true
    }

    /// Runs a list; what it prints.
    pub(super) fn list(&mut self, list: &[Command]) -> Value {
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

    pub(super) fn command(&mut self, command: &Command) -> Value {
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
                    // A line may be given words in a way that is not seen here.
                    None => match &self.arguments {
                        Some(words) if !words.is_empty() => words.clone(),
                        _ => vec![Value::of(Atom::Any)],
                    },
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
                self.only_tested = true;
                let words: Vec<Value> = words.iter().map(|word| self.plain(word)).collect();
                self.only_tested = false;
                for word in &words {
                    self.evaluated(word);
                }
                self.compared(&words);
                let facts = words.iter().cloned().map(Fact::Lists).collect();
                let argv = std::iter::once(Value::text("[[")).chain(words).collect();
                self.out.runs.push(Run {
                    facts,
                    folder: self.vars.folder.clone(),
                    ..Run::of(argv)
                });
                Value::default()
            }
            Command::Arithmetic(word) => {
                let text = self.plain(word);
                self.calculated(&text);
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
                        let held = self.written_to(&path);
                        self.input = Some(held.unwrap_or_else(|| Value::of(Atom::Any)));
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
                value = match self.vars.get(&assign.name).known() {
                    Some(held) if assign.appends => {
                        let mut whole = Value::text(&held);
                        whole.push(&value);
                        whole
                    }
                    _ => Value::of(Atom::Any),
                };
            }
            if steers(&assign.name, &value) {
                settings.push(format!("{}={value}", assign.name));
            }
            assigned.push((assign.name.clone(), value));
        }
        let test = simple.words.first().and_then(|word| word.literal());
        let before_test = self.only_tested;
        self.only_tested |= matches!(test.as_deref(), Some("[" | "test"));
        let argv: Vec<Value> = simple
            .words
            .iter()
            .flat_map(|word| self.words(word))
            .collect();
        self.only_tested = before_test;
        self.redirects(&simple.redirects);
        let printed = if argv.is_empty() {
            for (name, value) in assigned {
                self.vars.set(&name, value);
            }
            for setting in settings {
                self.out.settings.push(setting);
            }
            // `$(< file)` is what the file holds.
            let reads = |redirect: &Redirect| redirect.kind == RedirectKind::Read;
            if simple.redirects.iter().any(reads) {
                Value::of(Atom::Any)
            } else {
                Value::default()
            }
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
            let separators = self.vars.get("IFS");
            for (_, value) in assigned.iter().filter(|(name, _)| reads && name == "IFS") {
                self.vars.set("IFS", value.clone());
            }
            let mut written: Vec<&str> = Vec::new();
            written.extend(simple.words.iter().map(|word| word.written.as_str()));
            let printed = self.invoke(&argv, written.join(" "), settings, false);
            if reads {
                self.vars.set("IFS", separators);
            }
            printed
        };
        self.input = before;
        let targets: Vec<_> = simple
            .redirects
            .iter()
            .filter(|redirect| redirect.kind == RedirectKind::Write)
            .collect();
        if targets.is_empty() {
            return printed;
        }
        for target in targets {
            let path = self.text(&target.target);
            self.wrote(&path, printed.clone());
        }
        Value::default()
    }
}
