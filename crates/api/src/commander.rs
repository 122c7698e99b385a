//! How a person's own agent reaches the catalogue by MCP: the hello of such a
//! connection, and which operations it is shown.
//!
//! A connection that begins with [`METHOD_COMMANDER_HELLO`] is served the MCP
//! protocol and nothing else. What it is shown hangs on that hello, which the
//! bridge sends before its client says a word, and never changes with what is
//! said later.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{CATALOGUE, OperationSpec};

pub const METHOD_COMMANDER_HELLO: &str = "commander_hello";

/// The operations a client is shown that asks for nothing else: what planning,
/// watching and steering takes. The others are found by searching.
pub const DEFAULT_TOOLS: [&str; 10] = [
    "board_add",
    "board_list",
    "board_show",
    "board_ready",
    "board_note",
    "execution_start",
    "execution_list",
    "execution_show",
    "execution_message",
    "question_list",
];

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommanderHelloParams {
    pub protocol: u32,
    /// Which client this is, for its settings and the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Names of toolsets; as the configuration says when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolsets: Vec<String>,
    /// Which tools of the external servers it is shown too: names in which `*`
    /// stands for anything; as the configuration says when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hub: Vec<String>,
    /// Where the session of the client works, absolute. With a client's name it
    /// is the person's own session, and the foreground slot; an agent that
    /// missiond runs says nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommanderWelcome {
    pub protocol: u32,
    pub version: String,
}

/// Which operations a client is shown as tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolsets {
    names: BTreeSet<String>,
}

/// A toolset that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no toolset `{name}`; there are {}", Toolsets::all_names().join(", "))]
pub struct UnknownToolset {
    pub name: String,
}

const DEFAULT: &str = "default";
const ALL: &str = "all";

impl Default for Toolsets {
    fn default() -> Self {
        Self {
            names: BTreeSet::from([DEFAULT.to_owned()]),
        }
    }
}

impl Toolsets {
    /// The toolsets of these names; the default one when there are none.
    pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Self, UnknownToolset> {
        let known = Self::all_names();
        let unknown = names
            .iter()
            .map(AsRef::as_ref)
            .find(|name| !known.contains(name));
        if let Some(name) = unknown {
            let name = name.chars().take(64).collect();
            return Err(UnknownToolset { name });
        }
        if names.is_empty() {
            return Ok(Self::default());
        }
        let names = names.iter().map(|name| name.as_ref().to_owned());
        Ok(Self {
            names: names.collect(),
        })
    }

    /// Everything that can be named, those of several toolsets first.
    #[must_use]
    pub fn all_names() -> Vec<&'static str> {
        let sets: BTreeSet<_> = CATALOGUE.iter().map(|spec| spec.toolset).collect();
        [DEFAULT, ALL].into_iter().chain(sets).collect()
    }

    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.names.contains(ALL)
    }

    #[must_use]
    pub fn includes(&self, spec: &OperationSpec) -> bool {
        self.is_everything()
            || self.names.contains(spec.toolset)
            || (self.names.contains(DEFAULT) && DEFAULT_TOOLS.contains(&spec.name))
    }

    /// The operations of these sets, in the order of the catalogue.
    pub fn operations(&self) -> impl Iterator<Item = &'static OperationSpec> {
        CATALOGUE.iter().filter(|spec| self.includes(spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(toolsets: &[&str]) -> Vec<&'static str> {
        let toolsets = Toolsets::named(toolsets).unwrap();
        toolsets.operations().map(|spec| spec.name).collect()
    }

    #[test]
    fn the_default_is_what_its_list_says() {
        let mut shown = names(&[]);
        shown.sort_unstable();
        let mut listed = DEFAULT_TOOLS.to_vec();
        listed.sort_unstable();
        assert_eq!(shown, listed);
        assert_eq!(names(&["default"]), names(&[]));
    }

    #[test]
    fn sets_add_up_to_everything() {
        assert_eq!(names(&["all"]).len(), CATALOGUE.len());
        let sets: Vec<_> = Toolsets::all_names().split_off(2);
        assert_eq!(names(&sets).len(), CATALOGUE.len());
        let both = names(&["board", "default"]);
        assert!(both.contains(&"board_graph") && both.contains(&"question_list"));
        assert!(!both.contains(&"slot_kill"));
    }

    #[test]
    fn an_unknown_set_is_refused_with_those_that_exist() {
        let error = Toolsets::named(&["boards"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no toolset `boards`; there are default, all, "));
        assert!(error.contains("board"), "{error}");
    }
}
