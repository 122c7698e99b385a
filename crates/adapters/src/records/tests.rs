//! Transcripts the real CLIs wrote (`tests/transcripts`, shortened), read whole
//! and in pieces, and what nobody would write.

use std::collections::BTreeMap;

use missiond_core::CliEngine;
use serde_json::json;

use super::record::*;
use super::*;

const CLAUDE: &str = include_str!("../../tests/transcripts/claude.jsonl");
const CODEX: &str = include_str!("../../tests/transcripts/codex.jsonl");
const GEMINI: &str = include_str!("../../tests/transcripts/gemini.jsonl");
/// Parts of messages as the database has them, a line each.
const OPENCODE: &str = include_str!("../../tests/transcripts/opencode.jsonl");

fn read(engine: &CliEngine, transcript: &str) -> Vec<Record> {
    let mut memory = RecordMemory::default();
    let lines = transcript.lines();
    lines
        .flat_map(|line| records(engine, line, &mut memory).unwrap())
        .collect()
}

/// What of it is there once, in words a line each.
fn summarize(records: &[Record]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut lines = Vec::new();
    for record in records {
        let (kind, line) = match &record.what {
            RecordBody::Message {
                role, text, model, ..
            } => {
                let model = model.as_deref().unwrap_or("-");
                ("message", format!("{role:?} ({model}): {text}"))
            }
            RecordBody::ToolStarted { tool, input } => ("call", format!("{tool} {input}")),
            RecordBody::ToolEnded { outcome, output } => {
                let last = output.lines().last().unwrap_or_default();
                ("result", format!("{outcome:?}: {last}"))
            }
            RecordBody::Used(usage) => {
                ("usage", format!("{} in, {} out", usage.input, usage.output))
            }
            RecordBody::Cost(cost) => ("cost", format!("{cost} microdollars")),
            RecordBody::TurnEnded => ("event", "turn ended".to_owned()),
            RecordBody::Interrupted => ("event", "interrupted".to_owned()),
            RecordBody::Compacted => ("event", "compacted".to_owned()),
        };
        assert!(record.at.is_some(), "{line}");
        if seen.insert((kind, record.key.clone()), ()).is_none() {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn claude_code_is_read() {
    let expected = [
        "Person (-): think aloud",
        "1234 in, 56 out",
        "turn ended",
        "Agent (claude-opus-5-5): Hello! I am a scripted model. This is the first sentence of my \
         answer. Here is a second one, and then I am done.",
        "6056 microdollars",
        "Person (-): run ls",
        "Agent (claude-opus-5-5): I will list the files.",
        "1234 in, 56 out",
        "shell {\"command\":\"ls -la\"}",
        "Failed: <tool_use_error>Error: No such tool available: shell</tool_use_error>",
        "Agent (claude-opus-5-5): The tool has finished. That is all I had to do.",
        "1234 in, 56 out",
        "turn ended",
    ];
    assert_eq!(summarize(&read(&CliEngine::Claude, CLAUDE)), expected);
}

#[test]
fn codex_is_read() {
    let expected = [
        "Person (-): think aloud",
        "Agent (gpt-5.5): Hello! I am a scripted model. This is the first sentence of my answer. \
         Here is a second one, and then I am done.",
        "1234 in, 56 out",
        "turn ended",
        "Person (-): run ls",
        "Agent (gpt-5.5): I will list the files.",
        "exec_command {\"cmd\":\"ls -la\",\"yield_time_ms\":15000}",
        "1234 in, 56 out",
        "Succeeded: -rw-r--r-- 1 root root    6 Nov 15 20:03 notes.txt",
        "Agent (gpt-5.5): The tool has finished. That is all I had to do.",
        "1234 in, 56 out",
        "turn ended",
    ];
    assert_eq!(summarize(&read(&CliEngine::Codex, CODEX)), expected);
}

#[test]
fn what_codex_wrote_before_it_had_items_is_read() {
    let line = |payload: Value| {
        let at = "2025-09-01T10:00:00.000Z";
        json!({"timestamp": at, "type": "event_msg", "payload": payload}).to_string()
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 2, "total_tokens": 12});
    let transcript = [
        line(json!({"type": "user_message", "message": "hello"})),
        line(json!({"type": "agent_reasoning", "text": "private"})),
        line(json!({"type": "agent_message", "message": "hi"})),
        line(json!({"type": "token_count", "info": {
            "total_token_usage": usage, "last_token_usage": usage,
        }})),
    ];
    assert_eq!(
        summarize(&read(&CliEngine::Codex, &transcript.join("\n"))),
        ["Person (-): hello", "Agent (-): hi", "10 in, 2 out"]
    );
}

#[test]
fn gemini_cli_is_read_and_what_it_writes_again_is_not() {
    let expected = [
        "Person (-): think aloud",
        "Agent (gemini-2.5-flash): Hello! I am a scripted model. This is the first sentence of my \
         answer. Here is a second one, and then I am done.",
        "1234 in, 56 out",
        "Person (-): run ls",
        "Agent (gemini-2.5-flash): I will list the files.",
        "1234 in, 56 out",
        "run_shell_command {\"command\":\"ls -la\",\"description\":\"scripted command\"}",
        "Succeeded: -rw-r--r-- 1 root root    6 Nov 15 20:03 notes.txt",
        "Agent (gemini-2.5-flash): The tool has finished. That is all I had to do.",
        "1234 in, 56 out",
    ];
    assert_eq!(summarize(&read(&CliEngine::Gemini, GEMINI)), expected);
}

#[test]
fn opencode_is_read() {
    let expected = [
        "Person (-): think aloud",
        "Agent (m): Hello! I am a scripted model. This is the first sentence of my answer. Here \
         is a second one, and then I am done.",
        "1234 in, 56 out",
        "turn ended",
        "Person (-): run ls",
        "Agent (m): I will list the files.",
        "bash {\"command\":\"ls -la\",\"description\":\"scripted command\"}",
        "Succeeded: -rw-r--r-- 1 root root    6 Nov 15 20:03 notes.txt",
        "1234 in, 56 out",
        "Agent (m): The tool has finished. That is all I had to do.",
        "1234 in, 56 out",
        "turn ended",
    ];
    assert_eq!(summarize(&read(&CliEngine::OpenCode, OPENCODE)), expected);
}

#[test]
fn private_reasoning_is_never_taken_over() {
    let engines = [
        (CliEngine::Claude, CLAUDE),
        (CliEngine::Codex, CODEX),
        (CliEngine::Gemini, GEMINI),
        (CliEngine::OpenCode, OPENCODE),
    ];
    for (engine, transcript) in engines {
        assert!(transcript.contains("weigh the options") || engine == CliEngine::OpenCode);
        for record in read(&engine, transcript) {
            let all = format!("{record:?}");
            assert!(!all.contains("weigh the options"), "{engine}: {all}");
        }
    }
}

#[test]
fn what_the_transcript_of_claude_code_says_about_its_messages_is_kept() {
    let line = |entry: Value| {
        let mut entry = entry;
        entry["uuid"] = json!("u");
        let mut memory = RecordMemory::default();
        let found = records(&CliEngine::Claude, &entry.to_string(), &mut memory).unwrap();
        found
            .into_iter()
            .map(|record| record.what)
            .collect::<Vec<_>>()
    };
    let written = |entry: Value| match &line(entry)[..] {
        [RecordBody::Message { written, .. }] => *written,
        other => panic!("{other:?}"),
    };
    let user = |more: Value| {
        let mut entry = json!({"type": "user", "message": {"content": "hello"}});
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        entry
    };
    assert_eq!(written(user(json!({}))), MessageOrigin::Said);
    assert_eq!(
        written(user(json!({"isMeta": true}))),
        MessageOrigin::ByProgram
    );
    assert_eq!(
        written(user(json!({"isCompactSummary": true}))),
        MessageOrigin::Summary
    );
    assert_eq!(line(user(json!({"isSidechain": true}))), []);
    let failed = json!({"type": "assistant", "isApiErrorMessage": true, "message": {
        "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}],
    }});
    assert_eq!(written(failed), MessageOrigin::Failure);
    let queued = json!({"type": "attachment", "attachment": {
        "type": "queued_command", "prompt": "one more thing",
    }});
    assert_eq!(written(queued), MessageOrigin::Said);
    let compacted = json!({"type": "system", "subtype": "compact_boundary"});
    assert_eq!(line(compacted), [RecordBody::Compacted]);
}

#[test]
fn lines_that_are_none_are_refused_and_the_next_is_read() {
    let mut memory = RecordMemory::default();
    for engine in [
        CliEngine::Claude,
        CliEngine::Codex,
        CliEngine::Gemini,
        CliEngine::OpenCode,
    ] {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for line in ["{\"type\":", "42", "\"text\"", "{\"a\":\"\\ud800\"}", &deep] {
            assert!(
                records(&engine, line, &mut memory).is_err(),
                "{engine} {line:.20}"
            );
        }
        let odd = json!({
            "type": ["user"], "message": 7, "payload": {"type": {}}, "part": [], "content": {},
        });
        assert_eq!(
            records(&engine, &odd.to_string(), &mut memory),
            Ok(Vec::new())
        );
        assert_eq!(records(&engine, "  ", &mut memory), Ok(Vec::new()));
    }
}
