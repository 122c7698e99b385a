//! Answers of an agent to what was asked of it.

use serde_json::Value;

use crate::acp::{is_v2, settings};
use crate::conversation::{Asked, Conversation};
use crate::event::{
    Agent, AgentError, AuthMethod, ControlEvent, Offers, Opening, Protocol, Session, Tokens,
    TurnEnd, Usage,
};
use crate::options::{AcpVersion, Dialect, HistoryEnd, UsageScope};
use crate::request::RequestId;
use crate::rpc;
use crate::state::Connection;
use crate::text::Clipped;
use crate::trouble::Trouble;

pub(super) fn receive(
    core: &mut Conversation,
    id: RequestId,
    asked: &Asked,
    outcome: Result<Value, Value>,
) {
    let result = match outcome {
        Ok(result) => result,
        Err(error) => return failed(core, id, asked, &error),
    };
    match asked.method.as_str() {
        "initialize" => greeted(core, &result),
        "session/new" | "session/load" | "session/resume" => opened(core, id, asked, &result),
        "session/prompt" if is_v2(core) => {
            // Only taken in: the agent says by itself when it is done.
            if let Some(turn) = core.turn.as_mut().filter(|turn| turn.request == Some(id)) {
                turn.is_confirmed = true;
            }
        }
        "session/prompt" => prompt_ended(core, id, &result),
        "session/close" => {
            let session = core
                .session
                .take()
                .map(|session| session.id)
                .unwrap_or_default();
            core.emit(ControlEvent::SessionClosed { session });
        }
        "session/set_config_option" => {
            settings::replace_config_options(core, &result);
            core.emit(ControlEvent::RequestDone { request: id });
        }
        _ => {
            if let Some((category, choice)) = &asked.params.choice {
                settings::choose(core, category, choice);
            }
            core.emit(ControlEvent::RequestDone { request: id });
        }
    }
}

fn greeted(core: &mut Conversation, result: &Value) {
    let version = result["protocolVersion"].as_u64();
    let newest = match core.options.dialect {
        Dialect::Acp {
            newest: AcpVersion::V2,
        } => 2,
        _ => 1,
    };
    let protocol = match version {
        Some(1) => Protocol::AcpV1,
        Some(2) if newest == 2 => Protocol::AcpV2,
        _ => {
            let trouble = Trouble::WrongVersion {
                theirs: core.raw(&result["protocolVersion"]),
                ours: if newest == 2 { "1 and 2" } else { "1" }.to_owned(),
            };
            core.connection = Connection::Refused(trouble.to_string());
            return core.trouble(trouble);
        }
    };
    let (offers, info) = if protocol == Protocol::AcpV2 {
        (offers_v2(result), &result["info"])
    } else {
        (offers_v1(result), &result["agentInfo"])
    };
    let agent = Agent {
        protocol,
        name: core
            .clip_at(info, "title")
            .or_else(|| core.clip_at(info, "name")),
        version: core.clip_at(info, "version"),
        offers,
        auth_methods: auth_methods(core, result),
        meta: core.meta(result),
    };
    core.connection = Connection::Ready(agent.clone());
    core.emit(ControlEvent::AgentReady(agent));
}

fn offers_v1(result: &Value) -> Offers {
    let can = &result["agentCapabilities"];
    let is = |value: &Value| value.as_bool() == Some(true);
    let has = |name: &str| !can["sessionCapabilities"][name].is_null();
    // Not of the protocol: an agent says it under a name of its own.
    let queue = can["_meta"]
        .as_object()
        .is_some_and(|meta| meta.values().any(|of| is(&of["promptQueueing"])));
    Offers {
        load: is(&can["loadSession"]),
        resume: has("resume"),
        list: has("list"),
        fork: has("fork"),
        close: has("close"),
        delete: has("delete"),
        steer: false,
        queue,
        images: is(&can["promptCapabilities"]["image"]),
        audio: is(&can["promptCapabilities"]["audio"]),
        embedded_context: is(&can["promptCapabilities"]["embeddedContext"]),
        mcp_stdio: true,
        mcp_http: is(&can["mcpCapabilities"]["http"]),
        mcp_sse: is(&can["mcpCapabilities"]["sse"]),
    }
}

