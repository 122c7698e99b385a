//! One rule: what it is about, for whom, for how long, and what it says.

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::Part;
use super::path::PathPattern;
use super::pattern::Pattern;
use super::place::{Meets, Place};
use super::request::{Argument, Request, Shown};
use super::script::Script;
use super::{Effect, InvalidPattern};
use crate::shell::value::{Atom, Value};

/// Whom a rule is for. What is left out is everyone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// A slot, by its id or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<BoardTaskId>,
    /// Also for what a screen alone shows, where nothing tells that it is what the
    /// program asks. Only a rule that allows needs it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_sight: bool,
}

impl Scope {
    #[must_use]
    pub fn covers(&self, request: &Request) -> bool {
        let id = request.slot.map(|slot| slot.to_string());
        let is_slot = |slot: &String| {
            id.as_deref() == Some(slot) || request.slot_name.as_deref() == Some(slot)
        };
        self.engine
            .as_ref()
            .is_none_or(|engine| *engine == request.engine)
            && self.slot.as_ref().is_none_or(is_slot)
            && self
                .execution
                .is_none_or(|id| request.execution == Some(id))
            && self.task.is_none_or(|id| request.task == Some(id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What a person finds it by: `P-3`, or where it stands in the configuration.
    pub name: String,
    pub effect: Effect,
    pub tool: Pattern,
    pub argument: Option<Pattern>,
    pub path: Option<PathPattern>,
    pub server: Option<Pattern>,
    pub scope: Scope,
    pub expires_at: Option<Timestamp>,
    /// How often it may still decide.
    pub uses_left: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    #[error(
        "a rule that allows everything is not made by accident: name a tool, an argument, a path \
         or a server"
    )]
    AllowsEverything,
    #[error("a rule can be used 1 to 100000 times")]
    Uses,
}

impl Rule {
    /// On a tool alone, for everyone and as long as it stands.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect, tool: Pattern) -> Self {
        Self {
            name: name.into(),
            effect,
            tool,
            argument: None,
            path: None,
            server: None,
            scope: Scope::default(),
            expires_at: None,
            uses_left: None,
        }
    }

