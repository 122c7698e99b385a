//! Claude Code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_control::CancelledQuestions;
use missiond_core::{CliEngine, Controller, ToolOutcome};
use serde_json::{Value, json};

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::detect::find_program;
use crate::launch::{
    Conversation, HookCommand, Launch, McpServer, ModelAccess, ModelWay, PermissionMode, Told,
};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::personal_transcripts::{self, PersonalTranscript, TranscriptOrigin};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport,
    StartupDialog, StartupQuestion, text,
};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::tail::TranscriptTail;
use crate::transcript::{
    TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number, text_of,
};

/// Events every supported version knows. One unknown name makes older versions
/// refuse the whole settings file.
const HOOK_EVENTS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Notification",
    "Stop",
    "SubagentStop",
    "SessionEnd",
];

/// The program that speaks the protocol for it.
const ACP_ADAPTER: &str = "claude-agent-acp";

const SUGGESTIONS: &str = "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION";

/// The event before a tool, whose hook answers.
const BEFORE_TOOL: &str = "PreToolUse";

/// A hook that takes longer is given up by the CLI, and the tool is used: ours is over
/// before.
const HOOK_SECONDS: u32 = 30;

#[derive(Debug)]
pub(crate) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn engine(&self) -> CliEngine {
        CliEngine::Claude
    }

    fn program(&self) -> &str {
        "claude"
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::All(&["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"]),
            imports: true,
            skills: &[".claude/skills"],
            home_skills: &[".claude/skills"],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        if launch.controller == Controller::Structured {
            return structured_plan(launch);
        }
        let mut argv = vec![text(&launch.program)?];
        let mut files = Vec::new();
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        let mode = mode(launch.permission);
        argv.extend(["--permission-mode".to_owned(), mode.to_owned()]);
        let id = match &launch.conversation {
            Conversation::New { id } => {
                argv.extend(["--session-id".to_owned(), id.clone()]);
                id
            }
            Conversation::Resume { id } => {
                argv.extend(["--resume".to_owned(), id.clone()]);
                id
            }
        };
        if let Some(instructions) = &launch.instructions {
            argv.extend(["--append-system-prompt".to_owned(), instructions.clone()]);
        }
        if let Some(server) = &launch.mcp {
            let path = launch.folder.join("mcp.json");
            // These options take any number of values: the form with `=` ends them.
            argv.push(format!("--mcp-config={}", text(&path)?));
            argv.push("--strict-mcp-config".to_owned());
            argv.push(format!("--allowed-tools={}", tool_names(server).join(",")));
            files.push(PlannedFile {
                path,
                contents: mcp_config(server)?,
            });
        }
        if let Some(hooks) = &launch.hooks {
            let path = launch.folder.join("settings.json");
            argv.extend(["--settings".to_owned(), text(&path)?]);
            files.push(PlannedFile {
                path,
                contents: hook_settings(hooks, &HOOK_EVENTS, Told::ByHooks),
            });
        }
        argv.extend(launch.extra.iter().cloned());
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files,
            links: Vec::new(),
            conversation: ConversationId::Given(id.clone()),
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control: None,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: ACP_ADAPTER,
            by: "claude-agent-acp",
            install: Some("npm install -g @agentclientprotocol/claude-agent-acp"),
            resume: ResumeBy::Resume,
            standing: Standing::Proven,
        })
    }

    fn model_way(&self, access: &ModelAccess) -> Option<ModelWay> {
        // As a bearer's token it needs no question on the first start, as a key would.
        Some(ModelWay::by_variables([
            (
                "ANTHROPIC_BASE_URL",
                format!("{}/anthropic", access.base_url),
            ),
            ("ANTHROPIC_AUTH_TOKEN", access.token.clone()),
        ]))
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/exit")
    }

    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[
            StartupDialog {
                question: StartupQuestion::TrustFolder,
                asks: &["trust the files in this folder", "one you trust"],
                yes: &["Yes, I trust", "Yes, proceed"],
            },
            StartupDialog {
                question: StartupQuestion::KeyFromEnvironment,
                asks: &["use this API key"],
                yes: &["Yes"],
            },
            StartupDialog {
                question: StartupQuestion::BypassPermissions,
                asks: &["Bypass Permissions mode"],
                yes: &["Yes, I accept"],
            },
        ]
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn asks_before_tools(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let id = search.conversation?;
        let config = config_folder(&|name| search.variable(name))?;
        let folder = config.join("projects").join(project_name(search.cwd)?);
        Some(FoundTranscript::file(
            id.to_owned(),
            &folder.join(format!("{id}.jsonl")),
        ))
    }

    fn personal_transcripts(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<PersonalTranscript> {
        let is_transcript = |name: &str| name.ends_with(".jsonl");
        config_folder(environment)
            .map(|config| personal_transcripts::files(&config.join("projects"), 1, is_transcript))
            .unwrap_or_default()
    }

    /// Its first lines name no folder, but the first that somebody said does.
    fn origin(&self, tail: &TranscriptTail) -> Option<TranscriptOrigin> {
        let path = tail.path();
        let session = path.file_stem()?.to_str()?;
        let folder = personal_transcripts::first_lines(path)
            .into_iter()
            .find_map(|line| {
                let entry: Value = serde_json::from_str(&line).ok()?;
                entry["cwd"].as_str().map(Into::into)
            });
        TranscriptOrigin::new(session, folder?)
    }

    fn transcript_facts(&self, line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        // What subagents do among themselves is not the conversation.
        if entry["isSidechain"].as_bool() == Some(true) {
            return Vec::new();
        }
        match entry["type"].as_str() {
            Some("user") => of_user(&entry["message"]["content"]),
            Some("assistant") => of_assistant(&entry),
            Some("system") if entry["subtype"] == "turn_duration" => {
                vec![TranscriptFact::TurnEnded]
            }
            _ => Vec::new(),
        }
    }
}

