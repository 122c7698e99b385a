//! Gemini CLI. It takes MCP servers, hooks and instructions from its home folder
//! only, so a launch gets a home of its own: settings with ours added, and links
//! to everything else the person has there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use missiond_control::{FileMentions, HistoryEnd, ToolNames};
use missiond_core::{CliEngine, Clock, Controller, SystemClock, ToolOutcome};
use serde_json::{Map, Value, json};

use crate::adapter::{Adapter, FoundTranscript, TranscriptSearch};
use crate::launch::{
    Conversation, HookCommand, Launch, ModelAccess, ModelWay, PermissionMode, Told,
};
use crate::native_context::{InstructionFiles, NativeContext};
use crate::personal_transcripts::{self, PersonalTranscript, TranscriptOrigin};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, LinkedTo, PlanError, PlannedFile, PlannedLink,
    SignalTransport, StartupDialog, StartupQuestion, text,
};
use crate::recent_files::recent_files;
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::subject::ToolSubject;
use crate::tail::TranscriptTail;
use crate::transcript::{
    TokenUsage, TranscriptFact, TranscriptMemory, fingerprint, number, text_of,
};

const HOOK_EVENTS: [&str; 7] = [
    "SessionStart",
    "BeforeAgent",
    "BeforeTool",
    "AfterTool",
    "Notification",
    "AfterAgent",
    "SessionEnd",
];
/// The event before a tool, whose hook answers.
const BEFORE_TOOL: &str = "BeforeTool";
const HOOK_MILLISECONDS: u32 = 30_000;

/// Names the file of the settings of the whole machine.
const SYSTEM_SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// What the CLI writes into its home even when it is not there yet, and what
/// must not vanish with ours.
const KEPT_FOLDERS: [&str; 2] = ["tmp", "history"];
const KEPT_FILES: [&str; 4] = [
    "oauth_creds.json",
    "google_accounts.json",
    "installation_id",
    "projects.json",
];

/// How the entry begins that the CLI puts before every conversation.
pub(crate) const PREAMBLE: &str = "<session_context>";
pub(crate) const CANCELLED: &str = "Request cancelled.";

/// Settings and context files are small; anything else there is not ours to read.
const LONGEST_FILE: u64 = 4 << 20;

#[derive(Debug)]
pub(crate) struct GeminiCli;

impl Adapter for GeminiCli {
    fn engine(&self) -> CliEngine {
        CliEngine::Gemini
    }

    fn program(&self) -> &str {
        "gemini"
    }

