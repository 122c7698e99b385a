//! What changes the shell itself: folders, variables, functions of a line, and how what
//! follows is read.

use super::trace::{Tracer, joined};
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
            "read" | "mapfile" | "readarray" | "getopts" => {
                for word in words {
                    match word.known() {
                        Some(name) => self.vars.set(&name, Value::of(Atom::Any)),
                        None => self.doubt("which variable is set cannot be told"),
                    }
                }
                self.vars.set("REPLY", Value::of(Atom::Any));
            }
            "unset" => {
                for word in words.iter().filter_map(Value::known) {
                    self.vars.set(&word, Value::default());
                }
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
            "shift" => self.forget_arguments(),
            "let" => {
                if words
                    .iter()
                    .any(|word| !word.is_known() || word.to_string().contains('['))
                {
                    self.doubt("arithmetic on what is not known");
                }
            }
            "printf" => {
                if words.first().and_then(Value::known).as_deref() == Some("-v")
                    && let Some(name) = words.get(1).and_then(Value::known)
                {
                    self.vars.set(&name, Value::of(Atom::Any));
                }
                return false;
            }
            "[" | "test" => {
                let indexed = |word: &Value| {
                    let text = word.to_string();
                    text.contains('[') && text.contains(['$', '`'])
                };
                if words.iter().any(indexed) {
                    self.doubt("a condition holds text that is evaluated again");
                }
            }
            "shopt" | "enable" | "hash" | "bind" | "complete" | "compgen" | "history" | "fc"
            | "coproc" | "setopt" | "autoload" | "zmodload" | "emulate" | "unalias" => {
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
