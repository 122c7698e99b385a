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
mod options;
mod records;
mod report;
pub mod sample;
mod screen;
mod script;
mod session;
mod signal;
mod terminal;
mod view;

use missiond_core::Controller;

pub use mcp::{McpConfigError, McpError};
pub use options::{Options, RehearsalError, SessionChoice, Speed};
pub use script::{
    Builtin, FORMAT, Script, ScriptError, UnknownScript, builtin_scripts, check_builtin,
    named_script,
};
pub use session::{InvalidSessionId, SessionError, SessionId};
pub use signal::{SignalChannel, SignalError};

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