/// Version 2 requires most of what was optional, and says the rest with objects.
fn offers_v2(result: &Value) -> Offers {
    let session = &result["capabilities"]["session"];
    let has_sessions = !session.is_null();
    let prompt = |name: &str| !session["prompt"][name].is_null();
    Offers {
        load: has_sessions,
        resume: has_sessions,
        list: has_sessions,
        fork: false,
        close: has_sessions,
        delete: !session["delete"].is_null(),
        steer: false,
        queue: false,
        images: prompt("image"),
        audio: prompt("audio"),
        embedded_context: prompt("embeddedContext"),
        mcp_stdio: !session["mcp"]["stdio"].is_null(),
        mcp_http: !session["mcp"]["http"].is_null(),
        mcp_sse: false,
    }
}

fn auth_methods(core: &Conversation, result: &Value) -> Vec<AuthMethod> {
    core.list(result, "authMethods")
        .iter()
        .filter_map(|method| {
            let id = method["id"].as_str().or(method["methodId"].as_str())?;
            Some(AuthMethod {
                id: Clipped::new(id, 256).text,
                name: core.clip_at(method, "name").unwrap_or_default(),
                description: core.clip_at(method, "description"),
            })
        })
        .collect()
}

fn opened(core: &mut Conversation, id: RequestId, asked: &Asked, result: &Value) {
    let request = id;
    let told = result["sessionId"].as_str();
    let Some(id) = told.or(asked.params.session.as_deref()).map(str::to_owned) else {
        return core.malformed(&asked.method, "sessionId");
    };
    if id.is_empty() || id.len() > 1024 {
        return core.malformed(&asked.method, "sessionId");
    }
    if let Some(wanted) = asked
        .params
        .session
        .as_ref()
        .filter(|wanted| **wanted != id)
    {
        core.trouble(Trouble::WrongSession {
            asked: Clipped::new(wanted, 256),
            got: Clipped::new(&id, 256),
        });
    }
    let session = Session {
        id,
        cwd: asked.params.cwd.clone().unwrap_or_default(),
        opening: match asked.method.as_str() {
            "session/new" => Opening::New,
            _ if asked.params.is_load => Opening::Loaded,
            _ => Opening::Resumed,
        },
        settings: settings::of_session(core, result),
        meta: core.meta(result),
    };
    let is_retold = session.opening == Opening::Loaded
        && core.options.habits.history_end == HistoryEnd::Commands;
    if is_retold {
        core.asked.insert(request.0, asked.clone());
        core.retold = Some((request, session));
        return;
    }
    core.session = Some(session.clone());
    core.emit(ControlEvent::SessionOpened(session));
}

/// The history of a loaded session is told: what comes now happens now.
pub(super) fn history_ended(core: &mut Conversation) {
    if let Some((request, session)) = core.retold.take() {
        core.asked.remove(&request.0);
        core.session = Some(session.clone());
        core.emit(ControlEvent::SessionOpened(session));
    }
}

fn prompt_ended(core: &mut Conversation, id: RequestId, result: &Value) {
    if let Some(tokens) = usage(result) {
        let (turn, session) = match core.options.habits.usage {
            UsageScope::Turn => (Some(tokens), None),
            UsageScope::Session => (None, Some(tokens)),
        };
        core.emit(ControlEvent::UsageChanged(Usage {
            turn,
            session,
            ..Usage::default()
        }));
    }
    let meta = core.meta(result);
    match result["stopReason"].as_str() {
        Some(reason) => end(core, id, turn_end(reason), meta),
        None => {
            core.malformed("session/prompt", "stopReason");
            end(core, id, TurnEnd::Unknown(String::new()), meta);
        }
    }
}

