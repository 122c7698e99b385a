//! GitHub Copilot CLI. It takes MCP servers and permissions as options, also where it
//! speaks the protocol: of the servers of a session it starts none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_control::UsageScope;
use missiond_core::{CliEngine, Controller, ToolOutcome};
use serde_json::{Value, json};

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::launch::{Conversation, Launch, McpServer, PermissionMode};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport,
    StartupDialog, StartupQuestion, text,
};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::transcript::{
    TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number, text_of,
};

/// Its name of the mode in which it changes nothing.
const PLAN_MODE: &str = "https://agentclientprotocol.com/protocol/session-modes#plan";
const AGENT_MODE: &str = "https://agentclientprotocol.com/protocol/session-modes#agent";

#[derive(Debug)]
pub(crate) struct Copilot;

impl Adapter for Copilot {
    fn engine(&self) -> CliEngine {
        CliEngine::Copilot
    }

    fn program(&self) -> &str {
        "copilot"
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::All(&[
                "AGENTS.md",
                "CLAUDE.md",
                "GEMINI.md",
                ".github/copilot-instructions.md",
            ]),
            imports: false,
            skills: &[".github/skills", ".claude/skills", ".agents/skills"],
            home_skills: &[".copilot/skills", ".claude/skills", ".agents/skills"],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?, "--no-auto-update".to_owned()];
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        match launch.permission {
            PermissionMode::Ask | PermissionMode::Plan => {}
            PermissionMode::AcceptEdits => argv.push("--allow-tool=write".to_owned()),
            PermissionMode::Bypass => argv.push("--allow-all".to_owned()),
        }
        let mut files = Vec::new();
        if let Some(server) = &launch.mcp {
            let path = launch.folder.join("mcp.json");
            argv.push(format!("--additional-mcp-config=@{}", text(&path)?));
            let allowed = |tool| format!("--allow-tool={}({tool})", server.name);
            argv.extend(server.tools.iter().map(allowed));
            files.push(PlannedFile {
                path,
                contents: mcp_config(server)?,
            });
        }
        let (control, conversation) = match launch.controller {
            Controller::Terminal => (None, terminal_words(launch, &mut argv)),
            Controller::Structured => {
                argv.push("--acp".to_owned());
                let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Load)?;
                setup.session.mcp_servers.clear();
                setup.habits.usage = UsageScope::Session;
                let is_plan = launch.permission == PermissionMode::Plan;
                setup.mode = Some(if is_plan { PLAN_MODE } else { AGENT_MODE }.to_owned());
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
            instructions: Instructions::before_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "copilot",
            by: "copilot --acp",
            install: None,
            resume: ResumeBy::Load,
            standing: Standing::Proven,
        })
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/quit")
    }

    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[StartupDialog {
            question: StartupQuestion::TrustFolder,
            asks: &["trust the files in this folder"],
            yes: &["Yes"],
        }]
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let id = search.conversation?;
        let home: PathBuf = match search.variable("COPILOT_HOME") {
            Some(folder) => folder.into(),
            None => Path::new(&search.variable("HOME")?).join(".copilot"),
        };
        let file = home.join("session-state").join(id).join("events.jsonl");
        Some(FoundTranscript::file(id.to_owned(), &file))
    }

    fn transcript_facts(&self, line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        let data = &entry["data"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match entry["type"].as_str() {
            Some("user.message") => {
                let text = text_of(&data["content"]);
                text.map(|text| TranscriptFact::Prompted { text })
                    .into_iter()
                    .collect()
            }
            Some("assistant.message") => of_answer(data),
            Some("tool.execution_start") => vec![TranscriptFact::ToolStarted {
                call: word(&data["toolCallId"]),
                tool: word(&data["toolName"]),
                arguments: fingerprint(&data["arguments"]),
                subject: ToolSubject::of(&data["arguments"]),
            }],
            Some("tool.execution_complete") => vec![TranscriptFact::ToolEnded {
                call: word(&data["toolCallId"]),
                outcome: outcome_of(data),
            }],
            Some("abort") => vec![TranscriptFact::Interrupted],
            Some("session.usage_record") => {
                let usage = &data["usage"];
                vec![TranscriptFact::Used {
                    request: word(&usage["apiCallId"]),
                    usage: usage_of(usage),
                }]
            }
            _ => Vec::new(),
        }
    }
}

