//! Tool calls as both protocols tell them: what is called, with which input, on which
//! files, how far it is, and what it shows.

use serde::{Deserialize, Serialize};

use crate::json::InputDigest;
use crate::text::Clipped;

/// The agent's own id of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolCallId(pub String);

/// What sort of thing a tool does, as the agent puts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    /// Another agent, started or spoken to.
    SubAgent,
    Other,
    /// A word this version does not know.
    Unknown(String),
}

impl ToolKind {
    pub(crate) fn from_acp(word: &str) -> Self {
        match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            "other" => Self::Other,
            unknown => Self::Unknown(Clipped::new(unknown, 64).text),
        }
    }

    /// The word that stands in a digest where the agent does not name its tool.
    pub fn word(&self) -> &str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::SubAgent => "sub_agent",
            Self::Other => "other",
            Self::Unknown(word) => word,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Pending,
    Running,
    Completed,
    Failed,
    /// A person said no.
    Declined,
    Cancelled,
    /// A word this version does not know.
    Unknown(String),
}

impl ToolStatus {
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Declined | Self::Cancelled
        )
    }
}

/// The input of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// Canonical JSON, cut to its bound; the digest is over all of it.
    Said { json: Clipped, digest: InputDigest },
    /// The agent does not tell what the tool would be called with.
    NotSaid,
}

impl ToolInput {
    #[must_use]
    pub fn digest(&self) -> Option<&InputDigest> {
        match self {
            Self::Said { digest, .. } => Some(digest),
            Self::NotSaid => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub path: Clipped,
    pub line: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOperation {
    Add,
    Delete,
    Modify,
    Move,
    Copy,
    Unknown(String),
}

/// One file of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub operation: FileOperation,
    pub path: Clipped,
    pub old_path: Option<Clipped>,
}

/// What a tool call shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolContent {
    Part(ContentPart),
    /// A whole file before and after.
    Diff {
        path: Clipped,
        /// None: the file is new, or the agent does not say what it was.
        old: Option<Clipped>,
        new: Clipped,
    },
    /// Files that change, and the patch in the agent's own format.
    Patch {
        changes: Vec<FileChange>,
        patch: Option<Clipped>,
    },
    /// A terminal of the agent.
    Terminal {
        id: Clipped,
    },
    Unknown {
        raw: Clipped,
    },
}

/// A piece of a message or of what a tool shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentPart {
    Text(Clipped),
    /// The picture itself is in the recorded line.
    Image {
        mime_type: Clipped,
        encoded_bytes: usize,
    },
    Audio {
        mime_type: Clipped,
        encoded_bytes: usize,
    },
    Link {
        uri: Clipped,
        name: Clipped,
    },
    Resource {
        uri: Clipped,
        text: Option<Clipped>,
    },
    Unknown {
        raw: Clipped,
    },
}

/// A tool call when it is first heard of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: ToolCallId,
    /// The tool's own name; not every agent says it.
    pub name: Option<Clipped>,
    pub kind: ToolKind,
    pub title: Clipped,
    pub status: ToolStatus,
    pub input: ToolInput,
    pub locations: Vec<Location>,
    pub content: Vec<ToolContent>,
    pub meta: Option<Clipped>,
}

/// What changed of a tool call; what is none did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    pub id: ToolCallId,
    pub kind: Option<ToolKind>,
    pub title: Option<Clipped>,
    pub status: Option<ToolStatus>,
    pub input: Option<ToolInput>,
    pub output: Option<Clipped>,
    pub locations: Option<Vec<Location>>,
    pub content: Option<ContentChange>,
    pub meta: Option<Clipped>,
}

impl ToolCallUpdate {
    pub(crate) fn new(id: ToolCallId) -> Self {
        Self {
            id,
            kind: None,
            title: None,
            status: None,
            input: None,
            output: None,
            locations: None,
            content: None,
            meta: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentChange {
    /// This is all the call shows now.
    Replaced(Vec<ToolContent>),
    /// This comes after what it showed.
    Appended(Vec<ToolContent>),
}
