//! The tool call that a step is, known before it is made: whoever is asked for
//! permission hears exactly what will be done.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Agent, Stage, ToolCall, ToolWork};
use crate::script::{Ask, Call, Edit, FileText, Run, Signal, Step};

/// Of a longer file no text before the change is told.
const MAX_TOLD: u64 = 1 << 20;

impl<S: Stage> Agent<S> {
    /// What is asked about: the first tool that is used if it is allowed.
    pub(super) fn asked_call(&self, ask: &Ask) -> ToolCall {
        let args = self.fill(&ask.args);
        let first = ask.allow.iter().find_map(|step| self.call_of(step));
        let call = first.unwrap_or_else(|| {
            let input = json!({ "args": args });
            new_call(&ask.tool, &args, input, ToolWork::Other)
        });
        ToolCall {
            asked_as: ask.tool.clone(),
            ..call
        }
    }

    /// The call that was asked about, if it is this one.
    pub(super) fn asked_before(&mut self, call: ToolCall) -> ToolCall {
        let is_this = |asked: &mut ToolCall| asked.is_same_work(&call);
        self.asked.take_if(is_this).unwrap_or(call)
    }

    fn call_of(&self, step: &Step) -> Option<ToolCall> {
        match step {
            Step::Run(run) => Some(self.run_call(run)),
            Step::Write(file) => Some(self.write_call(file)),
            Step::Append(file) => Some(self.append_call(file)),
            Step::Edit(edit) => Some(self.edit_call(edit)),
            Step::Signal(signal) if self.reporter.is_none() => Some(self.signal_call(signal)),
            Step::Call(call) => Some(self.mcp_call(call)),
            _ => None,
        }
    }

    pub(super) fn argv(&self, run: &Run) -> (Vec<String>, PathBuf) {
        let argv = run.argv.iter().map(|part| self.fill(part)).collect();
        let cwd = match &run.cwd {
            Some(cwd) => self.cwd.join(self.fill(cwd)),
            None => self.cwd.clone(),
        };
        (argv, cwd)
    }

    pub(super) fn run_call(&self, run: &Run) -> ToolCall {
        let (argv, cwd) = self.argv(run);
        let command: Vec<_> = argv.iter().map(|word| quoted(word)).collect();
        let input = json!({ "command": command.join(" "), "argv": argv, "cwd": cwd });
        new_call("Run", &argv.join(" "), input, ToolWork::Command)
    }

    pub(super) fn write_call(&self, file: &FileText) -> ToolCall {
        let (path, text) = (self.fill(&file.file), self.fill(&file.text));
        let full = self.cwd.join(&path);
        let work = change(&full, small_text(&full), text.clone());
        new_call("Write", &path, json!({"file": path, "text": text}), work)
    }

    pub(super) fn append_call(&self, file: &FileText) -> ToolCall {
        let (path, text) = (self.fill(&file.file), self.fill(&file.text));
        let full = self.cwd.join(&path);
        let old = small_text(&full);
        let new = old.clone().unwrap_or_default() + &text;
        let input = json!({"file": path, "text": text});
        new_call("Append", &path, input, change(&full, old, new))
    }

    pub(super) fn edit_call(&self, edit: &Edit) -> ToolCall {
        let path = self.fill(&edit.file);
        let (replace, with) = (self.fill(&edit.replace), self.fill(&edit.with));
        let full = self.cwd.join(&path);
        let work = change(&full, Some(replace.clone()), with.clone());
        let input = json!({"file": path, "replace": replace, "with": with});
        new_call("Edit", &path, input, work)
    }

    pub(super) fn signal_call(&self, signal: &Signal) -> ToolCall {
        let payload = signal.payload.fill(&self.variables);
        let input = json!({"type": signal.kind, "payload": payload});
        new_call("Signal", &signal.kind, input, ToolWork::Other)
    }

    pub(super) fn mcp_call(&self, call: &Call) -> ToolCall {
        let arguments = call.arguments.fill(&self.variables);
        let shown = arguments.to_string();
        new_call(&call.tool, &shown, arguments, ToolWork::Other)
    }
}

fn new_call(name: &str, shown: &str, input: Value, work: ToolWork) -> ToolCall {
    ToolCall {
        id: format!("tool_{}", Uuid::now_v7().simple()),
        name: name.to_owned(),
        asked_as: name.to_owned(),
        shown: shown.to_owned(),
        input,
        work,
    }
}

fn change(path: &Path, old: Option<String>, new: String) -> ToolWork {
    ToolWork::Change {
        path: path.display().to_string(),
        old,
        new,
    }
}

fn small_text(path: &Path) -> Option<String> {
    let length = std::fs::metadata(path).ok()?.len();
    (length <= MAX_TOLD)
        .then(|| std::fs::read_to_string(path).ok())
        .flatten()
}

/// A word as a shell would read it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