    fn native_context(&self) -> NativeContext {
        NativeContext {
            files: InstructionFiles::All(&["GEMINI.md"]),
            imports: true,
            skills: &[".gemini/skills", ".agents/skills"],
            home_skills: &[".gemini/skills", ".agents/skills"],
        }
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?];
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        let mode = match launch.permission {
            PermissionMode::Ask => "default",
            PermissionMode::AcceptEdits => "auto_edit",
            PermissionMode::Plan => "plan",
            PermissionMode::Bypass => "yolo",
        };
        argv.extend(["--approval-mode".to_owned(), mode.to_owned()]);
        if launch.trust_folder {
            argv.push("--skip-trust".to_owned());
        }
        let (control, conversation) = match launch.controller {
            Controller::Terminal => {
                let (flag, id) = match &launch.conversation {
                    Conversation::New { id } => ("--session-id", id),
                    Conversation::Resume { id } => ("--resume", id),
                };
                argv.extend([flag.to_owned(), id.clone()]);
                (None, ConversationId::Given(id.clone()))
            }
            Controller::Structured => {
                argv.push("--acp".to_owned());
                if let Conversation::Resume { id } = &launch.conversation
                    && began_this_minute(launch, id)
                {
                    return Err(PlanError::Resume {
                        engine: CliEngine::Gemini,
                        id: id.clone(),
                        why: "it began in this minute, and Gemini CLI would write over it; try \
                              again in the next",
                    });
                }
                let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Load)?;
                // It comes with our home, where it can be said that it is trusted.
                setup.session.mcp_servers.clear();
                setup.habits.history_end = HistoryEnd::Commands;
                setup.habits.tool_names = ToolNames::CallIds;
                setup.habits.files = FileMentions::Words;
                (Some(setup), ConversationId::told_by_protocol(launch))
            }
        };
        argv.extend(launch.extra.iter().cloned());
        let mut plan = LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files: Vec::new(),
            links: Vec::new(),
            conversation,
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        };
        let needs_home =
            launch.mcp.is_some() || launch.hooks.is_some() || launch.instructions.is_some();
        if needs_home {
            own_home(launch, &mut plan)?;
        }
        Ok(plan)
    }

    /// Older versions know the option as `--experimental-acp` only.
    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "gemini",
            by: "gemini --acp",
            install: None,
            resume: ResumeBy::Load,
            standing: Standing::Proven,
        })
    }

    fn model_way(&self, access: &ModelAccess) -> Option<ModelWay> {
        Some(ModelWay::by_variables([
            (
                "GOOGLE_GEMINI_BASE_URL",
                format!("{}/gemini", access.base_url),
            ),
            ("GEMINI_API_KEY", access.token.clone()),
        ]))
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/quit")
    }

    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[StartupDialog {
            question: StartupQuestion::TrustFolder,
            asks: &["trust the files in this folder"],
            yes: &["Trust folder"],
        }]
    }

    fn transcript_has_messages(&self) -> bool {
        true
    }

    fn asks_before_tools(&self) -> bool {
        true
    }

    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let id = search.conversation?;
        let chats = their_folder(&|name| search.variable(name))?.join("tmp");
        let short = id.get(..8)?;
        let is_chat = |name: &str| name.starts_with("session-") && name.contains(short);
        let files = recent_files(&chats, 2, is_chat);
        let ours = files
            .into_iter()
            .find(|file| chat_id(&file.path).as_deref() == Some(id))?;
        // The way there may lead through the folder of a launch, which is gone when
        // the launch is over.
        let path = ours.path.canonicalize().unwrap_or(ours.path);
        Some(FoundTranscript::file(id.to_owned(), &path))
    }

    fn personal_transcripts(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<PersonalTranscript> {
        let is_chat = |name: &str| name.starts_with("session-") && name.ends_with(".jsonl");
        their_folder(environment)
            .map(|folder| personal_transcripts::files(&folder.join("tmp"), 2, is_chat))
            .unwrap_or_default()
    }

    fn origin(&self, tail: &TranscriptTail) -> Option<TranscriptOrigin> {
        let path = tail.path();
        let project = path.parent()?.parent()?.join(".project_root");
        let root = read_small(&project).ok().flatten()?;
        TranscriptOrigin::new(&chat_id(path)?, root.trim().into())
    }

    fn transcript_facts(&self, line: &str, memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        // After something was cancelled the whole conversation is written again:
        // from its preamble to the list of all its entries.
        if entry["$set"]["messages"].is_array() {
            memory.retold = false;
        }
        let mut said = text_of(&entry["content"]);
        if entry["type"] == "user" && said.as_ref().is_some_and(|said| said.starts_with(PREAMBLE)) {
            memory.retold = true;
        }
        if memory.retold {
            return Vec::new();
        }
        // An answer is written again when its tools have run.
        if said.is_some() {
            let id = entry["id"].as_str().map(str::to_owned);
            said = said.filter(|_| id.is_none() || id != memory.said);
            memory.said = id;
        }
        match entry["type"].as_str() {
            Some("info") if said.as_deref() == Some(CANCELLED) => {
                vec![TranscriptFact::Interrupted]
            }
            Some("user") => {
                let prompted = said.map(|text| TranscriptFact::Prompted { text });
                prompted.into_iter().collect()
            }
            Some("gemini") => of_answer(&entry, said),
            _ => Vec::new(),
        }
    }
}

fn of_answer(entry: &Value, said: Option<String>) -> Vec<TranscriptFact> {
    let mut facts: Vec<_> = said
        .map(|text| TranscriptFact::Said { text })
        .into_iter()
        .collect();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for call in entry["toolCalls"].as_array().into_iter().flatten() {
        facts.push(TranscriptFact::ToolStarted {
            call: word(&call["id"]),
            tool: word(&call["name"]),
            arguments: fingerprint(&call["args"]),
            subject: ToolSubject::of(&call["args"]),
        });
        if let Some(status) = call["status"].as_str() {
            facts.push(TranscriptFact::ToolEnded {
                call: word(&call["id"]),
                outcome: match status {
                    "success" => ToolOutcome::Succeeded,
                    "cancelled" => ToolOutcome::Denied,
                    _ => ToolOutcome::Failed,
                },
            });
        }
    }
    let tokens = &entry["tokens"];
    if tokens.is_object() {
        let cached = number(&tokens["cached"]);
        facts.push(TranscriptFact::Used {
            request: word(&entry["id"]),
            usage: TokenUsage {
                model: entry["model"].as_str().map(str::to_owned),
                input: number(&tokens["input"]).saturating_sub(cached),
                output: number(&tokens["output"]) + number(&tokens["thoughts"]),
                cache_read: cached,
                cache_write: 0,
                cache_write_1h: 0,
            },
        });
    }
    facts
}

