//! The updates only version 2 has: messages told whole, pieces of what a tool shows,
//! terminals of the agent, plans with ids, and the state that begins and ends a turn.

use serde_json::Value;

use crate::acp::answers::turn_end;
use crate::acp::{content, updates};
use crate::conversation::Conversation;
use crate::event::{Activity, ControlEvent, MessagePart, Placement, Speaker, TurnEnd};
use crate::text::Clipped;
use crate::tool::{ContentChange, ToolCallUpdate, ToolKind};

const METHOD: &str = "session/update";

pub(super) fn receive(core: &mut Conversation, session: &str, kind: &str, update: &Value) {
    match kind {
        "user_message" => message(core, update, Speaker::User),
        "agent_message" => message(core, update, Speaker::Agent),
        "agent_thought" => message(core, update, Speaker::Thought),
        "state_update" => state(core, update),
        "tool_call_content_chunk" => content_chunk(core, session, update),
        "plan_update" if update["plan"]["type"] == "items" => {
            let id = core.clip_at(&update["plan"], "planId");
            let plan = updates::plan(core, &update["plan"], id);
            core.emit(ControlEvent::Plan(plan));
        }
        "terminal_update" => {
            let output = &update["output"]["data"];
            let exit_code = update["exitStatus"]["exitCode"].as_i64();
            if output.is_string() || !update["exitStatus"].is_null() {
                terminal(core, update, output, Placement::Replaced, exit_code);
            }
        }
        "terminal_output_chunk" => {
            terminal(core, update, &update["data"], Placement::Appended, None);
        }
        _ => core.unknown_notification(&format!("{METHOD} {kind}"), update),
    }
}

/// A message as a whole: its parts stand instead of all that was said under its id.
fn message(core: &mut Conversation, update: &Value, speaker: Speaker) {
    if update.get("content").is_none() {
        return;
    }
    let parts: Vec<_> = core
        .list(update, "content")
        .iter()
        .map(|block| content::part(core, block))
        .collect();
    let mut placement = Placement::Replaced;
    let parts = if parts.is_empty() {
        vec![None]
    } else {
        parts.into_iter().map(Some).collect()
    };
    for part in parts {
        let event = ControlEvent::Message(MessagePart {
            speaker,
            message: core.clip_at(update, "messageId"),
            part,
            placement,
            origin: core.origin(),
            meta: core.meta(update),
        });
        core.emit(event);
        placement = Placement::Appended;
    }
}

fn state(core: &mut Conversation, update: &Value) {
    let Some(word) = update["state"].as_str() else {
        return core.malformed(METHOD, "state");
    };
    let activity = match word {
        "running" => Activity::Running,
        "idle" => Activity::Idle,
        "requires_action" => Activity::WaitsForInput,
        unknown => Activity::Unknown(Clipped::new(unknown, 64).text),
    };
    if core.activity.as_ref() != Some(&activity) {
        core.activity = Some(activity.clone());
        core.emit(ControlEvent::ActivityChanged {
            activity: activity.clone(),
        });
    }
    match activity {
        Activity::Running => {
            if core.turn.is_none() {
                core.begin_turn(None, None);
            }
            if let Some(turn) = &mut core.turn {
                turn.is_confirmed = true;
            }
        }
        // Before the prompt is taken in, the word is of what came before it.
        Activity::Idle if core.turn.as_ref().is_some_and(|turn| turn.is_confirmed) => {
            let end = match update["stopReason"].as_str() {
                Some(reason) => turn_end(reason),
                None => TurnEnd::Unknown(String::new()),
            };
            let meta = core.meta(update);
            core.end_turn(end, meta);
        }
        _ => {}
    }
}

fn content_chunk(core: &mut Conversation, session: &str, update: &Value) {
    let Some(id) = updates::call_id(update) else {
        return core.malformed(METHOD, "toolCallId");
    };
    if core.tools.get(session, &id).is_none() {
        // The first word of a call may be what it shows.
        let call = core.new_call(session, id.clone(), ToolKind::Other);
        let limits = core.options.limits;
        core.tools.put(call, &limits);
    }
    let content = content::tool_content(core, &update["content"]);
    let event = ControlEvent::ToolCallUpdated {
        update: ToolCallUpdate {
            content: Some(ContentChange::Appended(vec![content])),
            meta: core.meta(update),
            ..ToolCallUpdate::new(id)
        },
        origin: core.origin(),
    };
    core.emit(event);
}

fn terminal(
    core: &mut Conversation,
    update: &Value,
    data: &Value,
    placement: Placement,
    exit_code: Option<i64>,
) {
    let Some(terminal) = core.clip_at(update, "terminalId") else {
        return core.malformed(METHOD, "terminalId");
    };
    let data = core.clip(data.as_str().unwrap_or_default());
    core.emit(ControlEvent::TerminalOutput {
        terminal,
        data,
        placement,
        exit_code,
    });
}
