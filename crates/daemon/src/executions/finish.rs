//! Ending an agent whose work is over: its program is asked to leave as a person
//! would ask it, and ended when it does not.

use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::adapter;
use missiond_core::ExecutionId;
use missiond_semantic::{Force, Submit, When};

use super::run::Run;
use super::{Context, ExecutionError, Executions, facts, kill};
use crate::slots::Message;

/// How long an idle program may take to show that it waits for a prompt.
const READY_WITHIN: Duration = Duration::from_secs(2);
/// How long a program may take to leave once it was asked to.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

impl Executions {
    /// Ends the execution because its work is over; returns when its program is
    /// gone. One that has ended already is as it should be.
    pub(crate) async fn finish(
        &self,
        execution: ExecutionId,
        reason: &str,
    ) -> Result<(), ExecutionError> {
        let Some(run) = self.context.run(execution) else {
            return Ok(());
        };
        // On record first: if this daemon dies now, the next one ends the program.
        run.observe(facts::of_finish(reason)).await?;
        if !leaves(&self.context, &run).await {
            kill(Arc::clone(&self.context), run).await;
        }
        Ok(())
    }
}

/// Asks the program to end. Whether it did.
async fn leaves(context: &Context, run: &Arc<Run>) -> bool {
    let Some(command) = adapter(&run.engine).exit_command() else {
        return false;
    };
    let Some(open) = context.slots.find(&run.slot.to_string()) else {
        return true;
    };
    let closed = run.closed.notified();
    tokio::pin!(closed);
    closed.as_mut().enable();
    let message = Message {
        text: command.to_owned(),
        submit: Submit::Enter,
        when: When::Idle,
        wait: READY_WITHIN,
        force: Force::No,
    };
    let leaving = async {
        // A program that ends at once takes its prompt with it, so whether the
        // command was seen to land says nothing.
        let _ = context.slots.deliver(&open, message).await;
        if context.run(run.id).is_some() {
            closed.await;
        }
    };
    tokio::time::timeout(READY_WITHIN + LEAVES_WITHIN, leaving)
        .await
        .is_ok()
}
