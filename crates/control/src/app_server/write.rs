//! Requests to the app-server.

use serde_json::{Map, Value, json};

use crate::acp::permission_body;
use crate::conversation::Conversation;
use crate::request::{ControlRequest, McpServer, NamedValue, PromptPart, SessionChoice};
use crate::rpc::{self, Marker};
use crate::trouble::Refusal;

const MARKER: Marker = Marker::LeftOut;

pub(crate) fn write(core: &Conversation, request: &ControlRequest) -> Result<Vec<Value>, Refusal> {
    let one = |method: &str, params: Value| {
        Ok(vec![rpc::request(MARKER, core.last_id + 1, method, params)])
    };
    let thread = || match &core.session {
        Some(session) => Ok(session.id.as_str()),
        None => Err(Refusal::NoSession),
    };
    let turn = || {
        let turn = core.turn.as_ref().ok_or(Refusal::NoTurn)?;
        turn.id.as_deref().ok_or(Refusal::TurnNotNamed)
    };
    match request {
        ControlRequest::Start => one(
            "initialize",
            json!({"clientInfo": {
                "name": core.options.client_name,
                "title": core.options.client_name,
                "version": core.options.client_version,
            }}),
        ),
        ControlRequest::Authenticate { .. } => Err(Refusal::NotOffered(
            "signing in over this protocol: run `codex login`",
        )),
        ControlRequest::Open(open) => {
            let opens = |method: &str| matches!(method, "thread/start" | "thread/resume");
            if core.session.is_some() || core.asked.values().any(|asked| opens(&asked.method)) {
                return Err(Refusal::SessionOpen);
            }
            let mut params = json!({"cwd": open.cwd});
            if !open.mcp_servers.is_empty() {
                params["config"] = json!({"mcp_servers": mcp_servers(&open.mcp_servers)});
            }
            match &open.what {
                SessionChoice::New => one("thread/start", params),
                SessionChoice::Load(_) => Err(Refusal::NotOffered(
                    "loading with the history: resume the session",
                )),
                SessionChoice::Resume(id) => {
                    params["threadId"] = json!(id);
                    // All turns in one answer would be one line of any length.
                    params["excludeTurns"] = json!(true);
                    one("thread/resume", params)
                }
            }
        }
        ControlRequest::Prompt(parts) => {
            let thread = thread()?;
            // The server would put it into the running turn: that is steering.
            if core.turn.is_some() {
                return Err(Refusal::TurnRunning);
            }
            one(
                "turn/start",
                json!({"threadId": thread, "input": input(parts)?}),
            )
        }
        ControlRequest::Steer(parts) => one(
            "turn/steer",
            json!({"threadId": thread()?, "expectedTurnId": turn()?, "input": input(parts)?}),
        ),
        ControlRequest::AnswerPermission { id, answer } => {
            let body = permission_body(core, id, answer)?;
            Ok(vec![rpc::answer(MARKER, id, &Ok(body))])
        }
        ControlRequest::Cancel => one(
            "turn/interrupt",
            json!({"threadId": thread()?, "turnId": turn()?}),
        ),
        ControlRequest::SetMode { .. } => Err(Refusal::NotOffered("modes")),
        ControlRequest::SetModel { .. } => {
            Err(Refusal::NotOffered("a choice of models between turns"))
        }
        ControlRequest::Close => one("thread/unsubscribe", json!({"threadId": thread()?})),
    }
}

fn input(parts: &[PromptPart]) -> Result<Vec<Value>, Refusal> {
    if parts.is_empty() {
        return Err(Refusal::EmptyPrompt);
    }
    Ok(parts
        .iter()
        .map(|part| match part {
            PromptPart::Text(text) => json!({"type": "text", "text": text}),
            PromptPart::Image { mime_type, data } => {
                json!({"type": "image", "url": format!("data:{mime_type};base64,{data}")})
            }
            // A mention of a file does not reach the model: seen with 0.166.
            PromptPart::File { path } => json!({"type": "text", "text": path}),
            PromptPart::Resource { uri, text } => {
                json!({"type": "text", "text": format!("{uri}\n\n{text}")})
            }
        })
        .collect())
}

/// As its configuration file would name them.
fn mcp_servers(servers: &[McpServer]) -> Value {
    let pairs = |values: &[NamedValue]| -> Map<String, Value> {
        values
            .iter()
            .map(|pair| (pair.name.clone(), json!(pair.value)))
            .collect()
    };
    servers
        .iter()
        .map(|server| match server {
            McpServer::Stdio {
                name,
                command,
                args,
                env,
            } => (
                name.clone(),
                json!({"command": command, "args": args, "env": pairs(env)}),
            ),
            McpServer::Http { name, url, headers } => (
                name.clone(),
                json!({"url": url, "http_headers": pairs(headers)}),
            ),
        })
        .collect::<Map<String, Value>>()
        .into()
}
