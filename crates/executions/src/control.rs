//! By what the agent of a run is driven and why, for whoever looks at it.

use missiond_core::{Controller, ExecutionId, SlotId};
use missiond_pty::host::Recording;
use missiond_runtime::blocking;
use missiond_slots::ProtocolTail;

use super::Executions;
use super::handoff::LaunchChoices;

/// A person has it, and will not have it for ever.
const TAKEN_OVER: &str =
    "a person has taken it over; its protocol goes on when they have left or quit it";

/// By what an agent is driven, or was driven last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunControl {
    pub by: Controller,
    /// None where nothing is left that says it.
    pub why: Option<String>,
}

impl RunControl {
    /// Of an agent that runs: by what is in its slot, against what its launch chose.
    fn of_running(by: Controller, choices: Option<LaunchChoices>) -> Self {
        let why = match choices {
            Some(choices) if choices.controller == by => choices.why,
            Some(_) if by == Controller::Terminal => Some(TAKEN_OVER.to_owned()),
            Some(_) | None => None,
        };
        Self { by, why }
    }
}

impl Executions {
    /// By what a run is driven or was driven last, as far as anything is left that tells.
    pub async fn control(&self, execution: ExecutionId, slot: SlotId) -> Option<RunControl> {
        if let Some(open) = self.context.slots.find(&slot.to_string()) {
            let folder = self.context.launch_folder(execution);
            let choices = LaunchChoices::read(&folder).await;
            return Some(RunControl::of_running(open.controller(), choices));
        }
        let last = self.context.slots.recordings(slot).pop()?;
        blocking(move || {
            let by = match ProtocolTail::of_recording(&last) {
                Some(_) => Controller::Structured,
                None if Recording::exists(&last) => Controller::Terminal,
                None => return None,
            };
            Some(RunControl { by, why: None })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use missiond_adapters::PermissionMode;

    use super::*;

    #[test]
    fn the_reason_is_that_of_the_launch_until_a_person_takes_it_over() {
        let choices = LaunchChoices {
            controller: Controller::Structured,
            why: Some("its task says so".to_owned()),
            args: Vec::new(),
            model: None,
            permission: PermissionMode::Ask,
            trust_folder: false,
        };
        let why = |by, choices: &LaunchChoices| {
            let control = RunControl::of_running(by, Some(choices.clone()));
            assert_eq!(control.by, by);
            control.why
        };
        assert_eq!(why(Controller::Structured, &choices), choices.why);
        assert_eq!(
            why(Controller::Terminal, &choices).as_deref(),
            Some(TAKEN_OVER)
        );
        let earlier = LaunchChoices {
            why: None,
            ..choices
        };
        assert_eq!(why(Controller::Structured, &earlier), None);
    }
}
