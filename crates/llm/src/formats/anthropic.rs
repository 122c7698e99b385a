//! Anthropic Messages: blocks that start, grow and stop, each by its number.

use serde_json::{Value, json};

use super::assembly::{Assembly, Key};
use crate::format::{Format, Written, text};
use crate::items::{Caching, Item, Message, Request, Role, Stop, Usage};

/// What is asked for where nobody says how long an answer may be; the format wants a
/// number.
const MAX_OUTPUT: u32 = 8192;

/// The format has no schema of an answer: it is asked for as the one tool's.
const ANSWER_TOOL: &str = "answer";

pub(super) fn write(request: &Request) -> Written {
    let mark = match request.caching {
        Caching::Automatic => None,
        Caching::Marked => Some(json!({"type": "ephemeral"})),
    };
    let marked = |mut block: Value| {
        if let Some(mark) = &mark {
            block["cache_control"] = mark.clone();
        }
        block
    };
    let messages: Vec<Value> = request.messages.iter().map(message).collect();
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_output.unwrap_or(MAX_OUTPUT),
        "messages": messages,
        "stream": true,
    });
    if let Some(system) = &request.system {
        body["system"] = json!([marked(json!({"type": "text", "text": system}))]);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        })
        .collect();
    if let Some(schema) = &request.schema {
        tools.push(json!({
            "name": ANSWER_TOOL, "description": "Gives the answer.", "input_schema": schema,
        }));
        body["tool_choice"] = json!({"type": "tool", "name": ANSWER_TOOL});
    }
    if let Some(last) = tools.pop() {
        tools.push(marked(last));
        body["tools"] = json!(tools);
    }
    Written {
        path: "/v1/messages".to_owned(),
        body,
    }
}

fn message(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let content: Vec<Value> = message.items.iter().filter_map(block).collect();
    json!({"role": role, "content": content})
}

fn block(item: &Item) -> Option<Value> {
    Some(match item {
        Item::Text(text) => json!({"type": "text", "text": text}),
        // Without its signature it would be refused.
        Item::Reasoning(reasoning) => {
            let opaque = reasoning.opaque.as_ref()?;
            if opaque.format != Format::Anthropic {
                return None;
            }
            match opaque.value["data"].as_str() {
                Some(data) => json!({"type": "redacted_thinking", "data": data}),
                None => json!({
                    "type": "thinking", "thinking": reasoning.text,
                    "signature": opaque.value["signature"],
                }),
            }
        }
        Item::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.value(),
        }),
        Item::Result(result) => json!({
            "type": "tool_result", "tool_use_id": result.id, "content": result.text,
            "is_error": result.is_error,
        }),
        Item::Image(image) => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": image.data},
        }),
    })
}

pub(super) fn event(data: &Value, answer: &mut Assembly) {
    let key = Key::Block(data["index"].as_u64().unwrap_or_default());
    match text(data, "type") {
        "message_start" => {
            let message = &data["message"];
            answer.named(&message["id"], &message["model"]);
            answer.usage.update(usage(&message["usage"]));
        }
        "content_block_start" => begin(&data["content_block"], key, answer),
        "content_block_delta" => {
            let delta = &data["delta"];
            match text(delta, "type") {
                "text_delta" => answer.text(key, text(delta, "text")),
                "thinking_delta" => answer.reasoning(key, text(delta, "thinking")),
                "signature_delta" => {
                    answer.opaque(key, json!({"signature": delta["signature"]}));
                }
                "input_json_delta" => answer.arguments(key, text(delta, "partial_json")),
                _ => {}
            }
        }
        "message_delta" => {
            answer.usage.update(usage(&data["usage"]));
            stopped(&data["delta"]["stop_reason"], answer);
        }
        "message_stop" => answer.ended = true,
        "error" => answer.fail(text(&data["error"], "message")),
        _ => {}
    }
}

pub(super) fn whole(message: &Value, answer: &mut Assembly) {
    answer.named(&message["id"], &message["model"]);
    answer.usage.update(usage(&message["usage"]));
    let blocks = message["content"].as_array().into_iter().flatten();
    for (block, index) in blocks.zip(0..) {
        begin(block, Key::Block(index), answer);
    }
    stopped(&message["stop_reason"], answer);
    answer.ended = true;
}

fn begin(block: &Value, key: Key, answer: &mut Assembly) {
    match text(block, "type") {
        "text" => answer.text(key, text(block, "text")),
        "thinking" => {
            answer.reasoning(key, text(block, "thinking"));
            if !text(block, "signature").is_empty() {
                answer.opaque(key, json!({"signature": block["signature"]}));
            }
        }
        "redacted_thinking" => answer.opaque(key, json!({"data": block["data"]})),
        "tool_use" => {
            answer.call(key, text(block, "id"), text(block, "name"));
            // In a stream it is empty here, and comes in pieces.
            if block["input"]
                .as_object()
                .is_some_and(|input| !input.is_empty())
            {
                answer.all_arguments(key, &block["input"].to_string());
            }
        }
        _ => {}
    }
}

fn stopped(reason: &Value, answer: &mut Assembly) {
    let stop = match reason.as_str() {
        Some("end_turn" | "stop_sequence" | "pause_turn") => Stop::End,
        Some("tool_use") => Stop::Tool,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        Some("refusal") => Stop::Refusal,
        _ => return,
    };
    answer.stop(stop);
}

fn usage(told: &Value) -> Usage {
    Usage {
        input: told["input_tokens"].as_u64(),
        cache_read: told["cache_read_input_tokens"].as_u64(),
        cache_write: told["cache_creation_input_tokens"].as_u64(),
        cache_write_1h: told["cache_creation"]["ephemeral_1h_input_tokens"].as_u64(),
        output: told["output_tokens"].as_u64(),
        reasoning: None,
    }
}

/// The answer a schema was asked for comes as a call.
pub(crate) fn is_answer_tool(name: &str) -> bool {
    name == ANSWER_TOOL
}
