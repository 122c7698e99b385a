//! The app-server asks: to run a command, to change files, to be allowed more.

use serde_json::{Value, json};

use crate::app_server::{Thread, thread_of};
use crate::conversation::Conversation;
use crate::permission::{
    AgentRequestId, Announced, InputSource, OptionKind, PermissionOption, PermissionRequest,
};
use crate::rpc;
use crate::text::Clipped;
use crate::tool::{ToolCallId, ToolInput, ToolKind};
use crate::tool_memory::{Fingerprint, Remembered};

pub(super) fn receive(core: &mut Conversation, id: AgentRequestId, method: &str, params: &Value) {
    let ask = match method {
        "item/commandExecution/requestApproval" => command,
        "item/fileChange/requestApproval" => file_change,
        "item/permissions/requestApproval" => more_permissions,
        _ => return core.refuse_request(id, method, params),
    };
    let Some(Thread::Ours(session) | Thread::SubAgent(session)) = thread_of(core, params) else {
        return core.owe_error(id, rpc::INVALID_PARAMS, "that thread is not open here");
    };
    let tool_call = params["itemId"].as_str().filter(|item| item.len() <= 1024);
    let Some(tool_call) = tool_call.map(|item| ToolCallId(item.to_owned())) else {
        core.malformed(method, "itemId");
        return core.owe_error(id, rpc::INVALID_PARAMS, "a request needs its item");
    };
    let known = core.tools.get(&session, &tool_call).cloned();
    let asked = ask(core, &tool_call, known.as_ref(), params);
    let announced = match asked.source {
        InputSource::Announcement => Announced::Same,
        _ => core.compare_with_announced(known.as_ref(), &asked.input, asked.print.as_ref()),
    };
    let request = PermissionRequest {
        id,
        session,
        tool_call: Some(tool_call),
        tool_name: Some(Clipped::new(asked.tool, 64)),
        kind: asked.kind,
        title: core.clip(&asked.title),
        reason: core.clip_at(params, "reason"),
        cwd: core.clip(&asked.cwd),
        input: asked.input,
        source: asked.source,
        announced,
        locations: Vec::new(),
        content: known.map(|known| known.content).unwrap_or_default(),
        options: asked
            .choices
            .iter()
            .map(|(option, _)| option.clone())
            .collect(),
        meta: None,
    };
    let answers = asked
        .choices
        .into_iter()
        .map(|(_, answer)| answer)
        .collect();
    core.ask_permission(request, asked.print, answers, asked.cancel);
}

struct Asked {
    tool: &'static str,
    kind: ToolKind,
    title: String,
    cwd: String,
    input: ToolInput,
    print: Option<Fingerprint>,
    source: InputSource,
    choices: Vec<(PermissionOption, Value)>,
    cancel: Value,
}

fn command(
    core: &mut Conversation,
    id: &ToolCallId,
    known: Option<&Remembered>,
    params: &Value,
) -> Asked {
    let cwd = cwd(core, known, params);
    let mut raw = json!({"command": params["command"], "cwd": params["cwd"]});
    // Words to a running program and a host to reach are not the command itself.
    for member in ["networkApprovalContext", "additionalPermissions"] {
        if !params[member].is_null() {
            raw[member] = params[member].clone();
        }
    }
    if let Some(kind) = params["kind"].as_str().filter(|kind| *kind != "command") {
        raw["kind"] = json!(kind);
    }
    let is_said = params["command"].is_string() || raw.as_object().is_some_and(|o| o.len() > 2);
    let (input, print, source) = match (is_said, known) {
        (true, _) => {
            let (input, print) = core.input("commandExecution", id, &raw, &cwd);
            (input, print, InputSource::Request)
        }
        (false, Some(known)) if known.print.is_some() => (
            known.input.clone(),
            known.print.clone(),
            InputSource::Announcement,
        ),
        (false, _) => (ToolInput::NotSaid, None, InputSource::Nowhere),
    };
    Asked {
        tool: "commandExecution",
        kind: ToolKind::Execute,
        title: params["command"].as_str().unwrap_or("a command").to_owned(),
        cwd,
        input,
        print,
        source,
        choices: decisions(core, params),
        cancel: json!({"decision": "cancel"}),
    }
}

fn file_change(
    core: &mut Conversation,
    id: &ToolCallId,
    known: Option<&Remembered>,
    params: &Value,
) -> Asked {
    let cwd = cwd(core, known, params);
    let announced = known.filter(|known| known.print.is_some());
    let (input, print, source) = match (params["grantRoot"].as_str(), announced) {
        (None, Some(known)) => (
            known.input.clone(),
            known.print.clone(),
            InputSource::Announcement,
        ),
        (None, None) => (ToolInput::NotSaid, None, InputSource::Nowhere),
        // More than the change: every later one under a folder too.
        (Some(root), known) => {
            let change = known.and_then(|known| known.input.digest());
            let change = change.map(|digest| digest.as_str().to_owned());
            let raw = json!({"grantRoot": root, "change": change});
            let (input, print) = core.input("fileChange", id, &raw, &cwd);
            (input, print, InputSource::Request)
        }
    };
    Asked {
        tool: "fileChange",
        kind: ToolKind::Edit,
        title: known.map_or_else(|| "a change of files".to_owned(), |k| k.title.text.clone()),
        cwd,
        input,
        print,
        source,
        choices: decisions(core, params),
        cancel: json!({"decision": "cancel"}),
    }
}

