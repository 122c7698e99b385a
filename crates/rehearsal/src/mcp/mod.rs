//! A small MCP client: connects to the servers of a configuration file, lists
//! their tools and calls them. It asks for nothing else, and refuses what a
//! server asks of it.

mod config;
mod http;
mod stdio;

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

pub use config::McpConfigError;
pub(crate) use config::{McpConfig, Server};

use crate::signal::{SignalChannel, SignalError};

const PROTOCOL: &str = "2025-11-25";
const PATIENCE: Duration = Duration::from_secs(30);
/// No message of a server may be longer.
const MAX_MESSAGE: usize = 1 << 20;
const METHOD_NOT_FOUND: i64 = -32601;

/// Why a server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("the MCP server `{server}` could not be started: {reason}")]
    NotStarted { server: String, reason: String },
    #[error("the MCP server `{server}` failed: {reason}")]
    Failed { server: String, reason: String },
    #[error("no MCP server has a tool `{tool}`; there are: {known}")]
    UnknownTool { tool: String, known: String },
}

/// The servers of one rehearsal.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    connected: Vec<Connected>,
}

#[derive(Debug)]
struct Connected {
    name: String,
    wire: Wire,
    tools: Vec<String>,
}

#[derive(Debug)]
enum Wire {
    Stdio(stdio::Stdio),
    Http(http::Http),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolAnswer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Servers {
    /// Connects to all of them; one that cannot be used fails the whole.
    pub(crate) async fn connect(config: McpConfig) -> Result<Self, McpError> {
        let mut servers = Self::default();
        for (name, server) in config.servers {
            servers
                .connected
                .push(Connected::connect(name, server).await?);
        }
        Ok(servers)
    }

    pub(crate) async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<ToolAnswer, McpError> {
        let has = |server: &&mut Connected| server.tools.iter().any(|known| known == tool);
        let Some(server) = self.connected.iter_mut().find(has) else {
            let known: Vec<&str> = self
                .connected
                .iter()
                .flat_map(|server| server.tools.iter().map(String::as_str))
                .collect();
            return Err(McpError::UnknownTool {
                tool: tool.to_owned(),
                known: if known.is_empty() {
                    "none (name a server with --mcp-config)".to_owned()
                } else {
                    known.join(", ")
                },
            });
        };
        let params = json!({"name": tool, "arguments": arguments});
        let result = server.request("tools/call", params).await?;
        let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
        let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
        Ok(ToolAnswer {
            text: texts.join("\n"),
            is_error: result["isError"].as_bool().unwrap_or(false),
        })
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

impl Connected {
    async fn connect(name: String, server: Server) -> Result<Self, McpError> {
        let not_started = |reason: String| McpError::NotStarted {
            server: name.clone(),
            reason,
        };
        let wire = match server {
            Server::Stdio { command, args, env } => {
                Wire::Stdio(stdio::Stdio::start(&command, &args, &env).map_err(not_started)?)
            }
            Server::Http { url, headers } => {
                Wire::Http(http::Http::new(&url, headers).map_err(not_started)?)
            }
        };
        let mut connected = Self {
            name,
            wire,
            tools: Vec::new(),
        };
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "mission-rehearsal", "version": env!("CARGO_PKG_VERSION")},
        });
        let greeting = connected.request("initialize", hello).await?;
        if let (Wire::Http(http), Some(version)) =
            (&mut connected.wire, greeting["protocolVersion"].as_str())
        {
            http.agree_on(version);
        }
        connected.notify("notifications/initialized").await?;
        connected.list_tools().await?;
        Ok(connected)
    }

    async fn list_tools(&mut self) -> Result<(), McpError> {
        let mut cursor = Value::Null;
        loop {
            let params = match &cursor {
                Value::Null => json!({}),
                cursor => json!({"cursor": cursor}),
            };
            let page = self.request("tools/list", params).await?;
            let tools = page["tools"].as_array().map_or(&[][..], Vec::as_slice);
            self.tools.extend(
                tools
                    .iter()
                    .filter_map(|t| t["name"].as_str().map(str::to_owned)),
            );
            cursor = page["nextCursor"].clone();
            if cursor.is_null() || tools.is_empty() {
                return Ok(());
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, McpError> {
        let answer = match &mut self.wire {
            Wire::Stdio(stdio) => patiently(stdio.request(method, params)).await,
            Wire::Http(http) => patiently(http.request(method, params)).await,
        };
        answer.map_err(|reason| self.failed(&format!("{method}: {reason}")))
    }

    async fn notify(&mut self, method: &str) -> Result<(), McpError> {
        let sent = match &mut self.wire {
            Wire::Stdio(stdio) => patiently(stdio.notify(method)).await,
            Wire::Http(http) => patiently(http.notify(method)).await,
        };
        sent.map_err(|reason| self.failed(&format!("{method}: {reason}")))
    }

    fn failed(&self, reason: &str) -> McpError {
        McpError::Failed {
            server: self.name.clone(),
            reason: reason.to_owned(),
        }
    }
}

async fn patiently<T>(answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

fn request_message(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// The result of request `id`, if this message is its answer.
fn answer_to(id: u64, message: &Value) -> Option<Result<Value, String>> {
    if message["id"] != id || message.get("method").is_some() {
        return None;
    }
    Some(match message.get("error") {
        Some(error) => Err(error["message"].as_str().unwrap_or("it failed").to_owned()),
        None => Ok(message["result"].clone()),
    })
}

/// What a server's own request is answered with; none for a notification.
fn refusal(message: &Value) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    match message.get("method")?.as_str()? {
        "ping" => Some(json!({"jsonrpc": "2.0", "id": id, "result": {}})),
        method => Some(json!({"jsonrpc": "2.0", "id": id, "error": {
            "code": METHOD_NOT_FOUND, "message": format!("{method} is not supported"),
        }})),
    }
}
