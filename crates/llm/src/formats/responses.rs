//! OpenAI Responses: items, each with its number, in events that name what happened.

use serde_json::{Value, json};

use super::assembly::{Assembly, Key};
use crate::format::{Format, Written, text};
use crate::items::{Item, Request, Role, Stop, Usage};

pub(super) fn write(request: &Request) -> Written {
    let mut input = Vec::new();
    for message in &request.messages {
        for item in &message.items {
            input.extend(entry(message.role, item));
        }
    }
    // Nothing is kept there: reasoning comes back encrypted instead.
    let mut body = json!({
        "model": request.model, "input": input, "stream": true, "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    if let Some(system) = &request.system {
        body["instructions"] = json!(system);
    }
    if let Some(max) = request.max_output {
        body["max_output_tokens"] = json!(max);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false,
            })
        });
        body["tools"] = tools.collect();
    }
    if let Some(schema) = &request.schema {
        body["text"] = json!({
            "format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": true},
        });
    }
    Written {
        path: "/v1/responses".to_owned(),
        body,
    }
}

fn entry(role: Role, item: &Item) -> Option<Value> {
    let message =
        |role: &str, content: Value| json!({"type": "message", "role": role, "content": [content]});
    Some(match (item, role) {
        (Item::Text(text), Role::User) => {
            message("user", json!({"type": "input_text", "text": text}))
        }
        (Item::Text(text), Role::Assistant) => {
            message("assistant", json!({"type": "output_text", "text": text}))
        }
        (Item::Image(image), _) => {
            let url = format!("data:{};base64,{}", image.media_type, image.data);
            message("user", json!({"type": "input_image", "image_url": url}))
        }
        (Item::Reasoning(reasoning), _) => {
            let opaque = reasoning.opaque.as_ref()?;
            if opaque.format != Format::Responses {
                return None;
            }
            opaque.value.clone()
        }
        (Item::Call(call), _) => json!({
            "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": call.arguments.value().to_string(),
        }),
        (Item::Result(result), _) => json!({
            "type": "function_call_output", "call_id": result.id, "output": result.text,
        }),
    })
}

pub(super) fn event(data: &Value, answer: &mut Assembly) {
    let key = Key::Block(data["output_index"].as_u64().unwrap_or_default());
    match text(data, "type") {
        "response.created" | "response.in_progress" => {
            answer.named(&data["response"]["id"], &data["response"]["model"]);
        }
        "response.output_item.added" => {
            let item = &data["item"];
            if text(item, "type") == "function_call" {
                answer.call(key, text(item, "call_id"), text(item, "name"));
                answer.arguments(key, text(item, "arguments"));
            }
        }
        "response.output_text.delta" | "response.refusal.delta" => {
            answer.text(key, text(data, "delta"));
        }
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            answer.reasoning(key, text(data, "delta"));
        }
        "response.function_call_arguments.delta" => answer.arguments(key, text(data, "delta")),
        "response.function_call_arguments.done" => {
            answer.all_arguments(key, text(data, "arguments"));
        }
        "response.output_item.done" => {
            let item = &data["item"];
            match text(item, "type") {
                "reasoning" => answer.opaque(key, item.clone()),
                "function_call" => {
                    answer.call(key, text(item, "call_id"), text(item, "name"));
                    answer.all_arguments(key, text(item, "arguments"));
                }
                _ => {}
            }
        }
        "response.completed" | "response.incomplete" | "response.failed" => {
            end(&data["response"], answer);
        }
        "error" => {
            let inner = text(&data["error"], "message");
            let message = if inner.is_empty() {
                text(data, "message")
            } else {
                inner
            };
            answer.fail(message);
        }
        _ => {}
    }
}

pub(super) fn whole(response: &Value, answer: &mut Assembly) {
    let items = response["output"].as_array().into_iter().flatten();
    for (item, index) in items.zip(0..) {
        let key = Key::Block(index);
        match text(item, "type") {
            "message" => {
                for content in item["content"].as_array().into_iter().flatten() {
                    answer.text(key, text(content, "text"));
                    answer.text(key, text(content, "refusal"));
                }
            }
            "reasoning" => {
                for summary in item["summary"].as_array().into_iter().flatten() {
                    answer.reasoning(key, text(summary, "text"));
                }
                answer.opaque(key, item.clone());
            }
            "function_call" => {
                answer.call(key, text(item, "call_id"), text(item, "name"));
                answer.all_arguments(key, text(item, "arguments"));
            }
            _ => {}
        }
    }
    end(response, answer);
}

fn end(response: &Value, answer: &mut Assembly) {
    answer.named(&response["id"], &response["model"]);
    answer.usage.update(usage(&response["usage"]));
    match text(response, "status") {
        "failed" | "cancelled" => answer.fail(text(&response["error"], "message")),
        "incomplete" => match text(&response["incomplete_details"], "reason") {
            "content_filter" => answer.stop(Stop::Refusal),
            _ => answer.stop(Stop::Length),
        },
        _ => answer.stop(Stop::End),
    }
    answer.ended = true;
}

fn usage(told: &Value) -> Usage {
    let cached = told["input_tokens_details"]["cached_tokens"].as_u64();
    let input = told["input_tokens"].as_u64();
    Usage {
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        cache_write: None,
        cache_write_1h: None,
        output: told["output_tokens"].as_u64(),
        reasoning: told["output_tokens_details"]["reasoning_tokens"].as_u64(),
    }
}
