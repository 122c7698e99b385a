//! How a server is, for whoever looks.

use std::time::Duration;

use crate::config::{ServerName, ServerSpec};

/// How a server is, for showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    Disabled,
    Stopped {
        why: String,
    },
    Starting,
    Ready,
    Unwell {
        why: String,
    },
    /// It died and is started again after a pause.
    Waiting {
        why: String,
        left: Duration,
    },
    /// It keeps dying.
    Parked {
        why: String,
        left: Duration,
    },
}

impl ServerState {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Stopped { .. } => "stopped",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Unwell { .. } => "unwell",
            Self::Waiting { .. } => "waiting",
            Self::Parked { .. } => "parked",
        }
    }

    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Stopped { why }
            | Self::Unwell { why }
            | Self::Waiting { why, .. }
            | Self::Parked { why, .. } => Some(why),
            Self::Disabled | Self::Starting | Self::Ready => None,
        }
    }
}

/// What is shown of a server.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    pub name: ServerName,
    pub spec: ServerSpec,
    pub file: std::path::PathBuf,
    pub state: ServerState,
    pub tools: Option<usize>,
    pub held: usize,
    pub in_flight: usize,
    pub software: Option<String>,
    pub version: Option<String>,
    pub process: Option<u32>,
    pub starts: u64,
    pub stderr: Vec<String>,
}
