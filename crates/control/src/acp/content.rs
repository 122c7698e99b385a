//! Pieces of messages and of tool calls as ACP writes them, in both versions.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::text::Clipped;
use crate::tool::{ContentPart, FileChange, FileOperation, Location, ToolContent};

pub(super) fn part(core: &Conversation, block: &Value) -> ContentPart {
    let text = |member: &str| core.clip_at(block, member).unwrap_or_default();
    let media = || (text("mimeType"), block["data"].as_str().map_or(0, str::len));
    match block["type"].as_str() {
        Some("text") => ContentPart::Text(text("text")),
        Some("image") => {
            let (mime_type, encoded_bytes) = media();
            ContentPart::Image {
                mime_type,
                encoded_bytes,
            }
        }
        Some("audio") => {
            let (mime_type, encoded_bytes) = media();
            ContentPart::Audio {
                mime_type,
                encoded_bytes,
            }
        }
        Some("resource_link") => ContentPart::Link {
            uri: text("uri"),
            name: text("name"),
        },
        Some("resource") => ContentPart::Resource {
            uri: core.clip_at(&block["resource"], "uri").unwrap_or_default(),
            text: core.clip_at(&block["resource"], "text"),
        },
        _ => ContentPart::Unknown {
            raw: core.raw(block),
        },
    }
}

pub(super) fn tool_contents(core: &Conversation, holder: &Value) -> Vec<ToolContent> {
    core.list(holder, "content")
        .iter()
        .map(|content| tool_content(core, content))
        .collect()
}

pub(super) fn tool_content(core: &Conversation, content: &Value) -> ToolContent {
    match content["type"].as_str() {
        Some("content") => ToolContent::Part(part(core, &content["content"])),
        // Version 2: which files change, and perhaps a patch.
        Some("diff") if content["changes"].is_array() => ToolContent::Patch {
            changes: core
                .list(content, "changes")
                .iter()
                .map(|change| FileChange {
                    operation: operation(change["operation"].as_str().unwrap_or_default()),
                    path: core.clip_at(change, "path").unwrap_or_default(),
                    old_path: core.clip_at(change, "oldPath"),
                })
                .collect(),
            patch: core.clip_at(&content["patch"], "text"),
        },
        Some("diff") => ToolContent::Diff {
            path: core.clip_at(content, "path").unwrap_or_default(),
            old: core.clip_at(content, "oldText"),
            new: core.clip_at(content, "newText").unwrap_or_default(),
        },
        Some("terminal") => ToolContent::Terminal {
            id: core.clip_at(content, "terminalId").unwrap_or_default(),
        },
        _ => ToolContent::Unknown {
            raw: core.raw(content),
        },
    }
}

fn operation(word: &str) -> FileOperation {
    match word {
        "add" => FileOperation::Add,
        "delete" => FileOperation::Delete,
        "modify" => FileOperation::Modify,
        "move" => FileOperation::Move,
        "copy" => FileOperation::Copy,
        unknown => FileOperation::Unknown(Clipped::new(unknown, 64).text),
    }
}

pub(super) fn locations(core: &Conversation, holder: &Value) -> Vec<Location> {
    core.list(holder, "locations")
        .iter()
        .filter_map(|location| {
            Some(Location {
                path: core.clip_at(location, "path")?,
                line: location["line"].as_u64(),
            })
        })
        .collect()
}
