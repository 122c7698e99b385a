//! The file that names MCP servers, in the shape of `.mcp.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_os::environment::own_text;
use missiond_toolhub::{ProtocolChoice, ServerEntry, ServerSpec};
use serde::Deserialize;

/// No server is waited for longer.
const PATIENCE_SECS: u64 = 30;

/// Larger files name no servers.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct McpConfig {
    #[serde(rename = "mcpServers")]
    pub(crate) servers: BTreeMap<String, Server>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Server {
    Http {
        url: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    Stdio {
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
}

impl Server {
    /// How to speak with it: as the agent CLIs do, in the older era and with all
    /// of this agent's environment.
    pub(crate) fn spec(self) -> Result<ServerSpec, String> {
        let entry = match self {
            Self::Http { url, headers } => ServerEntry {
                url: Some(url),
                headers,
                ..ServerEntry::default()
            },
            Self::Stdio { command, args, env } => ServerEntry {
                command: Some(command),
                args,
                env,
                pass_env: own_text().map(|(name, _)| name).collect(),
                ..ServerEntry::default()
            },
        };
        ServerEntry {
            protocol: Some(ProtocolChoice::Legacy),
            timeout_secs: Some(PATIENCE_SECS),
            ..entry
        }
        .check()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum McpConfigError {
    #[error("{} could not be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is larger than {MAX_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error(
        "{} does not name MCP servers as `.mcp.json` does: {source}", path.display()
    )]
    Invalid {
        path: PathBuf,
        source: serde_json::Error,
    },
}

impl McpConfig {
    pub(crate) fn load(path: &Path) -> Result<Self, McpConfigError> {
        let path = || path.to_owned();
        let unreadable = |source| McpConfigError::Unreadable {
            path: path(),
            source,
        };
        if std::fs::metadata(path()).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(McpConfigError::TooLarge { path: path() });
        }
        let text = std::fs::read_to_string(path()).map_err(unreadable)?;
        serde_json::from_str(&text).map_err(|source| McpConfigError::Invalid {
            path: path(),
            source,
        })
    }
}
