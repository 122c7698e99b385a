//! The tool calls of an execution, told to the editor once each.
//!
//! A journal has a call as often as somebody saw it (the hook of the agent's program,
//! then its transcript), by the name of the tool alone. Every source sees all calls of a
//! name in the same order, so the first that a source has not told yet is the one it
//! means. What a tool was told and what it answered is in the conversation, which comes a
//! moment later; its items find their calls by the same rule.

use std::collections::BTreeSet;

use missiond_core::{ConversationItem, Timestamp, ToolOutcome, excerpt, one_line};
use missiond_journal::Source;
use serde_json::Value;

use crate::protocol::{Location, PlanEntry, ToolCall, ToolContent, ToolKind, ToolStatus, Update};

/// Calls that are remembered; the oldest are forgotten.
const REMEMBERED: usize = 1000;
const LONGEST_TITLE: usize = 120;

#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    began: BTreeSet<Source>,
    ended: BTreeSet<Source>,
    status: ToolStatus,
    /// A later turn has begun: what is told now is about another call.
    past: bool,
    /// Where the conversation has it.
    place: Option<i64>,
    told_output: bool,
}

impl ToolCalls {
    /// What was seen until now belongs to turns that are over.
    pub(crate) fn begin_turn(&mut self) {
        for call in &mut self.calls {
            call.past = true;
        }
    }

    /// `sequence` is the place of the record, which names the call for ever.
    pub(crate) fn began(&mut self, sequence: u64, source: Source, tool: &str) -> Option<Update> {
        let known = self
            .of_tool(tool)
            .find(|call| !call.began.contains(&source));
        if let Some(call) = known {
            call.began.insert(source);
            return None;
        }
        let call = self.add(sequence, tool, ToolStatus::InProgress);
        call.began.insert(source);
        Some(announced(call))
    }

    pub(crate) fn ended(
        &mut self,
        sequence: u64,
        source: Source,
        tool: &str,
        outcome: Option<ToolOutcome>,
    ) -> Option<Update> {
        let status = match outcome {
            None | Some(ToolOutcome::Succeeded) => ToolStatus::Completed,
            Some(ToolOutcome::Failed | ToolOutcome::Denied) => ToolStatus::Failed,
        };
        let meant = self
            .of_tool(tool)
            .find(|call| call.began.contains(&source) && !call.ended.contains(&source));
        let Some(call) = meant else {
            let call = self.add(sequence, tool, status);
            call.began.insert(source);
            call.ended.insert(source);
            return Some(announced(call));
        };
        let first = call.ended.is_empty();
        call.ended.insert(source);
        // A hook does not say how it ended: whoever does is believed.
        if call.status == status || (!first && outcome.is_none()) {
            return None;
        }
        call.status = status;
        Some(Update::ToolCallUpdate(ToolCall {
            tool_call_id: call.id.clone(),
            status: Some(status),
            ..ToolCall::default()
        }))
    }

    /// The call of this tool that is under way, for who asks about it.
    pub(crate) fn open(&self, tool: &str) -> Option<&str> {
        let mut calls = self.calls.iter().rev();
        let open = calls
            .find(|call| !call.past && call.tool == tool && call.status == ToolStatus::InProgress);
        open.map(|call| call.id.as_str())
    }

    /// Whether the conversation may have more to say of some call.
    pub(crate) fn lack_details(&self) -> bool {
        let mut calls = self.calls.iter().rev().take_while(|call| !call.past);
        calls.any(|call| call.place.is_none() || !call.told_output)
    }

    /// What the conversation says of the calls since the run began: title, input, output,
    /// plans.
    pub(crate) fn details(&mut self, items: &[ConversationItem], since: Timestamp) -> Vec<Update> {
        let mut updates = Vec::new();
        for item in items {
            let ConversationItem::ToolCall {
                place,
                at,
                tool,
                input,
                outcome,
                output,
                ..
            } = item
            else {
                continue;
            };
            if *at < since {
                continue;
            }
            let known = self.calls.iter().position(|one| one.place == Some(*place));
            let found = known.or_else(|| {
                let mut calls = self.calls.iter();
                calls.position(|one| one.place.is_none() && one.tool == *tool)
            });
            let Some(call) = found.and_then(|index| self.calls.get_mut(index)) else {
                continue;
            };
            let mut update = ToolCall {
                tool_call_id: call.id.clone(),
                ..ToolCall::default()
            };
            if call.place.is_none() {
                call.place = Some(*place);
                describe(tool, input, &mut update);
                if let Some(entries) = plan(tool, input) {
                    updates.push(Update::Plan { entries });
                }
            }
            if outcome.is_some() && !call.told_output {
                call.told_output = true;
                if !output.trim().is_empty() {
                    update.content.push(ToolContent::text(output.clone()));
                }
            }
            if update
                != (ToolCall {
                    tool_call_id: call.id.clone(),
                    ..ToolCall::default()
                })
            {
                updates.push(Update::ToolCallUpdate(update));
            }
        }
        updates
    }