fn more_permissions(
    core: &mut Conversation,
    id: &ToolCallId,
    known: Option<&Remembered>,
    params: &Value,
) -> Asked {
    let cwd = cwd(core, known, params);
    let wanted = &params["permissions"];
    let (input, print) = core.input("permissions", id, &json!({"permissions": wanted}), &cwd);
    let none = json!({"permissions": {}, "scope": "turn"});
    let choice = |id: &str, name: &str, kind: OptionKind, answer: Value| {
        let name = Clipped::new(name, 64);
        let id = id.to_owned();
        (PermissionOption { id, name, kind }, answer)
    };
    Asked {
        tool: "permissions",
        kind: ToolKind::Other,
        title: "more permissions".to_owned(),
        cwd,
        input,
        print,
        source: InputSource::Request,
        choices: vec![
            choice(
                "turn",
                "For this turn",
                OptionKind::AllowOnce,
                json!({"permissions": wanted, "scope": "turn"}),
            ),
            choice(
                "session",
                "For this session",
                OptionKind::AllowAlways,
                json!({"permissions": wanted, "scope": "session"}),
            ),
            choice("none", "No", OptionKind::RejectOnce, none.clone()),
        ],
        cancel: none,
    }
}

fn cwd(core: &Conversation, known: Option<&Remembered>, params: &Value) -> String {
    let known = known
        .and_then(|known| known.cwd.as_ref())
        .map(|cwd| cwd.text.as_str());
    let session = core.session.as_ref().map(|session| session.cwd.as_str());
    let cwd = params["cwd"]
        .as_str()
        .or(known)
        .or(session)
        .unwrap_or_default();
    core.clip(cwd).text
}

/// The decisions the server lists, or those every version takes. A plain no is always
/// among them, because without it the only refusal would end the turn.
fn decisions(core: &Conversation, params: &Value) -> Vec<(PermissionOption, Value)> {
    let listed = core.list(params, "availableDecisions");
    let standard = ["accept", "acceptForSession", "decline", "cancel"].map(Value::from);
    let mut decisions: Vec<&Value> = if listed.is_empty() {
        standard.iter().collect()
    } else {
        listed.iter().collect()
    };
    let decline = json!("decline");
    if !decisions.contains(&&decline) {
        decisions.push(&decline);
    }
    let mut choices: Vec<(PermissionOption, Value)> = Vec::new();
    for decision in decisions {
        let Some((id, name, kind)) = meaning(decision) else {
            continue;
        };
        // Several rules may be proposed at once.
        let id = match choices.iter().filter(|(known, _)| known.id == id).count() {
            0 => id,
            _ => format!("{id}-{}", choices.len()),
        };
        let name = Clipped::new(&name, core.options.limits.raw);
        let option = PermissionOption { id, name, kind };
        choices.push((option, json!({"decision": decision})));
    }
    choices
}

fn meaning(decision: &Value) -> Option<(String, String, OptionKind)> {
    let word = match decision {
        Value::String(word) => word.as_str(),
        Value::Object(members) => members.keys().next()?.as_str(),
        _ => return None,
    };
    let (name, kind) = match word {
        "accept" => ("Yes".to_owned(), OptionKind::AllowOnce),
        "acceptForSession" => ("Yes, for this session".to_owned(), OptionKind::AllowAlways),
        "acceptWithExecpolicyAmendment" => {
            let words = decision[word]["execpolicy_amendment"].as_array();
            let words: Vec<&str> = words
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let name = format!("Yes, and always for `{}`", words.join(" "));
            (name, OptionKind::AllowAlways)
        }
        "applyNetworkPolicyAmendment" => {
            let rule = &decision[word]["network_policy_amendment"];
            let host = rule["host"].as_str().unwrap_or("this host");
            if rule["action"] == "allow" {
                (
                    format!("Yes, and always for {host}"),
                    OptionKind::AllowAlways,
                )
            } else {
                (
                    format!("No, and never for {host}"),
                    OptionKind::RejectAlways,
                )
            }
        }
        "decline" => ("No".to_owned(), OptionKind::RejectOnce),
        "cancel" => ("No, and stop".to_owned(), OptionKind::RejectAndStop),
        unknown => {
            let unknown = Clipped::new(unknown, 64).text;
            (unknown.clone(), OptionKind::Unknown(unknown))
        }
    };
    Some((Clipped::new(word, 64).text, name, kind))
}
