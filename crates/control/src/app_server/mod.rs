//! The app-server of Codex: threads, turns and items, told as sessions, turns, messages
//! and tool calls.
//!
//! It has no version to negotiate. Methods it adds are counted and kept; methods it
//! drops fail with its own words.

mod approvals;
mod items;
mod notices;
mod write;

use serde_json::Value;

use crate::conversation::{Asked, AskedParams, Conversation, Owed};
use crate::event::{Agent, AgentError, ControlEvent, Offers, Opening, Protocol, Session, TurnEnd};
use crate::request::RequestId;
use crate::rpc::{self, Message};
use crate::state::{Connection, Turn};
use crate::text::Clipped;
use crate::trouble::Trouble;

pub(crate) use write::write;

/// Sub-agents whose words are told.
const MOST_CHILDREN: usize = 256;

/// Whose thread a message is of.
enum Thread {
    Ours(String),
    SubAgent(String),
}

pub(crate) fn receive(core: &mut Conversation, message: Message) {
    match message {
        Message::Answer { id, outcome } => {
            if let Some((id, asked)) = core.answered(&id) {
                match outcome {
                    Ok(result) => answered(core, id, &asked, &result),
                    Err(error) => failed(core, id, &asked, &error),
                }
            }
        }
        Message::Request { id, method, params } => {
            if !core.is_duplicate(&id) {
                approvals::receive(core, id, &method, &params);
            }
        }
        Message::Notice { method, params } => notices::receive(core, &method, &params),
    }
}

pub(crate) fn sent_request(core: &mut Conversation, id: u64, method: &str, params: &Value) {
    let text = |member: &str| params[member].as_str().map(str::to_owned);
    let asked = Asked {
        method: method.to_owned(),
        params: AskedParams {
            session: text("threadId"),
            cwd: text("cwd"),
            is_load: false,
            choice: None,
        },
        since: core.now,
    };
    core.sent_request(id, asked);
    match method {
        "initialize" => core.connection = Connection::Greeted,
        // Told as begun when the server names it, which it may do in two ways.
        "turn/start" if core.turn.is_none() => {
            core.prompted(RequestId(id), &params["input"]);
            core.turn = Some(Turn {
                request: Some(RequestId(id)),
                id: None,
                since: core.now,
                is_cancelling: false,
                is_confirmed: false,
            });
        }
        "turn/steer" => core.prompted(RequestId(id), &params["input"]),
        "turn/interrupt" => {
            if let Some(turn) = &mut core.turn {
                turn.is_cancelling = true;
            }
        }
        _ => {}
    }
}

fn answered(core: &mut Conversation, id: RequestId, asked: &Asked, result: &Value) {
    match asked.method.as_str() {
        "initialize" => {
            // `name/1.2.3 (system) …`
            let version = result["userAgent"]
                .as_str()
                .and_then(|text| text.split_once('/'))
                .and_then(|(_, rest)| rest.split_whitespace().next());
            let agent = Agent {
                protocol: Protocol::CodexAppServer,
                name: Some(core.clip("Codex")),
                version: version.map(|version| Clipped::new(version, 64)),
                offers: OFFERS,
                auth_methods: Vec::new(),
                meta: None,
            };
            core.connection = Connection::Ready(agent.clone());
            core.emit(ControlEvent::AgentReady(agent));
            core.owed.push(Owed::Notice {
                method: "initialized",
            });
        }
        "thread/start" | "thread/resume" => opened(core, asked, result),
        "turn/start" => match turn_id(&result["turn"]) {
            Some(turn) => name_turn(core, Some(id), turn),
            None => core.malformed("turn/start", "turn.id"),
        },
        "thread/unsubscribe" => {
            let session = core
                .session
                .take()
                .map(|session| session.id)
                .unwrap_or_default();
            core.emit(ControlEvent::SessionClosed { session });
        }
        _ => core.emit(ControlEvent::RequestDone { request: id }),
    }
}

const OFFERS: Offers = Offers {
    load: false,
    resume: true,
    list: true,
    fork: true,
    close: true,
    delete: true,
    steer: true,
    queue: false,
    images: true,
    audio: false,
    embedded_context: false,
    mcp_stdio: true,
    mcp_http: true,
    mcp_sse: false,
};

