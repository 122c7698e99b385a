//! What the requests of an agent to its model tell of it, as one more voice for the
//! arbiter of its slot.

use missiond_core::ExecutionId;
use missiond_llm::{Activity, Watch};
use missiond_slots::SlotCommand;

use crate::Executions;

impl Watch for Executions {
    fn saw(&self, execution: ExecutionId, activity: Activity) {
        let Some(run) = self.context.run(execution) else {
            return;
        };
        if let Some(open) = self.context.slots.find(&run.slot.to_string()) {
            // No request waits for a slot that is busy.
            let _ = open.commands.try_send(SlotCommand::ModelObserved(activity));
        }
    }
}