/// What an answer counts, in the member of the protocol or where one agent has it.
fn usage(result: &Value) -> Option<Tokens> {
    let (told, quota) = (&result["usage"], &result["_meta"]["quota"]["token_count"]);
    if told.is_object() {
        let count = |member: &str| told[member].as_u64();
        return Some(Tokens {
            input: count("inputTokens"),
            output: count("outputTokens"),
            cached_read: count("cachedReadTokens"),
            cached_write: count("cachedWriteTokens"),
            reasoning: count("thoughtTokens"),
            total: count("totalTokens"),
        });
    }
    quota.is_object().then(|| Tokens {
        input: quota["input_tokens"].as_u64(),
        output: quota["output_tokens"].as_u64(),
        ..Tokens::default()
    })
}

/// The turn of a prompt has ended, whether it ran or still waited.
fn end(core: &mut Conversation, id: RequestId, end: TurnEnd, meta: Option<Clipped>) {
    if core
        .turn
        .as_ref()
        .is_some_and(|turn| turn.request == Some(id))
    {
        core.end_turn(end, meta);
    } else {
        let before = core.queued.len();
        core.queued.retain(|queued| *queued != id);
        if core.queued.len() == before {
            return core.out_of_order("the end of a turn that did not run");
        }
        core.out_of_order("a prompt that waited was answered before the one that ran");
        core.emit(ControlEvent::TurnEnded {
            request: Some(id),
            turn: None,
            end,
            meta,
        });
    }
    let open: Vec<_> = core
        .permissions
        .iter()
        .map(|asking| asking.open.request.id.clone())
        .collect();
    if core.turn.is_none() {
        for id in open {
            core.trouble(Trouble::PermissionLeftOpen { id });
        }
    }
}

pub(super) fn turn_end(reason: &str) -> TurnEnd {
    match reason {
        "end_turn" => TurnEnd::Done,
        "cancelled" => TurnEnd::Cancelled,
        "refusal" => TurnEnd::Refused,
        "max_tokens" => TurnEnd::MaxTokens,
        "max_turn_requests" => TurnEnd::MaxTurns,
        unknown => TurnEnd::Unknown(Clipped::new(unknown, 64).text),
    }
}

fn failed(core: &mut Conversation, id: RequestId, asked: &Asked, error: &Value) {
    let error = rpc::agent_error(error, &core.options.limits);
    let end_of_turn = error_end(error.clone());
    if let TurnEnd::AuthenticationRequired(error) = &end_of_turn {
        let methods = core
            .agent()
            .map(|agent| agent.auth_methods.clone())
            .unwrap_or_default();
        core.emit(ControlEvent::AuthenticationRequired {
            methods,
            error: error.clone(),
        });
    }
    match asked.method.as_str() {
        "session/prompt" => end(core, id, end_of_turn, None),
        "initialize" => {
            let sentence = format!("the agent refused the greeting: {}", error.message.text);
            core.connection = Connection::Refused(sentence);
            request_failed(core, id, asked, error);
        }
        _ => request_failed(core, id, asked, error),
    }
}

fn request_failed(core: &mut Conversation, id: RequestId, asked: &Asked, error: AgentError) {
    core.emit(ControlEvent::RequestFailed {
        request: id,
        method: asked.method.clone(),
        error,
    });
}

/// What an error means for a turn. Agents have words of their own for its sort; the
/// code 429 is HTTP's, which one passes on as it came.
fn error_end(error: AgentError) -> TurnEnd {
    let sort = error.sort.as_ref().map_or("", |sort| sort.text.as_str());
    match (error.code, sort) {
        (Some(rpc::AUTHENTICATION_REQUIRED | 401), _) | (_, "authentication_failed") => {
            TurnEnd::AuthenticationRequired(error)
        }
        (Some(429), _)
        | (_, "rate_limit" | "billing_error" | "usage_limit_exceeded" | "rate_limit_exceeded") => {
            TurnEnd::Limit(error)
        }
        _ => TurnEnd::Failed(error),
    }
}
