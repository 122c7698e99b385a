//! Ending an agent whose work is over: its program is asked to leave as a person
//! would ask it, and ended when it does not; or ended at once.

use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::adapter;
use missiond_core::{BoardTaskId, ExecutionId};
use missiond_semantic::{Force, Submit, When};
use missiond_slots::{InputError, Message};

use super::run::Run;
use super::{Executions, facts};
use crate::context::Context;
use crate::context::kill;
use crate::error::ExecutionError;

/// How long an idle program may take to show that it waits for a prompt.
const READY_WITHIN: Duration = Duration::from_secs(2);
/// How long a program may take to leave once it was asked to.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

/// How an agent whose work is over is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishMode {
    /// It is asked first, so that it can put things away.
    Asked,
    AtOnce,
}

impl Executions {
    /// Ends the execution because its work is over; returns when its program is
    /// gone. One that has ended already is as it should be, and one that somebody
    /// else is ending is waited for.
    pub async fn finish(
        &self,
        execution: ExecutionId,
        reason: &str,
        mode: FinishMode,
    ) -> Result<(), ExecutionError> {
        let Some(run) = self.context.run(execution) else {
            return Ok(());
        };
        // On record first: if this daemon dies now, the next one ends the program.
        run.observe(facts::of_finish(reason)).await?;
        if mode == FinishMode::AtOnce {
            // Also while somebody else still asks it.
            kill(Arc::clone(&self.context), Arc::clone(&run)).await;
        }
        let _alone = run.ending.lock().await;
        let closed = run.closed.notified();
        tokio::pin!(closed);
        closed.as_mut().enable();
        if !leaves(&self.context, &run).await {
            kill(Arc::clone(&self.context), Arc::clone(&run)).await;
        }
        // Its program is gone; its records are closed a moment later.
        if self.context.run(execution).is_some() {
            let _ = tokio::time::timeout(LEAVES_WITHIN, closed).await;
        }
        Ok(())
    }

    /// The agents that work for a task and have not ended, with whose they are.
    pub fn of_tasks(&self) -> Vec<(ExecutionId, BoardTaskId)> {
        let runs: Vec<_> = self.context.runs().values().cloned().collect();
        let owned = |run: Arc<Run>| Some((run.id, run.task()?));
        runs.into_iter().filter_map(owned).collect()
    }
}

/// Asks the program to end. Whether it did.
async fn leaves(context: &Context, run: &Arc<Run>) -> bool {
    let Some(open) = context.slots.find(&run.slot.to_string()) else {
        return true;
    };
    // A command is a prompt where no terminal takes it.
    let is_structured = open.record.handover.is_some();
    let command = adapter(&run.engine).exit_command();
    let Some(command) = command.filter(|_| !is_structured) else {
        return false;
    };
    let closed = run.closed.notified();
    tokio::pin!(closed);
    closed.as_mut().enable();
    let message = Message {
        text: command.to_owned(),
        attachments: Vec::new(),
        submit: Submit::Enter,
        when: When::Idle,
        wait: READY_WITHIN,
        force: Force::No,
    };
    let leaving = async {
        // A program that ends at once takes its prompt with it, so whether the
        // command was seen to land says nothing; one that was never typed to
        // will not leave.
        let asked = context.slots.deliver(&open, message).await;
        if let Err(InputError::Undelivered(_) | InputError::Crowded | InputError::HandingOff) =
            asked
        {
            return context.run(run.id).is_none();
        }
        if context.run(run.id).is_some() {
            closed.await;
        }
        true
    };
    tokio::time::timeout(READY_WITHIN + LEAVES_WITHIN, leaving)
        .await
        .unwrap_or(false)
}
