//! What is so between two lines: the state a crashed controller gets back by reading
//! its recording again.

use std::collections::BTreeMap;

use missiond_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::{Activity, Agent, Session};
use crate::permission::PermissionRequest;
use crate::request::RequestId;

/// How far the connection is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    New,
    Greeted,
    Ready(Agent),
    /// The two sides do not understand each other; the sentence says why.
    Refused(String),
    Ended,
}

/// A turn that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The prompt that began it; none if the agent began by itself.
    pub request: Option<RequestId>,
    /// The agent's own id of it.
    pub id: Option<String>,
    pub since: Timestamp,
    pub is_cancelling: bool,
    /// The agent has said that it works on it.
    pub is_confirmed: bool,
}

/// A request of ours without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub request: RequestId,
    pub method: String,
    pub since: Timestamp,
}

/// A permission request without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPermission {
    pub request: PermissionRequest,
    pub since: Timestamp,
}

/// Everything that decides what comes next. How long something waits is the caller's
/// to judge: each part says since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlState {
    pub connection: Connection,
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    pub queued: Vec<RequestId>,
    pub permissions: Vec<OpenPermission>,
    pub waiting: Vec<Waiting>,
    pub activity: Option<Activity>,
    /// When the agent last sent a line.
    pub last_line_at: Option<Timestamp>,
    /// Notifications nobody here knows, by method, and how often they came.
    pub unknown_notifications: BTreeMap<String, u64>,
}
