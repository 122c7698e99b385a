//! What an agent CLI is doing, as far as its terminal and its signals tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// Readings sample the screen, so a state in between may be skipped; the table
/// forbids only what cannot be. Starting is entered again only by a program that
/// starts itself anew after a first dialog (whether to trust a folder, say),
/// seen as such or as Unknown. A menu needs the prompt, so it cannot open over a
/// dialog. Error is reachable from everywhere and left by the next prompt or
/// retry.
///
/// | from        | to |
/// |-------------|----|
/// | Starting    | Idle, Thinking, Responding, ToolRunning, Confirming, SlashMenu, Error, Unknown, Exited |
/// | Idle        | Thinking, Responding, ToolRunning, Confirming, SlashMenu, Error, Unknown, Exited |
/// | Thinking    | Idle, Responding, ToolRunning, Confirming, SlashMenu, Error, Unknown, Exited |
/// | Responding  | Idle, Thinking, ToolRunning, Confirming, SlashMenu, Error, Unknown, Exited |
/// | ToolRunning | Idle, Thinking, Responding, Confirming, SlashMenu, Error, Unknown, Exited |
/// | Confirming  | Starting, Idle, Thinking, Responding, ToolRunning, Error, Unknown, Exited |
/// | SlashMenu   | Idle, Thinking, Responding, ToolRunning, Confirming, Error, Unknown, Exited |
/// | Error       | Idle, Thinking, Responding, ToolRunning, Confirming, SlashMenu, Unknown, Exited |
/// | Unknown     | Starting, Idle, Thinking, Responding, ToolRunning, Confirming, SlashMenu, Error, Exited |
/// | Exited      | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PtyState {
    /// The program runs but has not shown its prompt yet.
    Starting,
    /// It waits for a prompt.
    Idle,
    /// It works and shows nothing of the answer yet.
    Thinking,
    /// The answer streams in.
    Responding,
    /// A tool runs.
    ToolRunning,
    /// It waits for an answer to a dialog.
    Confirming,
    /// A menu of commands is open over the prompt.
    SlashMenu,
    /// It reports a failure.
    Error,
    /// The signs do not suffice for any other state.
    Unknown,
    /// The process has ended.
    Exited,
}

states!(PtyState, "terminal session", {
    Starting = "starting",
    Idle = "idle",
    Thinking = "thinking",
    Responding = "responding",
    ToolRunning = "tool_running",
    Confirming = "confirming",
    SlashMenu = "slash_menu",
    Error = "error",
    Unknown = "unknown",
    Exited = "exited",
});

impl PtyState {
    /// The agent is at work: nobody needs to do anything.
    #[must_use]
    pub const fn is_working(self) -> bool {
        matches!(self, Self::Thinking | Self::Responding | Self::ToolRunning)
    }
}

impl Machine for PtyState {
    const NAME: &'static str = "terminal session";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        let legal = match (self, to) {
            (Self::Exited, _) => false,
            (from, Self::Starting) => matches!(from, Self::Confirming | Self::Unknown),
            (Self::Confirming, Self::SlashMenu) => false,
            (from, to) => from != to,
        };
        if legal { Ok(to) } else { Err(self.illegal(to)) }
    }
}
