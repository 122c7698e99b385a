//! How to rehearse, and why it cannot be done.

use std::path::PathBuf;

use missiond_core::Controller;

use crate::mcp::{McpConfigError, McpError};
use crate::script::Script;
use crate::session::{SessionError, SessionId};
use crate::signal::SignalChannel;

/// How to rehearse.
pub struct Options {
    /// By keys in a terminal, or by the Agent Client Protocol over standard input and
    /// output. Sessions are chosen over the protocol then; a new one has the id below.
    pub controller: Controller,
    pub script: Script,
    /// How the script was named on the command line, to say how to resume.
    pub script_argument: String,
    pub session: SessionChoice,
    /// Where sessions are kept; made if need be, private.
    pub session_dir: PathBuf,
    /// JSON lines of what was said; beside the session when left out.
    pub transcript: Option<PathBuf>,
    /// JSON lines of the state the agent is truly in, as its terminal shows it.
    pub truth: Option<PathBuf>,
    /// MCP servers, in the shape of `.mcp.json`.
    pub mcp_config: Option<PathBuf>,
    pub speed: Speed,
    /// A prompt to begin with, in a terminal.
    pub prompt: Option<String>,
    /// Where signals go, in place of an MCP tool.
    pub signals: Option<Box<dyn SignalChannel>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("script", &self.script.name())
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChoice {
    New(SessionId),
    /// Goes on with the turn after the last one taken.
    Resume(SessionId),
}

/// How many times faster than written the script is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(pub(crate) f64);

impl Speed {
    /// From 0.01 to 1000.
    #[must_use]
    pub fn new(factor: f64) -> Option<Self> {
        (0.01..=1000.0).contains(&factor).then_some(Self(factor))
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self(1.0)
    }
}

/// Why a rehearsal could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    #[error("a rehearsal needs a terminal: standard input and output must be one")]
    NoTerminal,
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    McpConfig(#[from] McpConfigError),
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error("{} could not be written: {source}", path.display())]
    Record {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the terminal failed: {0}")]
    Terminal(#[from] std::io::Error),
}
