//! Items of a thread: what was said, and what was done.

use serde_json::{Value, json};

use crate::app_server::adopt;
use crate::conversation::Conversation;
use crate::event::{ControlEvent, MessagePart, Origin, Placement, Speaker};
use crate::text::Clipped;
use crate::tool::{
    ContentChange, ContentPart, FileChange, FileOperation, Location, ToolCall, ToolCallId,
    ToolCallUpdate, ToolContent, ToolInput, ToolKind, ToolStatus,
};
use crate::tool_memory::Remembered;

/// Whether an item begins or is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Started,
    Completed,
}

pub(super) fn receive(core: &mut Conversation, session: &str, item: &Value, stage: Stage) {
    let Some(id) = item["id"].as_str().filter(|id| id.len() <= 1024) else {
        return core.malformed("item", "id");
    };
    let kind = item["type"].as_str().unwrap_or_default();
    let is_whole = stage == Stage::Completed;
    match kind {
        "userMessage" | "agentMessage" | "reasoning" | "plan" => {
            // Its words come in pieces; whole they come once more, in their place.
            if is_whole {
                message(core, id, kind, item);
            }
        }
        "contextCompaction" => {
            if is_whole {
                core.emit(ControlEvent::ContextCompacted);
            }
        }
        _ => match Action::of(core, item, kind) {
            Some(action) => tool_call(core, session, ToolCallId(id.to_owned()), item, action),
            None => core.unknown_notification(&format!("item {kind}"), item),
        },
    }
}

fn message(core: &mut Conversation, id: &str, kind: &str, item: &Value) {
    let texts = |member: &str| -> Vec<&str> {
        core.list(item, member)
            .iter()
            .filter_map(Value::as_str)
            .collect()
    };
    let (speaker, text) = match kind {
        "userMessage" => {
            let inputs = core.list(item, "content").iter();
            let words: Vec<&str> = inputs.filter_map(|input| input["text"].as_str()).collect();
            (Speaker::User, words.join("\n"))
        }
        "reasoning" => {
            let mut words = texts("summary");
            words.extend(texts("content"));
            (Speaker::Thought, words.join("\n\n"))
        }
        _ => (
            Speaker::Agent,
            item["text"].as_str().unwrap_or_default().to_owned(),
        ),
    };
    if text.is_empty() {
        return;
    }
    let part = ContentPart::Text(core.clip(&text));
    core.emit(ControlEvent::Message(MessagePart {
        speaker,
        message: Some(Clipped::new(id, 1024)),
        part: Some(part),
        placement: Placement::Replaced,
        origin: Origin::Live,
        meta: None,
    }));
}

/// What an item does, in the words of tool calls.
struct Action {
    name: String,
    kind: ToolKind,
    title: String,
    input: Value,
    cwd: Option<String>,
    locations: Vec<Location>,
    content: Vec<ToolContent>,
}

impl Action {
    fn of(core: &mut Conversation, item: &Value, kind: &str) -> Option<Self> {
        let text = |member: &str| item[member].as_str().unwrap_or_default();
        let mut action = Self {
            name: kind.to_owned(),
            kind: ToolKind::Other,
            title: String::new(),
            input: Value::Null,
            cwd: None,
            locations: Vec::new(),
            content: Vec::new(),
        };
        match kind {
            "commandExecution" => {
                action.kind = ToolKind::Execute;
                action.title = text("command").to_owned();
                action.cwd = item["cwd"].as_str().map(str::to_owned);
                action.input = json!({"command": item["command"], "cwd": item["cwd"]});
            }
            "fileChange" => {
                let changes = &item["changes"];
                action.kind = ToolKind::Edit;
                action.locations = core
                    .list(item, "changes")
                    .iter()
                    .filter_map(|change| core.clip_at(change, "path"))
                    .map(|path| Location { path, line: None })
                    .collect();
                action.title = match action.locations.as_slice() {
                    [one] => one.path.text.clone(),
                    several => format!("{} files", several.len()),
                };
                action.content = patches(core, item);
                action.input = json!({"changes": changes});
            }
            "mcpToolCall" => {
                action.name = format!("{}.{}", text("server"), text("tool"));
                action.title.clone_from(&action.name);
                action.input = item["arguments"].clone();
            }
            "dynamicToolCall" => {
                action.name = match item["namespace"].as_str() {
                    Some(namespace) => format!("{namespace}.{}", text("tool")),
                    None => text("tool").to_owned(),
                };
                action.title.clone_from(&action.name);
                action.input = item["arguments"].clone();
            }
            "collabAgentToolCall" => {
                action.kind = ToolKind::SubAgent;
                action.name = text("tool").to_owned();
                action.title = text("prompt").to_owned();
                for thread in core.list(item, "receiverThreadIds") {
                    if let Some(thread) = thread.as_str() {
                        adopt(core, thread);
                    }
                }
                action.input = json!({"prompt": item["prompt"], "model": item["model"]});
            }
            "webSearch" => {
                action.kind = ToolKind::Fetch;
                action.title = text("query").to_owned();
                action.input = json!({"query": item["query"]});
            }
            "imageView" => {
                action.kind = ToolKind::Read;
                action.title = text("path").to_owned();
                action.input = json!({"path": item["path"]});
            }
            _ => return None,
        }
        Some(action)
    }
}

