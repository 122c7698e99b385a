//! The tools of other people's MCP servers, which the daemon keeps for everyone.
//!
//! What is run is in a file a person keeps, and only a person can change it here. An
//! agent can call what is listed, and nothing else.

use std::collections::BTreeMap;

use missiond_core::{Bounded, MAX_EXACT, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::ConfigChange;
use super::operations;

operations! {
    System;

    McpServerList = "mcp_server_list" (ReadOnly, "mcp"; Instant):
        McpServerListParams => McpServerListResult,
        "List the external MCP servers: state, tools, process, and what is wrong with them.";

    McpServerControl = "mcp_server_control" (Idempotent, "mcp", People; Process):
        McpServerControlParams => McpServerControlResult,
        "Start, stop, restart or ping an external MCP server.";

    McpServerAdd = "mcp_server_add" (Additive, "mcp", People; Process):
        McpServerAddParams => McpServerChanged,
        "Add an external MCP server to the list a person keeps: a program that is started, or an \
         address.";

    McpServerRemove = "mcp_server_remove" (Destructive, "mcp", People; Process):
        McpServerRemoveParams => McpServerChanged,
        "Take an external MCP server out of the list a person keeps.";

    McpToolList = "mcp_tool_list" (ReadOnly, "mcp"; Process):
        McpToolListParams => McpToolListResult,
        "List the tools of the external MCP servers, with their schemas when asked for.";

    McpToolCall = "mcp_tool_call" (Destructive, "mcp", Own(Tool); Process):
        McpToolCallParams => McpToolCallResult,
        "Call a tool of an external MCP server by its name `server__tool`.";

    McpPromptList = "mcp_prompt_list" (ReadOnly, "mcp"; Process):
        McpPromptListParams => McpPromptListResult,
        "List the prompts of the external MCP servers.";

    McpPromptGet = "mcp_prompt_get" (ReadOnly, "mcp"; Process):
        McpPromptGetParams => McpPromptGetResult,
        "Get a prompt of an external MCP server, by its name `server__prompt`, filled in.";

    McpPin = "mcp_pin" (Idempotent, "mcp", People; Process):
        McpPinParams => McpPinResult,
        "Accept the tools of an external MCP server as they are now, so that held ones can be called.";
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerListParams {
    /// Only this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerListResult {
    pub servers: Vec<McpServer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpServerState {
    Disabled,
    /// It is started when it is needed.
    Stopped,
    Starting,
    Ready,
    /// It runs and gives no sign of life.
    Unwell,
    /// It died and is started again after a pause.
    Waiting,
    /// It keeps dying and is left alone for a while.
    Parked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    pub name: String,
    pub state: McpServerState,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// `stdio` or `http`.
    pub transport: String,
    /// The program with its arguments, or the address. No variables, no headers.
    pub target: String,
    pub file: String,
    /// What it says it is.
    pub software: Option<String>,
    /// The version of the protocol that is spoken with it.
    pub protocol: Option<String>,
    /// How many tools it has, once they were listed.
    pub tools: Option<u64>,
    /// How many of them are held until they are accepted.
    pub held: u64,
    pub in_flight: u64,
    pub starts: u64,
    pub pid: Option<u32>,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpServerAction {
    Start,
    Stop,
    Restart,
    Ping,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerControlParams {
    pub server: String,
    pub action: McpServerAction,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerControlResult {
    pub server: McpServer,
    /// How long its sign of life took, after a ping.
    pub answered_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerAddParams {
    /// Letters, digits, `.`, `_` and `-`; its tools are called `name__tool`.
    pub name: Text<40>,
    /// The program to start; or give `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text<4096>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Names of variables of the daemon's environment that the program is given. Their
    /// values stay where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Where it is served: https, or http to this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Text<4096>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerRemoveParams {
    pub server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServerChanged {
    /// The change, as `config_history` lists it and `config_undo` takes it back.
    pub change: ConfigChange,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpToolListParams {
    /// Only those of this server; it is started if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Also the schemas and annotations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub schemas: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolListResult {
    pub tools: Vec<McpTool>,
    /// Servers whose tools could not be listed.
    pub failures: Vec<McpFailure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpTool {
    /// `server__tool`: what it is called by.
    pub name: String,
    pub server: String,
    pub description: String,
    /// Why it cannot be called until it is accepted.
    pub held: Option<String>,
    /// What the server says, which need not be true.
    pub claims_read_only: bool,
    /// The fingerprint of what was listed.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpFailure {
    pub server: String,
    pub error: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpToolCallParams {
    /// `server__tool`.
    pub tool: String,
    /// The arguments, an object.
    #[serde(default)]
    pub arguments: BTreeMap<String, Value>,
    /// At most so long; the server's own limit may be shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Bounded<0, MAX_EXACT>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolCallResult {
    pub server: String,
    pub tool: String,
    /// The tool itself says that it failed.
    pub is_error: bool,
    /// As the server gave it: `content`, and what else there is.
    pub result: Value,
    pub duration_ms: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpPromptListParams {
    /// Only those of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpPromptListResult {
    pub prompts: Vec<McpPrompt>,
    /// Servers whose prompts could not be listed.
    pub failures: Vec<McpFailure>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpPrompt {
    /// `server__prompt`.
    pub name: String,
    pub server: String,
    pub description: String,
    pub arguments: Vec<McpPromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpPromptGetParams {
    /// `server__prompt`.
    pub prompt: String,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpPromptGetResult {
    /// As the server gave it: `messages`, and what else there is.
    pub result: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpPinParams {
    pub server: String,
    /// Only this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpPinResult {
    /// Tools that were held and can be called now.
    pub accepted: Vec<String>,
}
