//! One server, asked directly: connected, its tools listed once, called. Without
//! what the hub adds for a person's own list: no restarts, no pins, no check of
//! arguments before they are sent. The rehearsal agent is such a client.

use std::time::Duration;

use missiond_runtime::Supervisor;
use serde_json::{Value, json};

use crate::config::{ServerName, ServerSpec};
use crate::error::HubError;
use crate::launch::KeeperCommand;
use crate::link::RequestOptions;
use crate::session::Session;
use crate::tools::{Tool, list_tools};

/// A connection to one server. Dropping it ends a server that was started.
#[derive(Debug)]
pub struct McpClient {
    server: ServerName,
    session: Session,
    tools: Vec<Tool>,
    timeout: Duration,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolText {
    /// The text of its answer, block by block.
    pub text: String,
    /// The tool says that it failed.
    pub is_error: bool,
}

impl McpClient {
    /// Starts or reaches a server and learns what it offers.
    pub async fn connect(
        server: ServerName,
        spec: &ServerSpec,
        keeper: &KeeperCommand,
        supervisor: &Supervisor,
    ) -> Result<Self, HubError> {
        let session = Session::open(&server, spec, keeper, supervisor).await?;
        let tools = list_tools(&server, &session, &spec.transport, spec.timeout).await?;
        Ok(Self {
            server,
            session,
            tools,
            timeout: spec.timeout,
        })
    }

    #[must_use]
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Calls a tool; one that was not listed is the server's to refuse.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<ToolText, HubError> {
        let listed = self.tools.iter().find(|listed| listed.name == tool);
        let options = RequestOptions {
            headers: listed.map_or_else(Vec::new, |tool| tool.headers(arguments)),
            ..RequestOptions::within(self.timeout)
        };
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.session.request("tools/call", params, options).await?;
        let result: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
        let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
        Ok(ToolText {
            text: texts.join("\n"),
            is_error: result["isError"] == json!(true),
        })
    }
}
