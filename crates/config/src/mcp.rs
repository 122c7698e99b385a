//! What clients of the MCP server are shown, and what agents may use of other
//! people's servers.

use missiond_api::Toolsets;
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Tables: Vec<McpClientConfig>; }

section! {
    #[derive(Eq)]
    pub struct McpConfig: "mcp." {
        /// Which operations MCP clients are shown as tools: `default`, `all`, or names of
        /// toolsets. Empty means `default`.
        live toolsets: Vec<String> = Vec::new();
        /// Which tools of other people's MCP servers MCP clients are shown too, for
        /// example `["time", "files__read_*"]`. Empty means none.
        live hub: Vec<String> = Vec::new();
        /// Which tools of other people's MCP servers the agents in slots may use. Empty
        /// means none.
        live agents: Vec<String> = Vec::new();
        /// What one client is shown instead: `[[mcp.clients]]` with `name`, as `mission
        /// init` gives it, and `toolsets` or `hub`.
        live clients: Vec<McpClientConfig> = Vec::new();
    }
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
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let check = |key, toolsets: &[String]| match Toolsets::named(toolsets) {
            Ok(_) => Ok(()),
            Err(error) => Err(InvalidValue::new(key, error.to_string())),
        };
        check("mcp.toolsets", &self.toolsets)?;
        for (index, client) in self.clients.iter().enumerate() {
            check("mcp.clients", &client.toolsets)?;
            let same = |other: &McpClientConfig| other.name == client.name;
            if self.clients[..index].iter().any(same) {
                let message = format!("two clients are called `{}`", client.name);
                return Err(InvalidValue::new("mcp.clients", message));
            }
        }
        Ok(())
    }
}
