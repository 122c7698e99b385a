//! An agent asks whether it may.

use serde_json::{Value, json};

use crate::acp::{content, cwd, session_of, updates};
use crate::conversation::Conversation;
use crate::permission::{
    AgentRequestId, InputSource, OptionKind, PermissionOption, PermissionRequest,
};
use crate::rpc;
use crate::text::Clipped;
use crate::tool::{ToolInput, ToolKind};

const METHOD: &str = "session/request_permission";

pub(super) fn receive(core: &mut Conversation, id: AgentRequestId, params: &Value) {
    let Some(session) = session_of(core, METHOD, params) else {
        return core.owe_error(id, rpc::INVALID_PARAMS, "that session is not open here");
    };
    let Some(options) = options(core, params) else {
        core.malformed(METHOD, "options");
        return core.owe_error(id, rpc::INVALID_PARAMS, "a request needs options with ids");
    };
    // Version 1 has the call in the request, version 2 in its subject, which may be a
    // command without a call.
    let subject = &params["subject"];
    let call = if params["toolCall"].is_object() {
        &params["toolCall"]
    } else {
        &subject["toolCall"]
    };
    let is_command = subject["type"] == "command";
    let tool_call = updates::call_id(if is_command { subject } else { call });
    let known = tool_call
        .as_ref()
        .and_then(|tool_call| core.tools.get(&session, tool_call))
        .cloned();
    if known.is_none() && tool_call.is_some() && !is_command {
        updates::tool_call(core, &session, call);
    }
    let kind = match call["kind"].as_str() {
        Some(kind) => ToolKind::from_acp(kind),
        None if is_command => ToolKind::Execute,
        None => known
            .as_ref()
            .map_or(ToolKind::Other, |known| known.kind.clone()),
    };
    let tool_name = updates::tool_name(core, call)
        .or_else(|| known.as_ref().and_then(|known| known.name.clone()));
    let tool = tool_name
        .as_ref()
        .map_or(kind.word(), |name| name.text.as_str());
    let place = subject["cwd"]
        .as_str()
        .map_or_else(|| cwd(core), str::to_owned);
    let no_call = crate::ToolCallId(String::new());
    let raw = if is_command {
        json!({"command": subject["command"], "cwd": subject["cwd"]})
    } else {
        call["rawInput"].clone()
    };
    let (told, print) = core.input(tool, tool_call.as_ref().unwrap_or(&no_call), &raw, &place);
    let announced = core.compare_with_announced(known.as_ref(), &told, print.as_ref());
    let (input, print, source) = match (told, known) {
        (ToolInput::NotSaid, Some(known)) if known.print.is_some() => {
            (known.input, known.print, InputSource::Announcement)
        }
        (ToolInput::NotSaid, _) => (ToolInput::NotSaid, None, InputSource::Nowhere),
        (told, _) => (told, print, InputSource::Request),
    };
    let title = core
        .clip_at(params, "title")
        .or_else(|| core.clip_at(call, "title"))
        .unwrap_or_default();
    let answers = options
        .iter()
        .map(|option| json!({"outcome": {"outcome": "selected", "optionId": option.id}}))
        .collect();
    let request = PermissionRequest {
        id,
        session,
        tool_call,
        kind: kind.clone(),
        title,
        reason: core.clip_at(params, "description"),
        cwd: core.clip(&place),
        input,
        source,
        announced,
        locations: content::locations(core, call),
        content: content::tool_contents(core, call),
        options,
        meta: core.meta(params).or_else(|| core.meta(call)),
        tool_name,
    };
    let cancel = json!({"outcome": {"outcome": "cancelled"}});
    core.ask_permission(request, print, answers, cancel);
}

/// None: there are none, or they cannot be told apart.
fn options(core: &Conversation, params: &Value) -> Option<Vec<PermissionOption>> {
    let mut options: Vec<PermissionOption> = Vec::new();
    for option in core.list(params, "options") {
        let id = option["optionId"].as_str().filter(|id| id.len() <= 1024)?;
        if options.iter().any(|known| known.id == id) {
            return None;
        }
        options.push(PermissionOption {
            id: id.to_owned(),
            name: core.clip_at(option, "name").unwrap_or_default(),
            kind: match option["kind"].as_str().unwrap_or_default() {
                "allow_once" => OptionKind::AllowOnce,
                "allow_always" => OptionKind::AllowAlways,
                "reject_once" => OptionKind::RejectOnce,
                "reject_always" => OptionKind::RejectAlways,
                unknown => OptionKind::Unknown(Clipped::new(unknown, 64).text),
            },
        });
    }
    (!options.is_empty()).then_some(options)
}
