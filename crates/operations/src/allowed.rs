//! Which tools of the external servers somebody may see and call.

use missiond_config::Config;
use missiond_core::glob;

/// Names of tools, in which `*` stands for anything. A name without `__` is that
/// of a server and stands for all its tools. An empty list allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed(Vec<String>);

impl Allowed {
    pub fn new(patterns: Vec<String>) -> Self {
        let whole = |pattern: String| {
            if pattern.contains("__") || pattern == "*" {
                pattern
            } else {
                format!("{pattern}__*")
            }
        };
        Self(patterns.into_iter().map(whole).collect())
    }

    /// What the configuration gives the agents of a slot of this name: those of its own
    /// setting if it has one, of all agents otherwise.
    pub fn of_slot(config: &Config, name: Option<&str>) -> Self {
        let mut settings = config.slots.iter();
        let of_slot = settings
            .find(|known| Some(known.name.as_str()) == name)
            .and_then(|slot| slot.tools.clone());
        Self::new(of_slot.unwrap_or_else(|| config.mcp.agents.clone()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `server__tool` may be used.
    pub fn allows(&self, qualified: &str) -> bool {
        self.0.iter().any(|pattern| glob(pattern, qualified))
    }

    /// Whether some tool of a server may be: others need not even be started.
    pub fn concerns(&self, server: &str) -> bool {
        self.0.iter().any(|pattern| {
            let of_server = pattern
                .split_once("__")
                .map_or(pattern.as_str(), |(name, _)| name);
            glob(of_server, server)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(patterns: &[&str]) -> Allowed {
        Allowed::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect())
    }

    #[test]
    fn a_server_stands_for_its_tools_and_a_star_for_anything() {
        let some = allowed(&["time", "files__read_*", "*__echo"]);
        for name in ["time__now", "files__read_text_file", "everything__echo"] {
            assert!(some.allows(name), "{name}");
        }
        for name in ["times__now", "files__write_file", "everything__echoes", "x"] {
            assert!(!some.allows(name), "{name}");
        }
        assert!(allowed(&["*"]).allows("anything__at_all"));
        assert!(!allowed(&[]).allows("time__now"));
        assert!(allowed(&["a*b*c__x"]).allows("a1b2c__x"));
        assert!(!allowed(&["a*b*c__x"]).allows("abx__x"));
    }

    #[test]
    fn a_server_of_which_nothing_is_allowed_is_of_no_concern() {
        let some = allowed(&["time", "files__read_*"]);
        assert!(some.concerns("time") && some.concerns("files"));
        assert!(!some.concerns("git"));
        assert!(allowed(&["*"]).concerns("git"));
        assert!(allowed(&["*__echo"]).concerns("git"));
    }
}