pub(super) fn patches(core: &Conversation, holder: &Value) -> Vec<ToolContent> {
    core.list(holder, "changes")
        .iter()
        .map(|change| {
            let moved = core.clip_at(&change["kind"], "move_path");
            let path = core.clip_at(change, "path").unwrap_or_default();
            let operation = match change["kind"]["type"].as_str().unwrap_or_default() {
                "add" => FileOperation::Add,
                "delete" => FileOperation::Delete,
                "update" if moved.is_some() => FileOperation::Move,
                "update" => FileOperation::Modify,
                unknown => FileOperation::Unknown(Clipped::new(unknown, 64).text),
            };
            let (path, old_path) = match moved {
                Some(to) => (to, Some(path)),
                None => (path, None),
            };
            ToolContent::Patch {
                changes: vec![FileChange {
                    operation,
                    path,
                    old_path,
                }],
                patch: core.clip_at(change, "diff"),
            }
        })
        .collect()
}

fn tool_call(core: &mut Conversation, session: &str, id: ToolCallId, item: &Value, action: Action) {
    let known = core.tools.get(session, &id).cloned();
    let is_new = known.is_none();
    let mut call = known.unwrap_or_else(|| core.new_call(session, id.clone(), action.kind.clone()));
    let before = call.input.clone();
    call.name = Some(Clipped::new(&action.name, core.options.limits.raw));
    call.kind = action.kind;
    call.title = Clipped::new(&action.title, core.options.limits.raw);
    call.content.clone_from(&action.content);
    call.cwd = action.cwd.as_deref().map(|cwd| core.clip(cwd));
    tell_input(core, &mut call, &action.name, &action.input);
    let status = item["status"].as_str().map_or(ToolStatus::Running, status);
    call.is_final = status.is_final();
    let output = ["aggregatedOutput", "result", "error", "contentItems"]
        .iter()
        .find_map(|member| match &item[member] {
            Value::Null => None,
            Value::String(text) => Some(core.clip(text)),
            other => Some(core.clip(&other.to_string())),
        });
    let event = if is_new {
        ControlEvent::ToolCallAnnounced {
            call: ToolCall {
                id,
                name: call.name.clone(),
                kind: call.kind.clone(),
                title: core.clip(&action.title),
                status,
                input: call.input.clone(),
                locations: action.locations,
                content: action.content,
                meta: None,
            },
            origin: Origin::Live,
        }
    } else {
        ControlEvent::ToolCallUpdated {
            update: ToolCallUpdate {
                status: Some(status),
                input: (call.input != before).then(|| call.input.clone()),
                output,
                ..ToolCallUpdate::new(id)
            },
            origin: Origin::Live,
        }
    };
    let limits = core.options.limits;
    core.tools.put(call, &limits);
    core.emit(event);
}

/// The input a call has now, held against the one that was permitted.
fn tell_input(core: &mut Conversation, call: &mut Remembered, tool: &str, raw: &Value) {
    let cwd = match &call.cwd {
        Some(cwd) => cwd.text.clone(),
        None => core
            .session
            .as_ref()
            .map(|session| session.cwd.clone())
            .unwrap_or_default(),
    };
    let (input, print) = core.input(tool, &call.id, raw, &cwd);
    if input != ToolInput::NotSaid {
        call.input = input;
        call.print = print;
        core.check_permitted(call);
    }
}

/// The changes of a patch are told anew, while it is written or after it was allowed.
pub(super) fn patch_updated(core: &mut Conversation, session: &str, params: &Value) {
    let Some(id) = params["itemId"]
        .as_str()
        .map(|id| ToolCallId(id.to_owned()))
    else {
        return core.malformed("item/fileChange/patchUpdated", "itemId");
    };
    let Some(mut call) = core.tools.get(session, &id).cloned() else {
        return core.out_of_order("a change of a patch that was not begun");
    };
    let content = patches(core, params);
    call.content.clone_from(&content);
    tell_input(
        core,
        &mut call,
        "fileChange",
        &json!({"changes": params["changes"]}),
    );
    let event = ControlEvent::ToolCallUpdated {
        update: ToolCallUpdate {
            input: Some(call.input.clone()),
            content: Some(ContentChange::Replaced(content)),
            ..ToolCallUpdate::new(id)
        },
        origin: Origin::Live,
    };
    let limits = core.options.limits;
    core.tools.put(call, &limits);
    core.emit(event);
}

/// A piece of what an item shows.
pub(super) fn output(core: &mut Conversation, params: &Value, member: &str) {
    let (Some(id), Some(text)) = (params["itemId"].as_str(), params[member].as_str()) else {
        return core.malformed("item", "itemId");
    };
    let part = ToolContent::Part(ContentPart::Text(core.clip(text)));
    core.emit(ControlEvent::ToolCallUpdated {
        update: ToolCallUpdate {
            content: Some(ContentChange::Appended(vec![part])),
            ..ToolCallUpdate::new(ToolCallId(Clipped::new(id, 1024).text))
        },
        origin: Origin::Live,
    });
}

/// A piece of a message.
pub(super) fn delta(core: &mut Conversation, params: &Value, speaker: Speaker) {
    let (Some(id), Some(text)) = (params["itemId"].as_str(), params["delta"].as_str()) else {
        return core.malformed("item", "delta");
    };
    let part = ContentPart::Text(core.clip(text));
    core.emit(ControlEvent::Message(MessagePart {
        speaker,
        message: Some(Clipped::new(id, 1024)),
        part: Some(part),
        placement: Placement::Appended,
        origin: Origin::Live,
        meta: None,
    }));
}

fn status(word: &str) -> ToolStatus {
    match word {
        "inProgress" => ToolStatus::Running,
        "completed" => ToolStatus::Completed,
        "failed" => ToolStatus::Failed,
        "declined" => ToolStatus::Declined,
        "interrupted" => ToolStatus::Cancelled,
        unknown => ToolStatus::Unknown(Clipped::new(unknown, 64).text),
    }
}
