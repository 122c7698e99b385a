//! Gemini CLI: an entry a line, written again when its tools have run; changes
//! of the whole conversation (`$set`) between them. Going on with a conversation
//! and cancelling write it again, with other times and with private reasoning
//! among its words: only entries are read, each once.

use missiond_core::ToolOutcome;
use serde_json::Value;

use super::record::{
    Line, MessageOrigin, Record, RecordBody, RecordMemory, Role, moment, word, words,
};
use crate::gemini::{CANCELLED, PREAMBLE};
use crate::transcript::{TokenUsage, number};

pub(super) fn records(line: &Line<'_>, memory: &mut RecordMemory) -> Vec<Record> {
    let entry = &line.entry;
    // What is written again goes from the preamble to the list of all entries.
    if entry["$set"]["messages"].is_array() {
        memory.retold = false;
    }
    let said = words(&entry["content"]);
    if entry["type"] == "user" && said.as_ref().is_some_and(|said| said.starts_with(PREAMBLE)) {
        memory.retold = true;
    }
    if memory.retold {
        return Vec::new();
    }
    let own = |what: RecordBody| Record {
        key: line.key(&entry["id"]),
        at: moment(&entry["timestamp"]),
        what,
    };
    match entry["type"].as_str() {
        Some("info") if said.as_deref() == Some(CANCELLED) => vec![own(RecordBody::Interrupted)],
        Some("user") => {
            let prompt = said.map(|text| {
                own(RecordBody::Message {
                    role: Role::Person,
                    text,
                    model: None,
                    written: MessageOrigin::Said,
                })
            });
            prompt.into_iter().collect()
        }
        Some("gemini") => {
            let model = entry["model"].as_str().map(str::to_owned);
            let answer = said.map(|text| {
                own(RecordBody::Message {
                    role: Role::Agent,
                    text,
                    model: model.clone(),
                    written: MessageOrigin::Said,
                })
            });
            let mut records: Vec<_> = answer.into_iter().collect();
            for call in entry["toolCalls"].as_array().into_iter().flatten() {
                of_call(line, call, &mut records);
            }
            let tokens = &entry["tokens"];
            if tokens.is_object() {
                let cached = number(&tokens["cached"]);
                records.push(own(RecordBody::Used(TokenUsage {
                    model,
                    input: number(&tokens["input"]).saturating_sub(cached),
                    output: number(&tokens["output"]) + number(&tokens["thoughts"]),
                    cache_read: cached,
                    cache_write: 0,
                    cache_write_1h: 0,
                })));
            }
            records
        }
        _ => Vec::new(),
    }
}

fn of_call(line: &Line<'_>, call: &Value, records: &mut Vec<Record>) {
    let key = line.key(&call["id"]);
    let at = moment(&call["timestamp"]).or_else(|| moment(&line.entry["timestamp"]));
    records.push(Record {
        key: key.clone(),
        at,
        what: RecordBody::ToolStarted {
            tool: word(&call["name"]),
            input: call["args"].clone(),
        },
    });
    let outcome = match call["status"].as_str() {
        Some("success") => ToolOutcome::Succeeded,
        Some("cancelled") => ToolOutcome::Denied,
        Some("error") => ToolOutcome::Failed,
        // It has not ended.
        _ => return,
    };
    records.push(Record {
        key,
        at,
        what: RecordBody::ToolEnded {
            outcome,
            output: output_of(call),
        },
    });
}

/// What a person saw of a result, or else what the model was told.
fn output_of(call: &Value) -> String {
    if let Some(shown) = words(&call["resultDisplay"]) {
        return shown;
    }
    let results = call["result"].as_array().into_iter().flatten();
    let told: Vec<&str> = results
        .filter_map(|result| {
            let response = &result["functionResponse"]["response"];
            response["output"].as_str().or(response["error"].as_str())
        })
        .collect();
    told.join("\n")
}
