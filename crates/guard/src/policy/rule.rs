//! One rule of a policy, and how it is a permission rule for what permission rules know.

use std::fmt;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::HostPattern;
use super::rest::RestPattern;
use crate::permissions::{Effect, PathPattern, Pattern, Rule};

/// What a rule is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Commands.
    Shell,
    /// Files that are read or written.
    Files,
    /// Hosts and networks.
    Network,
    /// Methods and paths of requests to a host.
    Rest,
}

impl Layer {
    pub const ALL: [Self; 4] = [Self::Shell, Self::Files, Self::Network, Self::Rest];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Files => "files",
            Self::Network => "network",
            Self::Rest => "rest",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Both,
}

impl Access {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Read => "reading",
            Self::Write => "writing",
            Self::Both => "reading and writing",
        }
    }

    pub(super) const fn covers(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Both, _) | (Self::Read, Self::Read) | (Self::Write, Self::Write)
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// Where it stands: `policy.toml:12`, and `policy.toml:12#2` for the second of a line.
    pub name: String,
    pub line: u32,
    pub effect: Effect,
    pub subject: Subject,
    /// In the words of whoever wrote it.
    pub because: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Shell(Pattern),
    Files {
        path: PathPattern,
        access: Access,
    },
    Network(HostPattern),
    Rest {
        host: HostPattern,
        request: RestPattern,
    },
}

/// Tools whose argument is a line for a shell.
const SHELL_TOOLS: &str = "re:(?i)bash|run|shell|sh|terminal|exec";
/// Tools that read files, and those that write them, as agent CLIs call them.
const READ_TOOLS: &str = "re:(?i)read|view|grep|glob|ls|list|notebookread|read_file|\
     read_many_files|list_directory|search_file_content";
const WRITE_TOOLS: &str = "re:(?i)write|edit|multiedit|notebookedit|write_file|create_file|\
     edit_file|replace|str_replace|patch|apply_patch|delete|delete_file";
const FILE_TOOLS: &str = "re:(?i)read|view|grep|glob|ls|list|notebookread|read_file|\
     read_many_files|list_directory|search_file_content|write|edit|multiedit|notebookedit|\
     write_file|create_file|edit_file|replace|str_replace|patch|apply_patch|delete|delete_file";

/// The same as patterns, made once.
struct ToolPatterns {
    shell: Pattern,
    read: Pattern,
    write: Pattern,
    files: Pattern,
    any: Pattern,
}

static TOOLS: LazyLock<Option<ToolPatterns>> = LazyLock::new(|| {
    Some(ToolPatterns {
        shell: SHELL_TOOLS.parse().ok()?,
        read: READ_TOOLS.parse().ok()?,
        write: WRITE_TOOLS.parse().ok()?,
        files: FILE_TOOLS.parse().ok()?,
        any: "*".parse().ok()?,
    })
});

impl PolicyRule {
    #[must_use]
    pub const fn layer(&self) -> Layer {
        match self.subject {
            Subject::Shell(_) => Layer::Shell,
            Subject::Files { .. } => Layer::Files,
            Subject::Network(_) => Layer::Network,
            Subject::Rest { .. } => Layer::Rest,
        }
    }

    /// The rule in words: ``deny writing `/etc/**` ``.
    #[must_use]
    pub fn sentence(&self) -> String {
        let effect = self.effect.as_str();
        let mut words = match &self.subject {
            Subject::Shell(pattern) => format!("{effect} `{pattern}`"),
            Subject::Files { path, access } => format!("{effect} {} `{path}`", access.words()),
            Subject::Network(hosts) => format!("{effect} reaching {hosts}"),
            Subject::Rest { host, request } => format!("{effect} {request} at {host}"),
        };
        if let Some(because) = &self.because {
            words.push_str(&format!(" ({because})"));
        }
        words
    }

    /// The same for what decides about commands and files. Networks are another matter.
    pub(super) fn permission(&self) -> Option<Rule> {
        let tools = TOOLS.as_ref()?;
        let (tool, argument, path) = match &self.subject {
            Subject::Shell(pattern) => (&tools.shell, Some(pattern.clone()), None),
            Subject::Files { path, access } => {
                let tools = match (access, self.effect) {
                    (Access::Read, _) => &tools.read,
                    (Access::Write, _) => &tools.write,
                    // Whatever tool it is, a file that is denied wholly is not its.
                    (Access::Both, Effect::Deny | Effect::Ask) => &tools.any,
                    (Access::Both, Effect::Allow) => &tools.files,
                };
                (tools, None, Some(path.clone()))
            }
            Subject::Network(_) | Subject::Rest { .. } => return None,
        };
        Some(Rule {
            argument,
            path,
            ..Rule::new(&self.name, self.effect, tool.clone())
        })
    }
}

/// Whether a tool is one that the patterns above know.
pub(super) fn is_known_file_tool(tool: &str) -> bool {
    let tools = TOOLS.as_ref();
    tools.is_some_and(|tools| tools.files.matches_name(tool))
}
