//! Requests to an agent in ACP.

use serde_json::{Value, json};

use crate::acp::is_v2;
use crate::conversation::Conversation;
use crate::event::{Agent, Offers, Setting, ToldBy};
use crate::options::{AcpVersion, CancelledQuestions, Dialect};
use crate::permission::PermissionAnswer;
use crate::request::{
    ControlRequest, McpServer, NamedValue, OpenSession, PromptPart, SessionChoice,
};
use crate::rpc::{self, Marker};
use crate::trouble::Refusal;

const MARKER: Marker = Marker::Written;

pub(crate) fn write(core: &Conversation, request: &ControlRequest) -> Result<Vec<Value>, Refusal> {
    let one = |method: &str, params: Value| {
        Ok(vec![rpc::request(MARKER, core.last_id + 1, method, params)])
    };
    if *request == ControlRequest::Start {
        return one("initialize", greeting(core));
    }
    let agent = core.agent().ok_or(Refusal::NotReady)?;
    match request {
        ControlRequest::Start => Err(Refusal::StartedAlready),
        ControlRequest::Authenticate { method } => {
            if !agent.auth_methods.iter().any(|known| known.id == *method) {
                return Err(Refusal::NoSuchChoice {
                    what: "way to sign in",
                    id: method.clone(),
                });
            }
            let name = if is_v2(core) {
                "auth/login"
            } else {
                "authenticate"
            };
            one(name, json!({"methodId": method}))
        }
        ControlRequest::Open(open) => {
            let (method, params) = opening(core, agent, open)?;
            one(method, params)
        }
        ControlRequest::Prompt(parts) => {
            let session = session(core)?;
            if core.turn.is_some() && !agent.offers.queue {
                return Err(Refusal::TurnRunning);
            }
            let prompt = prompt(parts, &agent.offers)?;
            one(
                "session/prompt",
                json!({"sessionId": session, "prompt": prompt}),
            )
        }
        ControlRequest::Steer(_) => Err(Refusal::NotOffered("words into a running turn")),
        ControlRequest::AnswerPermission { id, answer } => {
            let body = permission_body(core, id, answer)?;
            Ok(vec![rpc::answer(MARKER, id, &Ok(body))])
        }
        ControlRequest::Cancel => {
            let session = session(core)?;
            if core.turn.is_none() {
                return Err(Refusal::NoTurn);
            }
            let cancel = rpc::notice(
                MARKER,
                "session/cancel",
                Some(json!({"sessionId": session})),
            );
            // The protocol asks for it: nobody answers what the turn still asks.
            let at_once = match core.options.habits.cancelled_questions {
                CancelledQuestions::AnsweredAtOnce => core.permissions.as_slice(),
                CancelledQuestions::TakenBack => &[],
            };
            let answers = at_once.iter().map(|asking| {
                rpc::answer(MARKER, &asking.open.request.id, &Ok(asking.cancel.clone()))
            });
            Ok(std::iter::once(cancel).chain(answers).collect())
        }
        ControlRequest::SetMode { mode } => {
            let (method, params) = setting(core, "mode", mode)?;
            one(method, params)
        }
        ControlRequest::SetModel { model } => {
            let (method, params) = setting(core, "model", model)?;
            one(method, params)
        }
        ControlRequest::Close => {
            let session = session(core)?;
            if !agent.offers.close {
                return Err(Refusal::NotOffered("closing a session"));
            }
            one("session/close", json!({"sessionId": session}))
        }
    }
}

/// The wire's answer to a permission request, in either dialect.
pub(crate) fn permission_body(
    core: &Conversation,
    id: &crate::AgentRequestId,
    answer: &PermissionAnswer,
) -> Result<Value, Refusal> {
    let Some(asking) = core.permission(id) else {
        return Err(if core.was_settled(id) {
            Refusal::AlreadyAnswered(id.clone())
        } else {
            Refusal::NoSuchPermission(id.clone())
        });
    };
    match answer {
        PermissionAnswer::Cancelled => Ok(asking.cancel.clone()),
        PermissionAnswer::Option(option) => {
            let options = &asking.open.request.options;
            let at = options.iter().position(|known| known.id == *option);
            at.and_then(|at| asking.answers.get(at).cloned())
                .ok_or_else(|| Refusal::NoSuchOption {
                    request: id.clone(),
                    option: option.clone(),
                })
        }
    }
}

fn greeting(core: &Conversation) -> Value {
    let who = json!({
        "name": core.options.client_name,
        "title": core.options.client_name,
        "version": core.options.client_version,
    });
    // Neither files nor terminals: the agent uses its own, where its sandbox is.
    let mut params = json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
        },
        "clientInfo": who,
    });
    if let Dialect::Acp {
        newest: AcpVersion::V2,
    } = core.options.dialect
    {
        // An agent of version 1 reads the members above, one of version 2 these.
        params["protocolVersion"] = json!(2);
        params["capabilities"] = json!({});
        params["info"] = who;
    }
    params
}

fn session(core: &Conversation) -> Result<&str, Refusal> {
    core.session
        .as_ref()
        .map(|session| session.id.as_str())
        .ok_or(Refusal::NoSession)
}

