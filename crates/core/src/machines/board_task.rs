//! Where a card on the board stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// Running goes back to Open when the lease is lost or given back. Review is work that
/// waits for a person, or for others in a pull request: verified, unless a person opened
/// that for it; closed without a merge, the pull request blocks it. Done is final because
/// it means verified, by the checks or by the person who brought the work back by hand;
/// work that turns out wrong is a new card.
///
/// | from    | to |
/// |---------|----|
/// | Open    | Running, Review, Done, Blocked, Failed |
/// | Running | Open, Review, Done, Failed, Blocked |
/// | Review  | Open, Done, Failed, Blocked |
/// | Blocked | Open, Review, Done, Failed |
/// | Failed  | Open, Review, Done |
/// | Done    | – |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
// Read with every list of tools: the table is for whoever reads the code.
#[schemars(description = "Where a task stands.")]
pub enum BoardTaskStatus {
    Open,
    Running,
    Review,
    Done,
    Failed,
    Blocked,
}

states!(BoardTaskStatus, "board task", {
    Open = "open",
    Running = "running",
    Review = "review",
    Done = "done",
    Failed = "failed",
    Blocked = "blocked",
});

impl BoardTaskStatus {
    /// Whether nothing more is to be expected of the task by itself.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

impl Machine for BoardTaskStatus {
    const NAME: &'static str = "board task";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (
                Self::Open,
                Self::Running | Self::Review | Self::Done | Self::Blocked | Self::Failed,
            )
            | (
                Self::Running,
                Self::Open | Self::Review | Self::Done | Self::Failed | Self::Blocked,
            )
            | (Self::Review, Self::Open | Self::Done | Self::Failed | Self::Blocked)
            | (Self::Blocked, Self::Open | Self::Review | Self::Done | Self::Failed)
            | (Self::Failed, Self::Open | Self::Review | Self::Done) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
