//! What can be seen of an execution, running or ended.

use std::sync::Arc;

use missiond_core::{ExecutionId, SlotName};
use missiond_journal::{ExecutionState, replay};
use missiond_runtime::blocking;
use missiond_store::executions::{self, ExecutionFilter, ExecutionRow};
use missiond_store::{StoreError, Tx, slots};

use super::Executions;
use super::journal_page::{self, Part, RecordPage};
use super::run::Run;
use crate::error::ExecutionError;

/// An execution as its row and its journal tell it.
#[derive(Debug)]
pub struct Shown {
    pub row: ExecutionRow,
    /// Why the journal says nothing, if it does not.
    pub state: Result<Box<ExecutionState>, String>,
}

/// What is known of an execution whose id was chosen before its start.
#[derive(Debug)]
pub enum ExecutionLookup {
    /// Nothing was begun under this id.
    Never,
    Running(Arc<Run>),
    /// It is over, or a daemon stopped before its program ran.
    Ended,
}

impl Executions {
    pub async fn lookup(&self, execution: ExecutionId) -> Result<ExecutionLookup, ExecutionError> {
        if let Some(run) = self.context.run(execution) {
            return Ok(ExecutionLookup::Running(run));
        }
        let row = self
            .context
            .db
            .read(move |tx| Box::pin(executions::get(tx, execution)))
            .await?;
        // A journal is made before the row, and both before the program.
        let begun = row.is_some() || self.has_journal(execution).await?;
        Ok(if begun {
            ExecutionLookup::Ended
        } else {
            ExecutionLookup::Never
        })
    }

    /// Whether anything was recorded of an execution.
    pub async fn has_journal(&self, execution: ExecutionId) -> Result<bool, ExecutionError> {
        let journals = Arc::clone(&self.context.journals);
        Ok(blocking(move || journals.has(execution)).await?)
    }

    /// What the journal of an execution that has not ended says.
    pub fn peek<T>(
        &self,
        execution: ExecutionId,
        read: impl FnOnce(&ExecutionState) -> T,
    ) -> Option<T> {
        let run = self.context.run(execution)?;
        run.journal().peek(read).ok()
    }

    /// The last tool a running agent called, and how often in a row with the
    /// same arguments.
    pub fn repeated(&self, execution: ExecutionId) -> Option<(String, u32)> {
        self.context.run(execution)?.repeated_calls.last()
    }

    /// What the journal of an execution that has ended says.
    pub async fn ended(&self, execution: ExecutionId) -> Result<ExecutionState, ExecutionError> {
        let journals = Arc::clone(&self.context.journals);
        let replayed = blocking(move || replay(&*journals, execution)).await;
        Ok(replayed
            .map_err(missiond_journal::JournalError::from)?
            .state)
    }

    /// The execution with this id, or the newest in the slot of this name: the open one,
    /// else the one that bore it last.
    pub async fn find(&self, reference: &str) -> Result<ExecutionRow, ExecutionError> {
        let shown: String = reference.chars().take(64).collect();
        let missing = || ExecutionError::NotFound(shown.escape_default().to_string());
        let db = &self.context.db;
        let row = if let Ok(id) = reference.parse::<ExecutionId>() {
            db.read(move |tx| Box::pin(executions::get(tx, id))).await?
        } else {
            match self.context.slots.find(reference) {
                Some(open) => {
                    let slot = open.slot.id;
                    db.read(move |tx| Box::pin(executions::in_slot(tx, slot)))
                        .await?
                }
                None => {
                    let name: SlotName = reference.parse().map_err(|_| missing())?;
                    db.read(move |tx| Box::pin(in_closed_slot(tx, name)))
                        .await?
                }
            }
        };
        row.ok_or_else(missing)
    }

    /// Newest first.
    pub async fn list(&self, filter: ExecutionFilter) -> Result<Vec<Shown>, ExecutionError> {
        let rows = self
            .context
            .db
            .read(move |tx| Box::pin(executions::list(tx, filter)))
            .await?;
        let mut shown = Vec::with_capacity(rows.len());
        for row in rows {
            shown.push(self.show(row).await?);
        }
        Ok(shown)
    }

    pub async fn show(&self, row: ExecutionRow) -> Result<Shown, ExecutionError> {
        let id = row.id;
        let run = self.context.run(id);
        let journals = Arc::clone(&self.context.journals);
        let state = blocking(move || match run {
            Some(run) => run.journal().state().map_err(|error| error.to_string()),
            None => replay(&*journals, id)
                .map(|replayed| replayed.state)
                .map_err(|error| error.to_string()),
        })
        .await;
        let state = state.map(Box::new);
        Ok(Shown { row, state })
    }

    /// A part of the journal of an execution, running or ended.
    pub async fn journal(
        &self,
        execution: ExecutionId,
        part: Part,
    ) -> Result<RecordPage, ExecutionError> {
        let journals = Arc::clone(&self.context.journals);
        let read = move || journal_page::read(&*journals, execution, &part);
        let found = blocking(read).await;
        Ok(found.map_err(missiond_journal::JournalError::from)?)
    }

    /// Where the journal of an execution is, for a person.
    pub fn journal_location(&self, execution: ExecutionId) -> String {
        self.context.journals.location(execution)
    }
}

async fn in_closed_slot(
    tx: &mut Tx<'_>,
    name: SlotName,
) -> Result<Option<ExecutionRow>, StoreError> {
    match slots::last_closed(tx, name.as_str()).await? {
        Some(slot) => executions::in_slot(tx, slot.id).await,
        None => Ok(None),
    }
}
