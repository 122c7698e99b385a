//! Ollama's own `/api/chat`: a line is a piece, and calls come whole.

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
    let mut body = json!({"model": request.model, "messages": messages, "stream": true});
    let mut options = json!({});
    if let Some(max) = request.max_output {
        options["num_predict"] = json!(max);
    }
    if let Some(temperature) = request.temperature {
        options["temperature"] = json!(temperature);
    }
    if options
        .as_object()
        .is_some_and(|options| !options.is_empty())
    {
        body["options"] = options;
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
        body["format"] = schema.clone();
    }
    Written {
        path: "/api/chat".to_owned(),
        body,
    }
}

fn write_message(message: &Message, out: &mut Vec<Value>) {
    let mut content = String::new();
    let (mut images, mut calls) = (Vec::new(), Vec::new());
    for item in &message.items {
        match item {
            Item::Text(text) => content.push_str(text),
            Item::Image(image) => images.push(json!(image.data)),
            Item::Call(call) => calls.push(json!({
                "function": {"name": call.name, "arguments": call.arguments.value()},
            })),
            Item::Result(result) => out.push(json!({
                "role": "tool", "content": result.text, "tool_name": result.name,
            })),
            Item::Reasoning(_) => {}
        }
    }
    if content.is_empty() && images.is_empty() && calls.is_empty() {
        return;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut written = json!({"role": role, "content": content});
    if !images.is_empty() {
        written["images"] = Value::Array(images);
    }
    if !calls.is_empty() {
        written["tool_calls"] = Value::Array(calls);
    }
    out.push(written);
}

/// A line; an answer that came whole is one.
pub(super) fn event(data: &Value, answer: &mut Assembly) {
    if let Some(error) = data["error"].as_str() {
        answer.fail(error);
        return;
    }
    answer.named(&Value::Null, &data["model"]);
    let message = &data["message"];
    answer.reasoning(Key::Running, text(message, "thinking"));
    answer.text(Key::Running, text(message, "content"));
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        answer.call(Key::Running, text(call, "id"), text(function, "name"));
        match &function["arguments"] {
            Value::String(all) => answer.all_arguments(Key::Running, all),
            Value::Null => {}
            all => answer.all_arguments(Key::Running, &all.to_string()),
        }
    }
    if data["done"] == true {
        answer.usage.update(Usage {
            input: data["prompt_eval_count"].as_u64(),
            output: data["eval_count"].as_u64(),
            ..Usage::default()
        });
        answer.stop(match text(data, "done_reason") {
            "length" => Stop::Length,
            _ => Stop::End,
        });
        answer.ended = true;
    }
}