/// The program beside it that speaks the protocol and runs the CLI itself. It has no
/// options: the model comes by a variable, the mode when the session is open.
fn structured_plan(launch: &Launch) -> Result<LaunchPlan, PlanError> {
    let mut argv = vec![text(&launch.program)?];
    argv.extend(launch.extra.iter().cloned());
    let mut environment = BTreeMap::new();
    let path = launch.environment.get("PATH").map_or("", String::as_str);
    // Otherwise it runs the one that came with it, of another version.
    if let Some(installed) = find_program("claude", path) {
        environment.insert("CLAUDE_CODE_EXECUTABLE".to_owned(), text(&installed)?);
    }
    // After every turn it would ask the model what the person may say next, which nobody
    // is shown here.
    if !launch.environment.contains_key(SUGGESTIONS) {
        environment.insert(SUGGESTIONS.to_owned(), "false".to_owned());
    }
    if let Some(model) = &launch.model {
        environment.insert("ANTHROPIC_MODEL".to_owned(), model.clone());
    }
    let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Resume)?;
    setup.mode = Some(mode(launch.permission).to_owned());
    setup.own_tools = launch.mcp.as_ref().map(tool_names).unwrap_or_default();
    setup.habits.cancelled_questions = CancelledQuestions::TakenBack;
    let mut files = Vec::new();
    // The protocol tells what the agent does, and asks only where the CLI would: what
    // that lets pass by itself is judged all the same.
    if let Some(hooks) = &launch.hooks {
        let path = launch.folder.join("settings.json");
        let settings = text(&path)?;
        setup.session.meta = Some(json!({ "claudeCode": { "options": { "settings": settings } } }));
        files.push(PlannedFile {
            path,
            contents: hook_settings(hooks, &[BEFORE_TOOL], Told::ByProtocol),
        });
    }
    Ok(LaunchPlan {
        argv,
        environment,
        files,
        links: Vec::new(),
        conversation: ConversationId::told_by_protocol(launch),
        instructions: Instructions::before_if(launch.instructions.is_some()),
        signals: SignalTransport::of(launch.mcp.as_ref()),
        control: Some(setup),
    })
}

fn mode(permission: PermissionMode) -> &'static str {
    match permission {
        PermissionMode::Ask => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Plan => "plan",
        PermissionMode::Bypass => "bypassPermissions",
    }
}

fn config_folder(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    Some(match variable("CLAUDE_CONFIG_DIR") {
        Some(folder) => folder.into(),
        None => Path::new(&variable("HOME")?).join(".claude"),
    })
}

fn tool_names(server: &McpServer) -> Vec<String> {
    let tool = |tool: &String| format!("mcp__{}__{tool}", server.name);
    server.tools.iter().map(tool).collect()
}

fn mcp_config(server: &McpServer) -> Result<String, PlanError> {
    let entry = json!({ "command": text(&server.command)?, "args": server.args });
    Ok(json!({ "mcpServers": { server.name.as_str(): entry } }).to_string())
}

/// Settings that stand above those of a repository, which could turn hooks off.
fn hook_settings(hooks: &HookCommand, events: &[&str], told: Told) -> String {
    let entry = |event: &str| {
        let command = match event {
            BEFORE_TOOL => hooks.judging_line(told),
            _ => hooks.shell_line(),
        };
        json!([{
            "hooks": [{ "type": "command", "command": command, "timeout": HOOK_SECONDS }],
        }])
    };
    let events: serde_json::Map<_, _> = events
        .iter()
        .map(|event| ((*event).to_owned(), entry(event)))
        .collect();
    json!({ "disableAllHooks": false, "hooks": events }).to_string()
}

