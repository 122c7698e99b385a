//! Gemini `generateContent`: every event is a piece of a whole answer, and calls come
//! whole.

use serde_json::{Value, json};

use super::assembly::{Assembly, Key};
use crate::format::{Format, Written, text};
use crate::items::{Item, Message, Opaque, Request, Role, Stop, Usage};

pub(super) fn write(request: &Request) -> Written {
    let contents: Vec<Value> = request.messages.iter().map(content).collect();
    let mut body = json!({"contents": contents});
    if let Some(system) = &request.system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    let mut config = json!({});
    if let Some(max) = request.max_output {
        config["maxOutputTokens"] = json!(max);
    }
    if let Some(temperature) = request.temperature {
        config["temperature"] = json!(temperature);
    }
    if let Some(schema) = &request.schema {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = schema.clone();
    }
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        body["generationConfig"] = config;
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "name": tool.name, "description": tool.description,
                "parametersJsonSchema": tool.parameters,
            })
        });
        body["tools"] = json!([{"functionDeclarations": tools.collect::<Vec<_>>()}]);
    }
    Written {
        path: format!(
            "/v1beta/models/{}:streamGenerateContent?alt=sse",
            request.model
        ),
        body,
    }
}

fn content(message: &Message) -> Value {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    let parts: Vec<Value> = message.items.iter().filter_map(part).collect();
    json!({"role": role, "parts": parts})
}

fn part(item: &Item) -> Option<Value> {
    let signed = |mut part: Value, opaque: &Option<Opaque>| {
        if let Some(opaque) = opaque.as_ref().filter(|one| one.format == Format::Gemini) {
            part["thoughtSignature"] = opaque.value.clone();
        }
        part
    };
    Some(match item {
        Item::Text(text) => json!({"text": text}),
        Item::Image(image) => {
            json!({"inlineData": {"mimeType": image.media_type, "data": image.data}})
        }
        Item::Reasoning(reasoning) => {
            reasoning.opaque.as_ref()?;
            let part = json!({"text": reasoning.text, "thought": true});
            signed(part, &reasoning.opaque)
        }
        Item::Call(call) => {
            let call_part = json!({"name": call.name, "args": call.arguments.value()});
            signed(json!({"functionCall": call_part}), &call.opaque)
        }
        Item::Result(result) => {
            let member = if result.is_error { "error" } else { "output" };
            json!({"functionResponse": {"name": result.name, "response": {member: result.text}}})
        }
    })
}

pub(super) fn event(data: &Value, answer: &mut Assembly) {
    if let Some(error) = data.get("error") {
        answer.fail(text(error, "message"));
        return;
    }
    answer.named(&data["responseId"], &data["modelVersion"]);
    answer.usage.update(usage(&data["usageMetadata"]));
    if data["promptFeedback"]["blockReason"].is_string() {
        answer.stop(Stop::Refusal);
        answer.ended = true;
    }
    let candidate = &data["candidates"][0];
    for part in candidate["content"]["parts"]
        .as_array()
        .into_iter()
        .flatten()
    {
        take(part, answer);
    }
    let stop = match candidate["finishReason"].as_str() {
        None => return,
        Some("STOP") => Stop::End,
        Some("MAX_TOKENS") => Stop::Length,
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => {
            Stop::Refusal
        }
        Some(_) => Stop::Cut,
    };
    answer.stop(stop);
    answer.ended = true;
}

/// An answer that came whole, or a list of its pieces.
pub(super) fn whole(body: &Value, answer: &mut Assembly) {
    match body.as_array() {
        Some(pieces) => pieces.iter().for_each(|piece| event(piece, answer)),
        None => event(body, answer),
    }
}

fn take(part: &Value, answer: &mut Assembly) {
    let signature = part.get("thoughtSignature");
    if let Some(call) = part.get("functionCall") {
        answer.call(Key::Running, text(call, "id"), text(call, "name"));
        if let Some(arguments) = call.get("args") {
            answer.all_arguments(Key::Running, &arguments.to_string());
        }
    } else if part["thought"] == true {
        answer.reasoning(Key::Running, text(part, "text"));
    } else {
        answer.text(Key::Running, text(part, "text"));
    }
    if let Some(signature) = signature {
        answer.opaque(Key::Running, signature.clone());
    }
}

fn usage(told: &Value) -> Usage {
    let cached = told["cachedContentTokenCount"].as_u64();
    let thoughts = told["thoughtsTokenCount"].as_u64();
    let input = told["promptTokenCount"].as_u64();
    let output = told["candidatesTokenCount"].as_u64();
    Usage {
        input: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        cache_write: None,
        cache_write_1h: None,
        output: output.map(|output| output + thoughts.unwrap_or(0)),
        reasoning: thoughts,
    }
}
