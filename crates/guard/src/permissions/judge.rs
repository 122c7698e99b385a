//! Whether the rules that allow cover all that a line for a shell would do: every
//! program with its options, every file that is read or written, every folder, with
//! nothing left that cannot be told.

use super::command::Part;
use super::hidden::is_interpreter;
use super::naming::{
    agree, is_code, is_exact, name_of, names, names_settings, spelled, without_global_options,
};
use super::place::Place;
use super::request::Request;
use super::rule::Rule;
use super::script::Script;
use crate::programs::{Fact, profile, without_options};
use crate::shell::value::Value;
use crate::shell::{Run, Trace, language};

pub(super) struct Judge<'r> {
    pub(super) request: &'r Request,
    /// Rules that allow and are in force.
    pub(super) allowing: &'r [&'r Rule],
    /// Whether some rule denies or asks about commands or files: then what cannot be
    /// told may be what it is about.
    pub(super) restricted: bool,
}

type Allowed<'r> = Result<Vec<&'r Rule>, String>;

/// Parts of the shell that do nothing by themselves.
const HARMLESS: &str = ": true false [ [[ test read exit return break continue shift wait set local unset \
    export declare readonly typeset getopts mapfile readarray";

const SHELLS: [&str; 6] = ["bash", "sh", "zsh", "dash", "ksh", "ash"];

impl<'r> Judge<'r> {
    /// For a rule that allows commands without looking at them: what no rule means.
    pub(super) fn wide(&self, script: &Script) -> Result<(), String> {
        for (_, traced) in script.plausible() {
            let traced = traced
                .as_ref()
                .map_err(|why| format!("the command is not understood: {why}"))?;
            for access in traced.accesses.iter().filter(|access| access.writes) {
                self.unprotected(&access.path, access.folder.as_deref())?;
            }
            for run in &traced.runs {
                for fact in &run.facts {
                    if let Fact::Writes(path) = fact {
                        self.unprotected(path, run.folder.as_deref())?;
                    }
                }
            }
            if self.restricted {
                self.clear(traced)?;
                for run in &traced.runs {
                    self.no_hidden_code(run)?;
                }
            }
        }
        Ok(())
    }

    fn no_hidden_code(&self, run: &Run) -> Result<(), String> {
        let program = name_of(run);
        let code = run.facts.iter().any(|fact| matches!(fact, Fact::Code(_)));
        let simple = matches!(
            program.as_str(),
            "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk"
        );
        if is_interpreter(&program) && (code || run.input.is_some()) {
            return Err(format!(
                "what the code given to `{program}` does cannot be told"
            ));
        }
        if simple {
            self.small_language(run, &program)?;
        }
        Ok(())
    }

