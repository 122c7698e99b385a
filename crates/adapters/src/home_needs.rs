//! What each engine keeps in the home and cannot work without: its log-in, its own sessions,
//! its settings. Behind a wall this is all of a home that its agents see.
//!
//! Settings of the person are to be read, and where there are none yet an agent makes none:
//! it would have commands run (hooks, servers) where no wall is. So the folder of an engine is
//! an empty one inside, in which stands what is named here and nothing else.

use std::path::{Path, PathBuf};

use missiond_core::CliEngine;

use crate::claude::project_name;

/// Stands for what the sessions of the folder of work are called by.
const PROJECT: &str = "PROJECT";

/// Parts of a home, and the variables that name them elsewhere.
const IN_HOME: [(&str, &str); 4] = [
    (".cache", "XDG_CACHE_HOME"),
    (".config", "XDG_CONFIG_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
];

/// Paths that need not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeNeeds {
    /// Folders that hold nothing but what of them is named.
    pub private: Vec<PathBuf>,
    /// Folders that outlive the run, made if they are not there.
    pub kept: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub readable: Vec<PathBuf>,
    /// Folders into which the engine writes beside what is there, which it may read.
    pub layered: Vec<PathBuf>,
    /// Files that the run has a copy of, because what it writes there concerns the person.
    pub copied: Vec<PathBuf>,
    /// Whether the engine builds sandboxes of its own around what it runs.
    pub confines_itself: bool,
}

/// The folder of an engine, in the home or where a variable names it, and what of it is what.
#[derive(Default)]
struct Kept {
    variable: &'static str,
    folder: &'static str,
    sessions: &'static [&'static str],
    /// Within what is kept, and yet not: what a CLI runs or puts back elsewhere.
    fleeting: &'static [&'static str],
    log_in: &'static [&'static str],
    settings: &'static [&'static str],
    copied: &'static [&'static str],
    beside: Beside,
}

/// What stands in the home beside the folder.
#[derive(Default)]
struct Beside {
    kept: &'static [&'static str],
    settings: &'static [&'static str],
    layered: &'static [&'static str],
    copied: &'static [&'static str],
}

/// The needs of an engine that works in a folder; of an engine nobody knows, none.
#[must_use]
pub fn home_needs(
    engine: &CliEngine,
    cwd: &Path,
    variable: &dyn Fn(&str) -> Option<PathBuf>,
) -> HomeNeeds {
    let Some(home) = variable("HOME") else {
        return HomeNeeds::default();
    };
    let Some(kept) = kept(engine) else {
        return HomeNeeds::default();
    };
    let in_home = |name: &str| in_home(&home, name, variable);
    let folder = variable(kept.variable).unwrap_or_else(|| in_home(kept.folder));
    // Claude Code and Qwen Code name the sessions of a folder by its path.
    let project = project_name(cwd).unwrap_or_default();
    let both = |inside: &[&str], beside: &[&str]| -> Vec<PathBuf> {
        let inside = inside.iter().map(|name| name.replace(PROJECT, &project));
        let inside = inside.map(|name| match name.as_str() {
            "." => folder.clone(),
            name => folder.join(name),
        });
        inside
            .chain(beside.iter().map(|name| in_home(name)))
            .collect()
    };
    HomeNeeds {
        kept: both(kept.sessions, kept.beside.kept),
        writable: both(kept.log_in, &[]),
        readable: both(kept.settings, kept.beside.settings),
        layered: both(&[], kept.beside.layered),
        copied: both(kept.copied, kept.beside.copied),
        private: both(&[&["."], kept.fleeting].concat(), &[]),
        confines_itself: *engine == CliEngine::Codex,
    }
}

/// In a home whose parts variables may have put elsewhere.
fn in_home(home: &Path, name: &str, variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
    let moved = IN_HOME.iter().find_map(|(part, named)| {
        let inside = Path::new(name).strip_prefix(part).ok()?;
        Some(variable(named)?.join(inside))
    });
    moved.unwrap_or_else(|| home.join(name))
}

