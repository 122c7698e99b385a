//! The words of the Agent Client Protocol, version 1, as far as an agent reads and
//! writes them here. What an editor sends beside them is left unread.

use missiond_api::RequestId;
use missiond_core::Permission;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is spoken.
pub(crate) const VERSION: u16 = 1;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Initialize {
    pub(crate) client_capabilities: ClientCapabilities,
    pub(crate) client_info: Option<ClientInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientCapabilities {
    session: Option<SessionCapabilities>,
    elicitation: Option<Elicitation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionCapabilities {
    notices: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Elicitation {
    form: Option<Value>,
}

impl ClientCapabilities {
    /// It shows notices beside the conversation.
    pub(crate) fn shows_notices(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.notices.is_some())
    }

    /// It can ask a person for words.
    pub(crate) fn has_forms(&self) -> bool {
        let elicitation = self.elicitation.as_ref();
        elicitation.is_some_and(|elicitation| elicitation.form.is_some())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientInfo {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    pub(crate) cwd: String,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<Value>,
    #[serde(default)]
    pub(crate) additional_directories: Vec<String>,
}

/// `session/load`, `session/resume`, `session/close` and `session/cancel`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfSession {
    pub(crate) session_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListSessions {
    pub(crate) cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetMode {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<ContentBlock>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub(crate) request_id: RequestId,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    ResourceLink {
        uri: String,
    },
    Resource {
        resource: Resource,
    },
    Image {},
    Audio {},
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Resource {
    pub(crate) uri: String,
    /// Absent where the content is no text.
    pub(crate) text: Option<String>,
}

/// What an editor answers when a person was to choose.
#[derive(Debug, Deserialize)]
pub(crate) struct PermissionAnswer {
    pub(crate) outcome: PermissionOutcome,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum PermissionOutcome {
    Selected {
        #[serde(rename = "optionId")]
        option_id: String,
    },
    #[serde(other)]
    Cancelled,
}

/// What an editor answers when a person was asked for words.
#[derive(Debug, Deserialize)]
pub(crate) struct FormAnswer {
    pub(crate) action: String,
    #[serde(default)]
    pub(crate) content: Value,
}

/// Something told to the editor about a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "sessionUpdate",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[allow(clippy::enum_variant_names, reason = "the protocol calls them so")]
pub(crate) enum Update {
    UserMessageChunk {
        content: Content,
        message_id: String,
    },
    AgentMessageChunk {
        content: Content,
        message_id: String,
    },
    /// What a reader may fold away.
    AgentThoughtChunk {
        content: Content,
        message_id: String,
    },
    ToolCall(ToolCall),
    ToolCallUpdate(ToolCall),
    Plan {
        entries: Vec<PlanEntry>,
    },
    SessionInfoUpdate {
        title: String,
    },
    Notice {
        severity: &'static str,
        title: String,
    },
}

/// A text; nothing else is ever sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Content {
    r#type: &'static str,
    text: String,
}

impl Content {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            r#type: "text",
            text: text.into(),
        }
    }
}

/// A tool call or what has changed of one: each field that is there replaces what was
/// told before.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall {
    pub(crate) tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<ToolKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ToolStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) content: Vec<ToolContent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) locations: Vec<Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) raw_input: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ToolContent {
    r#type: &'static str,
    content: Content,
}

impl ToolContent {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            r#type: "content",
            content: Content::text(text),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Location {
    pub(crate) path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    Read,
    Edit,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) priority: &'static str,
    pub(crate) status: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    pub(crate) option_id: String,
    pub(crate) name: String,
    pub(crate) kind: OptionKind,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    EndTurn,
    Cancelled,
}

/// The modes of a session are what its agent may do without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Modes {
    current_mode_id: &'static str,
    available_modes: Vec<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Mode {
    id: &'static str,
    name: &'static str,
    description: &'static str,
}

const MODES: [(Permission, Mode); 4] = [
    (
        Permission::Ask,
        Mode {
            id: "ask",
            name: "Ask",
            description: "It asks before edits and commands.",
        },
    ),
    (
        Permission::AcceptEdits,
        Mode {
            id: "accept_edits",
            name: "Accept edits",
            description: "It edits files in its folder without asking.",
        },
    ),
    (
        Permission::Plan,
        Mode {
            id: "plan",
            name: "Plan",
            description: "It reads and plans only.",
        },
    ),
    (
        Permission::Bypass,
        Mode {
            id: "bypass",
            name: "Never ask",
            description: "It never asks.",
        },
    ),
];

impl Modes {
    pub(crate) fn with(current: Permission) -> Self {
        let current = MODES.iter().find(|(permission, _)| *permission == current);
        Self {
            current_mode_id: current.map_or("ask", |(_, mode)| mode.id),
            available_modes: MODES.into_iter().map(|(_, mode)| mode).collect(),
        }
    }

    /// The permission a mode stands for.
    pub(crate) fn permission(id: &str) -> Option<Permission> {
        let found = MODES.iter().find(|(_, mode)| mode.id == id);
        found.map(|(permission, _)| *permission)
    }
}
