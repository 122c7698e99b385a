//! A launch as data: what to run, with which environment and files, and what to
//! expect of it. Two launches can be compared, shown and tested without starting
//! anything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use missiond_core::CliEngine;
use serde::{Deserialize, Serialize};

use crate::launch::{Conversation, Launch, McpServer};
use crate::structured::ControlSetup;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchPlan {
    pub argv: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// Written before the start, readable by the owner alone, removed afterwards.
    pub files: Vec<PlannedFile>,
    /// What the CLI finds of its own in a folder we made for it.
    pub links: Vec<PlannedLink>,
    pub conversation: ConversationId,
    pub instructions: Instructions,
    pub signals: SignalTransport,
    /// What the controller needs; none for a terminal.
    pub control: Option<ControlSetup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: PathBuf,
    pub contents: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedLink {
    pub path: PathBuf,
    pub target: PathBuf,
    pub to: LinkedTo,
}

/// What a link names. No program can make a folder through a link that leads
/// nowhere, so one that is missing is made as the program would make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkedTo {
    Folder,
    AnythingOrNothing,
}

/// How the conversation can be found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversationId {
    /// The CLI uses the id it was given.
    Given(String),
    /// The CLI makes one up and tells it later.
    ToldLater,
}

impl ConversationId {
    /// A protocol names a new session itself.
    pub(crate) fn told_by_protocol(launch: &Launch) -> Self {
        match &launch.conversation {
            Conversation::New { .. } => Self::ToldLater,
            Conversation::Resume { id } => Self::Given(id.clone()),
        }
    }
}

/// How the agent learns its instructions. The prompt itself is always typed, so
/// that its arrival can be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instructions {
    /// The CLI gives them to its model beside its own.
    Given,
    /// The CLI has no place for them: they come before the first prompt.
    BeforeFirstPrompt,
    /// There are none.
    Absent,
}

/// How the agent speaks in structure. Chosen before the start and never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTransport {
    McpTool,
    StdoutMarker,
}

impl Instructions {
    pub(crate) fn given_if(wanted: bool) -> Self {
        if wanted { Self::Given } else { Self::Absent }
    }

    pub(crate) fn before_if(wanted: bool) -> Self {
        if wanted {
            Self::BeforeFirstPrompt
        } else {
            Self::Absent
        }
    }
}

impl SignalTransport {
    pub(crate) fn of(server: Option<&McpServer>) -> Self {
        match server {
            Some(_) => Self::McpTool,
            None => Self::StdoutMarker,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::McpTool => "mcp-tool",
            Self::StdoutMarker => "stdout-marker",
        }
    }
}

/// A question a CLI may ask before it takes its first prompt, and the option
/// that means yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartupDialog {
    pub question: StartupQuestion,
    /// One of these is part of the dialog's text.
    pub asks: &'static [&'static str],
    /// The option begins with one of these; the first that fits is taken.
    pub yes: &'static [&'static str],
}

/// What a start-up dialog is about. Which ones may be answered is decided by the
/// launch, not by the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartupQuestion {
    TrustFolder,
    KeyFromEnvironment,
    BypassPermissions,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{engine} cannot be given the MCP server {server}: {why}")]
    Mcp {
        engine: CliEngine,
        server: String,
        why: &'static str,
    },
    #[error("{engine} has no permission mode `{mode}`: {instead}")]
    Permission {
        engine: CliEngine,
        mode: &'static str,
        instead: &'static str,
    },
    #[error("{engine} cannot go on with the conversation `{id}`: {why}")]
    Resume {
        engine: CliEngine,
        id: String,
        why: &'static str,
    },
    #[error("{engine} is driven by its terminal: it has no protocol that missiond speaks")]
    TerminalOnly { engine: CliEngine },
    #[error("{engine} is driven by its protocol: it was added as an agent without a terminal")]
    ProtocolOnly { engine: CliEngine },
    #[error("{} is not text that can be passed to a program", .0.display())]
    NotText(PathBuf),
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{engine} needs HOME in its environment to find its configuration")]
    NoHome { engine: CliEngine },
}

/// A path as an argument.
pub(crate) fn text(path: &std::path::Path) -> Result<String, PlanError> {
    let text = path.to_str();
    text.map(str::to_owned)
        .ok_or_else(|| PlanError::NotText(path.to_owned()))
}
