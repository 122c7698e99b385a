//! The Agent Client Protocol, the client's side of it: version 1, and version 2 where
//! it was offered and the agent has it. What differs between the two stands in
//! [`updates_v2`] and in the branches that ask [`is_v2`].
//!
//! Files and terminals of ours are not offered. An agent that asks for them anyway
//! (some do) is told that the method does not exist, as for every method unknown here.

mod answers;
mod content;
mod permission;
mod settings;
mod updates;
mod updates_v2;
mod write;

use serde_json::Value;

use crate::conversation::{Asked, AskedParams, Conversation};
use crate::event::{ControlEvent, Protocol};
use crate::options::CancelledQuestions;
use crate::permission::{AgentRequestId, Resolution};
use crate::request::RequestId;
use crate::rpc::{self, Message};
use crate::state::Connection;
use crate::text::Clipped;
use crate::trouble::Trouble;

pub(crate) use write::{permission_body, write};

pub(crate) fn receive(core: &mut Conversation, message: Message) {
    match message {
        Message::Answer { id, outcome } => {
            if let Some((id, asked)) = core.answered(&id) {
                answers::receive(core, id, &asked, outcome);
            }
        }
        Message::Request { id, method, params } => {
            if core.is_duplicate(&id) {
                return;
            }
            match method.as_str() {
                "session/request_permission" => permission::receive(core, id, &params),
                _ => core.refuse_request(id, &method, &params),
            }
        }
        Message::Notice { method, params } => match method.as_str() {
            "session/update" => updates::receive(core, &params),
            "$/cancel_request" => withdrawn(core, &params),
            _ => core.unknown_notification(&method, &params),
        },
    }
}

/// The agent takes a request of its own back.
fn withdrawn(core: &mut Conversation, params: &Value) {
    let id = match &params["requestId"] {
        Value::String(text) => AgentRequestId::Text(text.clone()),
        number => match number.as_i64() {
            Some(number) => AgentRequestId::Number(number),
            None => return core.malformed("$/cancel_request", "requestId"),
        },
    };
    if core.settle(&id, Resolution::Withdrawn) || core.take_back(&id) {
        core.owe_error(id, rpc::REQUEST_CANCELLED, "the request was taken back");
    } else if !core.was_settled(&id) {
        core.out_of_order(format!("request {id} was taken back, which is not open"));
    }
}

pub(crate) fn sent_request(core: &mut Conversation, id: u64, method: &str, params: &Value) {
    let text = |member: &str| params[member].as_str().map(str::to_owned);
    let choice = match method {
        "session/set_mode" => text("modeId").map(|mode| ("mode".to_owned(), mode)),
        "session/set_model" => text("modelId").map(|model| ("model".to_owned(), model)),
        _ => None,
    };
    let asked = Asked {
        method: method.to_owned(),
        params: AskedParams {
            session: text("sessionId"),
            cwd: text("cwd"),
            is_load: method == "session/load" || !params["replayFrom"].is_null(),
            choice,
        },
        since: core.now,
    };
    core.sent_request(id, asked);
    match method {
        "initialize" => core.connection = Connection::Greeted,
        "session/prompt" if core.turn.is_none() => {
            core.prompted(RequestId(id), &params["prompt"]);
            core.begin_turn(Some(RequestId(id)), None);
        }
        "session/prompt" => {
            core.prompted(RequestId(id), &params["prompt"]);
            core.queued.push_back(RequestId(id));
            core.emit(ControlEvent::PromptQueued {
                request: RequestId(id),
            });
        }
        _ => {}
    }
}

pub(crate) fn sent_notice(core: &mut Conversation, method: &str, _params: &Value) {
    if let ("session/cancel", Some(turn)) = (method, &mut core.turn) {
        turn.is_cancelling = true;
        if core.options.habits.cancelled_questions == CancelledQuestions::TakenBack {
            core.drop_questions();
        }
    }
}

pub(crate) fn is_v2(core: &Conversation) -> bool {
    core.agent()
        .is_some_and(|agent| agent.protocol == Protocol::AcpV2)
}

/// The session a message is for, if it is ours or the one being opened.
fn session_of(core: &mut Conversation, method: &str, params: &Value) -> Option<String> {
    let Some(id) = params["sessionId"].as_str() else {
        core.malformed(method, "sessionId");
        return None;
    };
    let is_open = core
        .session
        .as_ref()
        .is_some_and(|session| session.id == id);
    let is_opening = core
        .asked
        .values()
        .any(|asked| match asked.method.as_str() {
            "session/new" => true,
            "session/load" | "session/resume" => asked.params.session.as_deref() == Some(id),
            _ => false,
        });
    if !is_open && !is_opening {
        let session = Clipped::new(id, 256);
        core.trouble(Trouble::OtherSession { session });
        return None;
    }
    Some(id.to_owned())
}

/// The directory tools work in where they do not say another.
fn cwd(core: &Conversation) -> String {
    let opening = || {
        core.asked
            .values()
            .find_map(|asked| asked.params.cwd.clone())
    };
    match &core.session {
        Some(session) => session.cwd.clone(),
        None => opening().unwrap_or_default(),
    }
}