    fn of_tool(&mut self, tool: &str) -> impl Iterator<Item = &mut Call> {
        let calls = self.calls.iter_mut();
        calls.filter(move |call| !call.past && call.tool == tool)
    }

    fn add(&mut self, sequence: u64, tool: &str, status: ToolStatus) -> &mut Call {
        if self.calls.len() >= REMEMBERED {
            self.calls.remove(0);
        }
        self.calls.push(Call {
            id: format!("call-{sequence}"),
            tool: tool.to_owned(),
            began: BTreeSet::new(),
            ended: BTreeSet::new(),
            status,
            past: false,
            place: None,
            told_output: false,
        });
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }
}

fn announced(call: &Call) -> Update {
    Update::ToolCall(ToolCall {
        tool_call_id: call.id.clone(),
        title: Some(call.tool.clone()),
        name: Some(call.tool.clone()),
        kind: Some(kind_of(&call.tool)),
        status: Some(call.status),
        ..ToolCall::default()
    })
}

/// What a tool is for, by its name: the CLIs say no more.
pub(crate) fn kind_of(tool: &str) -> ToolKind {
    let tool = tool.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    if has(&["todo", "plan", "think"]) {
        ToolKind::Think
    } else if has(&["bash", "shell", "exec", "run", "terminal", "command"]) {
        ToolKind::Execute
    } else if has(&["edit", "write", "patch", "replace", "append", "create"]) {
        ToolKind::Edit
    } else if has(&["fetch", "web", "http", "url"]) {
        ToolKind::Fetch
    } else if has(&["grep", "glob", "search", "find", "list"]) || tool == "ls" {
        ToolKind::Search
    } else if has(&["read", "view", "cat", "open"]) {
        ToolKind::Read
    } else {
        ToolKind::Other
    }
}

/// Members of an input that say what a call is about, the most playback first.
const TELLING: [&str; 11] = [
    "command",
    "cmd",
    "argv",
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "file",
    "pattern",
    "query",
    "url",
];

fn describe(tool: &str, input: &str, update: &mut ToolCall) {
    let input: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let playback = TELLING.iter().find_map(|name| input.get(name));
    let said = match playback.unwrap_or(&input) {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            words.join(" ")
        }
        _ => String::new(),
    };
    if !said.trim().is_empty() {
        let title = format!("{tool}: {}", one_line(&said));
        update.title = Some(excerpt(&title, LONGEST_TITLE));
    }
    let path = ["file_path", "filePath", "absolute_path", "path"]
        .iter()
        .find_map(|name| input.get(name)?.as_str());
    // A location is absolute; a relative path is left to the title.
    if let Some(path) = path.filter(|path| path.starts_with('/')) {
        let path = path.to_owned();
        update.locations.push(Location { path });
    }
    if !input.is_null() && input != "" {
        update.raw_input = Some(input);
    }
}

