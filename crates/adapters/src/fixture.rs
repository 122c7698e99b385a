//! Launches for tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use missiond_core::Controller;

use crate::launch::{Conversation, HookCommand, Launch, McpServer, PermissionMode};

pub(crate) const CONVERSATION: &str = "0192f0aa-1111-7000-8000-000000000001";

/// Nothing but the program.
pub(crate) fn bare(program: &str) -> Launch {
    Launch {
        controller: Controller::Terminal,
        program: PathBuf::from(program),
        cwd: PathBuf::from("/src/app"),
        environment: BTreeMap::new(),
        folder: PathBuf::from("/run/launch"),
        model: None,
        permission: PermissionMode::Ask,
        conversation: Conversation::New {
            id: CONVERSATION.to_owned(),
        },
        instructions: None,
        mcp: None,
        hooks: None,
        trust_folder: false,
        extra: Vec::new(),
    }
}

/// Everything a launch can ask for.
pub(crate) fn launch(program: &str) -> Launch {
    let access = "/run/launch/access.json".to_owned();
    Launch {
        model: Some("best".to_owned()),
        instructions: Some("Report progress.".to_owned()),
        mcp: Some(McpServer {
            name: "mission-execution".to_owned(),
            command: PathBuf::from("/opt/mission"),
            args: vec!["execution".to_owned(), "mcp".to_owned(), access.clone()],
            tools: vec!["progress".to_owned(), "blocked".to_owned()],
        }),
        hooks: Some(HookCommand {
            command: PathBuf::from("/opt/mission"),
            args: vec!["hook".to_owned(), access],
        }),
        trust_folder: true,
        ..bare(program)
    }
}
