//! Qwen Code: an entry a line, with the parts that Gemini's API has.

use serde_json::Value;

use super::record::{Line, MessageOrigin, Record, RecordBody, Role, moment, word, words};
use crate::qwen::{outcome_of, usage_of};

pub(super) fn records(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    let record = |key: String, what: RecordBody| Record {
        key,
        at: moment(&entry["timestamp"]),
        what,
    };
    let own = || line.key(&entry["uuid"]);
    let parts = &entry["message"]["parts"];
    match entry["type"].as_str() {
        Some("user") => {
            let by_program = entry["provenance"]
                .as_str()
                .is_some_and(|by| by != "real_user");
            let prompt = words(parts).map(|text| {
                record(
                    own(),
                    RecordBody::Message {
                        role: Role::Person,
                        text,
                        model: None,
                        written: if by_program {
                            MessageOrigin::ByProgram
                        } else {
                            MessageOrigin::Said
                        },
                    },
                )
            });
            prompt.into_iter().collect()
        }
        Some("assistant") => of_answer(line, &record),
        Some("tool_result") => {
            let result = &entry["toolCallResult"];
            vec![record(
                word(&result["callId"]),
                RecordBody::ToolEnded {
                    outcome: outcome_of(result),
                    output: output(parts),
                },
            )]
        }
        _ => Vec::new(),
    }
}

fn of_answer(line: &Line<'_>, record: &dyn Fn(String, RecordBody) -> Record) -> Vec<Record> {
    let entry = &line.entry;
    let parts = &entry["message"]["parts"];
    let own = || line.key(&entry["uuid"]);
    let answer = words(parts).map(|text| {
        record(
            own(),
            RecordBody::Message {
                role: Role::Agent,
                text,
                model: entry["model"].as_str().map(str::to_owned),
                written: MessageOrigin::Said,
            },
        )
    });
    let mut records: Vec<_> = answer.into_iter().collect();
    let calls = parts.as_array().into_iter().flatten();
    let calls: Vec<_> = calls
        .filter_map(|part| part.get("functionCall"))
        .map(|call| {
            record(
                word(&call["id"]),
                RecordBody::ToolStarted {
                    tool: word(&call["name"]),
                    input: call["args"].clone(),
                },
            )
        })
        .collect();
    let is_last = calls.is_empty();
    records.extend(calls);
    if entry["usageMetadata"].is_object() {
        records.push(record(own(), RecordBody::Used(usage_of(entry))));
    }
    if is_last {
        records.push(record(format!("{}:end", own()), RecordBody::TurnEnded));
    }
    records
}

/// What a tool gave back: a text, or a text under one of these names.
fn output(parts: &Value) -> String {
    let answers = parts.as_array().into_iter().flatten();
    let texts: Vec<_> = answers
        .map(|part| &part["functionResponse"]["response"])
        .filter_map(|response| {
            let text = ["output", "error"].map(|name| words(&response[name]));
            text.into_iter().flatten().next()
        })
        .collect();
    texts.join("\n")
}
