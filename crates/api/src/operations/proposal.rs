//! Plans in plain words as steps that can be put on the board.

use missiond_core::{Parts, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board::{Step, TaskSummary};
use super::operations;

operations! {
    Knowledge;

    BoardPropose = "board_propose" (ReadOnly, "board"):
        BoardProposeParams => BoardProposal,
        "Read a plan in plain words as steps with dependencies and checks, for a person to edit; \
         nothing is put on the board.";

    BoardAddSteps = "board_add_steps" (Additive, "board", Agents):
        BoardAddStepsParams => StepsAdded,
        "Put several tasks that may depend on each other on the board, all of them or none.";
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardAddStepsParams {
    pub steps: Parts<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepsAdded {
    /// In the order of the steps.
    pub tasks: Vec<TaskSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardProposeParams {
    /// A sentence, a list, or numbered lines. A step that begins with the name of a
    /// template and a colon is filled in from it.
    pub text: Text<20_000>,
    /// The repository of the steps, absolute or from `~`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Text<4096>>,
    /// A template for every step that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardProposal {
    /// In an order in which each comes after those it depends on.
    pub steps: Vec<Step>,
    /// What was read into the text, and what is missing, a sentence each.
    pub notes: Vec<String>,
}
