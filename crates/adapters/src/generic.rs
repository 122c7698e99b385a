//! Any other program: run as it is, spoken to by typing, heard by markers.

use std::collections::BTreeMap;

use missiond_core::{CliEngine, Controller};

use crate::adapter::{Adapter, ProgramSource};
use crate::launch::{Conversation, Launch, PermissionMode};
use crate::plan::{ConversationId, Instructions, LaunchPlan, PlanError, SignalTransport, text};

#[derive(Debug)]
pub(crate) struct Generic {
    engine: CliEngine,
}

impl Generic {
    pub(crate) fn new(engine: CliEngine) -> Self {
        Self { engine }
    }
}

impl Adapter for Generic {
    fn engine(&self) -> CliEngine {
        self.engine.clone()
    }

    fn program(&self) -> &str {
        self.engine.name()
    }

    fn source(&self) -> ProgramSource {
        ProgramSource::FirstArgument
    }

    /// Nothing is known of it but its name.
    fn accepts_long_prompts(&self) -> bool {
        false
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let engine = self.engine.clone();
        if launch.controller == Controller::Structured {
            return Err(PlanError::TerminalOnly { engine });
        }
        if let Some(server) = &launch.mcp {
            return Err(PlanError::Mcp {
                engine,
                server: server.name.clone(),
                why: "it has no adapter that knows how; use stdout markers",
            });
        }
        if let Conversation::Resume { id } = &launch.conversation {
            return Err(PlanError::Resume {
                engine,
                id: id.clone(),
                why: "it has no adapter that knows how",
            });
        }
        if launch.permission != PermissionMode::Ask {
            return Err(PlanError::Permission {
                engine,
                mode: launch.permission.name(),
                instead: "pass the program's own arguments",
            });
        }
        let mut argv = vec![text(&launch.program)?];
        argv.extend(launch.extra.iter().cloned());
        Ok(LaunchPlan {
            argv,
            environment: BTreeMap::new(),
            files: Vec::new(),
            links: Vec::new(),
            conversation: ConversationId::ToldLater,
            instructions: match launch.instructions {
                Some(_) => Instructions::BeforeFirstPrompt,
                None => Instructions::Absent,
            },
            signals: SignalTransport::StdoutMarker,
            control: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_it_cannot_do_stops_the_launch() {
        let generic = Generic::new("mytool".parse().unwrap());
        let refused = |launch: Launch| generic.plan(&launch).unwrap_err().to_string();
        assert_eq!(
            refused(fixture::launch("mytool")),
            "mytool cannot be given the MCP server mission-execution: it has no adapter that knows \
             how; use stdout markers"
        );
        let id = "x".to_owned();
        let resumed = Launch {
            conversation: Conversation::Resume { id },
            ..fixture::bare("mytool")
        };
        assert!(refused(resumed).contains("cannot go on with the conversation `x`"));
        let bypass = Launch {
            permission: PermissionMode::Bypass,
            ..fixture::bare("mytool")
        };
        assert!(refused(bypass).contains("has no permission mode `bypass`"));
        let structured = Launch {
            controller: Controller::Structured,
            ..fixture::bare("mytool")
        };
        assert!(refused(structured).contains("driven by its terminal"));
    }

    #[test]
    fn the_program_is_run_as_it_is() {
        let generic = Generic::new("mytool".parse().unwrap());
        let launch = Launch {
            extra: vec!["--no-git".to_owned()],
            instructions: Some("Report.".to_owned()),
            ..fixture::bare("mytool")
        };
        let plan = generic.plan(&launch).unwrap();
        assert_eq!(plan.argv, ["mytool", "--no-git"]);
        assert_eq!(plan.instructions, Instructions::BeforeFirstPrompt);
        assert_eq!(plan.signals, SignalTransport::StdoutMarker);
    }
}
