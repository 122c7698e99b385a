//! What each engine keeps in the home and cannot work without: its log-in, its sessions,
//! its settings. Behind a wall this is all of a home that its agents see.
//!
//! Settings of the person are to be read: an agent that could write them would have
//! commands run (hooks, servers) where no wall is.

use std::path::{Path, PathBuf};

use missiond_core::CliEngine;

/// Paths that need not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeNeeds {
    pub writable: Vec<PathBuf>,
    /// Also below what is writable.
    pub readable: Vec<PathBuf>,
    /// Whether the engine builds sandboxes of its own around what it runs.
    pub confines_itself: bool,
}

/// A folder that a variable may name, its place in the home, what of it is to be read
/// only, and what stands beside it.
struct Kept {
    variable: &'static str,
    folder: &'static str,
    settings: &'static [&'static str],
    beside: &'static [&'static str],
}

/// The needs of an engine; of one nobody knows, none.
#[must_use]
pub fn home_needs(engine: &CliEngine, variable: &dyn Fn(&str) -> Option<PathBuf>) -> HomeNeeds {
    let Some(home) = variable("HOME") else {
        return HomeNeeds::default();
    };
    let Some(kept) = kept(engine) else {
        return HomeNeeds::default();
    };
    let folder = variable(kept.variable).unwrap_or_else(|| home.join(kept.folder));
    let below = |base: &Path, names: &[&str]| names.iter().map(|name| base.join(name)).collect();
    let mut writable: Vec<PathBuf> = below(&home, kept.beside);
    let readable = below(&folder, kept.settings);
    writable.push(folder);
    HomeNeeds {
        writable,
        readable,
        confines_itself: *engine == CliEngine::Codex,
    }
}

fn kept(engine: &CliEngine) -> Option<Kept> {
    let kept = match engine {
        CliEngine::Claude => Kept {
            variable: "CLAUDE_CONFIG_DIR",
            folder: ".claude",
            settings: &[
                "CLAUDE.md",
                "agents",
                "commands",
                "hooks",
                "plugins",
                "settings.json",
                "settings.local.json",
                "skills",
            ],
            beside: &[".claude.json"],
        },
        CliEngine::Codex => Kept {
            variable: "CODEX_HOME",
            folder: ".codex",
            settings: &[
                "AGENTS.md",
                "config.toml",
                "hooks.json",
                "prompts",
                "rules",
                "skills",
            ],
            beside: &[],
        },
        CliEngine::Gemini => Kept {
            variable: "",
            folder: ".gemini",
            settings: &[
                "GEMINI.md",
                "commands",
                "extensions",
                "settings.json",
                "trustedFolders.json",
            ],
            beside: &[],
        },
        CliEngine::OpenCode => Kept {
            variable: "",
            folder: ".local/share/opencode",
            settings: &["bin"],
            beside: &[".cache/opencode", ".local/state/opencode"],
        },
        CliEngine::Copilot => Kept {
            variable: "COPILOT_HOME",
            folder: ".copilot",
            settings: &["config.json", "mcp-config.json"],
            beside: &[],
        },
        _ => return None,
    };
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_sessions_written() {
        let variable = |name: &str| match name {
            "HOME" => Some(PathBuf::from("/home/ada")),
            "CODEX_HOME" => Some(PathBuf::from("/data/codex")),
            _ => None,
        };
        let claude = home_needs(&CliEngine::Claude, &variable);
        let claude_json = PathBuf::from("/home/ada/.claude.json");
        assert_eq!(claude.writable, [claude_json, "/home/ada/.claude".into()]);
        assert!(
            claude
                .readable
                .contains(&"/home/ada/.claude/settings.json".into())
        );
        let codex = home_needs(&CliEngine::Codex, &variable);
        assert_eq!(codex.writable, [PathBuf::from("/data/codex")]);
        assert!(codex.confines_itself && !claude.confines_itself);
        let unknown = "somebody".parse().unwrap();
        assert_eq!(home_needs(&unknown, &variable), HomeNeeds::default());
    }
}
