//! OpenAI Responses: `POST /v1/responses`.

use serde_json::{Value, json};

use crate::reply::{Emit, Part, event, pieces};

/// Requests that want JSON of a given shape are for titles and the like.
pub(crate) fn is_turn(body: &Value) -> bool {
    body["stream"] == true && body["text"]["format"]["type"] != "json_schema"
}

/// Builds the events and counts them, as the API does.
struct Stream {
    out: Vec<Emit>,
    items: Vec<Value>,
    sequence: u64,
}

impl Stream {
    fn event(&mut self, kind: &str, mut data: Value) {
        self.sequence += 1;
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.out.push(event(kind, &data));
    }

    fn item(&mut self, begun: &Value, done: Value, between: &[(&str, Value)]) {
        let index = self.items.len();
        let at = |mut data: Value| {
            data["output_index"] = json!(index);
            data["item_id"] = done["id"].clone();
            data
        };
        self.event("response.output_item.added", at(json!({"item": begun})));
        for (kind, data) in between {
            self.event(kind, at(data.clone()));
        }
        self.event("response.output_item.done", at(json!({"item": done})));
        self.items.push(done);
    }
}

pub(crate) fn stream(parts: &[Part], body: &Value, number: usize) -> Vec<Emit> {
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_{number:06}"), "object": "response", "status": status,
            "model": body["model"], "output": output,
        })
    };
    let mut stream = Stream {
        out: Vec::new(),
        items: Vec::new(),
        sequence: 0,
    };
    let begun = response("in_progress", &[]);
    stream.event("response.created", json!({"response": begun}));
    for part in parts {
        let id = format!("item_{number:06}_{}", stream.items.len());
        match part {
            Part::Text(text) => {
                let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
                let message = |status: &str, content: Value| {
                    json!({
                        "id": id, "type": "message", "role": "assistant", "status": status,
                        "content": content,
                    })
                };
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                let mut between = vec![(
                    "response.content_part.added",
                    json!({"content_index": 0, "part": part}),
                )];
                for piece in pieces(text) {
                    let delta = json!({"content_index": 0, "delta": piece});
                    between.push(("response.output_text.delta", delta));
                }
                let whole = json!({"content_index": 0, "text": text});
                between.push(("response.output_text.done", whole));
                let begun = message("in_progress", json!([]));
                stream.item(&begun, message("completed", content), &between);
            }
            Part::Reasoning(text) => {
                let begun = json!({"id": id, "type": "reasoning", "summary": []});
                let summary = json!([{"type": "summary_text", "text": text}]);
                let done = json!({"id": id, "type": "reasoning", "summary": summary});
                let mut between = vec![(
                    "response.reasoning_summary_part.added",
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}}),
                )];
                for piece in pieces(text) {
                    let delta = json!({"summary_index": 0, "delta": piece});
                    between.push(("response.reasoning_summary_text.delta", delta));
                }
                let whole = json!({"summary_index": 0, "text": text});
                between.push(("response.reasoning_summary_text.done", whole));
                stream.item(&begun, done, &between);
            }
            Part::Tool {
                namespace,
                name,
                arguments,
            } => {
                // A text is the input of a free-form tool, anything else that of a function.
                let mut done = match arguments {
                    Value::String(input) => json!({
                        "id": id, "type": "custom_tool_call", "call_id": format!("call_{id}"),
                        "name": name, "input": input, "status": "completed",
                    }),
                    arguments => json!({
                        "id": id, "type": "function_call", "call_id": format!("call_{id}"),
                        "name": name, "arguments": arguments.to_string(), "status": "completed",
                    }),
                };
                if let Some(namespace) = namespace {
                    done["namespace"] = json!(namespace);
                }
                let mut begun = done.clone();
                begun["status"] = json!("in_progress");
                stream.item(&begun, done, &[]);
            }
            Part::Pause(time) => stream.out.push(Emit::Pause(*time)),
            Part::Hold(gate) => stream.out.push(Emit::Hold(gate.clone())),
            Part::Drop | Part::Error { .. } => {
                stream.out.push(Emit::Drop);
                return stream.out;
            }
        }
    }
    let mut done = response("completed", &stream.items);
    done["usage"] = json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    });
    stream.event("response.completed", json!({"response": done}));
    stream.out
}

pub(crate) fn error(status: u16) -> Value {
    let kind = match status {
        400 | 401 => "invalid_request_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    let message = format!("scripted failure {status}");
    json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
}
