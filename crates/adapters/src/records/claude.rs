//! Claude Code: an entry a line, an assistant's entry for each block of an
//! answer. What subagents do among themselves is not the conversation.

use serde_json::Value;

use super::record::{
    Line, MessageOrigin, Record, RecordBody, Role, microdollars, millis, moment, word, words,
};
use crate::claude::outcome_of;
use crate::transcript::{TokenUsage, number};

pub(super) fn records(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    if entry["isSidechain"] == true {
        return Vec::new();
    }
    let own = |what: RecordBody| Record {
        key: line.key(&entry["uuid"]),
        at: moment(&entry["timestamp"]),
        what,
    };
    match (entry["type"].as_str(), entry["subtype"].as_str()) {
        (Some("user"), _) => of_user(line),
        (Some("assistant"), _) => of_assistant(line),
        // A prompt that was typed while the agent worked.
        (Some("attachment"), _) if entry["attachment"]["type"] == "queued_command" => {
            let prompt = words(&entry["attachment"]["prompt"]);
            let prompt = prompt.map(|text| {
                own(RecordBody::Message {
                    role: Role::Person,
                    text,
                    model: None,
                    written: MessageOrigin::Said,
                })
            });
            prompt.into_iter().collect()
        }
        (Some("system"), Some("turn_duration")) => vec![own(RecordBody::TurnEnded)],
        (Some("cost-state"), _) => {
            let told = microdollars(&entry["totalCostUSD"]).map(|cost| Record {
                key: "cost-state".to_owned(),
                at: millis(&entry["startTime"]),
                what: RecordBody::Cost(cost),
            });
            told.into_iter().collect()
        }
        (Some("system"), Some("compact_boundary")) => vec![own(RecordBody::Compacted)],
        _ => Vec::new(),
    }
}

fn of_user(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    let at = moment(&entry["timestamp"]);
    let content = &entry["message"]["content"];
    let results = content.as_array().into_iter().flatten();
    let results = results.filter(|block| block["type"] == "tool_result");
    let mut records: Vec<Record> = results
        .map(|result| Record {
            key: word(&result["tool_use_id"]),
            at,
            what: RecordBody::ToolEnded {
                outcome: outcome_of(result),
                output: words(&result["content"]).unwrap_or_default(),
            },
        })
        .collect();
    let what = match words(content) {
        Some(text) if text.starts_with("[Request interrupted by user") => RecordBody::Interrupted,
        // Beside a result stand only reminders of the program.
        Some(text) if records.is_empty() => RecordBody::Message {
            role: Role::Person,
            text,
            model: None,
            written: if entry["isCompactSummary"] == true {
                MessageOrigin::Summary
            } else if entry["isMeta"] == true {
                MessageOrigin::ByProgram
            } else {
                MessageOrigin::Said
            },
        },
        _ => return records,
    };
    records.push(Record {
        key: line.key(&entry["uuid"]),
        at,
        what,
    });
    records
}

fn of_assistant(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    let message = &entry["message"];
    let at = moment(&entry["timestamp"]);
    let model = message["model"]
        .as_str()
        .filter(|model| *model != "<synthetic>")
        .map(str::to_owned);
    let mut records = Vec::new();
    let mut texts = 0;
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => {
                let Some(text) = words(&block["text"]) else {
                    continue;
                };
                let key = line.key(&entry["uuid"]);
                records.push(Record {
                    key: match texts {
                        0 => key,
                        n => format!("{key}#{n}"),
                    },
                    at,
                    what: RecordBody::Message {
                        role: Role::Agent,
                        text,
                        model: model.clone(),
                        written: if entry["isApiErrorMessage"] == true {
                            MessageOrigin::Failure
                        } else {
                            MessageOrigin::Said
                        },
                    },
                });
                texts += 1;
            }
            Some("tool_use") => records.push(Record {
                key: line.key(&block["id"]),
                at,
                what: RecordBody::ToolStarted {
                    tool: word(&block["name"]),
                    input: block["input"].clone(),
                },
            }),
            _ => {}
        }
    }
    // One answer is written as several lines that all carry its usage.
    let request = entry["requestId"].as_str().or(message["id"].as_str());
    let usage = &message["usage"];
    if let Some(request) = request.filter(|_| usage.is_object()) {
        records.push(Record {
            key: request.to_owned(),
            at,
            what: RecordBody::Used(usage_of(usage, model)),
        });
    }
    // Without a person at the terminal nothing else says that a turn is over.
    if message["stop_reason"] == "end_turn" {
        records.push(Record {
            key: format!("{}:end", line.key(&message["id"])),
            at,
            what: RecordBody::TurnEnded,
        });
    }
    records
}

fn usage_of(usage: &Value, model: Option<String>) -> TokenUsage {
    TokenUsage {
        model,
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        cache_read: number(&usage["cache_read_input_tokens"]),
        cache_write: number(&usage["cache_creation_input_tokens"]),
        cache_write_1h: number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]),
    }
}
