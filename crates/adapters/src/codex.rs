//! Codex.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use missiond_control::Dialect;
use missiond_core::{CliEngine, Controller, ToolOutcome};
use serde_json::Value;

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::launch::{Conversation, Launch, McpServer, ModelAccess, ModelWay, PermissionMode};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::personal_transcripts::{self, PersonalTranscript, TranscriptOrigin};
use crate::plan::{ConversationId, Instructions, LaunchPlan, PlanError, SignalTransport, text};
use crate::recent_files::recent_files;
use crate::structured::{ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::tail::TranscriptTail;
use crate::transcript::{
    TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number, text_of,
};

/// The first line of a rollout carries the CLI's whole instructions.
const LONGEST_HEAD: u64 = 1 << 20;

/// The variable in which it finds the token of its provider.
const MODEL_TOKEN: &str = "MISSION_MODEL_TOKEN";

#[derive(Debug)]
pub(crate) struct Codex;

impl Adapter for Codex {
    fn engine(&self) -> CliEngine {
        CliEngine::Codex
    }

    fn program(&self) -> &str {
        "codex"
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::All(&["AGENTS.override.md", "AGENTS.md"]),
            imports: false,
            skills: &[".agents/skills", ".codex/skills"],
            home_skills: &[".agents/skills", ".codex/skills"],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?];
        let conversation = match &launch.conversation {
            Conversation::New { .. } => ConversationId::ToldLater,
            Conversation::Resume { id } => ConversationId::Given(id.clone()),
        };
        let control = match launch.controller {
            Controller::Terminal => {
                argv.extend(terminal_words(launch));
                None
            }
            Controller::Structured => {
                argv.extend(server_words(launch));
                let resume = ResumeBy::Resume;
                Some(ControlSetup::new(Dialect::CodexAppServer, launch, resume)?)
            }
        };
        let mut set =
            |key: &str, value: &str| argv.extend(["-c".to_owned(), format!("{key}={value}")]);
        set("check_for_update_on_startup", "false");
        if launch.trust_folder {
            let folder = toml_string(&text(&launch.cwd)?);
            set(
                "projects",
                &format!("{{{folder}={{trust_level=\"trusted\"}}}}"),
            );
        }
        if let Some(instructions) = &launch.instructions {
            set("developer_instructions", &toml_string(instructions));
        }
        if let Some(server) = &launch.mcp {
            set("mcp_servers", &mcp_servers(server)?);
        }
        argv.extend(launch.extra.iter().cloned());
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files: Vec::new(),
            links: Vec::new(),
            conversation,
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "codex",
            by: "codex app-server",
            install: None,
            resume: ResumeBy::Resume,
            standing: Standing::Proven,
        })
    }

    fn model_way(&self, access: &ModelAccess) -> Option<ModelWay> {
        let mut way = ModelWay::by_variables([(MODEL_TOKEN, access.token.clone())]);
        let provider = format!(
            "{{name=\"mission\",base_url={},env_key={},wire_api=\"responses\"}}",
            toml_string(&format!("{}/openai/v1", access.base_url)),
            toml_string(MODEL_TOKEN),
        );
        for (key, value) in [
            ("model_providers.mission", provider.as_str()),
            ("model_provider", "\"mission\""),
        ] {
            way.args.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
        Some(way)
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/quit")
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let config = config_folder(&|name| search.variable(name))?;
        let rollouts = recent_files(&config.join("sessions"), 3, is_rollout);
        rollouts.into_iter().find_map(|file| {
            let (conversation, cwd) = rollout_head(&file.path)?;
            let ours = match search.conversation {
                Some(id) => conversation == id,
                None => cwd == search.cwd && file.modified >= search.started_at,
            };
            ours.then_some(FoundTranscript::file(conversation, &file.path))
        })
    }

    fn personal_transcripts(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<PersonalTranscript> {
        config_folder(environment)
            .map(|config| personal_transcripts::files(&config.join("sessions"), 3, is_rollout))
            .unwrap_or_default()
    }

    /// Threads that the program opens for itself, such as for a title, are nobody's.
    fn origin(&self, tail: &TranscriptTail) -> Option<TranscriptOrigin> {
        let head = first_line(tail.path())?;
        let payload = &head["payload"];
        let source = payload["thread_source"].as_str().unwrap_or("user");
        let cwd = payload["cwd"].as_str()?;
        (source == "user")
            .then(|| TranscriptOrigin::new(payload["id"].as_str()?, cwd.into()))
            .flatten()
    }

    fn transcript_facts(&self, line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        let payload = &entry["payload"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match (entry["type"].as_str(), payload["type"].as_str()) {
            (Some("event_msg"), Some("item_completed")) => of_item(&payload["item"]),
            (Some("event_msg"), Some("task_complete")) => vec![TranscriptFact::TurnEnded],
            (Some("event_msg"), Some("turn_aborted")) => vec![TranscriptFact::Interrupted],
            (Some("response_item"), Some("function_call" | "custom_tool_call")) => {
                let arguments = match &payload["arguments"] {
                    Value::Null => &payload["input"],
                    arguments => arguments,
                };
                vec![TranscriptFact::ToolStarted {
                    call: word(&payload["call_id"]),
                    tool: match payload["namespace"].as_str() {
                        Some(namespace) => format!("{namespace}__{}", word(&payload["name"])),
                        None => word(&payload["name"]),
                    },
                    arguments: fingerprint(arguments),
                    subject: ToolSubject::of(arguments),
                }]
            }
            (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
                vec![TranscriptFact::ToolEnded {
                    call: word(&payload["call_id"]),
                    outcome: outcome_of(&payload["output"]),
                }]
            }
            (Some("token_usage_record"), _) => {
                let usage = &payload["usage"];
                let cached = number(&usage["cached_input_tokens"]);
                vec![TranscriptFact::Used {
                    request: word(&payload["response_id"]),
                    usage: TokenUsage {
                        model: payload["model"].as_str().map(str::to_owned),
                        input: number(&usage["input_tokens"]).saturating_sub(cached),
                        output: number(&usage["output_tokens"]),
                        cache_read: cached,
                        cache_write: number(&usage["cache_write_input_tokens"]),
                        cache_write_1h: 0,
                    },
                }]
            }
            _ => Vec::new(),
        }
    }
}

/// How its terminal program is told the conversation, the model and the permissions.
fn terminal_words(launch: &Launch) -> Vec<String> {
    let mut words = Vec::new();
    if let Conversation::Resume { id } = &launch.conversation {
        words.extend(["resume".to_owned(), id.clone()]);
    }
    // Otherwise it starts two processes that outlive it.
    words.push("--no-daemon".to_owned());
    if let Some(model) = &launch.model {
        words.extend(["--model".to_owned(), model.clone()]);
    }
    match permission(launch.permission) {
        None => words.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        Some((approval, sandbox)) => {
            words.extend(["-a", approval, "-s", sandbox].map(str::to_owned));
        }
    }
    words
}

/// The same for its server, which knows settings and no flags; the conversation is
/// asked for over the protocol.
fn server_words(launch: &Launch) -> Vec<String> {
    let (approval, sandbox) =
        permission(launch.permission).unwrap_or(("never", "danger-full-access"));
    let mut words = vec!["app-server".to_owned()];
    let mut set = |key: &str, value: &str| {
        words.extend(["-c".to_owned(), format!("{key}={}", toml_string(value))]);
    };
    if let Some(model) = &launch.model {
        set("model", model);
    }
    set("approval_policy", approval);
    set("sandbox_mode", sandbox);
    words
}

/// Who is asked, and what is closed off; none for neither.
fn permission(mode: PermissionMode) -> Option<(&'static str, &'static str)> {
    match mode {
        PermissionMode::Ask => Some(("on-request", "read-only")),
        PermissionMode::AcceptEdits => Some(("on-request", "workspace-write")),
        PermissionMode::Plan => Some(("never", "read-only")),
        PermissionMode::Bypass => None,
    }
}

/// The model is told in words how a call ended.
pub(crate) fn outcome_of(output: &Value) -> ToolOutcome {
    if output["success"].as_bool() == Some(false) {
        return ToolOutcome::Failed;
    }
    let said = output.as_str().or(output["content"].as_str());
    let ended = said.unwrap_or_default().lines().find_map(|line| {
        if line.starts_with("aborted by user") {
            return Some(ToolOutcome::Denied);
        }
        let code = line.strip_prefix("Process exited with code ")?;
        (code != "0").then_some(ToolOutcome::Failed)
    });
    ended.unwrap_or(ToolOutcome::Succeeded)
}

fn of_item(item: &Value) -> Vec<TranscriptFact> {
    let Some(text) = text_of(&item["content"]) else {
        return Vec::new();
    };
    match item["type"].as_str() {
        Some("UserMessage") => vec![TranscriptFact::Prompted { text }],
        Some("AgentMessage") => vec![TranscriptFact::Said { text }],
        _ => Vec::new(),
    }
}

fn config_folder(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    Some(match variable("CODEX_HOME") {
        Some(folder) => folder.into(),
        None => Path::new(&variable("HOME")?).join(".codex"),
    })
}

fn is_rollout(name: &str) -> bool {
    name.starts_with("rollout-") && name.ends_with(".jsonl")
}

fn first_line(path: &Path) -> Option<Value> {
    let mut line = String::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(LONGEST_HEAD))
        .read_line(&mut line)
        .ok()?;
    serde_json::from_str(&line).ok()
}

/// The conversation's id and folder, from the first line of its file.
fn rollout_head(path: &Path) -> Option<(String, PathBuf)> {
    let head = first_line(path)?;
    let payload = &head["payload"];
    let id = payload["id"].as_str()?.to_owned();
    Some((id, payload["cwd"].as_str()?.into()))
}

/// The server as a table of its configuration language. The tools report to us
/// and change nothing else, so nobody is asked about them.
fn mcp_servers(server: &McpServer) -> Result<String, PlanError> {
    let args: Vec<_> = server.args.iter().map(|arg| toml_string(arg)).collect();
    Ok(format!(
        "{{{name}={{command={command},args=[{args}],default_tools_approval_mode=\"approve\"}}}}",
        name = toml_string(&server.name),
        command = toml_string(&text(&server.command)?),
        args = args.join(","),
    ))
}

/// A basic TOML string. JSON escapes all that TOML does, but for DEL.
fn toml_string(text: &str) -> String {
    Value::from(text).to_string().replace('\x7f', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_end_of_a_call_is_read_from_what_the_model_is_told() {
        let outcome = |said: &str| outcome_of(&Value::from(said));
        let done = "Chunk ID: 1\nProcess exited with code 0\nOutput:\n";
        assert_eq!(outcome(done), ToolOutcome::Succeeded);
        let failed = "Chunk ID: 1\nProcess exited with code 2\nOutput:\n";
        assert_eq!(outcome(failed), ToolOutcome::Failed);
        let denied = "Wall time: 1.1 seconds\naborted by user";
        assert_eq!(outcome(denied), ToolOutcome::Denied);
    }

    #[test]
    fn a_full_launch_names_no_secret() {
        let launch = fixture::launch("codex");
        let plan = Codex.plan(&launch).unwrap();
        assert_eq!(
            plan.argv,
            [
                "codex",
                "--no-daemon",
                "--model",
                "best",
                "-a",
                "on-request",
                "-s",
                "read-only",
                "-c",
                "check_for_update_on_startup=false",
                "-c",
                r#"projects={"/src/app"={trust_level="trusted"}}"#,
                "-c",
                r#"developer_instructions="Report progress.""#,
                "-c",
                r#"mcp_servers={"mission-execution"={command="/opt/mission",args=["execution","mcp","/run/launch/access.json"],default_tools_approval_mode="approve"}}"#,
            ]
        );
        assert_eq!(plan.conversation, ConversationId::ToldLater);
    }

    #[test]
    fn a_conversation_goes_on_by_its_id() {
        let launch = Launch {
            conversation: Conversation::Resume {
                id: "01a1".to_owned(),
            },
            ..fixture::bare("codex")
        };
        let plan = Codex.plan(&launch).unwrap();
        assert_eq!(plan.argv[..3], ["codex", "resume", "01a1"]);
        assert_eq!(plan.conversation, ConversationId::Given("01a1".to_owned()));
    }

    #[test]
    fn the_transcript_is_found_by_folder_and_then_by_id() {
        let place = tempfile::tempdir().unwrap();
        let day = place.path().join("sessions/2026/11/15");
        std::fs::create_dir_all(&day).unwrap();
        let write = |id: &str, cwd: &str| {
            let head =
                serde_json::json!({"type": "session_meta", "payload": {"id": id, "cwd": cwd}});
            let path = day.join(format!("rollout-2026-11-15T06-18-23-{id}.jsonl"));
            std::fs::write(&path, format!("{head}\n")).unwrap();
            path
        };
        let before = std::time::SystemTime::UNIX_EPOCH;
        let ours = write("aa", "/src/app");
        write("bb", "/elsewhere");
        let home = place.path().display().to_string();
        let environment = |name: &str| (name == "CODEX_HOME").then(|| home.clone());
        let mut search = TranscriptSearch {
            conversation: None,
            cwd: Path::new("/src/app"),
            started_at: before,
            environment: &environment,
        };
        let found = Codex.transcript(&search).unwrap();
        assert_eq!(
            (found.conversation.as_str(), found.tail.path()),
            ("aa", ours.as_path())
        );
        search.conversation = Some("bb");
        assert_eq!(Codex.transcript(&search).unwrap().conversation, "bb");
        search.conversation = Some("cc");
        assert_eq!(Codex.transcript(&search), None);
    }

    #[test]
    fn lines_of_a_transcript_become_facts() {
        let facts = |line: &str| Codex.transcript_facts(line, &mut TranscriptMemory::default());
        assert_eq!(
            facts(
                r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","content":[{"type":"Text","text":"Done."}]}}}"#
            ),
            [TranscriptFact::Said {
                text: "Done.".to_owned()
            }]
        );
        assert_eq!(
            facts(r#"{"type":"event_msg","payload":{"type":"task_complete"}}"#),
            [TranscriptFact::TurnEnded]
        );
        assert_eq!(
            facts(
                r#"{"type":"token_usage_record","payload":{"response_id":"resp_1","usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":7}}}"#
            ),
            [TranscriptFact::Used {
                request: "resp_1".to_owned(),
                usage: TokenUsage {
                    input: 40,
                    output: 7,
                    cache_read: 60,
                    ..TokenUsage::default()
                },
            }]
        );
        assert!(
            facts(r#"{"type":"response_item","payload":{"type":"reasoning","summary":[]}}"#)
                .is_empty()
        );
    }
}
