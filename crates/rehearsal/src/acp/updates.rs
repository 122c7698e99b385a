//! What an agent tells of its session, and what it asks, as the protocol writes it.

use serde_json::{Value, json};

use crate::agent::{Asked, ToolCall, ToolWork};
use crate::script::{PlanEntry, Usage};
use crate::view::{Answer, Outcome};

/// What a rehearsal says its model could take in.
const CONTEXT_SIZE: u64 = 200_000;

pub(super) const OPTIONS: [(&str, &str, &str, Answer); 3] = [
    ("allow", "Allow", "allow_once", Answer::Allow),
    ("always", "Allow always", "allow_always", Answer::Always),
    ("deny", "Deny", "reject_once", Answer::Deny),
];

pub(super) fn agent_info() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
            "mcpCapabilities": {"http": true, "sse": false},
            "sessionCapabilities": {"close": {}, "resume": {}},
            "_meta": {"rehearsal": {"promptQueueing": true}},
        },
        "agentInfo": {
            "name": "rehearsal",
            "title": "Rehearsal: no model is used",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "authMethods": [],
    })
}

pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

pub(super) fn plan(entries: &[(String, PlanEntry)]) -> Value {
    let entries: Vec<_> = entries
        .iter()
        .map(|(text, entry)| {
            let status = match entry {
                PlanEntry::Pending => "pending",
                PlanEntry::Running => "in_progress",
                PlanEntry::Done => "completed",
            };
            json!({"content": text, "priority": "medium", "status": status})
        })
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

pub(super) fn usage(used: u64) -> Value {
    json!({"sessionUpdate": "usage_update", "used": used, "size": CONTEXT_SIZE})
}

pub(super) fn turn_usage(usage: Usage) -> Value {
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedReadTokens": usage.cache_read,
        "cachedWriteTokens": usage.cache_write,
        "totalTokens": usage.input + usage.output + usage.cache_read + usage.cache_write,
    })
}

pub(super) fn announced(call: &ToolCall, status: &str) -> Value {
    let mut update = described(call, status);
    update["sessionUpdate"] = json!("tool_call");
    update
}

pub(super) fn status(call: &str, status: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status})
}

pub(super) fn ended(call: &ToolCall, outcome: &Outcome, output: &str) -> Value {
    let (word, result) = match outcome {
        Outcome::Done(result) => ("completed", result),
        Outcome::Failed(result) => ("failed", result),
    };
    let mut update = status(&call.id, word);
    update["rawOutput"] = json!({ "result": result });
    // A change stays what it shows.
    if !matches!(call.work, ToolWork::Change { .. }) && !output.is_empty() {
        update["content"] =
            json!([{"type": "content", "content": {"type": "text", "text": output}}]);
    }
    update
}

pub(super) fn permission(session: &str, asked: &Asked<'_>) -> Value {
    let option = |(id, name, kind, _): &(&str, &str, &str, Answer)| json!({"optionId": id, "name": name, "kind": kind});
    json!({
        "sessionId": session,
        "toolCall": described(asked.call, "pending"),
        "options": OPTIONS.iter().map(option).collect::<Vec<_>>(),
        "_meta": {"rehearsal": {"question": asked.question}},
    })
}

fn described(call: &ToolCall, status: &str) -> Value {
    let mut update = json!({
        "toolCallId": call.id,
        "title": call.shown,
        "kind": match call.work {
            ToolWork::Command => "execute",
            ToolWork::Change { .. } => "edit",
            ToolWork::Other => "other",
        },
        "status": status,
        "rawInput": call.input,
        "_meta": {"rehearsal": {"toolName": call.asked_as}},
    });
    if let ToolWork::Change { path, old, new } = &call.work {
        update["locations"] = json!([{ "path": path }]);
        update["content"] = json!([{"type": "diff", "path": path, "oldText": old, "newText": new}]);
    }
    update
}
