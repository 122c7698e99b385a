//! OpenAI Chat Completions: `POST /v1/chat/completions`.

use serde_json::{Value, json};

use crate::reply::{Emit, Part, data, pieces};

/// Requests without tools are for titles and summaries.
pub(crate) fn is_turn(body: &Value) -> bool {
    let tools = body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    tools && body["stream"] == true
}

pub(crate) fn stream(parts: &[Part], body: &Value, number: usize) -> Vec<Emit> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number:06}"), "object": "chat.completion.chunk",
            "created": 1, "model": body["model"], "choices": choices,
        })
    };
    let delta = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        data(&chunk(json!([choice])))
    };
    let mut out = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for part in parts {
        match part {
            Part::Text(text) => {
                out.extend(
                    pieces(text)
                        .iter()
                        .map(|piece| delta(json!({"content": piece}))),
                );
            }
            Part::Reasoning(text) => {
                let thought = |piece: &String| delta(json!({"reasoning_content": piece}));
                out.extend(pieces(text).iter().map(thought));
            }
            Part::Tool {
                name, arguments, ..
            } => {
                let id = format!("call_{number:06}_{calls}");
                let function = json!({"name": name, "arguments": arguments.to_string()});
                let call =
                    json!({"index": calls, "id": id, "type": "function", "function": function});
                out.push(delta(json!({"tool_calls": [call]})));
                calls += 1;
            }
            Part::Pause(time) => out.push(Emit::Pause(*time)),
            Part::Hold(gate) => out.push(Emit::Hold(gate.clone())),
            Part::Drop | Part::Error { .. } => {
                out.push(Emit::Drop);
                return out;
            }
        }
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    let last = json!({"index": 0, "delta": {}, "finish_reason": reason});
    out.push(data(&chunk(json!([last]))));
    let mut usage = chunk(json!([]));
    usage["usage"] = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    out.push(data(&usage));
    out.push(Emit::Send("data: [DONE]\n\n".to_owned()));
    out
}

/// What helpers get that do not stream.
pub(crate) fn plain(text: &str, body: &Value) -> Value {
    json!({
        "id": "chatcmpl-helper", "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}
