//! Handlers of the external MCP servers. What is asked of them is in `toolhub`;
//! here each call gets its time and its place on the timeline.

use std::time::{Duration, Instant};

use missiond_api::ApiError;
use missiond_api::operations::tools::{
    McpPin, McpPinParams, McpPinResult, McpPromptGet, McpPromptGetParams, McpPromptGetResult,
    McpPromptList, McpPromptListParams, McpPromptListResult, McpServerAdd, McpServerAddParams,
    McpServerChanged, McpServerControl, McpServerControlParams, McpServerControlResult,
    McpServerList, McpServerListParams, McpServerListResult, McpServerRemove,
    McpServerRemoveParams, McpToolCall, McpToolCallParams, McpToolCallResult, McpToolList,
    McpToolListParams, McpToolListResult,
};
use missiond_core::{ErrorCode, Event, Text, TraceContext};
use missiond_timeline::Timeline;
use missiond_toolhub::{Progress, ServerEntry, ServerName, progress_channel};

use crate::call::{Call, Operations};
use crate::{settings, toolhub, trust};

/// What is left of the time of a request for the answer to be said: the hub
/// then says itself that time ran out, and takes back what it asked.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(super) fn register(operations: &mut Operations) {
    operations.add::<McpServerList, _, _>(servers);
    operations.add::<McpServerControl, _, _>(control);
    operations.add::<McpServerAdd, _, _>(add_server);
    operations.add::<McpServerRemove, _, _>(remove_server);
    operations.add::<McpToolList, _, _>(tools);
    operations.add::<McpToolCall, _, _>(call_tool);
    operations.add::<McpPromptList, _, _>(prompts);
    operations.add::<McpPromptGet, _, _>(prompt_get);
    operations.add::<McpPin, _, _>(pin);
}

fn limit(call: &Call) -> Duration {
    let whole = call.daemon.config().ipc.request_timeout();
    whole.saturating_sub(LAST_WORDS).max(whole / 2)
}

async fn add_server(call: Call, params: McpServerAddParams) -> Result<McpServerChanged, ApiError> {
    let name = server_name(&params.name)?;
    let entry = ServerEntry {
        command: params.command.map(Text::into_string),
        args: params.args,
        pass_env: params.env,
        url: params.url.map(Text::into_string),
        ..ServerEntry::default()
    };
    let change = settings::change_servers(&call, name, Some(entry)).await?;
    trust::note_server(&call, &params.name, "registered").await?;
    Ok(McpServerChanged { change })
}

async fn remove_server(
    call: Call,
    params: McpServerRemoveParams,
) -> Result<McpServerChanged, ApiError> {
    let name = server_name(&params.server)?;
    let change = settings::change_servers(&call, name, None).await?;
    Ok(McpServerChanged { change })
}

fn server_name(name: &str) -> Result<ServerName, ApiError> {
    ServerName::new(name).map_err(|error| ApiError::invalid_params(error.to_string()))
}

async fn servers(call: Call, params: McpServerListParams) -> Result<McpServerListResult, ApiError> {
    toolhub::servers(&call.daemon.toolhub.hub, &params)
}

async fn control(
    call: Call,
    params: McpServerControlParams,
) -> Result<McpServerControlResult, ApiError> {
    toolhub::control(&call.daemon.toolhub.hub, params, limit(&call)).await
}

async fn tools(call: Call, params: McpToolListParams) -> Result<McpToolListResult, ApiError> {
    toolhub::tools(&call.daemon.toolhub.hub, params, limit(&call)).await
}

async fn prompts(call: Call, params: McpPromptListParams) -> Result<McpPromptListResult, ApiError> {
    toolhub::prompts(&call.daemon.toolhub.hub, params, limit(&call)).await
}

async fn prompt_get(
    call: Call,
    params: McpPromptGetParams,
) -> Result<McpPromptGetResult, ApiError> {
    toolhub::prompt_get(&call.daemon.toolhub.hub, params, limit(&call)).await
}

async fn pin(call: Call, params: McpPinParams) -> Result<McpPinResult, ApiError> {
    let server = params.server.clone();
    let pinned = toolhub::pin(&call.daemon.toolhub.hub, params, limit(&call)).await?;
    trust::note_server(&call, &server, "accepted").await?;
    Ok(pinned)
}

async fn call_tool(call: Call, params: McpToolCallParams) -> Result<McpToolCallResult, ApiError> {
    let named = params.tool.clone();
    let (server, tool) = named.split_once("__").unwrap_or(("", &named));
    trust::admit(&call, server, tool).await?;
    let mut record = Record {
        timeline: call.daemon.timeline.clone(),
        trace: call.trace.child(),
        began: Instant::now(),
        server: shown(server),
        tool: shown(tool),
        outcome: "cancelled",
        error: None,
    };
    let (sink, mut steps) = progress_channel();
    let work = toolhub::tool_call(&call.daemon.toolhub.hub, params, limit(&call), Some(sink));
    tokio::pin!(work);
    let tell = |step: Progress, record: &Record| {
        call.reporter
            .report(step.progress, step.total, step.message.as_deref());
        let progress = Event::McpToolProgress {
            server: record.server.clone(),
            tool: record.tool.clone(),
            progress: step.progress,
            total: step.total,
            message: step.message,
        };
        call.daemon.timeline.publish(progress, call.trace.child());
    };
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            Some(step) = steps.recv() => tell(step, &record),
        }
    };
    // What was said before the result is told before it.
    while let Ok(step) = steps.try_recv() {
        tell(step, &record);
    }
    let result = result.and_then(|result| toolhub::fits(&result).map(|()| result));
    record.outcome = match &result {
        Ok(result) if result.is_error => "tool_error",
        Ok(_) => "done",
        Err(_) => "failed",
    };
    record.error = result.as_ref().err().map(|error| error.code);
    // What the caller got wrong says nothing about the tool.
    let counts = match &result {
        Ok(result) => Some(!result.is_error),
        Err(error) => matches!(
            error.code,
            ErrorCode::Timeout | ErrorCode::Upstream | ErrorCode::TooLarge
        )
        .then_some(false),
    };
    if let Some(answered) = counts {
        trust::called(&call.daemon, server, tool, answered);
    }
    let mut result = result?;
    if !call.principal.is_person()
        && let Some((verdict, score)) = toolhub::screen(&mut result)
    {
        tracing::warn!(
            server,
            tool,
            score,
            verdict = verdict.as_str(),
            "answer of a tool tries to command"
        );
    }
    Ok(result)
}

/// The event of one call. It is recorded when the call is over, also when its
/// caller went away; beside the answer, which does not wait for it.
struct Record {
    timeline: Timeline,
    trace: TraceContext,
    began: Instant,
    server: String,
    tool: String,
    outcome: &'static str,
    error: Option<ErrorCode>,
}

impl Drop for Record {
    fn drop(&mut self) {
        let called = Event::McpToolCalled {
            server: std::mem::take(&mut self.server),
            tool: std::mem::take(&mut self.tool),
            micros: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            outcome: self.outcome.to_owned(),
            error: self.error,
        };
        self.timeline.record_soon(called, self.trace);
    }
}

fn shown(name: &str) -> String {
    name.chars().take(128).collect()
}
