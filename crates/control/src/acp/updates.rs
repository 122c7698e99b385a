//! What an agent tells of its session: messages, tools, plans, settings, usage.

use serde_json::Value;

use crate::acp::{answers, content, cwd, is_v2, session_of, settings, updates_v2};
use crate::conversation::Conversation;
use crate::event::{
    Command, ControlEvent, Cost, MessagePart, Placement, Plan, PlanStep, Speaker, StepStatus,
    Tokens, Usage,
};
use crate::options::ToolNames;
use crate::text::Clipped;
use crate::tool::{
    ContentChange, ToolCall, ToolCallId, ToolCallUpdate, ToolInput, ToolKind, ToolStatus,
};

const METHOD: &str = "session/update";

pub(super) fn receive(core: &mut Conversation, params: &Value) {
    let Some(session) = session_of(core, METHOD, params) else {
        return;
    };
    let update = &params["update"];
    let Some(kind) = update["sessionUpdate"].as_str() else {
        return core.malformed(METHOD, "sessionUpdate");
    };
    match kind {
        "user_message_chunk" => chunk(core, update, Speaker::User),
        "agent_message_chunk" => chunk(core, update, Speaker::Agent),
        "agent_thought_chunk" => chunk(core, update, Speaker::Thought),
        "tool_call" | "tool_call_update" => tool_call(core, &session, update),
        "plan" => {
            let plan = plan(core, update, None);
            core.emit(ControlEvent::Plan(plan));
        }
        "available_commands_update" => commands(core, update),
        "current_mode_update" => match update["currentModeId"].as_str() {
            Some(mode) => settings::choose(core, "mode", mode),
            None => core.malformed(METHOD, "currentModeId"),
        },
        "config_option_update" => settings::replace_config_options(core, update),
        "session_info_update" => {
            let title = core.clip_at(update, "title");
            core.emit(ControlEvent::SessionTitled { title });
        }
        "usage_update" => usage(core, update),
        _ if is_v2(core) => updates_v2::receive(core, &session, kind, update),
        _ => core.unknown_notification(&format!("{METHOD} {kind}"), update),
    }
}

fn chunk(core: &mut Conversation, update: &Value, speaker: Speaker) {
    // One agent tells what a request used beside a message without words.
    let used = &update["_meta"]["usage"];
    if used.is_object() {
        let cached = used["cachedReadTokens"].as_u64();
        let whole = used["inputTokens"].as_u64();
        core.emit(ControlEvent::UsageChanged(Usage {
            request: Some(Tokens {
                input: whole.map(|whole| whole.saturating_sub(cached.unwrap_or(0))),
                output: used["outputTokens"].as_u64(),
                cached_read: cached,
                reasoning: used["thoughtTokens"].as_u64(),
                total: used["totalTokens"].as_u64(),
                ..Tokens::default()
            }),
            ..Usage::default()
        }));
        if update["content"]["text"] == "" {
            return;
        }
    }
    let part = content::part(core, &update["content"]);
    let event = ControlEvent::Message(MessagePart {
        speaker,
        message: core.clip_at(update, "messageId"),
        part: Some(part),
        placement: Placement::Appended,
        origin: core.origin(),
        meta: core.meta(update),
    });
    core.emit(event);
}

/// A call that is new is announced, whichever of the two words the agent uses; one
/// that is known is changed.
pub(super) fn tool_call(core: &mut Conversation, session: &str, update: &Value) {
    let Some(id) = call_id(update) else {
        return core.malformed(METHOD, "toolCallId");
    };
    let known = core.tools.get(session, &id).cloned();
    let is_new = known.is_none();
    let kind = update["kind"].as_str().map(ToolKind::from_acp);
    let mut call = known.unwrap_or_else(|| core.new_call(session, id.clone(), ToolKind::Other));
    if let Some(kind) = &kind {
        call.kind = kind.clone();
    }
    if let Some(name) = tool_name(core, update) {
        call.name = Some(name);
    }
    let title = core.clip_at(update, "title");
    if let Some(title) = &title {
        call.title = Clipped::new(&title.text, core.options.limits.raw);
    }
    let status = update["status"].as_str().map(status);
    if let Some(status) = &status {
        call.is_final = status.is_final();
    }
    let tool = call
        .name
        .as_ref()
        .map_or(call.kind.word(), |name| name.text.as_str());
    let (input, print) = core.input(tool, &id, &update["rawInput"], &cwd(core));
    let told_input = (input != ToolInput::NotSaid).then(|| input.clone());
    if told_input.is_some() {
        call.input = input;
        call.print = print;
        core.check_permitted(&call);
    }
    let contents = content::tool_contents(core, update);
    let locations = content::locations(core, update);
    let origin = core.origin();
    let event = if is_new {
        ControlEvent::ToolCallAnnounced {
            call: ToolCall {
                id,
                name: call.name.clone(),
                kind: call.kind.clone(),
                title: title.unwrap_or_default(),
                status: status.unwrap_or(ToolStatus::Pending),
                input: call.input.clone(),
                locations,
                content: contents,
                meta: core.meta(update),
            },
            origin,
        }
    } else {
        ControlEvent::ToolCallUpdated {
            update: ToolCallUpdate {
                id,
                kind,
                title,
                status,
                input: told_input,
                output: raw_output(core, update),
                locations: update["locations"].is_array().then_some(locations),
                content: update["content"]
                    .is_array()
                    .then_some(ContentChange::Replaced(contents)),
                meta: core.meta(update),
            },
            origin,
        }
    };
    let limits = core.options.limits;
    core.tools.put(call, &limits);
    core.emit(event);
}

