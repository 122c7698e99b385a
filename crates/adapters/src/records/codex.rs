//! Codex: events and what went to and came from the model, one beside the other.
//! Words are taken from the events, so that what the program tells its model by
//! itself is left out; calls of tools from what went to and fro. Versions before
//! the events had items wrote the words in events of their own kinds.

use serde_json::Value;

use super::record::{
    Line, MessageOrigin, Record, RecordBody, RecordMemory, Role, moment, word, words,
};
use crate::codex::outcome_of;
use crate::transcript::{TokenUsage, number};

pub(super) fn records(line: &Line<'_>, memory: &mut RecordMemory) -> Vec<Record> {
    let entry = &line.entry;
    let payload = &entry["payload"];
    let at = moment(&entry["timestamp"]);
    let record = |key: String, what| vec![Record { key, at, what }];
    match (entry["type"].as_str(), payload["type"].as_str()) {
        (Some("turn_context"), _) => {
            memory.model = payload["model"].as_str().map(str::to_owned);
            Vec::new()
        }
        (Some("compacted"), _) => record(line.key(&Value::Null), RecordBody::Compacted),
        (Some("event_msg"), Some("item_completed")) => {
            let item = &payload["item"];
            let role = match item["type"].as_str() {
                Some("UserMessage") => Role::Person,
                Some("AgentMessage") => Role::Agent,
                _ => return Vec::new(),
            };
            memory.items = true;
            let said = words(&item["content"]).map(|text| message(role, text, memory));
            said.map_or_else(Vec::new, |what| record(line.key(&item["id"]), what))
        }
        (Some("event_msg"), Some(kind @ ("user_message" | "agent_message"))) if !memory.items => {
            let role = match kind {
                "user_message" => Role::Person,
                _ => Role::Agent,
            };
            let said = words(&payload["message"]).map(|text| message(role, text, memory));
            said.map_or_else(Vec::new, |what| record(line.key(&Value::Null), what))
        }
        (Some("event_msg"), Some("task_complete")) => {
            record(line.key(&payload["turn_id"]), RecordBody::TurnEnded)
        }
        (Some("event_msg"), Some("turn_aborted")) => {
            record(line.key(&payload["turn_id"]), RecordBody::Interrupted)
        }
        (Some("event_msg"), Some("token_count")) if !memory.usage_records => {
            let info = &payload["info"];
            let total = number(&info["total_token_usage"]["total_tokens"]);
            if info["last_token_usage"].is_object() && total > 0 {
                record(
                    format!("count:{total}"),
                    RecordBody::Used(usage_of(&info["last_token_usage"], memory.model.clone())),
                )
            } else {
                Vec::new()
            }
        }
        (Some("token_usage_record"), _) => {
            memory.usage_records = true;
            let model = payload["model"].as_str().map(str::to_owned);
            let usage = usage_of(&payload["usage"], model.or_else(|| memory.model.clone()));
            record(line.key(&payload["response_id"]), RecordBody::Used(usage))
        }
        (
            Some("response_item"),
            Some("function_call" | "custom_tool_call" | "local_shell_call"),
        ) => {
            let tool = match (payload["namespace"].as_str(), payload["name"].as_str()) {
                (Some(namespace), Some(name)) => format!("{namespace}__{name}"),
                (None, Some(name)) => name.to_owned(),
                (_, None) => "shell".to_owned(),
            };
            let what = RecordBody::ToolStarted {
                tool,
                input: input_of(payload),
            };
            record(line.key(&payload["call_id"]), what)
        }
        (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
            let output = &payload["output"];
            let told = words(output).or_else(|| words(&output["content"]));
            let what = RecordBody::ToolEnded {
                outcome: outcome_of(output),
                output: told.unwrap_or_default(),
            };
            record(word(&payload["call_id"]), what)
        }
        _ => Vec::new(),
    }
}

fn message(role: Role, text: String, memory: &RecordMemory) -> RecordBody {
    RecordBody::Message {
        model: match role {
            Role::Person => None,
            Role::Agent => memory.model.clone(),
        },
        role,
        text,
        written: MessageOrigin::Said,
    }
}

/// Arguments are JSON in a string; what is no JSON is the input of a tool that
/// takes text.
fn input_of(payload: &Value) -> Value {
    let given = ["arguments", "input", "action"]
        .into_iter()
        .map(|name| &payload[name])
        .find(|value| !value.is_null());
    match given {
        Some(Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(given) => given.clone(),
        None => Value::Null,
    }
}

fn usage_of(usage: &Value, model: Option<String>) -> TokenUsage {
    let cached = number(&usage["cached_input_tokens"]);
    TokenUsage {
        model,
        input: number(&usage["input_tokens"]).saturating_sub(cached),
        output: number(&usage["output_tokens"]),
        cache_read: cached,
        cache_write: number(&usage["cache_write_input_tokens"]),
        cache_write_1h: 0,
    }
}
