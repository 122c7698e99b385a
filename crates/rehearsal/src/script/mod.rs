//! What a rehearsal does, as data.
//!
//! A script is a YAML file: a list of turns, each with the prompts it answers
//! and the steps it takes. Everything in it is checked when it is loaded. What
//! an agent would think is not part of it: the text of a `think` step is for
//! whoever reads the file, and is dropped here so that nothing can show it.

mod builtin;
mod keys;
mod parse;
mod template;

use std::time::Duration;

use regex::Regex;

pub use builtin::{Builtin, UnknownScript, builtin_scripts, check_builtin, named_script};
pub(crate) use template::{Shape, Template, Variables};

/// The version of the script format this build reads.
pub const FORMAT: i64 = 1;

#[derive(Debug, Clone)]
pub struct Script {
    pub(crate) name: String,
    pub(crate) turns: Vec<Turn>,
    /// How long the agent takes to start.
    pub(crate) startup: Duration,
}

impl Script {
    /// Reads a script, or says everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(name, text)
    }

    /// A script that comes with the program.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        builtin::find(name)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// All problems of one script, in file order.
pub type ScriptError = missiond_yaml::Invalid;

/// What is done about one prompt.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) when: When,
    pub(crate) uses: Uses,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) enum When {
    Any,
    Contains(String),
    Matches(Regex),
}

impl When {
    pub(crate) fn holds(&self, prompt: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Contains(text) => prompt.contains(text.as_str()),
            Self::Matches(pattern) => pattern.is_match(prompt),
        }
    }
}

/// How many prompts of a session a turn answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uses {
    AtMost(u32),
    Always,
}

impl Uses {
    pub(crate) fn allows(self, used: u32) -> bool {
        match self {
            Self::AtMost(limit) => used < limit,
            Self::Always => true,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Think(Duration),
    Say(Say),
    Plan(Vec<(Template, PlanEntry)>),
    Ask(Ask),
    Run(Run),
    Write(FileText),
    Append(FileText),
    Edit(Edit),
    Signal(Signal),
    Call(Call),
    Question(Template),
    Error(Failure),
    Usage(Usage),
    UsageLimit { resets: Template },
    Sleep(Duration),
    Hang,
    Flood { lines: u32, text: Template },
    Exit(u8),
    Crash(Crash),
    Repeat { times: u32, steps: Vec<Step> },
}

#[derive(Debug, Clone)]
pub(crate) struct Say {
    pub(crate) text: Template,
    /// Characters a second.
    pub(crate) rate: f64,
}

/// How far one step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanEntry {
    Pending,
    Running,
    Done,
}

/// Tokens the agent says it used. Nothing is used by a rehearsal; the numbers are
/// the script's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
}

/// Asks for permission; what follows hangs on the answer.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) tool: String,
    pub(crate) args: Template,
    pub(crate) question: Template,
    pub(crate) allow: Vec<Step>,
    /// What `allow` does when the script says nothing else.
    pub(crate) always: Option<Vec<Step>>,
    /// Ends the turn when the script says nothing else.
    pub(crate) deny: Option<Vec<Step>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) argv: Vec<Template>,
    pub(crate) cwd: Option<Template>,
    /// Any other exit code is shown as a failure and ends the turn.
    pub(crate) exit: Option<i32>,
    /// How many lines of its output stay on the screen.
    pub(crate) tail: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct FileText {
    pub(crate) file: Template,
    pub(crate) text: Template,
}

#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) file: Template,
    pub(crate) replace: Template,
    pub(crate) with: Template,
}

/// Something the agent tells its execution.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub(crate) kind: String,
    pub(crate) payload: Shape,
}

/// A tool of an MCP server.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Shape,
}

#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) text: Template,
    pub(crate) retries: u32,
    /// Between two tries.
    pub(crate) wait: Duration,
    pub(crate) then: AfterRetries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterRetries {
    /// The turn ends with the error.
    Stop,
    /// The last try succeeds.
    Recover,
}

/// The signal the program dies of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    Abort,
    Kill,
    Segv,
}

#[cfg(test)]
mod tests;