fn own_home(launch: &Launch, plan: &mut LaunchPlan) -> Result<(), PlanError> {
    let engine = CliEngine::Gemini;
    let variable = |name: &str| launch.environment.get(name).cloned();
    let theirs = their_folder(&variable).ok_or(PlanError::NoHome { engine })?;
    let home = launch.folder.join("gemini-home");
    let ours = home.join(".gemini");

    let mut settings = their_settings(&theirs.join("settings.json"))?;
    if let Some(server) = &launch.mcp {
        let entry =
            json!({ "command": text(&server.command)?, "args": server.args, "trust": true });
        member(&mut settings, "mcpServers").insert(server.name.clone(), entry);
    }
    if let Some(hooks) = &launch.hooks {
        // A protocol tells what the other hooks would.
        let (events, told): (&[_], _) = match launch.controller {
            Controller::Terminal => (&HOOK_EVENTS, Told::ByHooks),
            Controller::Structured => (&[BEFORE_TOOL], Told::ByProtocol),
        };
        add_hooks(member(&mut settings, "hooks"), hooks, events, told);
    }
    plan.files.push(PlannedFile {
        path: ours.join("settings.json"),
        contents: Value::Object(settings).to_string(),
    });

    let mut written = vec!["settings.json"];
    if let Some(instructions) = &launch.instructions {
        let own = read_small(&theirs.join("GEMINI.md"))?.unwrap_or_default();
        plan.files.push(PlannedFile {
            path: ours.join("GEMINI.md"),
            contents: format!("{own}\n\n{instructions}\n"),
        });
        written.push("GEMINI.md");
    }
    let kept = KEPT_FOLDERS.iter().chain(&KEPT_FILES);
    let mut names: Vec<String> = kept.map(|name| (*name).to_owned()).collect();
    for entry in std::fs::read_dir(&theirs).into_iter().flatten().flatten() {
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    names.dedup();
    names.retain(|name| !written.contains(&name.as_str()));
    plan.links.extend(names.iter().map(|name| PlannedLink {
        path: ours.join(name),
        target: theirs.join(name),
        to: if KEPT_FOLDERS.contains(&name.as_str()) {
            LinkedTo::Folder
        } else {
            LinkedTo::AnythingOrNothing
        },
    }));
    plan.environment
        .insert("GEMINI_CLI_HOME".to_owned(), text(&home)?);
    if launch.hooks.is_some() {
        let path = home.join("system-settings.json");
        plan.environment
            .insert(SYSTEM_SETTINGS.to_owned(), text(&path)?);
        plan.files.push(PlannedFile {
            path,
            contents: system_settings(variable(SYSTEM_SETTINGS).as_deref())?,
        });
    }
    Ok(())
}

/// The settings that stand above those of a repository, which could turn hooks off.
fn system_settings(theirs: Option<&str>) -> Result<String, PlanError> {
    let usual = if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    };
    let mut settings = their_settings(Path::new(theirs.unwrap_or(usual)))?;
    member(&mut settings, "hooksConfig").insert("enabled".to_owned(), json!(true));
    Ok(Value::Object(settings).to_string())
}

fn add_hooks(hooks: &mut Map<String, Value>, command: &HookCommand, events: &[&str], told: Told) {
    for &event in events {
        let line = match event {
            BEFORE_TOOL => command.judging_line(told),
            _ => command.shell_line(),
        };
        let entry = json!({ "hooks": [{
            "type": "command", "command": line, "timeout": HOOK_MILLISECONDS,
        }]});
        match hooks.entry(event).or_insert_with(|| json!([])) {
            Value::Array(entries) => entries.push(entry),
            other => *other = json!([entry]),
        }
    }
}

fn member<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made an object above")
}

