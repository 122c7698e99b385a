//! aider. It has a terminal and nothing else: no protocol, no MCP servers, and one
//! conversation per folder.

use std::collections::BTreeMap;

use missiond_core::{CliEngine, Controller};

use crate::adapter::Adapter;
use crate::launch::{Conversation, Launch, PermissionMode};
use crate::plan::{ConversationId, Instructions, LaunchPlan, PlanError, SignalTransport, text};

#[derive(Debug)]
pub(crate) struct Aider;

impl Adapter for Aider {
    fn engine(&self) -> CliEngine {
        CliEngine::Aider
    }

    fn program(&self) -> &str {
        "aider"
    }

    /// An empty line is the end of a message, unless it is told otherwise while it runs.
    fn accepts_long_prompts(&self) -> bool {
        false
    }

    fn takes_mcp_servers(&self) -> bool {
        false
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let engine = CliEngine::Aider;
        if launch.controller == Controller::Structured {
            return Err(PlanError::TerminalOnly { engine });
        }
        if let Some(server) = &launch.mcp {
            return Err(PlanError::Mcp {
                engine,
                server: server.name.clone(),
                why: "it has no MCP client; let it report by `--signals markers`",
            });
        }
        if let Conversation::Resume { id } = &launch.conversation {
            return Err(PlanError::Resume {
                engine,
                id: id.clone(),
                why: "it knows the last conversation of a folder only; pass --restore-chat-history",
            });
        }
        let mut argv = vec![text(&launch.program)?];
        // Neither asks nor opens a browser when it starts.
        argv.extend(
            [
                "--no-check-update",
                "--no-show-release-notes",
                "--analytics-disable",
            ]
            .map(str::to_owned),
        );
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        match launch.permission {
            PermissionMode::Ask => {}
            PermissionMode::Plan => {
                argv.extend(["--chat-mode".to_owned(), "ask".to_owned()]);
            }
            PermissionMode::Bypass => argv.push("--yes-always".to_owned()),
            PermissionMode::AcceptEdits => {
                return Err(PlanError::Permission {
                    engine,
                    mode: launch.permission.name(),
                    instead: "it edits the files of its chat without asking, and asks for all else",
                });
            }
        }
        argv.extend(launch.extra.iter().cloned());
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files: Vec::new(),
            links: Vec::new(),
            conversation: ConversationId::ToldLater,
            instructions: Instructions::before_if(launch.instructions.is_some()),
            signals: SignalTransport::StdoutMarker,
            control: None,
        })
    }

    fn exit_command(&self) -> Option<&'static str> {
        Some("/exit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_it_has_is_passed_and_what_it_has_not_is_refused() {
        let launch = Launch {
            model: Some("best".to_owned()),
            permission: PermissionMode::Plan,
            ..fixture::bare("aider")
        };
        let plan = Aider.plan(&launch).unwrap();
        assert_eq!(plan.argv[4..], ["--model", "best", "--chat-mode", "ask"]);
        let refused = |launch: Launch| Aider.plan(&launch).unwrap_err().to_string();
        assert!(refused(fixture::launch("aider")).contains("no MCP client"));
        let accept = Launch {
            permission: PermissionMode::AcceptEdits,
            ..fixture::bare("aider")
        };
        assert!(refused(accept).contains("no permission mode `accept-edits`"));
        let structured = Launch {
            controller: Controller::Structured,
            ..fixture::bare("aider")
        };
        assert_eq!(
            refused(structured),
            "aider is driven by its terminal: it has no protocol that missiond speaks"
        );
    }
}
