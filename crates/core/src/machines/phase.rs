//! How far the engineering of a card has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IllegalMove, Machine, states};

/// Forward one phase at a time; Consult may be left out when nothing is open.
/// Back one phase when the work shows that the step before was wrong, and from
/// Finalize to Investigate for the next round.
///
/// | from        | to |
/// |-------------|----|
/// | Investigate | Consult, Plan |
/// | Consult     | Plan, Investigate |
/// | Plan        | Execute, Consult, Investigate |
/// | Execute     | Finalize, Plan |
/// | Finalize    | Investigate, Execute |
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
// Read with every list of tools: the table is for whoever reads the code.
#[schemars(description = "A step of the work on a task.")]
pub enum EngineeringPhase {
    Investigate,
    Consult,
    Plan,
    Execute,
    Finalize,
}

states!(EngineeringPhase, "engineering phase", {
    Investigate = "investigate",
    Consult = "consult",
    Plan = "plan",
    Execute = "execute",
    Finalize = "finalize",
});

impl Machine for EngineeringPhase {
    const NAME: &'static str = "engineering phase";
    const ALL: &'static [Self] = Self::STATES;

    fn name(self) -> &'static str {
        self.as_str()
    }

    fn transition(self, to: Self) -> Result<Self, IllegalMove> {
        match (self, to) {
            (Self::Investigate, Self::Consult | Self::Plan)
            | (Self::Consult, Self::Plan | Self::Investigate)
            | (Self::Plan, Self::Execute | Self::Consult | Self::Investigate)
            | (Self::Execute, Self::Finalize | Self::Plan)
            | (Self::Finalize, Self::Investigate | Self::Execute) => Ok(to),
            _ => Err(self.illegal(to)),
        }
    }
}
