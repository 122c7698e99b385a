//! Anthropic Messages: `POST /v1/messages`.

use serde_json::{Value, json};

use crate::reply::{Emit, Part, event, pieces};

/// Requests without tools are for titles, prefixes of commands and the like.
pub(crate) fn is_turn(body: &Value) -> bool {
    let tools = body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    tools && body["stream"] == true
}

pub(crate) fn stream(parts: &[Part], body: &Value, number: usize) -> Vec<Emit> {
    let message = json!({
        "id": format!("msg_{number:06}"), "type": "message", "role": "assistant",
        "model": body["model"], "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    });
    let mut out = vec![event(
        "message_start",
        &json!({"type": "message_start", "message": message}),
    )];
    let mut index = 0;
    let mut stop = "end_turn";
    for part in parts {
        let (block, deltas) = match part {
            Part::Text(text) => (
                json!({"type": "text", "text": ""}),
                pieces(text)
                    .into_iter()
                    .map(|piece| json!({"type": "text_delta", "text": piece}))
                    .collect::<Vec<_>>(),
            ),
            Part::Reasoning(text) => {
                let thought = pieces(text)
                    .into_iter()
                    .map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
                let signature = json!({"type": "signature_delta", "signature": "c2lnbmVk"});
                (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    thought.chain([signature]).collect(),
                )
            }
            Part::Tool {
                name, arguments, ..
            } => {
                stop = "tool_use";
                let id = format!("toolu_{number:06}_{index}");
                (
                    json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                    vec![
                        json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
                    ],
                )
            }
            Part::Pause(time) => {
                out.push(Emit::Pause(*time));
                continue;
            }
            Part::Hold(gate) => {
                out.push(Emit::Hold(gate.clone()));
                continue;
            }
            Part::Drop | Part::Error { .. } => {
                out.push(Emit::Drop);
                return out;
            }
        };
        out.push(event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        ));
        for delta in deltas {
            out.push(event(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        out.push(event(
            "content_block_stop",
            &json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
    }
    out.push(event(
        "message_delta",
        &json!({
            "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 20},
        }),
    ));
    out.push(event("message_stop", &json!({"type": "message_stop"})));
    out
}

/// What helpers get that do not stream.
pub(crate) fn plain(text: &str, body: &Value) -> Value {
    json!({
        "id": "msg_helper", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5},
    })
}

pub(crate) fn error(status: u16) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": format!("scripted failure {status}")}})
}
