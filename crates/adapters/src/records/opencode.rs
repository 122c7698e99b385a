//! OpenCode: parts of messages, each handed out when it is whole.

use super::record::{
    Line, MessageOrigin, Record, RecordBody, Role, microdollars, millis, word, words,
};
use crate::opencode::outcome_of;
use crate::transcript::{TokenUsage, number};

pub(super) fn records(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    let part = &entry["part"];
    let model = || entry["model"].as_str().map(str::to_owned);
    let own = |what: RecordBody| Record {
        key: line.key(&entry["id"]),
        at: millis(&part["time"]["start"]).or_else(|| millis(&entry["at"])),
        what,
    };
    match part["type"].as_str() {
        // What the program adds to a prompt by itself is not the person's.
        Some("text") if part["synthetic"] == true || part["ignored"] == true => Vec::new(),
        Some("text") => {
            let said = words(&part["text"]).map(|text| {
                let person = entry["role"] == "user";
                own(RecordBody::Message {
                    role: if person { Role::Person } else { Role::Agent },
                    text,
                    model: (!person).then(model).flatten(),
                    written: MessageOrigin::Said,
                })
            });
            said.into_iter().collect()
        }
        Some("tool") => {
            let state = &part["state"];
            let key = line.key(&part["callID"]);
            let output = words(&state["output"]).or_else(|| words(&state["error"]));
            let record = |at, what| Record {
                key: key.clone(),
                at,
                what,
            };
            let (began, ended) = (
                millis(&state["time"]["start"]),
                millis(&state["time"]["end"]),
            );
            vec![
                record(
                    began.or(ended),
                    RecordBody::ToolStarted {
                        tool: word(&part["tool"]),
                        input: state["input"].clone(),
                    },
                ),
                record(
                    ended,
                    RecordBody::ToolEnded {
                        outcome: outcome_of(state),
                        output: output.unwrap_or_default(),
                    },
                ),
            ]
        }
        Some("compaction") => vec![own(RecordBody::Compacted)],
        Some("step-finish") => {
            let tokens = &part["tokens"];
            let mut records = vec![own(RecordBody::Used(TokenUsage {
                model: model(),
                input: number(&tokens["input"]),
                output: number(&tokens["output"]) + number(&tokens["reasoning"]),
                cache_read: number(&tokens["cache"]["read"]),
                cache_write: number(&tokens["cache"]["write"]),
                cache_write_1h: 0,
            }))];
            records.extend(microdollars(&part["cost"]).map(|cost| own(RecordBody::Cost(cost))));
            if part["reason"] != "tool-calls" {
                records.push(own(RecordBody::TurnEnded));
            }
            records
        }
        _ => Vec::new(),
    }
}
