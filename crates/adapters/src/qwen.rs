//! Qwen Code: a descendant of Gemini CLI with options of its own.

use std::collections::BTreeMap;
use std::path::Path;

use missiond_control::FileMentions;
use missiond_core::{CliEngine, Controller, ToolOutcome};
use serde_json::{Value, json};

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::claude::project_name;
use crate::launch::{Conversation, Launch, McpServer, PermissionMode};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport,
    StartupDialog, StartupQuestion, text,
};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::transcript::{TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number};

#[derive(Debug)]
pub(crate) struct QwenCode;

impl Adapter for QwenCode {
    fn engine(&self) -> CliEngine {
        CliEngine::Qwen
    }

    fn program(&self) -> &str {
        "qwen"
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::All(&["QWEN.md", "AGENTS.md"]),
            imports: true,
            skills: &[".qwen/skills"],
            home_skills: &[".qwen/skills"],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?];
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        let mode = match launch.permission {
            PermissionMode::Ask => "default",
            PermissionMode::AcceptEdits => "auto-edit",
            PermissionMode::Plan => "plan",
            PermissionMode::Bypass => "yolo",
        };
        argv.extend(["--approval-mode".to_owned(), mode.to_owned()]);
        if let Some(instructions) = &launch.instructions {
            argv.extend(["--append-system-prompt".to_owned(), instructions.clone()]);
        }
        // The form with `=` ends an option that takes any number of values.
        let tools = launch.mcp.iter().flat_map(|server| {
            let name = |tool| format!("--allowed-tools=mcp__{}__{tool}", server.name);
            server.tools.iter().map(name)
        });
        argv.extend(tools);
        let mut files = Vec::new();
        let (control, conversation) = match launch.controller {
            Controller::Terminal => {
                if let Some(server) = &launch.mcp {
                    let path = launch.folder.join("mcp.json");
                    argv.extend(["--mcp-config".to_owned(), text(&path)?]);
                    files.push(PlannedFile {
                        path,
                        contents: mcp_config(server)?,
                    });
                }
                let (flag, id) = match &launch.conversation {
                    Conversation::New { id } => ("--session-id", taken_id(id)),
                    Conversation::Resume { id } => ("--resume", id.clone()),
                };
                argv.extend([flag.to_owned(), id.clone()]);
                (None, ConversationId::Given(id))
            }
            Controller::Structured => {
                argv.push("--acp".to_owned());
                let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Resume)?;
                setup.habits.files = FileMentions::Words;
                (Some(setup), ConversationId::told_by_protocol(launch))
            }
        };
        argv.extend(launch.extra.iter().cloned());
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files,
            links: Vec::new(),
            conversation,
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "qwen",
            by: "qwen --acp",
            install: None,
            resume: ResumeBy::Resume,
            standing: Standing::Proven,
        })
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/quit")
    }

    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[StartupDialog {
            question: StartupQuestion::TrustFolder,
            asks: &["trust this folder", "trust the files in this folder"],
            yes: &["Yes, trust folder", "Trust folder"],
        }]
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let id = search.conversation?;
        let home = Path::new(&search.variable("HOME")?).join(".qwen");
        let folder = home.join("projects").join(project_name(search.cwd)?);
        let file = folder.join("chats").join(format!("{id}.jsonl"));
        Some(FoundTranscript::file(id.to_owned(), &file))
    }

    fn transcript_facts(&self, line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        match entry["type"].as_str() {
            Some("user") => {
                let text = words(&entry["message"]["parts"]);
                let prompted = text.map(|text| TranscriptFact::Prompted { text });
                prompted.into_iter().collect()
            }
            Some("assistant") => of_answer(&entry),
            Some("tool_result") => {
                let result = &entry["toolCallResult"];
                vec![TranscriptFact::ToolEnded {
                    call: result["callId"].as_str().unwrap_or_default().to_owned(),
                    outcome: outcome_of(result),
                }]
            }
            _ => Vec::new(),
        }
    }
}