    /// Part by part, in every way to read it.
    pub(super) fn parts(&self, script: &Script) -> Allowed<'r> {
        let mut by: Vec<&Rule> = Vec::new();
        for (reading, traced) in script.plausible() {
            let traced = traced
                .as_ref()
                .map_err(|why| format!("the command cannot be judged part by part: {why}"))?;
            if traced.runs.is_empty() && traced.accesses.is_empty() && traced.settings.is_empty() {
                return Err("there is no command".to_owned());
            }
            agree(reading)?;
            let mut seen_whole = !traced.runs.is_empty();
            for run in &traced.runs {
                let Some(rule) = self.run(run, by.is_empty())? else {
                    seen_whole &= run.inner;
                    continue;
                };
                let seen = is_exact(rule) && (run.settings.is_empty() || names_settings(rule, run));
                seen_whole &= run.inner || seen;
                if !by.iter().any(|known| known.name == rule.name) {
                    by.push(rule);
                }
            }
            // Of what a person has seen word by word nothing is in doubt.
            if !seen_whole || !traced.settings.is_empty() {
                self.clear(traced)?;
            }
            for access in &traced.accesses {
                let place = Place::of(&access.path, access.folder.as_deref(), &self.request.base);
                if access.writes {
                    self.may_write(&place, &access.path, None)?;
                } else {
                    self.may_read(&place, &access.path)?;
                }
            }
        }
        Ok(by)
    }

    /// Files of a tool that is no shell: what is obeyed, and what is secret.
    pub(super) fn files(&self, rule: &Rule) -> Result<(), String> {
        let tool = self
            .request
            .tool
            .as_deref()
            .unwrap_or_default()
            .to_lowercase();
        let reads = ["read", "grep", "glob", "ls", "list", "view"].contains(&tool.as_str());
        let writes =
            ["write", "edit", "multiedit", "notebookedit", "delete"].contains(&tool.as_str());
        for path in &self.request.paths {
            let base = &self.request.base;
            let place = Place::of(&Value::text(path), Some(&base.folder), base);
            let named = rule
                .path
                .as_ref()
                .is_some_and(|pattern| !pattern.as_str().contains(['*', '?']));
            if named {
                continue;
            }
            if !path.chars().all(crate::shell::is_plain) {
                return Err("the path holds characters that cannot be seen".to_owned());
            }
            if writes && place.is_protected() {
                return Err(format!(
                    "what is written to `{path}` is obeyed by other programs"
                ));
            }
            if reads && place.is_secret() {
                return Err(format!("`{path}` may hold a key or a password"));
            }
        }
        Ok(())
    }

    /// Nothing is left that only the run would show.
    fn clear(&self, traced: &Trace) -> Result<(), String> {
        if let Some(doubt) = traced.doubts.first() {
            return Err(format!("the command cannot be judged: {doubt}"));
        }
        if let Some(setting) = traced.settings.first() {
            return Err(format!("it sets `{setting}`, which steers other programs"));
        }
        match traced.runs.iter().find_map(|run| run.settings.first()) {
            Some(setting) if self.restricted || !traced.runs.is_empty() => {
                let named = traced.runs.iter().all(|run| {
                    run.settings.is_empty()
                        || self.allowing.iter().any(|rule| names_settings(rule, run))
                });
                if named {
                    Ok(())
                } else {
                    Err(format!("it sets `{setting}`, which steers the program"))
                }
            }
            _ => Ok(()),
        }
    }

    /// The rule that allows a program with its words; none where it needs no rule.
    fn run(&self, run: &Run, first: bool) -> Result<Option<&'r Rule>, String> {
        let name = name_of(run);
        let plain = spelled(run);
        let part = Part::of(&run.written, &plain);
        let as_run = Part::of(&plain, &plain);
        let short = without_global_options(run, &name).map(|text| Part::of(&text, &text));
        let fitting: Vec<&'r Rule> = self
            .allowing
            .iter()
            .copied()
            .filter(|rule| {
                let short = short.as_ref();
                rule.allows_part(if run.inner { &as_run } else { &part }, self.request)
                    || short.is_some_and(|short| rule.allows_part(short, self.request))
            })
            .collect();
        let rule = fitting.first().copied();
        let path = run.argv[0].beginning().contains('/');
        if rule.is_none() && (path || !self.needs_no_rule(run, &name)) {
            return Err(if first && !run.inner {
                if plain.is_empty() {
                    "no rule allows it".to_owned()
                } else {
                    format!("no rule allows the part `{plain}`")
                }
            } else {
                format!("no rule allows the part `{plain}`")
            });
        }
        // One rule may name what another does not.
        let mut why = None;
        let candidates: Vec<Option<&Rule>> = if fitting.is_empty() {
            vec![None]
        } else {
            fitting.into_iter().map(Some).collect()
        };
        for rule in candidates {
            match self.facts(run, &name, rule) {
                Ok(()) => return Ok(rule),
                Err(error) => {
                    why.get_or_insert(error);
                }
            }
        }
        Err(why.unwrap_or_default())
    }

    /// What does nothing, or nothing but what is judged by itself.
    fn needs_no_rule(&self, run: &Run, name: &str) -> bool {
        if name == "popd" {
            return run.argv.len() == 1;
        }
        if name == "cd" || name == "pushd" {
            let inside = run.argv.get(1).is_some_and(|to| {
                let place = Place::of(to, run.folder.as_deref(), &self.request.base);
                place.is_within(&self.request.base.folder)
            });
            return inside && run.argv.len() == 2;
        }
        if HARMLESS.split_whitespace().any(|known| known == name) {
            return !shows_variables(run, name);
        }
        let runs_another = run
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::Command(_)));
        if profile(name).is_some_and(|profile| profile.transparent) && runs_another {
            return true;
        }
        // `bash -c LINE`: the line is judged.
        let line_only = run.facts.iter().all(|fact| {
            matches!(fact, Fact::Script(line) if line.is_known())
                || matches!(fact, Fact::Arguments(_))
                || matches!(fact, Fact::Risk(option) if option == "-c")
        });
        SHELLS.contains(&name) && line_only && !run.facts.is_empty()
    }

    /// Whether a rule means all that the words make the program do.
    fn facts(&self, run: &Run, name: &str, rule: Option<&Rule>) -> Result<(), String> {
        let exact = rule.is_some_and(is_exact);
        if exact {
            return Ok(());
        }
        let named = |word: &str| rule.is_some_and(|rule| names(rule, word));
        if profile(name).is_none() && !HARMLESS.split_whitespace().any(|known| known == name) {
            return self.unknown_program(run, &named);
        }
        let shell_line = SHELLS.contains(&name);
        for fact in &run.facts {
            match fact {
                Fact::Risk(word) if shell_line && word == "-c" => {}
                // The code is looked at below.
                Fact::Risk(word) if is_code(name, word) => {}
                Fact::Risk(word) if !named(word) => {
                    let what = if word.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{name} {word}")
                    };
                    return Err(format!(
                        "`{what}` does more than a wildcard means; a rule has to name it"
                    ));
                }
                Fact::Unknown(word) if !named(word) => {
                    return Err(format!("what `{word}` makes `{name}` do is not known"));
                }
                Fact::Hidden(word) if !named(word) => {
                    return Err(format!("what `{word}` makes `{name}` do cannot be told"));
                }
                Fact::Program(file) if !named(&file.to_string()) => {
                    let base = &self.request.base;
                    let place = Place::of(file, run.folder.as_deref(), base);
                    if file.has_any() || !place.is_within(&base.folder) {
                        return Err(format!("`{name}` runs `{file}`, outside of the folder"));
                    }
                }
                Fact::Code(_) if is_interpreter(name) && self.restricted => {
                    self.no_hidden_code(run)?;
                }
                _ => {}
            }
        }
        if is_interpreter(name)
            && run.input.is_some()
            && !run
                .facts
                .iter()
                .any(|fact| matches!(fact, Fact::Program(_)))
        {
            return Err(format!("what the input makes `{name}` do cannot be told"));
        }
        self.small_language(run, name)?;
        self.only_files(run)
    }

    /// Files that it reads and writes, and folders that it works in.
    fn only_files(&self, run: &Run) -> Result<(), String> {
        let base = &self.request.base;
        let mut folder = run.folder.clone();
        for fact in &run.facts {
            if let Fact::Folder(to) = fact {
                let place = Place::of(to, run.folder.as_deref(), base);
                if !place.is_within(&base.folder) {
                    return Err(format!("it works in `{to}`, outside of the folder"));
                }
                folder = place.known();
            }
        }
        if folder.is_none() {
            let relative = run.facts.iter().any(|fact| match fact {
                Fact::Reads(path) | Fact::Writes(path) => !path.beginning().starts_with('/'),
                _ => false,
            });
            if relative {
                return Err("in which folder it works cannot be told".to_owned());
            }
        }
        for fact in &run.facts {
            match fact {
                Fact::Reads(path) => {
                    let place = Place::of(path, folder.as_deref(), base);
                    self.may_read(&place, path)?;
                }
                Fact::Writes(path) => {
                    let place = Place::of(path, folder.as_deref(), base);
                    self.may_write(&place, path, Some(&base.folder))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn small_language(&self, run: &Run, name: &str) -> Result<(), String> {
        let Some(check) = language::check_of(name) else {
            return Ok(());
        };
        let mut scripts: Vec<&Value> = run
            .facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::Code(code) => Some(code),
                _ => None,
            })
            .collect();
        let (_, plain) = without_options(profile(name), &run.argv[1..]);
        if scripts.is_empty() {
            scripts.extend(plain.first());
        }
        for script in scripts {
            let text = script
                .known()
                .ok_or_else(|| format!("what `{name}` is told to do cannot be told"))?;
            if !check(&text) {
                return Err(format!("`{name}` is told to do more than change text"));
            }
        }
        Ok(())
    }

    /// A program without a profile: the person who wrote the rule knows it, but not
    /// every option that sounds as if it ran or wrote something.
    fn unknown_program(&self, run: &Run, named: &dyn Fn(&str) -> bool) -> Result<(), String> {
        let base = &self.request.base;
        for word in &run.argv[1..] {
            let text = word.beginning();
            let option = text.split('=').next().unwrap_or_default();
            let loud = [
                "exec", "command", "cmd", "shell", "script", "eval", "hook", "plugin", "preload",
                "config", "output", "proxy", "pager", "editor", "wrapper", "run", "load",
                "require", "program", "upload", "file",
            ];
            let sounds =
                option.starts_with("--") && loud.iter().any(|sound| option.contains(sound));
            let short = matches!(
                option,
                "-c" | "-e" | "-x" | "-E" | "-o" | "-f" | "-r" | "-C"
            );
            if (sounds || short) && !named(option) {
                return Err(format!(
                    "what `{option}` makes it do is not known; a rule has to name it"
                ));
            }
            if text.is_empty() && !word.0.is_empty() {
                return Err(format!("what `{word}` is cannot be told"));
            }
            if text.starts_with('/') || text.starts_with('~') || text.contains("..") {
                let place = Place::of(word, run.folder.as_deref(), base);
                self.may_read(&place, word)?;
            }
        }
        Ok(())
    }

    fn unprotected(&self, path: &Value, folder: Option<&str>) -> Result<(), String> {
        let place = Place::of(path, folder, &self.request.base);
        if place.is_protected() && !self.names_path(&place) {
            return Err(format!(
                "what is written to `{path}` is obeyed by other programs"
            ));
        }
        if place.is_unknown() && self.restricted {
            return Err(format!("where `{path}` leads cannot be told"));
        }
        Ok(())
    }

    fn may_read(&self, place: &Place, path: &Value) -> Result<(), String> {
        let base = &self.request.base;
        if path.known().as_deref() == Some("-") || path.0.is_empty() {
            return Ok(());
        }
        if place.is_secret() && !self.names_path(place) {
            return Err(format!("`{path}` may hold a key or a password"));
        }
        let inside = place.is_within(&base.folder) || place.is_ordinary();
        if inside || self.covered(place, &["read"]) {
            return Ok(());
        }
        if place.is_unknown() {
            return Err(format!("which file `{path}` is cannot be told"));
        }
        Err(format!("no rule allows reading `{path}`"))
    }

    fn may_write(&self, place: &Place, path: &Value, within: Option<&str>) -> Result<(), String> {
        if place.is_nowhere() || path.known().as_deref() == Some("-") {
            return Ok(());
        }
        if place.is_protected() && !self.names_path(place) {
            return Err(format!(
                "what is written to `{path}` is obeyed by other programs"
            ));
        }
        let inside = within.is_some_and(|folder| place.is_within(folder));
        if inside || self.covered(place, &["write", "edit"]) {
            return Ok(());
        }
        Err(format!("no rule allows writing `{path}`"))
    }

    /// Whether a rule on files allows all that a path may become.
    fn covered(&self, place: &Place, tools: &[&str]) -> bool {
        self.allowing.iter().any(|rule| {
            let tool = tools.iter().any(|tool| rule.tool.matches_name(tool));
            let path = match &rule.path {
                Some(pattern) => place.is_covered_by(pattern, &self.request.base),
                None => !rule.tool.is_everything(),
            };
            tool && path && rule.argument.is_none() && rule.server.is_none()
        })
    }

    /// Whether a rule names this very path.
    pub(super) fn names_path(&self, place: &Place) -> bool {
        self.allowing.iter().any(|rule| {
            let path = rule.path.as_ref();
            path.is_some_and(|pattern| {
                let literal = !pattern.as_str().contains(['*', '?']);
                literal && place.is_covered_by(pattern, &self.request.base)
            })
        })
    }
}

/// `export`, `set` and their like without a name print what all variables hold.
fn shows_variables(run: &Run, name: &str) -> bool {
    let words = &run.argv[1..];
    match name {
        "set" => words.is_empty(),
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            let option = |word: &Value| word.beginning().starts_with(['-', '+']);
            words.iter().all(option)
        }
        _ => false,
    }
}
