//! What servers, tools and their answers look like to a person. Everything a
//! server says is shown without control characters: it must not be able to
//! write to the terminal by itself.

use std::process::ExitCode;

use missiond_api::operations::tools::{
    McpFailure, McpPromptListResult, McpServer, McpServerControlResult, McpServerState,
    McpToolListResult,
};
use missiond_core::is_deceptive;
use serde_json::Value;

use crate::output::Output;

pub(super) fn servers(output: &mut Output, servers: &[McpServer]) {
    if servers.is_empty() {
        output.line("no MCP server is listed; `mission mcp add` and `mission mcp import` add some");
        return;
    }
    let rows: Vec<_> = servers
        .iter()
        .map(|server| {
            let tools = server
                .tools
                .map_or_else(|| "-".to_owned(), |tools| tools.to_string());
            let tools = match server.held {
                0 => tools,
                held => format!("{tools} ({held} held)"),
            };
            let detail = match (&server.reason, &server.software) {
                (Some(reason), _) => clean(reason),
                (None, Some(software)) => clean(software),
                (None, None) => String::new(),
            };
            let target: String = server.target.chars().take(60).collect();
            vec![
                server.name.clone(),
                state(server.state).to_owned(),
                tools,
                target,
                detail,
            ]
        })
        .collect();
    output.table(&["server", "state", "tools", "what it is", "detail"], &rows);
}

pub(super) fn tools(output: &mut Output, listed: &McpToolListResult) {
    if listed.tools.is_empty() && listed.failures.is_empty() {
        output.line("no tools");
    }
    if listed.tools.iter().any(|tool| tool.manifest.is_some()) {
        for tool in &listed.tools {
            let held = tool.held.as_deref().map(|held| format!("  HELD: {held}"));
            output.line(format!("{}{}", clean(&tool.name), held.unwrap_or_default()));
            if let Some(manifest) = &tool.manifest {
                output.line(clean(&format!("{manifest:#}")));
            }
        }
        return;
    }
    let rows: Vec<_> = listed
        .tools
        .iter()
        .map(|tool| {
            let first = tool.description.lines().next().unwrap_or_default();
            let short: String = clean(first).chars().take(90).collect();
            let text = match &tool.held {
                Some(held) => format!("HELD: {held}"),
                None => short,
            };
            vec![clean(&tool.name), text]
        })
        .collect();
    if !rows.is_empty() {
        output.table(&["tool", "what it says it does"], &rows);
    }
}

pub(super) fn prompts(output: &mut Output, listed: &McpPromptListResult) {
    if listed.prompts.is_empty() && listed.failures.is_empty() {
        output.line("no prompts");
        return;
    }
    let rows: Vec<_> = listed
        .prompts
        .iter()
        .map(|prompt| {
            let arguments = prompt.arguments.iter().map(|argument| {
                let name = clean(&argument.name);
                if argument.required {
                    name
                } else {
                    format!("[{name}]")
                }
            });
            let arguments = arguments.collect::<Vec<_>>().join(" ");
            let first = prompt.description.lines().next().unwrap_or_default();
            vec![clean(&prompt.name), arguments, clean(first)]
        })
        .collect();
    output.table(&["prompt", "arguments", "what it says it is"], &rows);
}

/// Servers that could not be asked; they decide the exit code.
pub(super) fn failures(output: &mut Output, failures: &[McpFailure]) -> ExitCode {
    for failure in failures {
        output.notice(&clean(&failure.error));
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

pub(super) fn health(output: &mut Output, answered: &McpServerControlResult) {
    let server = &answered.server;
    let how = match answered.answered_ms {
        Some(took) => format!("answered in {took:.1} ms"),
        None => state(server.state).to_owned(),
    };
    let software = server.software.as_deref().map(clean).unwrap_or_default();
    let protocol = server.protocol.as_deref().unwrap_or_default();
    output.line(format!("{}: {how}  {software} {protocol}", server.name).trim_end());
}

/// The parts of a tool's answer.
pub(super) fn content(output: &mut Output, result: &Value) {
    let parts = result["content"].as_array();
    for part in parts.into_iter().flatten() {
        block(output, part);
    }
    let structured = &result["structuredContent"];
    if parts.is_none_or(Vec::is_empty) && !structured.is_null() {
        output.line(clean(&format!("{structured:#}")));
    }
}

/// The messages of a prompt.
pub(super) fn messages(output: &mut Output, result: &Value) {
    for message in result["messages"].as_array().into_iter().flatten() {
        output.line(format!(
            "{}:",
            clean(message["role"].as_str().unwrap_or("?"))
        ));
        block(output, &message["content"]);
    }
}

fn block(output: &mut Output, part: &Value) {
    let kind = part["type"].as_str().unwrap_or("?");
    match part["text"]
        .as_str()
        .or_else(|| part["resource"]["text"].as_str())
    {
        Some(text) => output.line(clean(text)),
        None => {
            let mime = part["mimeType"]
                .as_str()
                .or_else(|| part["resource"]["mimeType"].as_str());
            let data = part["data"]
                .as_str()
                .or_else(|| part["resource"]["blob"].as_str());
            let size = data
                .map(|data| format!(", {} bytes", data.len() / 4 * 3))
                .unwrap_or_default();
            let uri = part["uri"]
                .as_str()
                .or_else(|| part["resource"]["uri"].as_str())
                .unwrap_or_default();
            let named = format!("{kind} {} {uri}", mime.unwrap_or_default());
            output.line(clean(&format!("[{}{size}]", named.trim())));
        }
    }
}

fn state(state: McpServerState) -> &'static str {
    match state {
        McpServerState::Disabled => "disabled",
        McpServerState::Stopped => "stopped",
        McpServerState::Starting => "starting",
        McpServerState::Ready => "ready",
        McpServerState::Unwell => "unwell",
        McpServerState::Waiting => "waiting",
        McpServerState::Parked => "parked",
    }
}

fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| !is_deceptive(*c) || matches!(c, '\n' | '\t'))
        .collect()
}
