//! An agent of which nothing is known but its command: it speaks the Agent Client
//! Protocol, and tells by it what else it can.

use std::collections::BTreeMap;

use missiond_core::{CliEngine, Controller};

use crate::adapter::Adapter;
use crate::launch::{Launch, PermissionMode};
use crate::plan::{ConversationId, Instructions, LaunchPlan, PlanError, SignalTransport, text};
use crate::structured::{ACP, ControlSetup, ResumeBy, Standing, StructuredOffer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpAgent {
    pub engine: CliEngine,
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

impl Adapter for AcpAgent {
    fn engine(&self) -> CliEngine {
        self.engine.clone()
    }

    fn program(&self) -> &str {
        &self.command
    }

    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError> {
        let engine = self.engine.clone();
        if launch.controller == Controller::Terminal {
            return Err(PlanError::ProtocolOnly { engine });
        }
        if launch.permission != PermissionMode::Ask {
            return Err(PlanError::Permission {
                engine,
                mode: launch.permission.name(),
                instead: "which modes it has is not known before it runs",
            });
        }
        let mut argv = vec![text(&launch.program)?];
        argv.extend(self.args.iter().chain(&launch.extra).cloned());
        let mut setup = ControlSetup::new(ACP, launch, ResumeBy::Load)?;
        setup.model = launch.model.clone();
        Ok(LaunchPlan {
            argv,
            environment: self.env.clone(),
            files: Vec::new(),
            links: Vec::new(),
            conversation: ConversationId::told_by_protocol(launch),
            instructions: Instructions::before_if(launch.instructions.is_some()),
            signals: SignalTransport::of(launch.mcp.as_ref()),
            control: Some(setup),
        })
    }

    fn structured(&self) -> Option<StructuredOffer<'_>> {
        Some(StructuredOffer {
            program: &self.command,
            by: &self.command,
            install: None,
            resume: ResumeBy::Load,
            standing: Standing::OnlyWay,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn agent() -> AcpAgent {
        AcpAgent {
            engine: "mytool".parse().unwrap(),
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "mytool@1.0.0".to_owned()],
            env: BTreeMap::from([("MODE".to_owned(), "quiet".to_owned())]),
        }
    }

    #[test]
    fn it_is_started_with_its_own_words_before_those_of_the_run() {
        let launch = Launch {
            controller: Controller::Structured,
            extra: vec!["--fast".to_owned()],
            ..fixture::launch("npx")
        };
        let plan = agent().plan(&launch).unwrap();
        assert_eq!(plan.argv, ["npx", "-y", "mytool@1.0.0", "--fast"]);
        assert_eq!(plan.environment["MODE"], "quiet");
        let control = plan.control.unwrap();
        assert_eq!(control.session.mcp_servers.len(), 1);
        assert_eq!(control.model.as_deref(), Some("best"));
    }

    #[test]
    fn it_has_no_terminal() {
        let refused = agent().plan(&fixture::launch("npx")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "mytool is driven by its protocol: it was added as an agent without a terminal"
        );
    }
}