fn kept(engine: &CliEngine) -> Option<Kept> {
    let kept = match engine {
        CliEngine::Claude => Kept {
            variable: "CLAUDE_CONFIG_DIR",
            folder: ".claude",
            sessions: &["projects/PROJECT"],
            log_in: &[".credentials.json"],
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
            // With CLAUDE_CONFIG_DIR it stands in that folder.
            copied: &[".claude.json"],
            beside: Beside {
                copied: &[".claude.json"],
                ..Beside::default()
            },
            ..Kept::default()
        },
        CliEngine::Codex => Kept {
            variable: "CODEX_HOME",
            folder: ".codex",
            sessions: &["sessions"],
            log_in: &["auth.json"],
            settings: &[
                "AGENTS.md",
                "config.toml",
                "hooks.json",
                "prompts",
                "rules",
                "skills",
            ],
            copied: &["installation_id", "models_cache.json", "version.json"],
            ..Kept::default()
        },
        CliEngine::Gemini => Kept {
            folder: ".gemini",
            sessions: &["history", "tmp"],
            log_in: &["oauth_creds.json"],
            settings: &[
                ".env",
                "GEMINI.md",
                "agents",
                "commands",
                "extensions",
                "policies",
                "settings.json",
                "skills",
                "trustedFolders.json",
            ],
            copied: &[
                "google_accounts.json",
                "installation_id",
                "projects.json",
                "state.json",
            ],
            ..Kept::default()
        },
        CliEngine::OpenCode => Kept {
            folder: ".local/share/opencode",
            // Its database and the files beside it are one: all of it is kept.
            sessions: &["."],
            // Git runs in it, by the settings that stand there.
            fleeting: &["snapshot"],
            settings: &["bin"],
            beside: Beside {
                kept: &[".local/state/opencode"],
                layered: &[".cache/opencode", ".config/opencode", ".opencode"],
                ..Beside::default()
            },
            ..Kept::default()
        },
        CliEngine::Copilot => Kept {
            variable: "COPILOT_HOME",
            folder: ".copilot",
            sessions: &["session-state"],
            settings: &[
                "agents",
                "copilot-instructions.md",
                "hooks",
                "mcp-config.json",
                "skills",
            ],
            copied: &["config.json"],
            ..Kept::default()
        },
        CliEngine::Qwen => Kept {
            folder: ".qwen",
            sessions: &["projects/PROJECT"],
            log_in: &["oauth_creds.json"],
            settings: &[
                ".env",
                "QWEN.md",
                "agents",
                "commands",
                "extensions",
                "settings.json",
                "skills",
                "trustedFolders.json",
            ],
            copied: &["installation_id"],
            ..Kept::default()
        },
        CliEngine::Aider => Kept {
            folder: ".aider",
            settings: &["oauth-keys.env"],
            beside: Beside {
                settings: &[".aider.conf.yml", ".aider.model.settings.yml"],
                ..Beside::default()
            },
            ..Kept::default()
        },
        _ => return None,
    };
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(engine: &str, variables: &[(&str, &str)]) -> HomeNeeds {
        let variable = |name: &str| {
            let mut all = variables.iter();
            all.find(|(one, _)| *one == name)
                .map(|(_, value)| PathBuf::from(value))
        };
        home_needs(&engine.parse().unwrap(), Path::new("/work/it"), &variable)
    }

    #[test]
    fn an_engine_has_its_log_in_the_sessions_of_its_work_and_settings_to_read() {
        let home = ("HOME", "/home/ada");
        let claude = needs("claude", &[home]);
        assert_eq!(claude.private, [PathBuf::from("/home/ada/.claude")]);
        assert!(
            claude
                .kept
                .contains(&"/home/ada/.claude/projects/-work-it".into())
        );
        assert_eq!(
            claude.writable,
            [PathBuf::from("/home/ada/.claude/.credentials.json")]
        );
        assert!(
            claude
                .readable
                .contains(&"/home/ada/.claude/settings.json".into())
        );
        assert!(claude.copied.contains(&"/home/ada/.claude.json".into()));
        let codex = needs("codex", &[home, ("CODEX_HOME", "/data/codex")]);
        assert_eq!(codex.kept, [PathBuf::from("/data/codex/sessions")]);
        assert!(codex.confines_itself && !claude.confines_itself);
        assert_eq!(needs("somebody", &[home]), HomeNeeds::default());
        assert_eq!(needs("claude", &[]), HomeNeeds::default());
    }

    #[test]
    fn parts_of_a_home_are_where_variables_name_them() {
        let variables = [("HOME", "/home/ada"), ("XDG_DATA_HOME", "/data")];
        let opencode = needs("opencode", &variables);
        let kept = ["/data/opencode", "/home/ada/.local/state/opencode"];
        assert_eq!(opencode.kept, kept.map(PathBuf::from));
        let settings = PathBuf::from("/home/ada/.config/opencode");
        assert!(opencode.layered.contains(&settings));
        assert!(opencode.readable.contains(&"/data/opencode/bin".into()));
        let private = ["/data/opencode", "/data/opencode/snapshot"];
        assert_eq!(opencode.private, private.map(PathBuf::from));
    }
}
