//! Tools: which are listed, and what a call becomes.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_api::{ApiError, CATALOGUE, OperationSpec};
use missiond_mcp::tools::{CALL_OPERATION, call_operation, entry};
use missiond_mcp::{Refusal, ToolRequest};
use missiond_operations::Reporter;
use missiond_operations::state::Daemon;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::{Allowed, Commander};

/// The search, which every client is shown that is not shown everything.
const FIND: &str = "operation_find";

/// How long servers may take to say which tools they have. One that is slower is
/// left out; its tools come when it is ready and the change is told.
const LISTING: Duration = Duration::from_secs(10);

/// A result is copied as text for clients that do not read structured results,
/// unless it would fill the message.
const MOST_TEXT: usize = 256 * 1024;

impl Commander {
    pub(super) async fn listed_tools(&self) -> Vec<Value> {
        let toolsets = &self.selection.toolsets;
        let is_there = |spec: &&OperationSpec| spec.is_for_agents();
        let mut tools: Vec<Value> = toolsets
            .operations()
            .filter(is_there)
            .map(|spec| entry(spec).clone())
            .collect();
        if !toolsets.is_everything() {
            tools.push(call_operation());
            let listed = tools.iter().any(|tool| tool["name"] == FIND);
            let find = CATALOGUE.iter().find(|spec| spec.name == FIND);
            tools.extend(find.filter(|_| !listed).map(|spec| entry(spec).clone()));
        }
        tools.extend(hub_entries(&self.daemon, &self.selection.hub).await);
        tools
    }

    /// What is not listed may be called all the same: listing keeps a model's
    /// context small, it guards nothing.
    pub(super) async fn call_tool(&self, call: ToolRequest) -> Result<Value, Refusal> {
        let ToolRequest {
            name,
            arguments,
            progress,
            ..
        } = call;
        let reporter = Reporter::new(move |done, total, message| {
            progress.report(done, total, message);
        });
        if name == CALL_OPERATION {
            let (operation, params) = named_operation(arguments.as_deref())?;
            let called = self.operate(&operation, params, reporter).await;
            return Ok(result(&operation, called));
        }
        if name.contains("__") {
            if !self.selection.hub.allows(&name) {
                return Err(Refusal::invalid(format!("there is no tool `{name}`")));
            }
            let params = HubCall {
                tool: &name,
                arguments,
            };
            let params =
                to_raw_value(&params).map_err(|error| Refusal::internal(error.to_string()));
            let called = self.operate("mcp_tool_call", Some(params?), reporter).await;
            return Ok(hub_result(called));
        }
        if !CATALOGUE.iter().any(|spec| spec.name == name) {
            return Err(Refusal::invalid(format!(
                "there is no tool `{}`; {FIND} finds what there is",
                name.chars().take(64).collect::<String>()
            )));
        }
        let called = self.operate(&name, arguments, reporter).await;
        Ok(result(&name, called))
    }

    /// The answer of an operation, for what is made of several.
    pub(super) async fn ask(&self, operation: &str, params: &Value) -> Result<Value, ApiError> {
        let params = to_raw_value(params).map_err(|error| ApiError::internal(error.to_string()))?;
        let answered = self
            .operate(operation, Some(params), Reporter::default())
            .await?;
        serde_json::from_str(answered.get()).map_err(|error| ApiError::internal(error.to_string()))
    }

    async fn operate(
        &self,
        operation: &str,
        params: Option<Box<RawValue>>,
        reporter: Reporter,
    ) -> Result<Box<RawValue>, ApiError> {
        if let Some(token) = self.token {
            // Both hold: what a model may, and what the token lets it do.
            self.operations
                .check_token(operation, token, params.as_deref())
                .await?;
        }
        self.operations
            .call_reporting(operation, params, self.principal, &self.client, reporter)
            .await
    }
}

/// The parameters of `mcp_tool_call`, with the arguments as they came.
#[derive(Serialize)]
struct HubCall<'a> {
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
}