fn opening(
    core: &Conversation,
    agent: &Agent,
    open: &OpenSession,
) -> Result<(&'static str, Value), Refusal> {
    let opens = |method: &str| matches!(method, "session/new" | "session/load" | "session/resume");
    if core.session.is_some() || core.asked.values().any(|asked| opens(&asked.method)) {
        return Err(Refusal::SessionOpen);
    }
    let servers = open
        .mcp_servers
        .iter()
        .map(|server| mcp_server(server, agent, is_v2(core)))
        .collect::<Result<Vec<Value>, Refusal>>()?;
    let mut params = json!({"cwd": open.cwd, "mcpServers": servers});
    if let Some(meta) = &open.meta {
        params["_meta"] = meta.clone();
    }
    let method = match &open.what {
        SessionChoice::New => "session/new",
        SessionChoice::Load(_) if !agent.offers.load => {
            return Err(Refusal::NotOffered("loading a session"));
        }
        SessionChoice::Resume(_) if !agent.offers.resume => {
            return Err(Refusal::NotOffered("resuming a session"));
        }
        SessionChoice::Load(id) => {
            params["sessionId"] = json!(id);
            if is_v2(core) {
                params["replayFrom"] = json!({"type": "start"});
                "session/resume"
            } else {
                "session/load"
            }
        }
        SessionChoice::Resume(id) => {
            params["sessionId"] = json!(id);
            "session/resume"
        }
    };
    Ok((method, params))
}

fn mcp_server(server: &McpServer, agent: &Agent, is_v2: bool) -> Result<Value, Refusal> {
    let pairs = |values: &[NamedValue]| -> Vec<Value> {
        values
            .iter()
            .map(|pair| json!({"name": pair.name, "value": pair.value}))
            .collect()
    };
    match server {
        McpServer::Stdio {
            name,
            command,
            args,
            env,
        } => {
            if !agent.offers.mcp_stdio {
                return Err(Refusal::NotOffered("MCP servers over standard input"));
            }
            let mut value =
                json!({"name": name, "command": command, "args": args, "env": pairs(env)});
            if is_v2 {
                value["type"] = json!("stdio");
            }
            Ok(value)
        }
        McpServer::Http { name, url, headers } => {
            if !agent.offers.mcp_http {
                return Err(Refusal::NotOffered("MCP servers over HTTP"));
            }
            Ok(json!({"type": "http", "name": name, "url": url, "headers": pairs(headers)}))
        }
    }
}

fn prompt(parts: &[PromptPart], offers: &Offers) -> Result<Vec<Value>, Refusal> {
    if parts.is_empty() {
        return Err(Refusal::EmptyPrompt);
    }
    parts
        .iter()
        .map(|part| match part {
            PromptPart::Text(text) => Ok(json!({"type": "text", "text": text})),
            PromptPart::Image { .. } if !offers.images => Err(Refusal::NotOffered("pictures")),
            PromptPart::Image { mime_type, data } => {
                Ok(json!({"type": "image", "mimeType": mime_type, "data": data}))
            }
            PromptPart::File { path } => Ok(json!({
                "type": "resource_link",
                "uri": file_uri(path),
                "name": path.rsplit('/').next().unwrap_or(path),
            })),
            PromptPart::Resource { uri, text } if offers.embedded_context => {
                Ok(json!({"type": "resource", "resource": {"uri": uri, "text": text}}))
            }
            // Text is what every agent takes.
            PromptPart::Resource { uri, text } => {
                Ok(json!({"type": "text", "text": format!("{uri}\n\n{text}")}))
            }
        })
        .collect()
}

fn file_uri(path: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

fn setting(
    core: &Conversation,
    category: &'static str,
    choice: &str,
) -> Result<(&'static str, Value), Refusal> {
    let session = session(core)?;
    let settings = core.session.iter().flat_map(|session| &session.settings);
    let setting: &Setting = settings
        .into_iter()
        .find(|setting| {
            setting
                .category
                .as_ref()
                .is_some_and(|c| c.text == category)
        })
        .ok_or(Refusal::NotOffered(if category == "mode" {
            "modes"
        } else {
            "a choice of models"
        }))?;
    if !setting.choices.iter().any(|known| known.id == choice) {
        return Err(Refusal::NoSuchChoice {
            what: category,
            id: choice.to_owned(),
        });
    }
    Ok(match setting.told_by {
        ToldBy::Modes => (
            "session/set_mode",
            json!({"sessionId": session, "modeId": choice}),
        ),
        ToldBy::Models => (
            "session/set_model",
            json!({"sessionId": session, "modelId": choice}),
        ),
        ToldBy::ConfigOption => {
            let mut params = json!({"sessionId": session, "configId": setting.id, "value": choice});
            if is_v2(core) {
                params["type"] = json!("id");
            }
            ("session/set_config_option", params)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_an_address_that_can_be_read_back() {
        assert_eq!(file_uri("/a b/ü#.rs"), "file:///a%20b/%C3%BC%23.rs");
    }
}
