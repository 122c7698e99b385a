//! OpenCode. Its configuration takes another file beside the person's own; its
//! conversations are in a database of its own, so there is no transcript to
//! follow.

use missiond_core::CliEngine;
use serde_json::{Value, json};

use crate::Adapter;
use crate::launch::{Conversation, Launch, PermissionMode};
use crate::plan::{
    ConversationId, Instructions, LaunchPlan, PlanError, PlannedFile, SignalTransport, text,
};

#[derive(Debug)]
pub(crate) struct OpenCode;

impl Adapter for OpenCode {
    fn engine(&self) -> CliEngine {
        CliEngine::OpenCode
    }

    fn program(&self) -> &str {
        "opencode"
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let mut argv = vec![text(&launch.program)?];
        if let Some(model) = &launch.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        let conversation = match &launch.conversation {
            Conversation::New { .. } => ConversationId::ToldLater,
            Conversation::Resume { id } => {
                argv.extend(["--session".to_owned(), id.clone()]);
                ConversationId::Given(id.clone())
            }
        };
        match launch.permission {
            PermissionMode::Plan => argv.extend(["--agent".to_owned(), "plan".to_owned()]),
            PermissionMode::Bypass => argv.push("--auto".to_owned()),
            PermissionMode::Ask | PermissionMode::AcceptEdits => {}
        }
        argv.extend(launch.extra.iter().cloned());

        let mut files = Vec::new();
        let mut config = json!({ "permission": permissions(launch.permission) });
        if let Some(server) = &launch.mcp {
            let mut command = vec![text(&server.command)?];
            command.extend(server.args.iter().cloned());
            config["mcp"][&server.name] =
                json!({ "type": "local", "command": command, "enabled": true });
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
            conversation,
            instructions: Instructions::given_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
        })
    }
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