    /// Refuses what nobody means.
    pub fn check(&self) -> Result<(), InvalidRule> {
        let narrow = self.argument.is_some() || self.path.is_some() || self.server.is_some();
        if self.effect == Effect::Allow && self.tool.is_everything() && !narrow {
            return Err(InvalidRule::AllowsEverything);
        }
        match self.uses_left {
            Some(0 | 100_001..) => Err(InvalidRule::Uses),
            _ => Ok(()),
        }
    }

    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end) && self.uses_left != Some(0)
    }

    /// The rule in words: `allow Bash with "git status*"`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut words = format!("{} {}", self.effect.as_str(), self.tool);
        let mut add = |what: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push_str(&format!(" {what} {value}"));
            }
        };
        let quoted = |pattern: &Pattern| format!("\"{pattern}\"");
        add("with", self.argument.as_ref().map(quoted));
        add("on", self.path.as_ref().map(ToString::to_string));
        add("of server", self.server.as_ref().map(ToString::to_string));
        add(
            "in",
            self.scope.engine.as_ref().map(|engine| engine.to_string()),
        );
        add("in slot", self.scope.slot.clone());
        add("in", self.scope.execution.map(|id| id.to_string()));
        add("in task", self.scope.task.map(|id| id.to_string()));
        add("until", self.expires_at.map(|at| at.to_string()));
        add("by", self.scope.by_sight.then(|| "sight".to_owned()));
        words
    }

    /// The generous reading, for rules that deny or ask: whether any way to
    /// understand the request falls under it.
    pub(super) fn concerns(&self, request: &Request, script: Option<&Script>) -> Meets {
        let tool = match &request.tool {
            Some(tool) => {
                let other = also_known_as(tool);
                self.tool.matches_name(tool)
                    || self.path.is_some() && other.is_some_and(|name| self.tool.matches_name(name))
            }
            // What cannot be read may be anything, but a rule on one tool must
            // not stop every dialog that is hard to read.
            None => self.tool.is_everything(),
        };
        let server = self.server.as_ref().is_none_or(|pattern| {
            let server = request.server.as_deref();
            server.is_some_and(|server| pattern.matches_name(server))
        });
        if !server {
            return Meets::No;
        }
        let argument = match (&self.argument, &request.argument, script) {
            (None, _, _) => Meets::Yes,
            (Some(_), _, _) if !tool => Meets::No,
            (Some(pattern), _, Some(script)) => script.concerns(pattern),
            (Some(pattern), Some(argument), None) => {
                let text = argument.text();
                let mut lines = text.lines().map(str::trim);
                if pattern.matches(text) || lines.any(|line| pattern.matches(line)) {
                    Meets::Yes
                } else {
                    Meets::No
                }
            }
            (Some(_), None, None) => Meets::No,
        };
        let path = match (&self.path, script) {
            (None, _) => Meets::Yes,
            // A rule on reading or writing holds for what a command reads or writes.
            (Some(pattern), Some(script)) => script.touches(pattern, &|writes| {
                let as_file = if writes {
                    ["write", "edit"]
                } else {
                    ["read", "grep"]
                };
                tool || as_file.iter().any(|name| self.tool.matches_name(name))
            }),
            (Some(_), None) if !tool => Meets::No,
            (Some(pattern), None) => {
                let met = request
                    .paths
                    .iter()
                    .map(|path| path_meets(path, pattern, request));
                met.max().unwrap_or(Meets::No)
            }
        };
        if self.path.is_none() && !tool {
            return Meets::No;
        }
        argument.min(path)
    }

    /// The strict reading, for rules that allow: whether all of the request
    /// falls under this one rule. A command with a pattern on it is judged part
    /// by part instead.
    pub(super) fn allows_whole(&self, request: &Request) -> bool {
        let argument = match (&self.argument, &request.argument) {
            (None, _) => true,
            (Some(pattern), Some(Argument::Text(text))) => {
                request.shown != Shown::InPart && pattern.matches(text)
            }
            (Some(_), Some(Argument::Command(_)) | None) => false,
        };
        argument && self.allows_tool(request)
    }

    /// Whether one part of a command falls under it.
    pub(super) fn allows_part(&self, part: &Part, request: &Request) -> bool {
        let argument = self.argument.as_ref();
        argument.is_some_and(|pattern| part.fits(pattern)) && self.allows_tool(request)
    }

    fn allows_tool(&self, request: &Request) -> bool {
        let named = |pattern: &Pattern, name: &Option<String>| {
            name.as_ref().is_some_and(|name| pattern.matches_name(name))
        };
        let path = self.path.as_ref().is_none_or(|pattern| {
            let mut paths = request.paths.iter();
            request.shown != Shown::InPart
                && !request.paths.is_empty()
                && paths.all(|path| pattern.matches(path, &request.base))
        });
        let searches = request.tool.as_deref().and_then(also_known_as) == Some("read")
            && !self.tool.is_everything()
            && self.tool.matches_name("read");
        (named(&self.tool, &request.tool) || searches)
            && self
                .server
                .as_ref()
                .is_none_or(|pattern| named(pattern, &request.server))
            && path
    }
}

/// What rules on files call a tool that does the same under another name.
fn also_known_as(tool: &str) -> Option<&'static str> {
    Some(match tool.to_lowercase().as_str() {
        "grep"
        | "glob"
        | "ls"
        | "list"
        | "list_directory"
        | "read_many_files"
        | "search_file_content"
        | "notebookread"
        | "view" => "read",
        "write" | "multiedit" | "notebookedit" | "delete" | "delete_file" => "edit",
        "edit" => "write",
        _ => return None,
    })
}

/// Whether a path that a tool is given falls under a pattern. Tools that search are
/// given wildcards, and go into folders.
fn path_meets(path: &str, pattern: &PathPattern, request: &Request) -> Meets {
    let base = &request.base;
    if pattern.matches(path, base) {
        return Meets::Yes;
    }
    let atoms = path.replace("**", "\u{0}");
    let atoms = atoms.chars().map(|c| match c {
        '\u{0}' => Atom::Any,
        '*' => Atom::Star,
        '?' => Atom::One,
        c => Atom::Char(c),
    });
    let place = Place::of(&Value(atoms.collect()), Some(&base.folder), base);
    let tool = request.tool.as_deref().unwrap_or_default().to_lowercase();
    let searches = matches!(
        tool.as_str(),
        "grep" | "search_file_content" | "glob" | "list_directory"
    );
    let here = place.meets(pattern, base, false);
    let goes_in = tool == "grep" || tool == "search_file_content";
    if searches && goes_in {
        return here.max(place.meets(pattern, base, true).min(Meets::Maybe));
    }
    here
}