fn their_folder(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = variable("GEMINI_CLI_HOME").or_else(|| variable("HOME"))?;
    Some(Path::new(&home).join(".gemini"))
}

/// The person's settings. The CLI allows comments in them.
fn their_settings(path: &Path) -> Result<Map<String, Value>, PlanError> {
    let Some(read) = read_small(path)? else {
        return Ok(Map::new());
    };
    serde_json::from_str(&without_comments(&read)).map_err(|error| PlanError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

fn read_small(path: &Path) -> Result<Option<String>, PlanError> {
    let unreadable = |error: std::io::Error| PlanError::Unreadable {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let mut read = String::new();
    file.take(LONGEST_FILE)
        .read_to_string(&mut read)
        .map_err(unreadable)?;
    Ok(Some(read))
}

/// JSON with `//` and `/* */` comments made spaces.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) if in_string => {
                plain.push(c);
                plain.extend(rest.next());
            }
            ('"', _) => {
                in_string = !in_string;
                plain.push(c);
            }
            ('/', Some('/')) if !in_string => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) if !in_string => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                plain.push(' ');
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn chat_id(path: &Path) -> Option<String> {
    let mut line = String::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(LONGEST_FILE))
        .read_line(&mut line)
        .ok()?;
    let head: Value = serde_json::from_str(&line).ok()?;
    head["sessionId"].as_str().map(str::to_owned)
}

