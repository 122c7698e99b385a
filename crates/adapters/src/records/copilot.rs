//! Copilot CLI: an event a line. What its sub-agents say among themselves stands under
//! the call that started them and is not the conversation.

use super::record::{Line, MessageOrigin, Record, RecordBody, Role, moment, word, words};
use crate::copilot::{outcome_of, usage_of};

pub(super) fn records(line: &Line<'_>) -> Vec<Record> {
    let entry = &line.entry;
    let data = &entry["data"];
    if data["parentToolCallId"].is_string() {
        return Vec::new();
    }
    let record = |key: String, what: RecordBody| Record {
        key,
        at: moment(&entry["timestamp"]),
        what,
    };
    let own = || line.key(&entry["id"]);
    match entry["type"].as_str() {
        Some("user.message") => {
            let prompt = words(&data["content"]);
            let prompt = prompt.map(|text| record(own(), said(Role::Person, text, None)));
            prompt.into_iter().collect()
        }
        Some("assistant.message") => {
            let model = data["model"].as_str().map(str::to_owned);
            let answer = words(&data["content"]);
            let answer = answer.map(|text| record(own(), said(Role::Agent, text, model)));
            let wants_tools = data["toolRequests"]
                .as_array()
                .is_some_and(|tools| !tools.is_empty());
            let end =
                (!wants_tools).then(|| record(format!("{}:end", own()), RecordBody::TurnEnded));
            answer.into_iter().chain(end).collect()
        }
        Some("tool.execution_start") => vec![record(
            word(&data["toolCallId"]),
            RecordBody::ToolStarted {
                tool: word(&data["toolName"]),
                input: data["arguments"].clone(),
            },
        )],
        Some("tool.execution_complete") => {
            let output = words(&data["result"]["content"]);
            vec![record(
                word(&data["toolCallId"]),
                RecordBody::ToolEnded {
                    outcome: outcome_of(data),
                    output: output.unwrap_or_else(|| word(&data["error"]["message"])),
                },
            )]
        }
        Some("session.usage_record") => {
            let usage = &data["usage"];
            vec![record(
                line.key(&usage["apiCallId"]),
                RecordBody::Used(usage_of(usage)),
            )]
        }
        Some("abort") => vec![record(own(), RecordBody::Interrupted)],
        Some("session.compaction_complete") => vec![record(own(), RecordBody::Compacted)],
        _ => Vec::new(),
    }
}

fn said(role: Role, text: String, model: Option<String>) -> RecordBody {
    RecordBody::Message {
        role,
        text,
        model,
        written: MessageOrigin::Said,
    }
}
