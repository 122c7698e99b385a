//! OpenCode. Its configuration takes another file beside the person's own; its
//! conversations are in a database of its own.

use std::path::{Path, PathBuf};

use missiond_core::{CliEngine, Controller, ToolOutcome};
use serde_json::{Value, json};

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::launch::{Conversation, Launch, PermissionMode};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::opencode_rows::{RowTail, directory, newest_session, sessions};
use crate::personal_transcripts::{MAX_TRANSCRIPTS, PersonalTranscript, Stamp, TranscriptOrigin};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport, text,
};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::tail::TranscriptTail;
use crate::transcript::{
    TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number, text_of,
};

#[derive(Debug)]
pub(crate) struct OpenCode;

fn database(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let data: PathBuf = match variable("XDG_DATA_HOME") {
        Some(folder) => folder.into(),
        None => Path::new(&variable("HOME")?).join(".local/share"),
    };
    Some(data.join("opencode/opencode.db"))
}

impl Adapter for OpenCode {
    fn engine(&self) -> CliEngine {
        CliEngine::OpenCode
    }

    fn program(&self) -> &str {
        "opencode"
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/exit")
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::FirstOf(&["AGENTS.md", "CLAUDE.md"]),
            imports: false,
            skills: &[".opencode/skills", ".claude/skills", ".agents/skills"],
            home_skills: &[
                ".config/opencode/skills",
                ".claude/skills",
                ".agents/skills",
            ],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?];
        let mut files = Vec::new();
        let mut config = json!({ "permission": permissions(launch.permission) });
        let control = match launch.controller {
            Controller::Terminal => {
                argv.extend(terminal_words(launch));
                None
            }
            Controller::Structured => {
                argv.push("acp".to_owned());
                if let Some(model) = &launch.model {
                    config["model"] = json!(model);
                }
                let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Resume)?;
                let is_plan = launch.permission == PermissionMode::Plan;
                setup.mode = Some(if is_plan { "plan" } else { "build" }.to_owned());
                Some(setup)
            }
        };
        argv.extend(launch.extra.iter().cloned());
        if let Some(server) = &launch.mcp {
            // Over the protocol the session names it.
            if control.is_none() {
                let mut command = vec![text(&server.command)?];
                command.extend(server.args.iter().cloned());
                config["mcp"][&server.name] =
                    json!({ "type": "local", "command": command, "enabled": true });
            }
            config["permission"][format!("{}_*", server.name)] = json!("allow");
        }
        if let Some(instructions) = &launch.instructions {
            let path = launch.folder.join("instructions.md");
            config["instructions"] = json!([text(&path)?]);
            files.push(PlannedFile {
                path,
                contents: instructions.clone(),
            });
        }
        let path = launch.folder.join("opencode.json");
        let environment = [("OPENCODE_CONFIG".to_owned(), text(&path)?)];
        files.push(PlannedFile {
            path,
            contents: config.to_string(),
        });
        Ok(LaunchPlan {
            argv,
            environment: environment.into(),
            files,
            links: Vec::new(),
            conversation: ConversationId::told_by_protocol(launch),
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "opencode",
            by: "opencode acp",
            install: None,
            resume: ResumeBy::Resume,
            standing: Standing::Proven,
        })
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let database = database(&|name| search.variable(name))?;
        let conversation = match search.conversation {
            Some(id) => id.to_owned(),
            None => newest_session(&database, search.cwd, search.started_at)?,
        };
        let tail = RowTail::new(&database, &conversation);
        Some(FoundTranscript {
            conversation,
            tail: TranscriptTail::OpenCode(tail),
        })
    }

    fn personal_transcripts(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<PersonalTranscript> {
        let Some(database) = database(environment) else {
            return Vec::new();
        };
        let tail = |session: &str| TranscriptTail::OpenCode(RowTail::new(&database, session));
        sessions(&database, MAX_TRANSCRIPTS)
            .into_iter()
            .map(|(session, changed)| PersonalTranscript {
                tail: tail(&session),
                stamp: Stamp::at(changed),
            })
            .collect()
    }

    fn origin(&self, tail: &TranscriptTail) -> Option<TranscriptOrigin> {
        let TranscriptTail::OpenCode(tail) = tail else {
            return None;
        };
        TranscriptOrigin::new(tail.session(), directory(tail)?)
    }

    fn transcript_facts(&self, line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        let part = &line["part"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match part["type"].as_str() {
            // What the program adds to a prompt by itself is not the person's.
            Some("text") if part["synthetic"] == true => Vec::new(),
            Some("text") => {
                let said = text_of(&part["text"]).map(|text| {
                    if line["role"] == "user" {
                        TranscriptFact::Prompted { text }
                    } else {
                        TranscriptFact::Said { text }
                    }
                });
                said.into_iter().collect()
            }
            Some("tool") => {
                let call = word(&part["callID"]);
                let tool = word(&part["tool"]);
                let outcome = outcome_of(&part["state"]);
                vec![
                    TranscriptFact::ToolStarted {
                        call: call.clone(),
                        tool,
                        arguments: fingerprint(&part["state"]["input"]),
                        subject: ToolSubject::of(&part["state"]["input"]),
                    },
                    TranscriptFact::ToolEnded { call, outcome },
                ]
            }
            Some("step-finish") => of_step(&line, part),
            _ => Vec::new(),
        }
    }
}

fn terminal_words(launch: &Launch) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(model) = &launch.model {
        words.extend(["--model".to_owned(), model.clone()]);
    }
    if let Conversation::Resume { id } = &launch.conversation {
        words.extend(["--session".to_owned(), id.clone()]);
    }
    match launch.permission {
        PermissionMode::Plan => words.extend(["--agent".to_owned(), "plan".to_owned()]),
        PermissionMode::Bypass => words.push("--auto".to_owned()),
        PermissionMode::Ask | PermissionMode::AcceptEdits => {}
    }
    words
}