/// Whether the file of a conversation has this minute in its name. Over the protocol the
/// CLI begins a file of the minute and the conversation before it reads the old one, and
/// where they are the same nothing is left to go on with.
fn began_this_minute(launch: &Launch, id: &str) -> bool {
    let variable = |name: &str| launch.environment.get(name).cloned();
    let (Some(folder), Some(short)) = (their_folder(&variable), id.get(..8)) else {
        return false;
    };
    let now = SystemClock.now().to_string().replace(':', "-");
    let Some(minute) = now.get(..16) else {
        return false;
    };
    let file = format!("session-{minute}-{short}");
    let is_it = |name: &str| name.starts_with(&file);
    !recent_files(&folder.join("tmp"), 2, is_it).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn over_the_protocol_its_home_names_the_server_and_the_hook_that_answers() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().display().to_string();
        let launch = Launch {
            controller: Controller::Structured,
            environment: [("HOME".to_owned(), home)].into(),
            ..fixture::launch("gemini")
        };
        let plan = GeminiCli.plan(&launch).unwrap();
        assert_eq!(plan.argv.last().map(String::as_str), Some("--acp"));
        let settings: Value = serde_json::from_str(&plan.files[0].contents).unwrap();
        assert_eq!(settings["mcpServers"]["mission-execution"]["trust"], true);
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.keys().collect::<Vec<_>>(), [BEFORE_TOOL]);
        assert_eq!(
            hooks[BEFORE_TOOL][0]["hooks"][0]["command"],
            "'/opt/mission' 'hook' '/run/launch/access.json' '--judge' '--unreported' || exit 2"
        );
        assert!(plan.control.unwrap().session.mcp_servers.is_empty());
        assert_eq!(plan.conversation, ConversationId::ToldLater);
    }

    #[test]
    fn a_conversation_of_this_minute_is_not_taken_up_over_the_protocol() {
        let place = tempfile::tempdir().unwrap();
        let chats = place.path().join(".gemini/tmp/work/chats");
        std::fs::create_dir_all(&chats).unwrap();
        let id = fixture::CONVERSATION.to_owned();
        let home = place.path().display().to_string();
        let launch = Launch {
            controller: Controller::Structured,
            environment: [("HOME".to_owned(), home)].into(),
            conversation: Conversation::Resume { id: id.clone() },
            ..fixture::bare("gemini")
        };
        let file = |minute: &str| chats.join(format!("session-{minute}-{}.jsonl", &id[..8]));
        std::fs::write(file("2026-01-01T10-00"), "").unwrap();
        assert!(GeminiCli.plan(&launch).is_ok());
        // The minute may end between the two: then there is a file of each.
        for _ in 0..2 {
            let now = SystemClock.now().to_string().replace(':', "-");
            std::fs::write(file(&now[..16]), "").unwrap();
        }
        let refused = GeminiCli.plan(&launch).unwrap_err().to_string();
        assert!(refused.contains("it began in this minute"), "{refused}");
    }

    #[test]
    fn a_full_launch_has_a_home_of_its_own_with_all_of_the_persons() {
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join(".gemini");
        std::fs::create_dir(&theirs).unwrap();
        let settings = r#"{
            // mine
            "theme": "dark // not a comment",
            "mcpServers": {"own": {"command": "x"}}, /* two */
            "hooks": {"AfterAgent": [{"hooks": []}]}
        }"#;
        std::fs::write(theirs.join("settings.json"), settings).unwrap();
        std::fs::write(theirs.join("GEMINI.md"), "Be brief.").unwrap();
        std::fs::write(theirs.join("mcp-oauth-tokens.json"), "{}").unwrap();
        let mut launch = fixture::launch("gemini");
        let home = place.path().display().to_string();
        launch.environment.insert("HOME".to_owned(), home);
        let plan = GeminiCli.plan(&launch).unwrap();

        assert_eq!(
            plan.argv,
            [
                "gemini",
                "--model",
                "best",
                "--approval-mode",
                "default",
                "--skip-trust",
                "--session-id",
                fixture::CONVERSATION,
            ]
        );
        assert_eq!(
            plan.environment["GEMINI_CLI_HOME"],
            "/run/launch/gemini-home"
        );
        let settings: Value = serde_json::from_str(&plan.files[0].contents).unwrap();
        assert_eq!(settings["theme"], "dark // not a comment");
        assert_eq!(settings["mcpServers"]["own"]["command"], "x");
        assert_eq!(
            settings["mcpServers"]["mission-execution"],
            json!({
                "command": "/opt/mission",
                "args": ["execution", "mcp", "/run/launch/access.json"],
                "trust": true,
            })
        );
        assert_eq!(settings["hooks"]["AfterAgent"].as_array().unwrap().len(), 2);
        assert_eq!(plan.files[1].contents, "Be brief.\n\nReport progress.\n");
        let system: Value = serde_json::from_str(&plan.files[2].contents).unwrap();
        assert_eq!(system["hooksConfig"]["enabled"], true);
        let path = &plan.environment[SYSTEM_SETTINGS];
        assert_eq!(plan.files[2].path, Path::new(path));
        let linked: Vec<_> = plan
            .links
            .iter()
            .map(|link| link.path.file_name().unwrap())
            .collect();
        assert!(linked.contains(&"mcp-oauth-tokens.json".as_ref()));
        assert!(linked.contains(&"oauth_creds.json".as_ref()));
        assert!(!linked.contains(&"settings.json".as_ref()));
        assert!(!linked.contains(&"GEMINI.md".as_ref()));
    }

    #[test]
    fn settings_that_cannot_be_read_stop_the_launch() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(".gemini")).unwrap();
        std::fs::write(place.path().join(".gemini/settings.json"), "{oops").unwrap();
        let mut launch = fixture::launch("gemini");
        let home = place.path().display().to_string();
        launch.environment.insert("HOME".to_owned(), home);
        let error = GeminiCli.plan(&launch).unwrap_err();
        assert!(
            error.to_string().contains("settings.json cannot be read"),
            "{error}"
        );
    }

    #[test]
    fn lines_of_a_transcript_become_facts() {
        let line = r#"{"id":"m1","type":"gemini","content":"Hello!","thoughts":[{"subject":"private"}],"tokens":{"input":100,"output":5,"cached":40,"thoughts":2},"model":"flash"}"#;
        assert_eq!(
            GeminiCli.transcript_facts(line, &mut TranscriptMemory::default()),
            [
                TranscriptFact::Said {
                    text: "Hello!".to_owned()
                },
                TranscriptFact::Used {
                    request: "m1".to_owned(),
                    usage: TokenUsage {
                        model: Some("flash".to_owned()),
                        input: 60,
                        output: 7,
                        cache_read: 40,
                        cache_write: 0,
                        cache_write_1h: 0,
                    },
                },
            ]
        );
        let prompt = r#"{"id":"u","type":"user","content":[{"text":"hello there"}]}"#;
        assert_eq!(
            GeminiCli.transcript_facts(prompt, &mut TranscriptMemory::default()),
            [TranscriptFact::Prompted {
                text: "hello there".to_owned()
            }]
        );
        assert!(
            GeminiCli
                .transcript_facts(
                    r#"{"$set":{"lastUpdated":"x"}}"#,
                    &mut TranscriptMemory::default()
                )
                .is_empty()
        );
    }
}
