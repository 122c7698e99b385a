//! By what a CLI is driven where no run says it.

use missiond_core::Controller;

use crate::adapter::Adapter;
use crate::detect::find_program;
use crate::structured::Standing;

/// By what a CLI is driven, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    pub by: Controller,
    /// A sentence's end, for a person.
    pub why: String,
}

impl Drive {
    /// All by which a CLI can be driven.
    #[must_use]
    pub fn offered(adapter: &dyn Adapter) -> Vec<Controller> {
        match adapter.structured().map(|offer| offer.standing) {
            Some(Standing::OnlyWay) => vec![Controller::Structured],
            Some(Standing::Proven | Standing::Offered) => Controller::ALL.to_vec(),
            None => vec![Controller::Terminal],
        }
    }

    /// By what a CLI is driven where no run says it: as the configuration has it, else by
    /// a protocol that is proven and whose program is in `path`.
    #[must_use]
    pub fn of(adapter: &dyn Adapter, configured: Option<Controller>, path: &str) -> Self {
        let terminal = |why: String| Self {
            by: Controller::Terminal,
            why,
        };
        let Some(offer) = adapter.structured() else {
            return terminal("it has no protocol that missiond speaks".to_owned());
        };
        let structured = |why: &str| Self {
            by: Controller::Structured,
            why: format!("by `{}`: {why}", offer.by),
        };
        if offer.standing == Standing::OnlyWay {
            return structured("it was added as an agent that speaks ACP");
        }
        match configured {
            Some(Controller::Structured) => return structured("`engines.structured` says so"),
            Some(Controller::Terminal) => {
                return terminal("`engines.terminal` says so".to_owned());
            }
            None => {}
        }
        if offer.standing == Standing::Offered {
            return terminal(format!(
                "`{}` is not proven by tests; `--control structured` chooses it",
                offer.by
            ));
        }
        if find_program(offer.program, path).is_some() {
            return structured("proven by tests with the real program");
        }
        let program = offer.program;
        terminal(match offer.install {
            Some(install) => format!("its protocol needs `{program}`: `{install}`"),
            None => format!("no program `{program}` in PATH"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{adapter, known_engines};

    #[test]
    fn a_proven_protocol_is_taken_where_its_program_is_and_nobody_says_otherwise() {
        let programs = tempfile::tempdir().unwrap();
        let path = programs.path().display().to_string();
        let claude = adapter(&"claude".parse().unwrap());
        let drive = |configured| Drive::of(&*claude, configured, &path);
        assert_eq!(
            drive(None),
            Drive {
                by: Controller::Terminal,
                why: "its protocol needs `claude-agent-acp`: `npm install -g \
                      @agentclientprotocol/claude-agent-acp`"
                    .to_owned(),
            }
        );
        let program = programs.path().join("claude-agent-acp");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        assert_eq!(drive(None).by, Controller::Structured);
        assert_eq!(
            drive(Some(Controller::Terminal)).why,
            "`engines.terminal` says so"
        );
    }

    #[test]
    fn what_is_offered_holds_what_is_taken() {
        let offered = |name: &str| Drive::offered(&*adapter(&name.parse().unwrap()));
        assert_eq!(offered("aider"), [Controller::Terminal]);
        assert_eq!(offered("claude"), Controller::ALL);
        for engine in known_engines() {
            let drive = Drive::of(&*adapter(engine), None, "/nowhere");
            assert!(offered(engine.name()).contains(&drive.by), "{engine}");
        }
    }

    #[test]
    fn without_their_programs_all_are_driven_by_their_terminals() {
        for engine in known_engines() {
            let drive = Drive::of(&*adapter(engine), None, "/nowhere");
            assert_eq!(drive.by, Controller::Terminal, "{engine}: {}", drive.why);
        }
    }
}
