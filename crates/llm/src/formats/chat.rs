//! OpenAI Chat Completions, and the servers that speak it more or less: some name no
//! calls, some write arguments as an object, some say what was used only when asked.

use serde_json::{Value, json};

use super::assembly::{Assembly, Key};
use crate::format::{Written, text};
use crate::items::{Item, Message, Request, Role, Stop, Usage};

pub(super) fn write(request: &Request) -> Written {
    let mut messages = Vec::new();
    if let Some(system) = &request.system {
        messages.push(json!({"role": "system", "content": system}));
    }
    for message in &request.messages {
        write_message(message, &mut messages);
    }
    let mut body = json!({
        "model": request.model, "messages": messages, "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Some(max) = request.max_output {
        body["max_tokens"] = json!(max);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function = json!({
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            });
            json!({"type": "function", "function": function})
        });
        body["tools"] = tools.collect();
    }
    if let Some(schema) = &request.schema {
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": true},
        });
    }
    Written {
        path: "/v1/chat/completions".to_owned(),
        body,
    }
}

fn write_message(message: &Message, out: &mut Vec<Value>) {
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for item in &message.items {
        match item {
            Item::Text(text) => content.push(json!({"type": "text", "text": text})),
            Item::Image(image) => {
                let url = format!("data:{};base64,{}", image.media_type, image.data);
                content.push(json!({"type": "image_url", "image_url": {"url": url}}));
            }
            Item::Call(call) => calls.push(json!({
                "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments.value().to_string()},
            })),
            Item::Result(result) => out.push(json!({
                "role": "tool", "tool_call_id": result.id, "content": result.text,
            })),
            // The format has no place for it.
            Item::Reasoning(_) => {}
        }
    }
    if content.is_empty() && calls.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    // Many servers know text only, and not as a list.
    let content = match &content[..] {
        [] => Value::Null,
        [only] if only["type"] == "text" => only["text"].clone(),
        _ => Value::Array(content),
    };
    let mut written = json!({"role": role, "content": content});
    if !calls.is_empty() {
        written["tool_calls"] = Value::Array(calls);
    }
    out.push(written);
}

pub(super) fn event(data: &Value, answer: &mut Assembly) {
    take(data, "delta", answer);
}

pub(super) fn whole(completion: &Value, answer: &mut Assembly) {
    take(completion, "message", answer);
    answer.ended = true;
}

fn take(data: &Value, member: &str, answer: &mut Assembly) {
    if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
        let message = error["message"].as_str().or(error.as_str());
        answer.fail(message.unwrap_or("the provider broke off"));
        return;
    }
    answer.named(&data["id"], &data["model"]);
    answer.usage.update(usage(&data["usage"]));
    let choice = &data["choices"][0];
    let said = &choice[member];
    for name in ["reasoning_content", "reasoning"] {
        answer.reasoning(Key::Running, text(said, name));
    }
    answer.text(Key::Running, text(said, "content"));
    answer.text(Key::Running, text(said, "refusal"));
    let calls = said["tool_calls"].as_array().into_iter().flatten();
    for (call, position) in calls.zip(0..) {
        let key = Key::Block(call["index"].as_u64().unwrap_or(position));
        let function = &call["function"];
        answer.call(key, text(call, "id"), text(function, "name"));
        match &function["arguments"] {
            Value::String(more) => answer.arguments(key, more),
            Value::Object(all) => answer.all_arguments(key, &json!(all).to_string()),
            _ => {}
        }
    }
    let stop = match choice["finish_reason"].as_str() {
        Some("stop") => Stop::End,
        Some("tool_calls" | "function_call") => Stop::Tool,
        Some("length") => Stop::Length,
        Some("content_filter") => Stop::Refusal,
        _ => return,
    };
    answer.stop(stop);
    // Some servers end here, without `[DONE]`.
    answer.ended = true;
}

fn usage(told: &Value) -> Usage {
    let cached = told["prompt_tokens_details"]["cached_tokens"].as_u64();
    let input = told["prompt_tokens"].as_u64();
    Usage {
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        cache_write: None,
        cache_write_1h: None,
        output: told["completion_tokens"].as_u64(),
        reasoning: told["completion_tokens_details"]["reasoning_tokens"].as_u64(),
    }
}
