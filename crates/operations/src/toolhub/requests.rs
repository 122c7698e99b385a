//! What can be asked of a hub, in the words of the catalogue.

use std::time::{Duration, Instant};

use missiond_api::operations::tools::{
    McpFailure, McpPinParams, McpPinResult, McpPrompt, McpPromptArgument, McpPromptGetParams,
    McpPromptGetResult, McpPromptListParams, McpPromptListResult, McpServer, McpServerAction,
    McpServerControlParams, McpServerControlResult, McpServerListParams, McpServerListResult,
    McpServerState, McpTool, McpToolCallParams, McpToolCallResult, McpToolListParams,
    McpToolListResult,
};
use missiond_api::{ApiError, MAX_FRAME};
use missiond_core::ErrorCode;
use missiond_toolhub::{
    ConfigError, Hub, HubError, Progress, SEPARATOR, ServerState, ServerStatus, Tool, Transport,
};
use serde_json::Value;
use tokio::sync::mpsc;

/// What an answer may have so that it fits into one message with what is around.
const ANSWER_BYTES: usize = MAX_FRAME - 16 * 1024;

pub fn servers(hub: &Hub, params: &McpServerListParams) -> Result<McpServerListResult, ApiError> {
    let mut servers: Vec<_> = hub
        .servers()
        .map_err(|error| of_hub(&error))?
        .into_iter()
        .map(server)
        .collect();
    if let Some(only) = &params.server {
        servers.retain(|server| server.name == *only);
        if servers.is_empty() {
            return Err(of_hub(&HubError::from(ConfigError::Unknown(only.clone()))));
        }
    }
    Ok(McpServerListResult { servers })
}

pub async fn control(
    hub: &Hub,
    params: McpServerControlParams,
    limit: Duration,
) -> Result<McpServerControlResult, ApiError> {
    let name = params.server.as_str();
    let mut answered_ms = None;
    match params.action {
        McpServerAction::Start => hub
            .start(name, limit)
            .await
            .map_err(|error| of_hub(&error))?,
        McpServerAction::Stop => hub
            .stop_server(name)
            .await
            .map_err(|error| of_hub(&error))?,
        McpServerAction::Restart => hub
            .restart(name, limit)
            .await
            .map_err(|error| of_hub(&error))?,
        McpServerAction::Ping => {
            let took = hub
                .ping(name, limit)
                .await
                .map_err(|error| of_hub(&error))?;
            answered_ms = Some(took.as_secs_f64() * 1e3);
        }
    }
    let only = McpServerListParams {
        server: Some(params.server),
    };
    let server = servers(hub, &only)?.servers.into_iter().next();
    let server =
        server.ok_or_else(|| ApiError::new(ErrorCode::NotFound, "the server was removed"))?;
    Ok(McpServerControlResult {
        server,
        answered_ms,
    })
}

pub async fn tools(
    hub: &Hub,
    params: McpToolListParams,
    limit: Duration,
) -> Result<McpToolListResult, ApiError> {
    let listed = hub
        .tools(params.server.as_deref(), limit)
        .await
        .map_err(|error| of_hub(&error))?;
    let mut result = McpToolListResult {
        tools: Vec::new(),
        failures: Vec::new(),
    };
    for of_server in listed {
        let name = of_server.server.to_string();
        match of_server.tools {
            Ok(tools) => result
                .tools
                .extend(tools.iter().map(|found| tool(&name, found, params.schemas))),
            // Who asked for one server wants its error, not an empty list.
            Err(error) if params.server.is_some() => return Err(of_hub(&error)),
            Err(error) => result.failures.push(McpFailure {
                server: name,
                error: error.to_string(),
            }),
        }
    }
    Ok(result)
}

