//! Text that a shell evaluates as a number or as the name of a variable: what stands in an
//! index is run then, and so is what the variables of it hold.

use super::trace::Tracer;
use super::value::{Atom, Value};

/// How far variables that name others are followed.
const MAX_NAMES: u32 = 8;

impl Tracer<'_> {
    /// The name of a variable, or a word of a condition.
    pub(super) fn evaluated(&mut self, word: &Value) {
        let text = word.to_string();
        if !text.contains('[') || !text.contains(['$', '`']) {
            return;
        }
        self.doubt("a word holds text that is evaluated again");
        self.run_inside(&text);
    }

    /// The name of a variable that a builtin sets.
    pub(super) fn name_to_set(&mut self, word: &Value) {
        if !word.is_known() {
            self.doubt("which variable is set cannot be told");
        }
        self.evaluated(word);
    }

    /// The words of a condition: both sides of `-eq` and its like are numbers, and behind
    /// `-v` stands a name.
    pub(super) fn compared(&mut self, words: &[Value]) {
        const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        for (index, word) in words.iter().enumerate() {
            let sign = word.known().unwrap_or_default();
            if NUMBERS.contains(&sign.as_str()) {
                for side in [index.wrapping_sub(1), index + 1] {
                    if let Some(side) = words.get(side) {
                        self.calculated(side);
                    }
                }
            }
            if matches!(sign.as_str(), "-v" | "-R")
                && let Some(name) = words.get(index + 1)
            {
                self.name_to_set(name);
            }
        }
    }

    /// A term with numbers, signs and names of variables.
    pub(super) fn calculated(&mut self, text: &Value) {
        self.calculated_within(text, 0);
    }

    fn calculated_within(&mut self, term: &Value, depth: u32) {
        let open = term.0.iter();
        let open = open.filter(|atom| !matches!(atom, Atom::Char(_) | Atom::Name));
        if open.count() > 0 || depth > MAX_NAMES {
            self.doubt("arithmetic on what is not known");
            return;
        }
        let text = term.to_string();
        if text.contains(['$', '`']) {
            self.doubt("arithmetic on text that is evaluated again");
            self.run_inside(&text);
        }
        let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names: Vec<&str> = names
            .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            .collect();
        for name in names.into_iter().take(64) {
            // What the session holds was set by the person.
            if let Some(value) = self.vars.held.get(name).cloned()
                && value != *term
            {
                self.calculated_within(&value, depth + 1);
            }
        }
    }

    /// Follows the substitutions in a text that is evaluated once more.
    fn run_inside(&mut self, text: &str) {
        let line = format!(": \"{}\"", text.replace('\\', "").replace('"', "\\\""));
        self.script(&Value::text(&line), true);
    }
}
