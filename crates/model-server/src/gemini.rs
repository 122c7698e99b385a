//! Gemini: `POST /v1beta/models/M:streamGenerateContent` and its neighbours.

use serde_json::{Value, json};

use crate::reply::{Emit, Part, data, pieces};

pub(crate) fn is_turn(path: &str, body: &Value) -> bool {
    let tools = body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    path.ends_with(":streamGenerateContent") && tools
}

pub(crate) fn stream(parts: &[Part], number: usize) -> Vec<Emit> {
    let chunk = |part: Value, finish: Option<&str>| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        data(&json!({
            "candidates": [candidate], "modelVersion": "scripted",
            "responseId": format!("r{number:06}"),
            "usageMetadata": {
                "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120,
            },
        }))
    };
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => {
                let pieces = pieces(text);
                out.extend(
                    pieces
                        .iter()
                        .map(|piece| chunk(json!({"text": piece}), None)),
                );
            }
            Part::Reasoning(text) => {
                let thought = |piece: &String| chunk(json!({"text": piece, "thought": true}), None);
                out.extend(pieces(text).iter().map(thought));
            }
            Part::Tool {
                name, arguments, ..
            } => {
                let call = json!({"functionCall": {"name": name, "args": arguments}});
                out.push(chunk(call, None));
            }
            Part::Pause(time) => out.push(Emit::Pause(*time)),
            Part::Hold(gate) => out.push(Emit::Hold(gate.clone())),
            Part::Drop | Part::Error { .. } => {
                out.push(Emit::Drop);
                return out;
            }
        }
    }
    out.push(chunk(json!({"text": ""}), Some("STOP")));
    out
}

/// What helpers get. Some want JSON that says who speaks next.
pub(crate) fn plain(body: &Value) -> Value {
    let config = &body["generationConfig"];
    let text = if config.to_string().contains("next_speaker") {
        json!({"reasoning": "it is done", "next_speaker": "user"}).to_string()
    } else {
        "A short summary.".to_owned()
    };
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": [{"text": text}]},
            "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    })
}

pub(crate) fn error(status: u16) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        _ => "UNKNOWN",
    };
    let message = format!("scripted failure {status}");
    json!({"error": {"code": status, "message": message, "status": name}})
}
