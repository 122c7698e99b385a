//! Permission requests: what would be done, which answers there are, and whether it is
//! what the agent had announced.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::Clipped;
use crate::tool::{ContentPart, Location, ToolCallId, ToolContent, ToolInput, ToolKind};

/// The id an agent gave a request of its own. JSON-RPC allows numbers and texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentRequestId {
    Number(i64),
    Text(String),
}

impl fmt::Display for AgentRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// Refuses and ends the turn.
    RejectAndStop,
    /// A word this version does not know: never chosen without a person.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    pub id: String,
    pub name: Clipped,
    pub kind: OptionKind,
}

/// Where the input of a permission request was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSource {
    /// In the request itself.
    Request,
    /// In the tool call announced before; the request only names it.
    Announcement,
    /// Nowhere: there are a title and perhaps content, and no digest.
    Nowhere,
}

/// How the input of a request stands to the one announced before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Announced {
    Same,
    /// Not the same text, but each of the members both have is equal. Some agents
    /// say the same call in other members when they ask.
    Restated {
        shared_members: usize,
    },
    /// A member both have is not equal: it asks for one thing and announced another.
    Contradicts,
    /// The tool call was announced, its input was not.
    WithoutInput,
    /// The tool call is first heard of in the request.
    NotBefore,
}

/// The agent waits for a yes or a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequest {
    pub id: AgentRequestId,
    /// The session that asks: ours, or that of a sub-agent.
    pub session: String,
    pub tool_call: Option<ToolCallId>,
    pub tool_name: Option<Clipped>,
    pub kind: ToolKind,
    pub title: Clipped,
    pub reason: Option<Clipped>,
    pub cwd: Clipped,
    pub input: ToolInput,
    pub source: InputSource,
    pub announced: Announced,
    pub locations: Vec<Location>,
    pub content: Vec<ToolContent>,
    pub options: Vec<PermissionOption>,
    pub meta: Option<Clipped>,
}

impl PermissionRequest {
    /// The option of a kind, the first if there are several.
    #[must_use]
    pub fn option(&self, kind: &OptionKind) -> Option<&PermissionOption> {
        self.options.iter().find(|option| option.kind == *kind)
    }

    /// What it says in words, for a person.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        self.reason
            .as_ref()
            .map(|reason| reason.text.as_str())
            .or_else(|| {
                self.content.iter().find_map(|content| match content {
                    ToolContent::Part(ContentPart::Text(text)) => Some(text.text.as_str()),
                    _ => None,
                })
            })
    }
}

/// What is answered to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// The id of one of its options.
    Option(String),
    /// Nobody will decide: the turn is being cancelled.
    Cancelled,
}

/// How a permission request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    Answered {
        option: String,
        kind: OptionKind,
    },
    Cancelled,
    /// The agent no longer asks: it was answered elsewhere, or its turn ended.
    Withdrawn,
    /// The connection ended first.
    Lost,
}