fn opened(core: &mut Conversation, asked: &Asked, result: &Value) {
    let id = result["thread"]["id"]
        .as_str()
        .filter(|id| id.len() <= 1024);
    let Some(id) = id.map(str::to_owned) else {
        return core.malformed(&asked.method, "thread.id");
    };
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
    let cwd = result["cwd"].as_str().or(asked.params.cwd.as_deref());
    let session = Session {
        id,
        cwd: core.clip(cwd.unwrap_or_default()).text,
        opening: if asked.method == "thread/start" {
            Opening::New
        } else {
            Opening::Resumed
        },
        settings: Vec::new(),
        meta: None,
    };
    core.session = Some(session.clone());
    core.emit(ControlEvent::SessionOpened(session));
    if let Some(model) = result["model"].as_str() {
        let model = Clipped::new(model, 256).text;
        core.emit(ControlEvent::ModelChanged { model });
    }
}

fn failed(core: &mut Conversation, id: RequestId, asked: &Asked, error: &Value) {
    let error = rpc::agent_error(error, &core.options.limits);
    let is_turn = core
        .turn
        .as_ref()
        .is_some_and(|turn| turn.request == Some(id));
    if asked.method == "turn/start" && is_turn {
        return core.end_turn(TurnEnd::Failed(error), None);
    }
    if asked.method == "initialize" {
        let sentence = format!("the agent refused the greeting: {}", error.message.text);
        core.connection = Connection::Refused(sentence);
    }
    core.emit(ControlEvent::RequestFailed {
        request: id,
        method: asked.method.clone(),
        error,
    });
}

fn turn_id(turn: &Value) -> Option<String> {
    let id = turn["id"].as_str()?;
    (!id.is_empty() && id.len() <= 1024).then(|| id.to_owned())
}

/// The server says which turn runs, in its answer or by itself, whichever comes first.
fn name_turn(core: &mut Conversation, request: Option<RequestId>, id: String) {
    match &mut core.turn {
        None if request.is_some() => {
            // Answered after its end: the notices were faster.
        }
        None => core.begin_turn(None, Some(id)),
        Some(turn) if turn.id.is_none() => {
            turn.id = Some(id.clone());
            turn.is_confirmed = true;
            let request = turn.request;
            core.emit(ControlEvent::TurnBegan {
                request,
                turn: Some(id),
            });
        }
        Some(turn) if turn.id.as_deref() == Some(id.as_str()) => {}
        Some(_) => core.out_of_order("a second turn began before the first ended"),
    }
}

/// Whose thread a message is of. One of nobody's is told as trouble.
fn thread_of(core: &mut Conversation, params: &Value) -> Option<Thread> {
    let Some(id) = params["threadId"].as_str() else {
        core.malformed("a message of a thread", "threadId");
        return None;
    };
    let opening = |asked: &Asked| match asked.method.as_str() {
        "thread/start" => true,
        "thread/resume" => asked.params.session.as_deref() == Some(id),
        _ => false,
    };
    if core
        .session
        .as_ref()
        .is_some_and(|session| session.id == id)
        || (core.session.is_none() && core.asked.values().any(opening))
    {
        return Some(Thread::Ours(id.to_owned()));
    }
    if core.children.contains(id) {
        return Some(Thread::SubAgent(id.to_owned()));
    }
    let session = Clipped::new(id, 256);
    core.trouble(Trouble::OtherSession { session });
    None
}

fn adopt(core: &mut Conversation, thread: &str) {
    if core.children.len() < MOST_CHILDREN && thread.len() <= 256 {
        core.children.insert(thread.to_owned());
    }
}

/// An error of a turn, with the server's word for its sort.
fn turn_error(core: &Conversation, error: &Value) -> AgentError {
    let info = &error["codexErrorInfo"];
    let sort = match info {
        Value::String(word) => Some(word.as_str()),
        Value::Object(members) => members.keys().next().map(String::as_str),
        _ => None,
    };
    let status = info
        .as_object()
        .and_then(|members| members.values().next())
        .and_then(|of| of["httpStatusCode"].as_i64());
    AgentError {
        code: status,
        message: Clipped::new(
            error["message"].as_str().unwrap_or("no message"),
            core.options.limits.raw,
        ),
        sort: sort.map(|sort| Clipped::new(sort, 64)),
        data: core.clip_at(error, "additionalDetails"),
    }
}

fn error_end(error: AgentError) -> TurnEnd {
    let sort = error.sort.as_ref().map_or("", |sort| sort.text.as_str());
    match (error.code, sort) {
        (_, "unauthorized") | (Some(401), _) => TurnEnd::AuthenticationRequired(error),
        (
            _,
            "usageLimitExceeded"
            | "rateLimitExceeded"
            | "sessionBudgetExceeded"
            | "flexUnavailable",
        )
        | (Some(429), _) => TurnEnd::Limit(error),
        (_, "contextWindowExceeded") => TurnEnd::MaxTokens,
        (_, "cyberPolicy" | "misalignmentPolicyViolation" | "inferenceHookDenied") => {
            TurnEnd::Refused
        }
        _ => TurnEnd::Failed(error),
    }
}