pub(super) fn call_id(update: &Value) -> Option<ToolCallId> {
    let id = update["toolCallId"].as_str()?;
    (!id.is_empty() && id.len() <= 1024).then(|| ToolCallId(id.to_owned()))
}

/// The protocol has no member for it; two agents say it under `_meta`, and one in the
/// ids of its calls.
pub(super) fn tool_name(core: &Conversation, update: &Value) -> Option<Clipped> {
    let of_meta = update["_meta"].as_object().and_then(|meta| {
        let name = meta.get("toolName").and_then(Value::as_str);
        name.or_else(|| meta.values().find_map(|of| of["toolName"].as_str()))
    });
    let of_id = || match core.options.habits.tool_names {
        ToolNames::Meta => None,
        ToolNames::CallIds => name_in_id(update["toolCallId"].as_str()?),
    };
    of_meta
        .or_else(of_id)
        .map(|name| Clipped::new(name, core.options.limits.raw))
}

/// The name in `NAME__NAME_TIME_NUMBER`: said twice, so that no other id is taken for one.
fn name_in_id(id: &str) -> Option<&str> {
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    id.match_indices("__").find_map(|(at, _)| {
        let (name, rest) = (&id[..at], &id[at + 2..]);
        let (time, number) = rest
            .strip_prefix(name)?
            .strip_prefix('_')?
            .split_once('_')?;
        (!name.is_empty() && is_count(time) && is_count(number)).then_some(name)
    })
}

fn raw_output(core: &Conversation, update: &Value) -> Option<Clipped> {
    match &update["rawOutput"] {
        Value::Null => None,
        Value::String(text) => Some(core.clip(text)),
        other => Some(core.clip(&other.to_string())),
    }
}

fn status(word: &str) -> ToolStatus {
    match word {
        "pending" => ToolStatus::Pending,
        "in_progress" => ToolStatus::Running,
        "completed" => ToolStatus::Completed,
        "failed" => ToolStatus::Failed,
        "cancelled" => ToolStatus::Cancelled,
        unknown => ToolStatus::Unknown(Clipped::new(unknown, 64).text),
    }
}

pub(super) fn plan(core: &Conversation, holder: &Value, id: Option<Clipped>) -> Plan {
    Plan {
        id,
        explanation: None,
        steps: core
            .list(holder, "entries")
            .iter()
            .map(|entry| PlanStep {
                text: core.clip_at(entry, "content").unwrap_or_default(),
                status: match entry["status"].as_str().unwrap_or_default() {
                    "pending" => StepStatus::Pending,
                    "in_progress" => StepStatus::Running,
                    "completed" => StepStatus::Completed,
                    "cancelled" => StepStatus::Cancelled,
                    unknown => StepStatus::Unknown(Clipped::new(unknown, 64).text),
                },
                priority: core.clip_at(entry, "priority"),
            })
            .collect(),
    }
}

fn commands(core: &mut Conversation, update: &Value) {
    let commands = core
        .list(update, "availableCommands")
        .iter()
        .filter_map(|command| {
            Some(Command {
                name: core.clip_at(command, "name")?,
                description: core.clip_at(command, "description").unwrap_or_default(),
                hint: core.clip_at(&command["input"], "hint"),
            })
        })
        .collect();
    core.emit(ControlEvent::CommandsChanged { commands });
    answers::history_ended(core);
}

fn usage(core: &mut Conversation, update: &Value) {
    let cost = update["cost"]["amount"].as_f64().map(|amount| Cost {
        amount,
        currency: core
            .clip_at(&update["cost"], "currency")
            .unwrap_or_default(),
    });
    core.emit(ControlEvent::UsageChanged(Usage {
        context_used: update["used"].as_u64(),
        context_size: update["size"].as_u64(),
        cost,
        ..Usage::default()
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_an_id_that_says_it_twice() {
        let name = "mcp_mission-execution_progress";
        let id = format!("{name}__{name}_1795015741381_0");
        assert_eq!(name_in_id(&id), Some(name));
        let double = "mcp__x__y__mcp__x__y_1_0";
        assert_eq!(name_in_id(double), Some("mcp__x__y"));
        for other in ["call_000001_0", "a__b_1_0", "a__a", "a__a_b_0", "__1_0", ""] {
            assert_eq!(name_in_id(other), None, "{other}");
        }
    }
}
