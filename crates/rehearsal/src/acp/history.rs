//! A session told again, from its transcript.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::messages::{INTERNAL_ERROR, Refusal};
use super::updates;

/// The updates that tell what was said and done.
pub(super) fn read(path: &Path) -> Result<Vec<Value>, Refusal> {
    let failed = |error: std::io::Error| {
        Refusal::new(INTERNAL_ERROR, format!("{}: {error}", path.display()))
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut updates = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(failed)?;
        // A line that a crash cut short is the last one.
        if let Ok(entry) = serde_json::from_str::<Value>(&line) {
            told(&entry, &mut updates);
        }
    }
    Ok(updates)
}

fn told(entry: &Value, updates: &mut Vec<Value>) {
    let content = &entry["message"]["content"];
    let is_user = entry["type"] == "user";
    if let Some(text) = content.as_str() {
        updates.push(updates::chunk("user_message_chunk", text));
    }
    for block in content.as_array().into_iter().flatten() {
        let id = |member: &str| block[member].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") if !is_user => {
                let text = block["text"].as_str().unwrap_or_default();
                updates.push(updates::chunk("agent_message_chunk", text));
            }
            Some("tool_use") => updates.push(json!({
                "sessionUpdate": "tool_call",
                "toolCallId": id("id"),
                "title": block["name"],
                "status": "in_progress",
                "rawInput": block["input"],
                "_meta": {"rehearsal": {"toolName": block["name"]}},
            })),
            Some("tool_result") => {
                let status = if block["is_error"] == true {
                    "failed"
                } else {
                    "completed"
                };
                let mut update = updates::status(&id("tool_use_id"), status);
                update["content"] = json!([{
                    "type": "content", "content": {"type": "text", "text": block["content"]},
                }]);
                updates.push(update);
            }
            _ => {}
        }
    }
}