/// Each request to the model is a turn of its own here; the one that wants no tool is
/// the last.
fn of_answer(data: &Value) -> Vec<TranscriptFact> {
    let said = text_of(&data["content"]).map(|text| TranscriptFact::Said { text });
    let wants_tools = data["toolRequests"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let end = (!wants_tools).then_some(TranscriptFact::TurnEnded);
    said.into_iter().chain(end).collect()
}

pub(crate) fn usage_of(usage: &Value) -> TokenUsage {
    let cached = number(&usage["cacheReadTokens"]);
    TokenUsage {
        model: usage["model"].as_str().map(str::to_owned),
        input: number(&usage["inputTokens"]).saturating_sub(cached),
        output: number(&usage["outputTokens"]),
        cache_read: cached,
        cache_write: number(&usage["cacheWriteTokens"]),
        cache_write_1h: 0,
    }
}

pub(crate) fn outcome_of(data: &Value) -> ToolOutcome {
    if data["success"] == true {
        return ToolOutcome::Succeeded;
    }
    match data["error"]["code"].as_str() {
        Some("denied" | "rejected") => ToolOutcome::Denied,
        _ => ToolOutcome::Failed,
    }
}

fn terminal_words(launch: &Launch, argv: &mut Vec<String>) -> ConversationId {
    if launch.permission == PermissionMode::Plan {
        argv.push("--plan".to_owned());
    }
    let (Conversation::New { id } | Conversation::Resume { id }) = &launch.conversation;
    // It takes up the one of this id, or begins one with it.
    argv.extend(["--session-id".to_owned(), id.clone()]);
    ConversationId::Given(id.clone())
}

fn mcp_config(server: &McpServer) -> Result<String, PlanError> {
    let entry = json!({
        "type": "local", "command": text(&server.command)?, "args": server.args, "tools": ["*"],
    });
    Ok(json!({ "mcpServers": { server.name.as_str(): entry } }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_full_launch_is_equipped_by_a_file_and_options() {
        let plan = Copilot.plan(&fixture::launch("copilot")).unwrap();
        let words = [
            "copilot",
            "--no-auto-update",
            "--model",
            "best",
            "--additional-mcp-config=@/run/launch/mcp.json",
            "--allow-tool=mission-execution(progress)",
            "--allow-tool=mission-execution(blocked)",
        ];
        assert_eq!(plan.argv[..words.len()], words);
        let id = fixture::CONVERSATION;
        assert_eq!(plan.argv[words.len()..], ["--session-id", id]);
        let config: Value = serde_json::from_str(&plan.files[0].contents).unwrap();
        assert_eq!(
            config["mcpServers"]["mission-execution"]["tools"],
            json!(["*"])
        );

        let launch = Launch {
            controller: Controller::Structured,
            permission: PermissionMode::Plan,
            ..fixture::launch("copilot")
        };
        let plan = Copilot.plan(&launch).unwrap();
        assert_eq!(plan.argv[..words.len()], words);
        assert_eq!(plan.argv[words.len()..], ["--acp"]);
        let control = plan.control.unwrap();
        assert!(control.session.mcp_servers.is_empty());
        assert_eq!(control.mode.as_deref(), Some(PLAN_MODE));
        assert_eq!(plan.conversation, ConversationId::ToldLater);
    }

    #[test]
    fn lines_of_a_transcript_become_facts() {
        let facts = |line: &str| Copilot.transcript_facts(line, &mut TranscriptMemory::default());
        assert_eq!(
            facts(
                r#"{"type":"user.message","data":{"content":"hello","transformedContent":"x hello"}}"#
            ),
            [TranscriptFact::Prompted {
                text: "hello".to_owned()
            }]
        );
        let calling = r#"{"type":"assistant.message","data":{"content":"I look.","toolRequests":[{"name":"bash"}]}}"#;
        let said = TranscriptFact::Said {
            text: "I look.".to_owned(),
        };
        assert_eq!(facts(calling), [said]);
        let last = r#"{"type":"assistant.message","data":{"content":"Done.","toolRequests":[]}}"#;
        assert_eq!(facts(last).last(), Some(&TranscriptFact::TurnEnded));
        assert_eq!(
            facts(
                r#"{"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"error":{"code":"failure"}}}"#
            ),
            [TranscriptFact::ToolEnded {
                call: "c".to_owned(),
                outcome: ToolOutcome::Failed
            }]
        );
    }
}
