//! What can be asked of an agent, in words of no protocol.

use serde::{Deserialize, Serialize};

use crate::permission::{AgentRequestId, PermissionAnswer};

/// The id of a request of ours, counted from one on each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// A variable of the environment or a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    pub name: String,
    pub value: String,
}

/// An MCP server the agent is to use in this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpServer {
    Stdio {
        name: String,
        command: String,
        args: Vec<String>,
        env: Vec<NamedValue>,
    },
    Http {
        name: String,
        url: String,
        headers: Vec<NamedValue>,
    },
}

/// Which session, and with what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenSession {
    /// The agent's working directory, absolute.
    pub cwd: String,
    pub mcp_servers: Vec<McpServer>,
    pub what: SessionChoice,
    /// What one agent takes beside the protocol, as it is.
    #[serde(default)]
    pub meta: Option<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionChoice {
    New,
    /// An earlier one, its history told again.
    Load(String),
    /// An earlier one, without its history.
    Resume(String),
}

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptPart {
    Text(String),
    /// A picture, base64.
    Image {
        mime_type: String,
        data: String,
    },
    /// A file the agent reads itself, by its absolute path.
    File {
        path: String,
    },
    /// Text that stands for a file or a page, told whole.
    Resource {
        uri: String,
        text: String,
    },
}

/// What a controller is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// The greeting; first on every connection.
    Start,
    /// Sign in by one of the methods the agent names.
    Authenticate {
        method: String,
    },
    Open(OpenSession),
    /// Begins a turn, or waits behind one where the agent queues.
    Prompt(Vec<PromptPart>),
    /// Words into the running turn.
    Steer(Vec<PromptPart>),
    AnswerPermission {
        id: AgentRequestId,
        answer: PermissionAnswer,
    },
    /// Ends the running turn, and with it what it asks.
    Cancel,
    SetMode {
        mode: String,
    },
    SetModel {
        model: String,
    },
    Close,
}
