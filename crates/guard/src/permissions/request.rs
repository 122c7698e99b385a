//! What is asked for: a tool with its argument, as far as it could be read.

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, SlotId};

use super::path::PathBase;

/// One use of a tool that an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub engine: CliEngine,
    /// Absent when it could not be read with certainty; then nothing allows it.
    pub tool: Option<String>,
    /// The MCP server the tool belongs to.
    pub server: Option<String>,
    pub argument: Option<Argument>,
    /// Every name of the one file it is about, absolute: as it was written, and
    /// what its links resolve to.
    pub paths: Vec<String>,
    /// Whether what is above is all of it.
    pub shown: Shown,
    pub base: PathBase,
    pub slot: Option<SlotId>,
    pub slot_name: Option<String>,
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
}

impl Request {
    /// A request with nothing known of it but where it comes from.
    #[must_use]
    pub fn from_engine(engine: CliEngine) -> Self {
        Self {
            engine,
            tool: None,
            server: None,
            argument: None,
            paths: Vec::new(),
            shown: Shown::Whole,
            base: PathBase::default(),
            slot: None,
            slot_name: None,
            execution: None,
            task: None,
        }
    }
}

/// What a tool is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A line for a shell; several where the screen shows several rows, which
    /// may be one line that was wrapped.
    Command(String),
    Text(String),
}

impl Argument {
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Command(text) | Self::Text(text) => text,
        }
    }
}

/// Whether a screen shows all of what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It was no screen: the tool's own input, with its line ends as they are.
    Exact,
    Whole,
    InPart,
}
