//! What caused that somebody asks the daemon for something.

use missiond_core::{Principal, TraceContext};
use missiond_executions::Executions;

/// Where the run of an agent began that asks for something: what it asks for is caused by
/// that, and what a person asks for begins with the asking.
pub(crate) fn run_behind(executions: &Executions, principal: &Principal) -> Option<TraceContext> {
    let run = match *principal {
        Principal::Agent {
            execution: Some(execution),
            ..
        } => execution,
        _ => executions.in_slot(principal.slot()?)?.0,
    };
    executions.trace(run)
}
