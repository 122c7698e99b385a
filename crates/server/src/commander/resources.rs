//! What the daemon keeps, as resources: each is the answer of one operation, at
//! the moment it is read.

use missiond_api::ApiError;
use missiond_core::ErrorCode;
use missiond_mcp::Refusal;
use serde_json::{Value, json};

use super::Commander;

pub(super) const BOARD: &str = "mission://board";
pub(super) const READY: &str = "mission://board/ready";
pub(super) const QUESTIONS: &str = "mission://questions";
pub(super) const EXECUTIONS: &str = "mission://executions";
pub(super) const ENTRIES: &str = "mission://entries";
const STATUS: &str = "mission://status";

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// Where a resource comes from.
#[derive(Debug, PartialEq)]
struct Source {
    operation: &'static str,
    params: Value,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Whole,
    /// The rows of a screen.
    Screen,
}

impl Commander {
    pub(super) async fn listed_resources(&self) -> Result<Vec<Value>, Refusal> {
        let fixed = [
            (BOARD, "Board", "The tasks, the most wanted first."),
            (
                READY,
                "Ready tasks",
                "What can be worked on now, and what the others wait for.",
            ),
            (QUESTIONS, "Questions", "What waits for a person."),
            (
                EXECUTIONS,
                "Executions",
                "The runs of agents and what each is doing.",
            ),
            (
                ENTRIES,
                "Knowledge",
                "What is known: the first entries of the knowledge base.",
            ),
            (STATUS, "Daemon", "How the daemon is."),
        ];
        let mut listed: Vec<_> = fixed
            .iter()
            .map(|(uri, title, description)| {
                json!({ "uri": uri, "name": title, "description": description, "mimeType": JSON })
            })
            .collect();
        let running = self.ask("execution_list", &json!({})).await;
        let running = running.map_err(|error| Refusal::internal(error.message))?;
        for execution in running["executions"].as_array().into_iter().flatten() {
            let text = |key: &str| execution[key].as_str().unwrap_or_default();
            let id = text("execution");
            listed.push(json!({
                "uri": format!("mission://executions/{id}"),
                "name": format!("Journal of {}", match text("slot_name") { "" => id, name => name }),
                "description": format!("What the {} agent in {} did.", text("engine"), text("cwd")),
                "mimeType": JSON,
            }));
        }
        Ok(listed)
    }

    pub(super) async fn read_resource(&self, uri: String) -> Result<Option<Vec<Value>>, Refusal> {
        let Some(source) = source(&uri) else {
            return Ok(None);
        };
        let read = match self.ask(source.operation, &source.params).await {
            Ok(read) => read,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(Refusal::internal(error.message)),
        };
        let (kind, text) = match source.shape {
            Shape::Whole => (JSON, read.to_string()),
            Shape::Screen => {
                let rows = read["lines"].as_array().into_iter().flatten();
                let rows: Vec<_> = rows.filter_map(Value::as_str).collect();
                (TEXT, rows.join("\n"))
            }
        };
        let content = json!({ "uri": uri, "mimeType": kind, "text": text });
        Ok(Some(vec![content]))
    }
}

pub(super) fn templates() -> Vec<Value> {
    let template = |uri: &str, name: &str, description: &str, kind: &str| json!({ "uriTemplate": uri, "name": name, "description": description, "mimeType": kind });
    vec![
        template(
            "mission://tasks/{task}",
            "Task",
            "One task by its number, like T-12: what it waits for, notes, attempts, evidence.",
            JSON,
        ),
        template(
            "mission://executions/{execution}",
            "Journal",
            "One run of an agent: state, questions, messages and what happened last.",
            JSON,
        ),
        template(
            "mission://entries/{entry}",
            "Entry",
            "One entry of the knowledge base by its key or id: its history, and what it is to others.",
            JSON,
        ),
        template(
            "mission://slots/{slot}/screen",
            "Screen",
            "What the terminal of a slot shows.",
            TEXT,
        ),
    ]
}

/// There is nothing of that name, or it can be no name.
fn is_absent(error: &ApiError) -> bool {
    matches!(error.code, ErrorCode::NotFound | ErrorCode::InvalidParams)
}

fn source(uri: &str) -> Option<Source> {
    let whole = |operation, params| {
        Some(Source {
            operation,
            params,
            shape: Shape::Whole,
        })
    };
    let path = uri.strip_prefix("mission://")?;
    // A key may have any signs; those an address cannot have are written `%20`.
    if let Some(entry) = path.strip_prefix("entries/") {
        let entry = unescaped(entry).filter(|entry| !entry.is_empty())?;
        return whole("kb_get", json!({ "entry": entry }));
    }
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["board"] => whole("board_list", json!({ "limit": 200 })),
        ["board", "ready"] => whole("board_ready", json!({})),
        ["questions"] => whole("question_list", json!({})),
        ["executions"] => whole("execution_list", json!({ "all": true })),
        ["entries"] => whole("kb_export", json!({})),
        ["status"] => whole("daemon_status", json!({})),
        ["tasks", task] => whole("board_show", json!({ "task": task })),
        ["executions", execution] => whole("execution_show", json!({ "execution": execution })),
        ["slots", slot, "screen"] => Some(Source {
            operation: "slot_read",
            params: json!({ "slot": slot }),
            shape: Shape::Screen,
        }),
        _ => None,
    }
}

/// Text in which a byte may be written as `%` and two hexadecimal digits.
fn unescaped(text: &str) -> Option<String> {
    let (first, escaped) = text
        .split_once('%')
        .map_or((text, None), |(first, rest)| (first, Some(rest)));
    let mut bytes = first.as_bytes().to_vec();
    for part in escaped.into_iter().flat_map(|rest| rest.split('%')) {
        let byte = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_operation() {
        let operation = |uri: &str| source(uri).map(|source| source.operation);
        assert_eq!(operation("mission://board"), Some("board_list"));
        assert_eq!(operation("mission://tasks/T-3"), Some("board_show"));
        assert_eq!(operation("mission://slots/one/screen"), Some("slot_read"));
        assert_eq!(operation("mission://entries"), Some("kb_export"));
        let entry = source("mission://entries/how%20we/deploy").unwrap();
        assert_eq!(entry.params, json!({ "entry": "how we/deploy" }));
        for none in [
            "mission://",
            "mission://entries/",
            "mission://entries/%",
            "mission://entries/%f",
            "mission://entries/%ff",
            "mission://tasks",
            "file:///etc/passwd",
            "mission://board/x",
        ] {
            assert_eq!(operation(none), None, "{none}");
        }
    }
}
