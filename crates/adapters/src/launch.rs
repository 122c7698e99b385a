//! What is wanted of a launch, in words every CLI shares.

use std::collections::BTreeMap;
use std::path::PathBuf;

use missiond_core::Controller;
use serde::{Deserialize, Serialize};

use crate::tool_use::REFUSING_EXIT;

/// One run of an agent as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    pub controller: Controller,
    /// The program as it was detected; for a structured controller the one of the
    /// adapter's [`StructuredOffer`](crate::StructuredOffer).
    pub program: PathBuf,
    pub cwd: PathBuf,
    /// What the program will find in its environment.
    pub environment: BTreeMap<String, String>,
    /// A private folder for the files of this launch; the plan names files in it.
    pub folder: PathBuf,
    pub model: Option<String>,
    pub permission: PermissionMode,
    pub conversation: Conversation,
    /// Added to what the CLI tells its model about itself.
    pub instructions: Option<String>,
    /// A server the agent must have; a launch without it fails.
    pub mcp: Option<McpServer>,
    /// What the CLI runs to tell of events, where it can.
    pub hooks: Option<HookCommand>,
    /// The person said that this folder may be worked in.
    pub trust_folder: bool,
    /// Arguments of the person, at the end.
    pub extra: Vec<String>,
}

/// What the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Asks before edits and commands.
    Ask,
    /// Edits files in its folder without asking.
    AcceptEdits,
    /// Reads and plans only.
    Plan,
    /// Never asks.
    Bypass,
}

impl PermissionMode {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Bypass => "bypass",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A new one; the id (a UUID) is used where the CLI lets us choose.
    New { id: String },
    /// Exactly this one goes on.
    Resume { id: String },
}

/// An MCP server over standard input and output. Nothing secret is in it: the
/// arguments name a private file that holds the capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub command: PathBuf,
    pub args: Vec<String>,
    /// The tools it has, for CLIs that must be told which ones need no question.
    pub tools: Vec<String>,
}

/// How an agent reaches its model through the daemon, which has the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAccess {
    /// Behind it stands the name of a wire format's family: `/anthropic`, `/openai`,
    /// `/gemini`.
    pub base_url: String,
    /// Good for this execution alone.
    pub token: String,
}

/// What a launch needs for it: words for the command line, and variables. No word of the
/// command line is secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelWay {
    pub args: Vec<String>,
    pub environment: BTreeMap<String, String>,
}

impl ModelWay {
    pub(crate) fn by_variables<const N: usize>(variables: [(&str, String); N]) -> Self {
        let environment = variables.map(|(name, value)| (name.to_owned(), value));
        Self {
            args: Vec::new(),
            environment: environment.into(),
        }
    }
}

/// By what the daemon hears of what an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    ByHooks,
    ByProtocol,
}

/// A program that is run at events of the CLI and gets the event on its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    pub command: PathBuf,
    pub args: Vec<String>,
}

impl HookCommand {
    /// One line for CLIs that hand hooks to a shell.
    pub(crate) fn shell_line(&self) -> String {
        let command = self.command.display().to_string();
        let words = std::iter::once(&command).chain(&self.args);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The line for the hook that answers whether a tool may be used. However it fails,
    /// also if something ends it, the tool is refused.
    pub(crate) fn judging_line(&self, told: Told) -> String {
        let unreported = match told {
            Told::ByHooks => "",
            Told::ByProtocol => " '--unreported'",
        };
        let line = self.shell_line();
        format!("{line} '--judge'{unreported} || exit {REFUSING_EXIT}")
    }
}

/// A word in single quotes, so that no shell reads anything into it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_line_keeps_every_word() {
        let hook = HookCommand {
            command: PathBuf::from("/opt/my tools/mission"),
            args: vec!["hook".to_owned(), "it's $HOME; `x`".to_owned()],
        };
        let line = hook.shell_line();
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("printf '%s\\n' {line}")])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "/opt/my tools/mission\nhook\nit's $HOME; `x`\n"
        );
    }
}
