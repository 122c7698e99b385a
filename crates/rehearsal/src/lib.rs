//! The rehearsal agent: an agent CLI that follows a script.
//!
//! It draws what agent CLIs draw, or says it by the protocol they offer beside their
//! terminal, and does what they do (thinks, streams, asks
//! permission, runs commands, edits files, calls MCP tools, fails, crashes), but
//! asks no model and needs no key and no network. It serves demonstrations and
//! the tests of whatever watches agents, and says on its screen that it is a
//! rehearsal. The same script at the same speed always takes the same steps.

mod acp;
mod agent;
mod draft;
mod keys;
mod mcp;
mod records;
mod report;
pub mod sample;
mod screen;
mod script;
mod session;
mod signal;
mod terminal;
mod view;

use std::path::PathBuf;

use missiond_core::Controller;

pub use mcp::{McpConfigError, McpError};
pub use script::{
    Builtin, FORMAT, Script, ScriptError, UnknownScript, builtin_scripts, check_builtin,
    named_script,
};
pub use session::{InvalidSessionId, SessionError, SessionId};
pub use signal::{SignalChannel, SignalError};

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
pub struct Speed(f64);

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

/// Rehearses until the script or the person ends it; returns the exit code. A
/// crash the script asks for ends the process with its signal.
pub fn run(options: Options) -> Result<u8, RehearsalError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        match options.controller {
            Controller::Terminal => screen::rehearse(options).await,
            Controller::Structured => acp::rehearse(options).await,
        }
    });
    // The thread that reads input cannot be woken and is left behind.
    runtime.shutdown_background();
    ended
}
