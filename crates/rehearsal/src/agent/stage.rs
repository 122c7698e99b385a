//! Where an agent is seen and heard: a terminal, or a protocol. The agent takes the
//! steps of its script; a stage shows them and brings what comes from outside.

use std::io;

use serde_json::Value;

use super::Break;
use crate::script::{PlanEntry, Usage};
use crate::view::{Activity, Answer, Outcome};

pub(crate) trait Stage {
    /// Whether an answer to a question comes as a prompt of its own.
    const ANSWERS_ARE_PROMPTS: bool;

    /// The next prompt, when nothing is being done.
    async fn next_prompt(&mut self) -> Result<String, Break>;

    fn begin_turn(&mut self, prompt: &str) -> io::Result<()>;
    /// The session is saved; nothing more is done about this prompt.
    fn end_turn(&mut self, done: &Result<(), Break>) -> io::Result<()>;

    fn think(&mut self) -> io::Result<()>;
    fn become_busy(&mut self, with: Activity) -> io::Result<()>;
    /// More of what is being said.
    fn say(&mut self, piece: &str) -> io::Result<()>;
    fn end_saying(&mut self);
    /// Lines of a flood.
    fn pour(&mut self, lines: Vec<String>) -> io::Result<()>;
    fn notice(&mut self, text: String) -> io::Result<()>;
    fn plan(&mut self, entries: &[(String, PlanEntry)]) -> io::Result<()>;
    fn used(&mut self, usage: Usage) -> io::Result<()>;
    /// What ends the turn with an error.
    fn fail(&mut self, failure: Failed) -> io::Result<()>;

    fn begin_tool(&mut self, call: &ToolCall) -> io::Result<()>;
    /// A line of its output; `kept` of them stay in sight.
    fn tool_line(&mut self, line: String, kept: usize);
    fn end_tool(&mut self, call: &ToolCall, outcome: Outcome, output: &str) -> io::Result<()>;
    /// The person does not want this call.
    fn refuse_tool(&mut self, call: &ToolCall) -> io::Result<()>;

    async fn ask_permission(&mut self, asked: &Asked<'_>) -> Result<Answer, Break>;
    /// Waits for an answer in words.
    async fn ask_in_words(&mut self, question: String) -> Result<String, Break>;
    /// Stuck: nothing is shown and nothing is heard.
    async fn hang(&mut self) -> Break;

    /// Shows how things stand, before something is waited for.
    fn draw(&mut self) -> io::Result<()>;
    /// Takes in what comes from outside while a turn is under way, or waits until it is
    /// time to draw again. May be dropped at any time.
    async fn attend(&mut self) -> Result<(), Break>;
}

/// One use of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The tool as the person was asked about it.
    pub(crate) asked_as: String,
    /// Its arguments in one line, for a person.
    pub(crate) shown: String,
    pub(crate) input: Value,
    pub(crate) work: ToolWork,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolWork {
    Command,
    /// A file by its full path, before and after; nothing before in a new one.
    Change {
        path: String,
        old: Option<String>,
        new: String,
    },
    Other,
}

impl ToolCall {
    /// The same work, whoever named it.
    pub(crate) fn is_same_work(&self, other: &Self) -> bool {
        self.name == other.name && self.input == other.input
    }
}

/// What a person is asked about a call.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) args: String,
    pub(crate) question: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) text: String,
    pub(crate) sort: FailureSort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureSort {
    Error,
    UsageLimit,
}
