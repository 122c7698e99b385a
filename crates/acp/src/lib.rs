//! missiond as an agent of the Agent Client Protocol, version 1: an editor that speaks it
//! drives executions, with the journal, the rules and the walls that every execution has.
//!
//! A session of the editor is an execution. Its first prompt starts one, later prompts
//! are messages to it, a turn is over when its agent rests. What the editor is told is
//! read from the journal: [`narrator`] puts records into the protocol's words and
//! [`turn`] knows when a turn is over, both without any I/O. [`Server`] has the lines,
//! [`session`] a thread for each session with a connection to the daemon of its own.
//!
//! Agents outlive the editor: when it goes, nothing is ended.

mod daemon;
mod editor;
mod journal_reader;
mod message;
mod narrator;
mod prompt;
mod protocol;
mod question;
mod server;
mod session;
mod tool_calls;
mod turn;
mod turn_loop;

use std::collections::BTreeMap;

use missiond_core::{CliEngine, Permission};

pub use daemon::Connect;
pub use server::{Log, Server};

/// How agents are started for an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub engine: CliEngine,
    /// More arguments for the CLI; for a rehearsal, the script.
    pub args: Vec<String>,
    /// The model, in the words of the CLI.
    pub model: Option<String>,
    /// What an agent may do without asking, where the editor chooses nothing else.
    pub permission: Permission,
    /// Variables for the agent's program.
    pub env: BTreeMap<String, String>,
    /// Say that the folder is trusted when the CLI asks.
    pub trust_folder: bool,
    /// Tell the agent what is known beside its prompt.
    pub context: bool,
    /// What to do when the agent's program is not there.
    pub hint: Option<String>,
}
