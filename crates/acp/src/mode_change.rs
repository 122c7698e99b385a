//! The mode of an agent that runs, changed for the editor. It is asked for beside the turn:
//! the agent may take it only when the editor has answered what the agent asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use missiond_api::RequestId;
use missiond_api::operations::execution::{ExecutionSet, ExecutionSetParams};
use missiond_core::{List, Text};
use serde_json::json;

use crate::daemon::Daemon;
use crate::editor::Editor;
use crate::message::Refusal;
use crate::protocol::Modes;
use crate::server::spawned;

/// One at a time: an editor that asks for more is told so.
#[derive(Debug, Default)]
pub(crate) struct ModeChange {
    under_way: Arc<AtomicBool>,
}

impl ModeChange {
    /// Answers the editor when the agent has.
    pub(crate) fn begin(
        &self,
        id: &RequestId,
        mode: &str,
        execution: &str,
        daemon: Daemon,
        editor: &Arc<Editor>,
    ) {
        let refuse = |refusal: &Refusal| editor.refuse(Some(id), refusal);
        if self.under_way.swap(true, Ordering::AcqRel) {
            let message = "the mode is being changed already: wait for the answer";
            return refuse(&Refusal::invalid_request(message));
        }
        let (under_way, asks) = (Arc::clone(&self.under_way), Arc::clone(editor));
        let (request, mode, execution) = (id.clone(), mode.to_owned(), execution.to_owned());
        let spawned = spawned("mode", move || {
            let changed = change(daemon, &execution, &mode);
            under_way.store(false, Ordering::Release);
            match changed {
                Ok(()) => asks.answer(&request, &json!({})),
                Err(refusal) => asks.refuse(Some(&request), &refusal),
            }
        });
        if let Err(refusal) = spawned {
            self.under_way.store(false, Ordering::Release);
            refuse(&refusal);
        }
    }
}

/// By the first of its names that the agent offers.
fn change(mut daemon: Daemon, execution: &str, mode: &str) -> Result<(), Refusal> {
    let mut refused = Refusal::invalid_params("there is no such mode");
    for name in Modes::names_of(mode) {
        let mode = Text::new(name)
            .map_err(|error| Refusal::invalid_params(format!("the mode: {error}")))?;
        let params = ExecutionSetParams {
            execution: execution.to_owned(),
            mode: Some(mode),
            model: None,
            settings: List::default(),
        };
        match daemon.call::<ExecutionSet>(&params) {
            Ok(_) => return Ok(()),
            Err(refusal) if refusal.is_invalid_params() => refused = refusal,
            Err(refusal) => return Err(refusal),
        }
    }
    Err(refused)
}