fn of_answer(entry: &Value) -> Vec<TranscriptFact> {
    let parts = &entry["message"]["parts"];
    let mut facts: Vec<_> = words(parts)
        .map(|text| TranscriptFact::Said { text })
        .into_iter()
        .collect();
    let calls = parts.as_array().into_iter().flatten();
    let calls: Vec<_> = calls
        .filter_map(|part| part.get("functionCall"))
        .map(|call| TranscriptFact::ToolStarted {
            call: call["id"].as_str().unwrap_or_default().to_owned(),
            tool: call["name"].as_str().unwrap_or_default().to_owned(),
            arguments: fingerprint(&call["args"]),
            subject: ToolSubject::of(&call["args"]),
        })
        .collect();
    let is_last = calls.is_empty();
    facts.extend(calls);
    if entry["usageMetadata"].is_object() {
        facts.push(TranscriptFact::Used {
            request: entry["uuid"].as_str().unwrap_or_default().to_owned(),
            usage: usage_of(entry),
        });
    }
    // An answer that wants no tool ends the turn.
    facts.extend(is_last.then_some(TranscriptFact::TurnEnded));
    facts
}

pub(crate) fn outcome_of(result: &Value) -> ToolOutcome {
    match result["status"].as_str() {
        Some("success") => ToolOutcome::Succeeded,
        Some("cancelled") => ToolOutcome::Denied,
        _ => ToolOutcome::Failed,
    }
}

pub(crate) fn usage_of(entry: &Value) -> TokenUsage {
    let usage = &entry["usageMetadata"];
    let cached = number(&usage["cachedContentTokenCount"]);
    TokenUsage {
        model: entry["model"].as_str().map(str::to_owned),
        input: number(&usage["promptTokenCount"]).saturating_sub(cached),
        output: number(&usage["candidatesTokenCount"]) + number(&usage["thoughtsTokenCount"]),
        cache_read: cached,
        cache_write: 0,
        cache_write_1h: 0,
    }
}

/// What is said in parts, private thoughts left out.
fn words(parts: &Value) -> Option<String> {
    let parts = parts.as_array()?.iter();
    let said: Vec<_> = parts
        .filter(|part| part["thought"] != true)
        .filter_map(|part| part["text"].as_str())
        .collect();
    let text = said.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// It takes an id of the versions 1 to 5 and refuses all newer ones, as ours are.
fn taken_id(id: &str) -> String {
    const VERSION: usize = 14;
    let mut id = id.to_owned();
    if id.get(VERSION..=VERSION) == Some("7") {
        id.replace_range(VERSION..=VERSION, "4");
    }
    id
}

fn mcp_config(server: &McpServer) -> Result<String, PlanError> {
    let entry = json!({ "command": text(&server.command)?, "args": server.args });
    Ok(json!({ "mcpServers": { server.name.as_str(): entry } }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_launch_is_the_same_by_both_controllers_but_for_session_and_server() {
        let same = [
            "qwen",
            "--model",
            "best",
            "--approval-mode",
            "default",
            "--append-system-prompt",
            "Report progress.",
            "--allowed-tools=mcp__mission-execution__progress",
            "--allowed-tools=mcp__mission-execution__blocked",
        ];
        let plan = QwenCode.plan(&fixture::launch("qwen")).unwrap();
        assert_eq!(plan.argv[..same.len()], same);
        let id = taken_id(fixture::CONVERSATION);
        assert_eq!(id, "0192f0aa-1111-4000-8000-000000000001");
        let rest = ["--mcp-config", "/run/launch/mcp.json", "--session-id", &id];
        assert_eq!(plan.argv[same.len()..], rest);

        let launch = Launch {
            controller: Controller::Structured,
            ..fixture::launch("qwen")
        };
        let plan = QwenCode.plan(&launch).unwrap();
        assert_eq!(plan.argv[..same.len()], same);
        assert_eq!(plan.argv[same.len()..], ["--acp"]);
        assert_eq!(plan.control.unwrap().session.mcp_servers.len(), 1);
    }

    #[test]
    fn lines_of_a_transcript_become_facts() {
        let facts = |line: &str| QwenCode.transcript_facts(line, &mut TranscriptMemory::default());
        let calling = r#"{"type":"assistant","uuid":"u","model":"m","message":{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c","name":"run_shell_command","args":{}}}]},"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"cachedContentTokenCount":60}}"#;
        let used = TranscriptFact::Used {
            request: "u".to_owned(),
            usage: TokenUsage {
                model: Some("m".to_owned()),
                input: 40,
                output: 20,
                cache_read: 60,
                ..TokenUsage::default()
            },
        };
        let started = TranscriptFact::ToolStarted {
            call: "c".to_owned(),
            tool: "run_shell_command".to_owned(),
            arguments: fingerprint(&json!({})),
            subject: None,
        };
        assert_eq!(facts(calling), [started, used]);
        let done = r#"{"type":"assistant","message":{"parts":[{"text":"Done."}]}}"#;
        assert_eq!(facts(done).last(), Some(&TranscriptFact::TurnEnded));
    }
}