pub async fn tool_call(
    hub: &Hub,
    params: McpToolCallParams,
    limit: Duration,
    progress: Option<mpsc::Sender<Progress>>,
) -> Result<McpToolCallResult, ApiError> {
    let began = Instant::now();
    let asked = params
        .timeout_ms
        .map(|ms| Duration::from_millis(ms.to_u64()));
    let limit = asked.map_or(limit, |asked| asked.min(limit));
    let arguments = Value::Object(params.arguments.into_iter().collect());
    let called = hub
        .call(&params.tool, arguments, Some(limit), progress)
        .await
        .map_err(|error| of_hub(&error))?;
    Ok(McpToolCallResult {
        server: called.server.to_string(),
        tool: called.tool,
        is_error: called.is_error,
        result: called.result,
        duration_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}

/// An answer that would not fit into one message is refused here, where it can
/// be said what to do.
pub fn fits(result: &McpToolCallResult) -> Result<(), ApiError> {
    let size = serde_json::to_vec(&result.result).map_or(0, |text| text.len());
    if size <= ANSWER_BYTES {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::TooLarge,
        format!(
            "the tool was called and answered {size} bytes, which is more than one message of \
             the daemon holds; `mission mcp call-tool --no-daemon` has no such limit"
        ),
    ))
}

pub async fn prompts(
    hub: &Hub,
    params: McpPromptListParams,
    limit: Duration,
) -> Result<McpPromptListResult, ApiError> {
    let listed = hub
        .prompts(params.server.as_deref(), limit)
        .await
        .map_err(|error| of_hub(&error))?;
    let mut result = McpPromptListResult {
        prompts: Vec::new(),
        failures: Vec::new(),
    };
    for of_server in listed {
        let name = of_server.server.to_string();
        match of_server.prompts {
            Ok(prompts) => result
                .prompts
                .extend(prompts.iter().map(|found| prompt(&name, found))),
            Err(error) if params.server.is_some() => return Err(of_hub(&error)),
            Err(error) => result.failures.push(McpFailure {
                server: name,
                error: error.to_string(),
            }),
        }
    }
    Ok(result)
}

pub async fn prompt_get(
    hub: &Hub,
    params: McpPromptGetParams,
    limit: Duration,
) -> Result<McpPromptGetResult, ApiError> {
    let result = hub
        .prompt(&params.prompt, params.arguments, limit)
        .await
        .map_err(|error| of_hub(&error))?;
    Ok(McpPromptGetResult { result })
}

pub async fn pin(
    hub: &Hub,
    params: McpPinParams,
    limit: Duration,
) -> Result<McpPinResult, ApiError> {
    let accepted = hub
        .pin(&params.server, params.tool.as_deref(), limit)
        .await
        .map_err(|error| of_hub(&error))?;
    Ok(McpPinResult { accepted })
}

fn of_hub(error: &HubError) -> ApiError {
    let retry_after_ms = match error {
        HubError::Parked { left, .. } => u64::try_from(left.as_millis()).ok(),
        _ => None,
    };
    ApiError {
        retry_after_ms,
        ..ApiError::new(error.code(), error.to_string())
    }
}

fn server(status: ServerStatus) -> McpServer {
    let (transport, target) = match &status.spec.transport {
        Transport::Stdio { command, args, .. } => {
            let argv = std::iter::once(command).chain(args).map(String::as_str);
            ("stdio", argv.collect::<Vec<_>>().join(" "))
        }
        Transport::Http { url, .. } => ("http", url.clone()),
    };
    McpServer {
        name: status.name.to_string(),
        state: match status.state {
            ServerState::Disabled => McpServerState::Disabled,
            ServerState::Stopped { .. } => McpServerState::Stopped,
            ServerState::Starting => McpServerState::Starting,
            ServerState::Ready => McpServerState::Ready,
            ServerState::Unwell { .. } => McpServerState::Unwell,
            ServerState::Waiting { .. } => McpServerState::Waiting,
            ServerState::Parked { .. } => McpServerState::Parked,
        },
        reason: status.state.why().map(str::to_owned),
        transport: transport.to_owned(),
        target,
        file: status.file.display().to_string(),
        software: status.software.filter(|software| !software.is_empty()),
        protocol: status.version,
        tools: status.tools.map(|tools| tools as u64),
        held: status.held as u64,
        in_flight: status.in_flight as u64,
        starts: status.starts,
        pid: status.process,
        stderr: status.stderr,
    }
}

fn tool(server: &str, tool: &Tool, with_schema: bool) -> McpTool {
    McpTool {
        name: format!("{server}{SEPARATOR}{}", tool.name),
        server: server.to_owned(),
        description: tool.description().to_owned(),
        held: tool.held.map(|held| held.why().to_owned()),
        claims_read_only: tool.claims_read_only(),
        digest: tool.digest.clone(),
        manifest: with_schema.then(|| tool.manifest.clone()),
    }
}

fn prompt(server: &str, prompt: &Value) -> McpPrompt {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    McpPrompt {
        name: format!("{server}{SEPARATOR}{}", text(&prompt["name"])),
        server: server.to_owned(),
        description: text(&prompt["description"]),
        arguments: arguments
            .map(|argument| McpPromptArgument {
                name: text(&argument["name"]),
                description: text(&argument["description"]),
                required: argument["required"] == Value::Bool(true),
            })
            .collect(),
    }
}