/// Which operation [`CALL_OPERATION`] is to call, and with what.
fn named_operation(
    arguments: Option<&RawValue>,
) -> Result<(String, Option<Box<RawValue>>), Refusal> {
    let text = arguments.map_or("{}", RawValue::get);
    let mut arguments: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).map_err(|error| Refusal::invalid(error.to_string()))?;
    let operation = arguments.remove("operation");
    let operation = operation.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let Some(operation) = operation else {
        return Err(Refusal::invalid("`operation` must say which one to call"));
    };
    let params = arguments.remove("params");
    let params = params.filter(|params| params.get() != "null");
    if params
        .as_ref()
        .is_some_and(|params| !params.get().starts_with('{'))
    {
        return Err(Refusal::invalid("`params` must be an object"));
    }
    if let Some(stray) = arguments.keys().next() {
        let message = format!("`{CALL_OPERATION}` takes no `{stray}`: it goes into `params`");
        return Err(Refusal::invalid(message));
    }
    Ok((operation, params))
}

/// The entries of the external tools somebody may see. Those that are held are
/// not among them.
pub async fn hub_entries(daemon: &Daemon, allowed: &Allowed) -> Vec<Value> {
    if allowed.is_empty() {
        return Vec::new();
    }
    let hub = &daemon.toolhub.hub;
    let servers = match hub.servers() {
        Ok(servers) => servers,
        Err(error) => {
            tracing::warn!(%error, "external MCP tools not listed");
            return Vec::new();
        }
    };
    let concerned = servers
        .into_iter()
        .filter(|server| server.spec.enabled && allowed.concerns(server.name.as_str()));
    let asked = concerned.map(|server| async move {
        let listed = hub.tools(Some(server.name.as_str()), LISTING).await;
        listed.unwrap_or_default()
    });
    let mut entries = Vec::new();
    for of_server in futures::future::join_all(asked).await.into_iter().flatten() {
        let tools = match of_server.tools {
            Ok(tools) => tools,
            Err(error) => {
                tracing::warn!(server = %of_server.server, %error, "MCP server tools not listed");
                continue;
            }
        };
        for tool in tools.iter().filter(|tool| tool.held.is_none()) {
            let name = format!("{}__{}", of_server.server, tool.name);
            if allowed.allows(&name) {
                let mut manifest = tool.manifest.clone();
                manifest["name"] = json!(name);
                entries.push(manifest);
            }
        }
    }
    entries
}

/// The result of an external tool, as its server gave it.
pub fn hub_result(called: Result<Box<RawValue>, ApiError>) -> Value {
    let called = called.and_then(|called| {
        serde_json::from_str::<Value>(called.get())
            .map_err(|error| ApiError::internal(error.to_string()))
    });
    match called {
        Ok(mut called) => called["result"].take(),
        Err(error) => failed(&error),
    }
}

fn result(operation: &str, called: Result<Box<RawValue>, ApiError>) -> Value {
    let called = match called {
        Ok(called) => called,
        Err(error) => return failed(&error),
    };
    let structured: Value = serde_json::from_str(called.get()).unwrap_or_default();
    let content = match picture(operation, &structured) {
        Some(picture) => picture,
        None if called.get().len() <= MOST_TEXT => {
            json!({ "type": "text", "text": called.get() })
        }
        None => json!({ "type": "text", "text": "The result is long: see the structured one." }),
    };
    json!({ "content": [content], "structuredContent": structured, "isError": false })
}

/// A picture is shown as one.
fn picture(operation: &str, structured: &Value) -> Option<Value> {
    let is_picture = operation == "slot_screenshot" && structured["encoding"] == "base64";
    is_picture
        .then(|| json!({ "type": "image", "mimeType": "image/png", "data": structured["content"] }))
}

/// A model is to read what went wrong and try something else.
fn failed(error: &ApiError) -> Value {
    json!({
        "content": [{ "type": "text", "text": error.message }],
        "isError": true,
        "_meta": { "missiond/error": { "code": error.code, "retryAfterMs": error.retry_after_ms } },
    })
}