/// The plan an agent writes down with a tool of its CLI: `TodoWrite` of Claude Code,
/// `update_plan` of Codex.
fn plan(tool: &str, input: &str) -> Option<Vec<PlanEntry>> {
    let (list, words) = match tool {
        "TodoWrite" => ("todos", "content"),
        "update_plan" => ("plan", "step"),
        _ => return None,
    };
    let input: Value = serde_json::from_str(input).ok()?;
    let entries = input.get(list)?.as_array()?.iter().map(|entry| {
        Some(PlanEntry {
            content: entry.get(words)?.as_str()?.to_owned(),
            priority: "medium",
            status: match entry.get("status")?.as_str()? {
                "completed" => "completed",
                "in_progress" => "in_progress",
                _ => "pending",
            },
        })
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const EARLY: Timestamp = Timestamp::from_micros(1_000);

    fn item(place: i64, tool: &str, input: &str, output: Option<&str>) -> ConversationItem {
        ConversationItem::ToolCall {
            place,
            turn: 1,
            at: EARLY,
            tool: tool.to_owned(),
            input: input.to_owned(),
            outcome: output.map(|_| ToolOutcome::Succeeded),
            output: output.unwrap_or_default().to_owned(),
            cut: false,
            noise: None,
            ended_at: None,
        }
    }

    fn id(update: Option<Update>) -> String {
        match update {
            Some(Update::ToolCall(call) | Update::ToolCallUpdate(call)) => call.tool_call_id,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_call_seen_by_hook_and_transcript_is_told_once() {
        let mut calls = ToolCalls::default();
        assert_eq!(id(calls.began(3, Source::Hook, "Bash")), "call-3");
        assert_eq!(id(calls.ended(4, Source::Hook, "Bash", None)), "call-3");
        assert_eq!(id(calls.began(5, Source::Hook, "Bash")), "call-5");
        assert_eq!(calls.began(6, Source::Transcript, "Bash"), None);
        let failed = Some(ToolOutcome::Failed);
        let update = calls.ended(7, Source::Transcript, "Bash", failed);
        let Some(Update::ToolCallUpdate(update)) = update else {
            panic!("{update:?}");
        };
        assert_eq!(
            (update.tool_call_id.as_str(), update.status),
            ("call-3", Some(ToolStatus::Failed)),
            "the transcript says how the first ended"
        );
        assert_eq!(calls.open("Bash"), Some("call-5"));
        assert_eq!(calls.began(8, Source::Transcript, "Bash"), None);
        assert_eq!(id(calls.ended(9, Source::Hook, "Bash", None)), "call-5");
        let succeeded = Some(ToolOutcome::Succeeded);
        assert_eq!(calls.ended(10, Source::Transcript, "Bash", succeeded), None);
    }

    #[test]
    fn a_call_of_an_earlier_turn_is_not_taken_for_a_new_one() {
        let mut calls = ToolCalls::default();
        calls.began(1, Source::Hook, "Read");
        calls.begin_turn();
        assert_eq!(id(calls.began(9, Source::Transcript, "Read")), "call-9");
        assert_eq!(calls.open("Read"), Some("call-9"));
    }

    #[test]
    fn an_end_without_a_beginning_is_a_whole_call() {
        let mut calls = ToolCalls::default();
        let update = calls.ended(2, Source::Transcript, "Edit", Some(ToolOutcome::Denied));
        let Some(Update::ToolCall(call)) = update else {
            panic!("{update:?}");
        };
        assert_eq!(
            (call.status, call.kind),
            (Some(ToolStatus::Failed), Some(ToolKind::Edit))
        );
    }

    #[test]
    fn the_conversation_adds_input_and_output_once_each() {
        let mut calls = ToolCalls::default();
        calls.began(1, Source::Transcript, "Bash");
        calls.began(2, Source::Transcript, "Read");
        assert!(calls.lack_details());
        let before = [item(0, "Bash", "earlier run", Some("x"))];
        let later = Timestamp::from_micros(2_000);
        assert_eq!(calls.details(&before, later), []);
        let items = [
            item(4, "Bash", r#"{"command":"ls -a"}"#, None),
            item(6, "Read", r#"{"file_path":"/work/a.rs"}"#, Some("text")),
        ];
        let told = serde_json::to_value(calls.details(&items, EARLY)).unwrap();
        assert_eq!(
            told,
            json!([
                { "sessionUpdate": "tool_call_update", "toolCallId": "call-1",
                  "title": "Bash: ls -a", "rawInput": { "command": "ls -a" } },
                { "sessionUpdate": "tool_call_update", "toolCallId": "call-2",
                  "title": "Read: /work/a.rs", "rawInput": { "file_path": "/work/a.rs" },
                  "locations": [{ "path": "/work/a.rs" }],
                  "content": [{ "type": "content", "content": { "type": "text", "text": "text" } }] },
            ])
        );
        let items = [item(4, "Bash", r#"{"command":"ls -a"}"#, Some(".git"))];
        let told = serde_json::to_value(calls.details(&items, EARLY)).unwrap();
        assert_eq!(told[0]["content"][0]["content"]["text"], ".git");
        assert_eq!(told[0].get("title"), None);
        assert_eq!(calls.details(&items, EARLY), []);
        assert!(!calls.lack_details());
    }

    #[test]
    fn plans_of_two_clis_are_plans() {
        let todo = r#"{"todos":[{"content":"Look","status":"completed"},{"content":"Mend","status":"in_progress"}]}"#;
        let steps = r#"{"plan":[{"step":"Look","status":"completed"},{"step":"Mend","status":"in_progress"}]}"#;
        let entries = plan("TodoWrite", todo).unwrap();
        assert_eq!(entries[1].status, "in_progress");
        assert_eq!(plan("update_plan", steps), Some(entries));
        assert_eq!(plan("TodoWrite", "{"), None);
        assert_eq!(plan("Bash", todo), None);
    }

    #[test]
    fn of_more_calls_than_are_remembered_the_oldest_go() {
        let mut calls = ToolCalls::default();
        for sequence in 0..2 * REMEMBERED as u64 {
            calls.ended(sequence, Source::Transcript, "Bash", None);
        }
        assert_eq!(calls.calls.len(), REMEMBERED);
    }
}
