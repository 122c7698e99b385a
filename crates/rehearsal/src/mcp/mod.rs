//! The MCP servers of a rehearsal: those of a configuration file, connected
//! with the tool hub's client, and their tools called by name.

mod config;

use futures::FutureExt;
use futures::future::BoxFuture;
use missiond_runtime::Supervisor;
use missiond_toolhub::{HubError, KeeperCommand, McpClient, ServerName, ToolText};
use serde_json::Value;

pub use config::McpConfigError;
pub(crate) use config::{McpConfig, Server};

use crate::signal::{SignalChannel, SignalError};

/// Why a server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("the MCP server `{server}` could not be started: {reason}")]
    NotStarted { server: String, reason: String },
    #[error(transparent)]
    Failed(#[from] HubError),
    #[error("no MCP server has a tool `{tool}`; there are: {known}")]
    UnknownTool { tool: String, known: String },
}

/// The servers of one rehearsal.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    connected: Vec<McpClient>,
}

impl Servers {
    /// Connects to all of them; one that cannot be used fails the whole.
    pub(crate) async fn connect(config: McpConfig) -> Result<Self, McpError> {
        let mut servers = Self::default();
        let supervisor = Supervisor::standalone();
        for (name, server) in config.servers {
            let not_started = |reason: String| McpError::NotStarted {
                server: name.clone(),
                reason,
            };
            let spec = server.spec().map_err(not_started)?;
            let named = ServerName::new(&name).map_err(|error| not_started(error.to_string()))?;
            let keeper =
                KeeperCommand::of_this_program().map_err(|error| not_started(error.to_string()))?;
            match McpClient::connect(named, &spec, &keeper, &supervisor).await {
                Ok(connected) => servers.connected.push(connected),
                Err(HubError::Start { why, .. }) => return Err(not_started(why)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(servers)
    }

    pub(crate) async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<ToolText, McpError> {
        let has = |server: &&McpClient| server.tools().iter().any(|known| known.name == tool);
        match self.connected.iter().find(has) {
            Some(server) => Ok(server.call(tool, arguments).await?),
            None => Err(McpError::UnknownTool {
                tool: tool.to_owned(),
                known: self.known_tools(),
            }),
        }
    }

    fn known_tools(&self) -> String {
        let tools = self.connected.iter().flat_map(McpClient::tools);
        let known: Vec<&str> = tools.map(|tool| tool.name.as_str()).collect();
        if known.is_empty() {
            "none (name a server with --mcp-config)".to_owned()
        } else {
            known.join(", ")
        }
    }
}

impl SignalChannel for Servers {
    fn send<'a>(
        &'a mut self,
        kind: &'a str,
        payload: &'a Value,
    ) -> BoxFuture<'a, Result<String, SignalError>> {
        async move {
            match self.call(kind, payload).await {
                Ok(answer) if answer.is_error => Err(SignalError(answer.text)),
                Ok(answer) => Ok(answer.text),
                Err(error) => Err(SignalError(error.to_string())),
            }
        }
        .boxed()
    }
}