pub(crate) fn outcome_of(state: &Value) -> ToolOutcome {
    const DENIED: &str = "The user rejected permission";
    match state["status"].as_str() {
        Some("completed") => ToolOutcome::Succeeded,
        _ if state["error"]
            .as_str()
            .unwrap_or_default()
            .starts_with(DENIED) =>
        {
            ToolOutcome::Denied
        }
        _ => ToolOutcome::Failed,
    }
}

/// A step is one request to the model; the last one of a turn says so.
fn of_step(line: &Value, part: &Value) -> Vec<TranscriptFact> {
    let tokens = &part["tokens"];
    let mut facts = vec![TranscriptFact::Used {
        request: line["id"].as_str().unwrap_or_default().to_owned(),
        usage: TokenUsage {
            model: line["model"].as_str().map(str::to_owned),
            input: number(&tokens["input"]),
            output: number(&tokens["output"]) + number(&tokens["reasoning"]),
            cache_read: number(&tokens["cache"]["read"]),
            cache_write: number(&tokens["cache"]["write"]),
            cache_write_1h: 0,
        },
    }];
    if part["reason"] != "tool-calls" {
        facts.push(TranscriptFact::TurnEnded);
    }
    facts
}

/// It allows everything unless told otherwise.
fn permissions(mode: PermissionMode) -> Value {
    match mode {
        PermissionMode::Ask => json!({ "edit": "ask", "bash": "ask", "webfetch": "ask" }),
        PermissionMode::AcceptEdits => json!({ "edit": "allow", "bash": "ask", "webfetch": "ask" }),
        PermissionMode::Plan => json!({ "edit": "deny", "bash": "ask" }),
        PermissionMode::Bypass => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_full_launch_has_a_configuration_of_its_own() {
        let launch = fixture::launch("opencode");
        let plan = OpenCode.plan(&launch).unwrap();
        assert_eq!(plan.argv, ["opencode", "--model", "best"]);
        assert_eq!(
            plan.environment["OPENCODE_CONFIG"],
            "/run/launch/opencode.json"
        );
        let config: Value = serde_json::from_str(&plan.files[1].contents).unwrap();
        assert_eq!(
            config,
            json!({
                "permission": {
                    "edit": "ask", "bash": "ask", "webfetch": "ask", "mission-execution_*": "allow",
                },
                "mcp": {"mission-execution": {
                    "type": "local",
                    "command": ["/opt/mission", "execution", "mcp", "/run/launch/access.json"],
                    "enabled": true,
                }},
                "instructions": ["/run/launch/instructions.md"],
            })
        );
    }

    #[test]
    fn over_the_protocol_model_and_permissions_stay_in_the_configuration() {
        let launch = Launch {
            controller: Controller::Structured,
            permission: PermissionMode::AcceptEdits,
            ..fixture::launch("opencode")
        };
        let plan = OpenCode.plan(&launch).unwrap();
        assert_eq!(plan.argv, ["opencode", "acp"]);
        let config: Value = serde_json::from_str(&plan.files[1].contents).unwrap();
        assert_eq!(config["model"], "best");
        assert_eq!(config["mcp"], Value::Null);
        assert_eq!(config["permission"]["mission-execution_*"], "allow");
        let control = plan.control.unwrap();
        assert_eq!(control.mode.as_deref(), Some("build"));
        assert_eq!(control.session.mcp_servers.len(), 1);
    }

    #[test]
    fn parts_of_a_conversation_become_facts() {
        let facts = |part: Value, role: &str| {
            let line = json!({"id": "p1", "role": role, "model": "best", "part": part});
            OpenCode.transcript_facts(&line.to_string(), &mut TranscriptMemory::default())
        };
        let text = json!({"type": "text", "text": "hello"});
        let hello = || "hello".to_owned();
        assert_eq!(
            facts(text.clone(), "user"),
            [TranscriptFact::Prompted { text: hello() }]
        );
        assert_eq!(
            facts(text, "assistant"),
            [TranscriptFact::Said { text: hello() }]
        );
        let denied = json!({"type": "tool", "tool": "write", "callID": "c", "state": {
            "status": "error", "error": "The user rejected permission to use this tool.",
        }});
        assert_eq!(
            facts(denied, "assistant"),
            [
                TranscriptFact::ToolStarted {
                    call: "c".to_owned(),
                    tool: "write".to_owned(),
                    arguments: fingerprint(&Value::Null),
                    subject: None,
                },
                TranscriptFact::ToolEnded {
                    call: "c".to_owned(),
                    outcome: ToolOutcome::Denied
                },
            ]
        );
        let step = json!({"type": "step-finish", "reason": "stop", "tokens": {
            "input": 100, "output": 20, "reasoning": 1, "cache": {"read": 3, "write": 4},
        }});
        let used = TranscriptFact::Used {
            request: "p1".to_owned(),
            usage: TokenUsage {
                model: Some("best".to_owned()),
                input: 100,
                output: 21,
                cache_read: 3,
                cache_write: 4,
                cache_write_1h: 0,
            },
        };
        assert_eq!(facts(step, "assistant"), [used, TranscriptFact::TurnEnded]);
    }

    #[test]
    fn a_conversation_goes_on_by_its_id() {
        let launch = Launch {
            conversation: Conversation::Resume {
                id: "ses_1".to_owned(),
            },
            ..fixture::bare("opencode")
        };
        let plan = OpenCode.plan(&launch).unwrap();
        assert_eq!(plan.argv, ["opencode", "--session", "ses_1"]);
    }
}