/// The folder of a project's transcripts: its path with everything but letters
/// and digits made a hyphen.
pub(crate) fn project_name(cwd: &Path) -> Option<String> {
    let hyphened = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    Some(cwd.to_str()?.chars().map(hyphened).collect())
}

fn of_user(content: &Value) -> Vec<TranscriptFact> {
    let mut facts = Vec::new();
    for result in content.as_array().into_iter().flatten() {
        if result["type"] == "tool_result" {
            facts.push(TranscriptFact::ToolEnded {
                call: result["tool_use_id"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                outcome: outcome_of(result),
            });
        }
    }
    match text_of(content) {
        Some(text) if text.contains("[Request interrupted by user") => {
            facts.push(TranscriptFact::Interrupted);
        }
        Some(text) if facts.is_empty() => facts.push(TranscriptFact::Prompted { text }),
        _ => {}
    }
    facts
}

pub(crate) fn outcome_of(result: &Value) -> ToolOutcome {
    // At its prompt, and over the protocol.
    const DENIED: [&str; 2] = [
        "The user doesn't want to proceed with this tool use",
        "User refused permission to run tool",
    ];
    let said = text_of(&result["content"]).unwrap_or_default();
    match result["is_error"].as_bool() {
        Some(true) if DENIED.iter().any(|denied| said.starts_with(denied)) => ToolOutcome::Denied,
        Some(true) => ToolOutcome::Failed,
        _ => ToolOutcome::Succeeded,
    }
}

fn of_assistant(entry: &Value) -> Vec<TranscriptFact> {
    let message = &entry["message"];
    let mut facts = Vec::new();
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => {
                let said = text_of(&Value::Array(vec![block.clone()]));
                facts.extend(said.map(|text| TranscriptFact::Said { text }));
            }
            Some("tool_use") => facts.push(TranscriptFact::ToolStarted {
                call: block["id"].as_str().unwrap_or_default().to_owned(),
                tool: block["name"].as_str().unwrap_or_default().to_owned(),
                arguments: fingerprint(&block["input"]),
                subject: ToolSubject::of(&block["input"]),
            }),
            _ => {}
        }
    }
    // One answer is written as several lines that all carry its usage.
    let request = entry["requestId"].as_str().or(message["id"].as_str());
    if let Some(request) = request
        && message["usage"].is_object()
    {
        let usage = &message["usage"];
        facts.push(TranscriptFact::Used {
            request: request.to_owned(),
            usage: TokenUsage {
                model: message["model"].as_str().map(str::to_owned),
                input: number(&usage["input_tokens"]),
                output: number(&usage["output_tokens"]),
                cache_read: number(&usage["cache_read_input_tokens"]),
                cache_write: number(&usage["cache_creation_input_tokens"]),
                cache_write_1h: number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]),
            },
        });
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn over_the_protocol_the_installed_program_is_run() {
        let place = tempfile::tempdir().unwrap();
        let claude = place.path().join("claude");
        std::fs::write(&claude, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let path = place.path().display().to_string();
        let launch = Launch {
            controller: Controller::Structured,
            permission: PermissionMode::AcceptEdits,
            environment: [("PATH".to_owned(), path)].into(),
            ..fixture::launch("/usr/bin/claude-agent-acp")
        };
        let plan = ClaudeCode.plan(&launch).unwrap();
        assert_eq!(plan.argv, ["/usr/bin/claude-agent-acp"]);
        let variables: Vec<_> = plan.environment.into_iter().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            variables,
            [
                pair("ANTHROPIC_MODEL", "best"),
                pair(SUGGESTIONS, "false"),
                pair("CLAUDE_CODE_EXECUTABLE", claude.to_str().unwrap()),
            ]
        );
        let control = plan.control.unwrap();
        assert_eq!(control.mode.as_deref(), Some("acceptEdits"));
        assert_eq!(control.own_tools[0], "mcp__mission-execution__progress");
        let questions = control.habits.cancelled_questions;
        assert_eq!(questions, CancelledQuestions::TakenBack);
        assert_eq!(plan.conversation, ConversationId::ToldLater);
    }

    #[test]
    fn a_full_launch_is_equipped_by_files() {
        let launch = fixture::launch("/usr/bin/claude");
        let plan = ClaudeCode.plan(&launch).unwrap();
        assert_eq!(
            plan.argv,
            [
                "/usr/bin/claude",
                "--model",
                "best",
                "--permission-mode",
                "default",
                "--session-id",
                fixture::CONVERSATION,
                "--append-system-prompt",
                "Report progress.",
                "--mcp-config=/run/launch/mcp.json",
                "--strict-mcp-config",
                "--allowed-tools=mcp__mission-execution__progress,mcp__mission-execution__blocked",
                "--settings",
                "/run/launch/settings.json",
            ]
        );
        let config: Value = serde_json::from_str(&plan.files[0].contents).unwrap();
        assert_eq!(
            config,
            json!({"mcpServers": {"mission-execution": {
                "command": "/opt/mission", "args": ["execution", "mcp", "/run/launch/access.json"],
            }}})
        );
        let settings: Value = serde_json::from_str(&plan.files[1].contents).unwrap();
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.len(), HOOK_EVENTS.len());
        assert_eq!(
            hooks["Stop"][0]["hooks"][0]["command"],
            "'/opt/mission' 'hook' '/run/launch/access.json'"
        );
        assert_eq!(
            hooks["PreToolUse"][0]["hooks"][0]["command"],
            "'/opt/mission' 'hook' '/run/launch/access.json' '--judge' || exit 2"
        );
        assert_eq!(settings["disableAllHooks"], false);
        assert_eq!(plan.signals, SignalTransport::McpTool);
    }

    #[test]
    fn a_conversation_goes_on_by_its_id() {
        let launch = Launch {
            conversation: Conversation::Resume {
                id: "c0ffee".to_owned(),
            },
            ..fixture::bare("claude")
        };
        let plan = ClaudeCode.plan(&launch).unwrap();
        assert_eq!(
            plan.argv,
            [
                "claude",
                "--permission-mode",
                "default",
                "--resume",
                "c0ffee"
            ]
        );
        assert_eq!(plan.signals, SignalTransport::StdoutMarker);
        assert!(plan.files.is_empty());
    }

    #[test]
    fn the_transcript_is_where_the_cli_writes_it() {
        let environment = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        let search = TranscriptSearch {
            conversation: Some("id"),
            cwd: Path::new("/src/my app_1"),
            started_at: std::time::SystemTime::UNIX_EPOCH,
            environment: &environment,
        };
        let found = ClaudeCode.transcript(&search).unwrap();
        assert_eq!(
            found.tail.path(),
            Path::new("/home/me/.claude/projects/-src-my-app-1/id.jsonl")
        );
    }

    #[test]
    fn lines_of_a_transcript_become_facts() {
        let facts = |line: &Value| {
            ClaudeCode.transcript_facts(&line.to_string(), &mut TranscriptMemory::default())
        };
        let answer = json!({"type": "assistant", "requestId": "req_1", "message": {
            "id": "msg_1", "model": "m", "content": [
                {"type": "thinking", "thinking": "private"},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}},
            ],
            "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3},
        }});
        assert_eq!(
            facts(&answer),
            [
                TranscriptFact::Said {
                    text: "I will look.".to_owned()
                },
                TranscriptFact::ToolStarted {
                    call: "t1".to_owned(),
                    tool: "Bash".to_owned(),
                    arguments: fingerprint(&json!({})),
                    subject: None,
                },
                TranscriptFact::Used {
                    request: "req_1".to_owned(),
                    usage: TokenUsage {
                        model: Some("m".to_owned()),
                        input: 10,
                        output: 5,
                        cache_read: 3,
                        cache_write: 0,
                        cache_write_1h: 0,
                    },
                },
            ]
        );
        let result = json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no"},
        ]}});
        assert_eq!(
            facts(&result),
            [TranscriptFact::ToolEnded {
                call: "t1".to_owned(),
                outcome: ToolOutcome::Failed
            }]
        );
        let denied = json!({"type": "user", "message": {"content": [{
            "type": "tool_result", "tool_use_id": "t1", "is_error": true,
            "content": "The user doesn't want to proceed with this tool use. It was rejected.",
        }]}});
        assert_eq!(
            facts(&denied),
            [TranscriptFact::ToolEnded {
                call: "t1".to_owned(),
                outcome: ToolOutcome::Denied
            }]
        );
        let prompt = json!({"type": "user", "message": {"content": "hello"}});
        assert_eq!(
            facts(&prompt),
            [TranscriptFact::Prompted {
                text: "hello".to_owned()
            }]
        );
        let stopped = json!({"type": "user", "message": {"content": [
            {"type": "text", "text": "[Request interrupted by user for tool use]"},
        ]}});
        assert_eq!(facts(&stopped), [TranscriptFact::Interrupted]);
        let ended = json!({"type": "system", "subtype": "turn_duration"});
        assert_eq!(facts(&ended), [TranscriptFact::TurnEnded]);
        let inner = json!({"type": "assistant", "isSidechain": true, "message": {"content": []}});
        assert!(facts(&inner).is_empty());
        assert!(
            ClaudeCode
                .transcript_facts("{\"type\":", &mut TranscriptMemory::default())
                .is_empty()
        );
    }
}
