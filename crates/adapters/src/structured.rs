//! How a CLI is driven by its own protocol, as data: the next daemon reads it back and
//! goes on with the same conversation.

use missiond_control::{
    AcpVersion, Dialect, Habits, McpServer as ControlServer, OpenSession, Options, SessionChoice,
};
use serde::{Deserialize, Serialize};

use missiond_core::Controller;

use crate::Adapter;
use crate::launch::{Conversation, Launch, McpServer};
use crate::plan::{PlanError, text};

/// The protocol most CLIs speak. Its second version is a draft that none has.
pub(crate) const ACP: Dialect = Dialect::Acp {
    newest: AcpVersion::V1,
};

/// By what a CLI is driven in structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuredOffer<'a> {
    /// The file name of the program that speaks the protocol: the CLI itself, or an
    /// adapter that is installed beside it.
    pub program: &'a str,
    /// In words, for a person.
    pub by: &'a str,
    /// What it is installed with, where it is not part of the CLI.
    pub install: Option<&'a str>,
    /// Whether an earlier conversation can be taken up by its id.
    pub resume: ResumeBy,
    pub standing: Standing,
}

/// What speaks for driving a CLI by its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The contract with the real program is kept in tests: it is so where nobody chooses.
    Proven,
    /// It is known and can be chosen.
    Offered,
    /// There is no other way.
    OnlyWay,
}

/// By what an engine is driven where this control is chosen; what it does not offer is
/// refused. Nothing chosen, it is its terminal.
pub fn offer_for(
    adapter: &dyn Adapter,
    control: Option<Controller>,
) -> Result<Option<StructuredOffer<'_>>, PlanError> {
    let engine = || adapter.engine();
    match (control, adapter.structured()) {
        (Some(Controller::Structured), None) => Err(PlanError::TerminalOnly { engine: engine() }),
        (Some(Controller::Structured), offer) => Ok(offer),
        (Some(Controller::Terminal), Some(offer)) if offer.standing == Standing::OnlyWay => {
            Err(PlanError::ProtocolOnly { engine: engine() })
        }
        (Some(Controller::Terminal) | None, _) => Ok(None),
    }
}

/// How an earlier conversation is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeBy {
    /// Without its history told again.
    Resume,
    /// With its history told again.
    Load,
}

/// What a controller of a new process needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlSetup {
    pub dialect: Dialect,
    /// Members of inputs that the engine writes for itself.
    #[serde(default)]
    pub bookkeeping: Vec<String>,
    #[serde(default)]
    pub habits: Habits,
    pub session: OpenSession,
    /// Chosen when the session is open, where the launch could not say it.
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    /// Tools of our own server, as the engine names them. It asks about them, because it
    /// cannot be told before; whoever is asked allows them.
    #[serde(default)]
    pub own_tools: Vec<String>,
}

impl ControlSetup {
    /// The session a launch asks for.
    pub(crate) fn new(
        dialect: Dialect,
        launch: &Launch,
        resume: ResumeBy,
    ) -> Result<Self, PlanError> {
        let what = match &launch.conversation {
            Conversation::New { .. } => SessionChoice::New,
            Conversation::Resume { id } => match resume {
                ResumeBy::Resume => SessionChoice::Resume(id.clone()),
                ResumeBy::Load => SessionChoice::Load(id.clone()),
            },
        };
        let servers = launch.mcp.iter().map(server).collect::<Result<_, _>>()?;
        Ok(Self {
            dialect,
            bookkeeping: Vec::new(),
            habits: Habits::default(),
            session: OpenSession {
                cwd: text(&launch.cwd)?,
                mcp_servers: servers,
                what,
                meta: None,
            },
            mode: None,
            model: None,
            own_tools: Vec::new(),
        })
    }

    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            bookkeeping: self.bookkeeping.clone(),
            habits: self.habits,
            ..Options::new(self.dialect)
        }
    }
}

fn server(server: &McpServer) -> Result<ControlServer, PlanError> {
    Ok(ControlServer::Stdio {
        name: server.name.clone(),
        command: text(&server.command)?,
        args: server.args.clone(),
        env: Vec::new(),
    })
}
