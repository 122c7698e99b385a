//! The file that names MCP servers, in the shape of `.mcp.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Larger files name no servers.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
