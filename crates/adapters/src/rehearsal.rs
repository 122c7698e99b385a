//! The rehearsal agent: a part of the `mission` binary that follows a script.

use std::collections::BTreeMap;
use std::path::Path;

use missiond_core::{CliEngine, Controller};
use serde_json::json;

use crate::adapter::{Adapter, FoundTranscript, ProgramSource, TranscriptSearch};
use crate::claude::ClaudeCode;
use crate::launch::{Conversation, Launch, PermissionMode};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport, text,
};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};
use crate::transcript::{TranscriptFact, TranscriptMemory};

pub(crate) const ENGINE: &str = "rehearsal";

#[derive(Debug)]
pub(crate) struct Rehearsal {
    engine: CliEngine,
}

impl Rehearsal {
    pub(crate) fn new(engine: CliEngine) -> Self {
        Self { engine }
    }
}

impl Adapter for Rehearsal {
    fn engine(&self) -> CliEngine {
        self.engine.clone()
    }

    fn program(&self) -> &str {
        "mission"
    }

    fn source(&self) -> ProgramSource {
        ProgramSource::OwnBinary
    }

    /// The arguments begin with the script. The whole command line, as one would
    /// type it (`mission rehearse SCRIPT …`), is taken too.
    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        if launch.permission != PermissionMode::Ask {
            return Err(PlanError::Permission {
                engine: self.engine.clone(),
                mode: launch.permission.name(),
                instead: "its script says what it asks",
            });
        }
        let extra = match &launch.extra[..] {
            [_, command, script @ ..] if command == "rehearse" => script,
            script => script,
        };
        let mut argv = vec![text(&launch.program)?, "rehearse".to_owned()];
        argv.extend(extra.iter().cloned());
        let control = match launch.controller {
            Controller::Terminal => None,
            Controller::Structured => {
                argv.push("--acp".to_owned());
                Some(ControlSetup::new(ACP, launch, ResumeBy::Resume)?)
            }
        };
        let id = match &launch.conversation {
            Conversation::New { id } => {
                argv.extend(["--session-id".to_owned(), id.clone()]);
                id
            }
            Conversation::Resume { id } => {
                // Over the protocol it is asked for there.
                if control.is_none() {
                    argv.extend(["--resume".to_owned(), id.clone()]);
                }
                id
            }
        };
        let mut files = Vec::new();
        if let Some(server) = launch.mcp.as_ref().filter(|_| control.is_none()) {
            let path = launch.folder.join("mcp.json");
            argv.extend(["--mcp-config".to_owned(), text(&path)?]);
            let entry = json!({ "command": text(&server.command)?, "args": server.args });
            let config = json!({ "mcpServers": { server.name.as_str(): entry } });
            files.push(PlannedFile {
                path,
                contents: config.to_string(),
            });
        }
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files,
            links: Vec::new(),
            conversation: ConversationId::Given(id.clone()),
            instructions: match launch.instructions {
                Some(_) => Instructions::BeforeFirstPrompt,
                None => Instructions::Absent,
            },
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control,
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: "mission",
            by: "mission rehearse --acp",
            install: None,
            resume: ResumeBy::Resume,
            standing: Standing::Offered,
        })
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/exit")
    }

    /// Beside the session, in the data folder of missiond.
    fn transcript(&self, search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        let id = search.conversation?;
        let data = match (
            search.variable("MISSION_HOME"),
            search.variable("XDG_STATE_HOME"),
        ) {
            (Some(home), _) => Path::new(&home).join("data"),
            (None, Some(state)) => Path::new(&state).join("missiond"),
            (None, None) => Path::new(&search.variable("HOME")?).join(".local/state/missiond"),
        };
        Some(FoundTranscript::file(
            id.to_owned(),
            &data.join("rehearsals").join(format!("{id}.jsonl")),
        ))
    }

    /// It writes the messages that Claude Code writes.
    fn transcript_facts(&self, line: &str, memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        ClaudeCode.transcript_facts(line, memory)
    }
}

#[cfg(test)]
mod tests {
    use missiond_control::SessionChoice;

    use super::*;
    use crate::fixture;

    fn planned(extra: &[&str]) -> Vec<String> {
        let rehearsal = Rehearsal::new(ENGINE.parse().unwrap());
        let launch = Launch {
            extra: extra.iter().map(|word| (*word).to_owned()).collect(),
            model: None,
            ..fixture::launch("/opt/mission")
        };
        rehearsal.plan(&launch).unwrap().argv
    }

    #[test]
    fn a_script_is_rehearsed_with_its_session_and_server() {
        let expected = [
            "/opt/mission",
            "rehearse",
            "hello",
            "--speed",
            "5",
            "--session-id",
            fixture::CONVERSATION,
            "--mcp-config",
            "/run/launch/mcp.json",
        ];
        assert_eq!(planned(&["hello", "--speed", "5"]), expected);
        let whole = ["mission", "rehearse", "hello", "--speed", "5"];
        assert_eq!(planned(&whole), expected);
    }

    #[test]
    fn over_the_protocol_its_session_names_the_server() {
        let rehearsal = Rehearsal::new(ENGINE.parse().unwrap());
        let mut launch = Launch {
            controller: Controller::Structured,
            extra: vec!["hello".to_owned()],
            ..fixture::launch("/opt/mission")
        };
        let plan = rehearsal.plan(&launch).unwrap();
        let id = fixture::CONVERSATION;
        let words = [
            "/opt/mission",
            "rehearse",
            "hello",
            "--acp",
            "--session-id",
            id,
        ];
        assert_eq!(plan.argv, words);
        assert!(plan.files.is_empty());
        let session = plan.control.unwrap().session;
        assert_eq!(session.what, SessionChoice::New);
        assert_eq!(session.mcp_servers.len(), 1);

        launch.conversation = Conversation::Resume { id: id.to_owned() };
        let plan = rehearsal.plan(&launch).unwrap();
        assert_eq!(plan.argv, words[..4]);
        let session = plan.control.unwrap().session;
        assert_eq!(session.what, SessionChoice::Resume(id.to_owned()));
    }
}
