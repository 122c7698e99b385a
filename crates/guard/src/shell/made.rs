//! What a script makes and then runs: a file that it wrote, a program that it copied or
//! linked under another name, the output of `<( )`.

use super::trace::Tracer;
use super::value::Value;
use crate::permissions::PathBase;
use crate::programs::Fact;

/// Files that are followed at most.
const MAX_FILES: usize = 64;

impl Tracer<'_> {
    /// The path of what a `<( )` prints.
    pub(super) fn stream(&mut self, printed: Value) -> Value {
        let path = format!("/dev/fd/{}", 63 + self.made.held.len());
        let path = Value::text(&path);
        self.wrote(&path, printed);
        path
    }

    /// A file was written by this script.
    pub(super) fn wrote(&mut self, path: &Value, content: Value) {
        if let Some(path) = self.place_of(path)
            && self.made.held.len() < MAX_FILES
        {
            self.made.held.insert(path, content);
        }
    }

    /// What a file holds that this script wrote.
    pub(super) fn written_to(&self, path: &Value) -> Option<Value> {
        self.made.held.get(&self.place_of(path)?).cloned()
    }

    fn place_of(&self, path: &Value) -> Option<String> {
        let base = PathBase {
            folder: self.vars.folder.clone()?,
            home: self.base.home.clone(),
        };
        Some(base.absolute(&path.known()?))
    }

    /// Follows a program that was made before, and notes what this one makes.
    pub(super) fn run_what_was_made(&mut self, argv: &[Value], facts: &[Fact]) {
        let name = argv[0].known().unwrap_or_default();
        let place = self.place_of(&argv[0]).filter(|_| name.contains('/'));
        if let Some(program) = place.as_ref().and_then(|place| self.made.named.get(place)) {
            let mut argv = argv.to_vec();
            argv[0] = program.clone();
            self.invoke(&argv, String::new(), Vec::new(), true);
        }
        let mut lines: Vec<Value> = Vec::new();
        lines.extend(place.and_then(|place| self.made.held.get(&place).cloned()));
        for fact in facts {
            if let Fact::Program(file) = fact {
                lines.extend(self.written_to(file));
            }
        }
        for line in lines {
            self.script(&line, true);
        }
        match name.rsplit('/').next().unwrap_or_default() {
            "cp" | "ln" | "install" | "mv" | "link" => {
                let words = argv[1..].iter();
                let files: Vec<&Value> = words
                    .filter(|word| !word.beginning().starts_with('-'))
                    .collect();
                if let [from, to] = files.as_slice() {
                    if let Some(held) = self.written_to(from) {
                        self.wrote(to, held);
                    }
                    if let Some(place) = self.place_of(to)
                        && self.made.named.len() < MAX_FILES
                    {
                        self.made.named.insert(place, (*from).clone());
                    }
                }
            }
            "tee" => {
                if let Some(input) = self.input.clone() {
                    for file in &argv[1..] {
                        self.wrote(file, input.clone());
                    }
                }
            }
            _ => {}
        }
    }
}
