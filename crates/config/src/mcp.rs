//! What clients of the MCP server are shown, and what agents may use of other
//! people's servers.

use missiond_api::Toolsets;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Empty means the default set.
    pub toolsets: Vec<String>,
    pub hub: Vec<String>,
    pub agents: Vec<String>,
    pub clients: Vec<McpClientConfig>,
}

/// What one client is shown instead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpClientConfig {
    pub name: String,
    #[serde(default)]
    pub toolsets: Vec<String>,
    #[serde(default)]
    pub hub: Vec<String>,
}

impl McpConfig {
    /// What is wrong with the names among the values.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let of = |key, toolsets: &[String]| {
            Toolsets::named(toolsets).map_err(|error| (key, error.to_string()))
        };
        of("mcp.toolsets", &self.toolsets)?;
        for (index, client) in self.clients.iter().enumerate() {
            of("mcp.clients", &client.toolsets)?;
            let same = |other: &McpClientConfig| other.name == client.name;
            if self.clients[..index].iter().any(same) {
                let message = format!("two clients are called `{}`", client.name);
                return Err(("mcp.clients", message));
            }
        }
        Ok(())
    }
}
