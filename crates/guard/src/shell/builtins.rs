//! What changes the shell itself: folders, variables, functions of a line, and how what
//! follows is read.

use super::evaluate;
use super::launch::joined;
use super::trace::Tracer;
use super::value::{Atom, Value};
use super::variables::{is_harmless_variable, steers};
use crate::permissions::PathBase;

impl Tracer<'_> {
    /// What changes the shell itself. Whether it was one of these.
    pub(super) fn builtin(&mut self, name: &str, words: &[Value]) -> bool {
        let first = words.iter().find(|word| !word.beginning().starts_with('-'));
        match name {
            "cd" | "pushd" | "chdir" => {
                self.vars.folder = match first.cloned().or_else(|| words.last().cloned()) {
                    None => self.vars.get("HOME").known(),
                    Some(to) => self.folder_after(&to),
                };
            }
            "popd" => self.vars.folder = None,
            "eval" => {
                let line = joined(words);
                self.script(&line, false);
            }
            "mapfile" | "readarray" => {
                let mut words = words.iter();
                while let Some(word) = words.next() {
                    match word.beginning().as_str() {
                        // A line that is run again and again.
                        "-C" => {
                            if let Some(line) = words.next() {
                                self.script(&line.clone(), true);
                            }
                            self.doubt("it runs a line for each line that it reads");
                        }
                        "-c" | "-d" | "-n" | "-O" | "-s" | "-u" => drop(words.next()),
                        text if text.starts_with("-C") => {
                            self.script(&word.skip(2), true);
                            self.doubt("it runs a line for each line that it reads");
                        }
                        text if text.starts_with('-') => {}
                        _ => {
                            self.name_to_set(word);
                            self.vars
                                .set(&word.known().unwrap_or_default(), Value::of(Atom::Any));
                        }
                    }
                }
            }
            "trap" => {
                if let Some(line) = first.filter(|_| words.len() > 1) {
                    self.script(&line.clone(), true);
                }
            }
            "alias" => {
                for word in words {
                    if let Some((name, value)) = word.split_once('=') {
                        if let Some(name) = name.known() {
                            self.aliases.insert(name, value.clone());
                        }
                        self.script(&value, true);
                    }
                }
                if !words.is_empty() {
                    self.doubt("an alias gives a command another meaning");
                }
            }
            "source" | "." => {
                let written = words.first().and_then(|file| self.written_to(file));
                if let Some(line) = written {
                    self.script(&line, false);
                }
                match (words.first().and_then(Value::known).as_deref(), &self.input) {
                    (Some("/dev/stdin" | "/proc/self/fd/0"), Some(input)) => {
                        let line = input.clone();
                        self.script(&line, false);
                    }
                    _ => self.doubt("it runs a file in this shell"),
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, words);
            }
            "read" => self.read(words),
            "getopts" | "wait" => {
                for word in words {
                    self.name_to_set(word);
                    self.vars
                        .set(&word.known().unwrap_or_default(), Value::of(Atom::Any));
                }
            }
            "unset" => {
                for word in words {
                    self.name_to_set(word);
                    self.vars
                        .set(&word.known().unwrap_or_default(), Value::default());
                }
            }
            "set" if words.first().and_then(Value::known).as_deref() == Some("--") => {
                self.take_arguments(words[1..].to_vec());
            }
            "set" => {
                let harmless = |word: &Value| {
                    let text = word.known().unwrap_or_default();
                    let option = text.trim_start_matches(['-', '+']);
                    let letters = text.starts_with(['-', '+'])
                        && option.chars().all(|c| "euxvfCno".contains(c));
                    letters
                        || matches!(text.as_str(), "pipefail" | "errexit" | "nounset" | "xtrace")
                };
                if !words.iter().all(harmless) {
                    self.forget_arguments();
                    self.doubt("it changes how the shell reads what follows");
                }
            }
            "shift" => match (&self.arguments, words) {
                (Some(held), []) => {
                    let rest = held.iter().skip(1).cloned().collect();
                    self.take_arguments(rest);
                }
                _ => self.forget_arguments(),
            },
            "let" => {
                for word in words {
                    self.calculated(word);
                }
            }
            "printf" => {
                if words.first().and_then(Value::known).as_deref() == Some("-v")
                    && let Some(name) = words.get(1)
                {
                    self.name_to_set(name);
                    let made = evaluate::output("printf", &words[2..], None, None);
                    self.vars.set(&name.known().unwrap_or_default(), made);
                }
                return false;
            }
            "[" | "test" => {
                // Only `[[` evaluates what it compares.
                if let Some(at) = words
                    .iter()
                    .position(|word| matches!(word.known().as_deref(), Some("-v" | "-R")))
                    && let Some(name) = words.get(at + 1)
                {
                    self.name_to_set(name);
                }
                for word in words {
                    self.evaluated(word);
                }
            }
            "history" if words.iter().all(|word| !word.beginning().starts_with('-')) => {}
            "shopt" | "enable" | "hash" | "bind" | "complete" | "compgen" | "history" | "fc"
            | "coproc" | "setopt" | "autoload" | "zmodload" | "emulate" | "unalias" => {
                // Among the words may be a line that is run later.
                for word in words {
                    let text = word.to_string();
                    let line = text
                        .split_once("\":")
                        .map_or(text.as_str(), |(_, line)| line);
                    if line.contains(' ') {
                        self.script(&Value::text(line), true);
                    }
                }
                self.doubt("it changes how the shell reads what follows");
            }
            _ => return false,
        }
        true
    }

    fn declare(&mut self, builtin: &str, words: &[Value]) {
        let exports = builtin == "export"
            || words.iter().any(|word| {
                let text = word.beginning();
                text.starts_with('-') && text.contains('x')
            });
        for word in words {
            let text = word.beginning();
            if text.starts_with(['-', '+']) {
                // A number or a reference to another variable is evaluated when it is set.
                if text.contains(['i', 'n', 'f', 'F', 'A', 'a']) {
                    self.doubt("what a variable is set to is evaluated");
                }
                continue;
            }
            self.evaluated(
                &word
                    .split_once('=')
                    .map_or_else(|| word.clone(), |(name, _)| name),
            );
            let Some((name, value)) = word.split_once('=') else {
                // `export` after an assignment exports what the script set.
                match word.known() {
                    Some(name) if exports => {
                        let value = self.vars.get(&name);
                        self.export(&name, &value);
                    }
                    Some(_) => {}
                    None => self.doubt("which variable is set cannot be told"),
                }
                continue;
            };
            let Some(name) = name.known() else {
                self.doubt("which variable is set cannot be told");
                continue;
            };
            if exports {
                self.export(&name, &value);
            } else if steers(&name, &value) {
                self.out.settings.push(format!("{name}={value}"));
            }
            self.vars.set(&name, value);
        }
    }

    /// `read`: the words of a line that is known go to its variables.
    fn read(&mut self, words: &[Value]) {
        let mut names = Vec::new();
        let mut words = words.iter();
        let mut plain = true;
        while let Some(word) = words.next() {
            match word.beginning().as_str() {
                "-d" | "-i" | "-n" | "-N" | "-p" | "-t" | "-u" | "-a" => {
                    plain = false;
                    if let Some(value) = words.next().filter(|_| word.beginning() == "-a") {
                        names.push(value.clone());
                    }
                }
                text if text.starts_with('-') => {}
                _ => names.push(word.clone()),
            }
        }
        let separators = self.vars.get("IFS").known();
        let usual = separators.as_deref() == Some(" \t\n");
        let line = self.input.as_ref().and_then(Value::known);
        let whole = separators.as_deref() == Some("") && names.len() == 1;
        let line = line.filter(|line| {
            let one = line.trim_end().lines().count() == 1 && !line.contains('\\');
            plain && (usual || whole) && one
        });
        let mut rest = line.as_deref().map(str::trim);
        for (index, name) in names.iter().enumerate() {
            self.name_to_set(name);
            let value = rest.map(|text| {
                let (word, after) = text.split_once([' ', '\t']).unwrap_or((text, ""));
                let last = index + 1 == names.len();
                rest = Some(after.trim_start());
                Value::text(if last { text } else { word })
            });
            let value = value.unwrap_or_else(|| Value::of(Atom::Any));
            self.vars.set(&name.known().unwrap_or_default(), value);
        }
        self.vars.set("REPLY", Value::of(Atom::Any));
    }

    fn export(&mut self, name: &str, value: &Value) {
        if steers(name, value) || !is_harmless_variable(name) {
            self.out.settings.push(format!("{name}={value}"));
        }
    }

    pub(super) fn folder_after(&self, to: &Value) -> Option<String> {
        let to = to.known()?;
        if to == "-" {
            return None;
        }
        let from = PathBase {
            folder: self
                .vars
                .folder
                .clone()
                .or_else(|| to.starts_with('/').then(String::new))?,
            home: self.base.home.clone(),
        };
        // A `~` that was quoted is a name; the words were expanded before.
        let plain = if to.starts_with('~') {
            format!("./{to}")
        } else {
            to
        };
        Some(from.absolute(&plain))
    }
}
