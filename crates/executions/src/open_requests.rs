//! What agents have asked in structure and what became of it, for the questions
//! that stand for it.

use std::path::PathBuf;
use std::sync::Arc;

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, ObservationId, SlotId, TraceContext};
use missiond_journal::ExecutionState;
use missiond_journal::catalogue::MessageContent;
use missiond_runtime::blocking;
use missiond_semantic::Dialog;
use missiond_store::executions;

use super::start::adapter_of;
use super::{Executions, access};
use crate::error::ExecutionError;

/// An open request of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    pub slot: SlotId,
    pub request: ObservationId,
    pub question: String,
    pub choices: Vec<String>,
}

/// Who works in a running execution, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub slot: SlotId,
    pub slot_name: String,
    pub engine: CliEngine,
    pub task: Option<BoardTaskId>,
    pub folder: PathBuf,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedInput {
    Open,
    Answered(String),
    /// The agent went on without an answer.
    Withdrawn,
    /// The execution has ended.
    Ended,
}

impl Executions {
    /// Those that this daemon follows.
    pub fn running_here(&self) -> Vec<ExecutionId> {
        self.context.runs().keys().copied().collect()
    }

    /// Where a run began, while this daemon follows it.
    pub fn trace(&self, execution: ExecutionId) -> Option<TraceContext> {
        self.context.run(execution).map(|run| run.trace())
    }

    /// Whether its journal is this home's.
    pub async fn is_ours(&self, execution: ExecutionId) -> Result<bool, ExecutionError> {
        let journals = Arc::clone(&self.context.journals);
        Ok(blocking(move || journals.is_ours(execution)).await?)
    }

    /// What an agent waits for; nothing when it does not run here.
    pub fn open_requests(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<OpenRequest>, ExecutionError> {
        let Some(run) = self.context.run(execution) else {
            return Ok(Vec::new());
        };
        let slot = run.slot;
        let requests = run.journal().peek(|state| {
            let open = state.requests.values().map(|request| OpenRequest {
                slot,
                request: request.id,
                question: request.question.as_str().to_owned(),
                choices: request
                    .choices
                    .iter()
                    .map(|choice| choice.label.as_str().to_owned())
                    .collect(),
            });
            open.collect()
        })?;
        Ok(requests)
    }

    /// The request an answer without one is meant for, if there is one alone.
    pub fn only_request(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<ObservationId>, ExecutionError> {
        let open = self.open_requests(execution)?;
        Ok(match &open[..] {
            [one] => Some(one.request),
            _ => None,
        })
    }

    pub async fn asked_input(
        &self,
        execution: ExecutionId,
        request: ObservationId,
    ) -> Result<AskedInput, ExecutionError> {
        if let Some(run) = self.context.run(execution) {
            return Ok(run.journal().peek(|state| became(state, request))?);
        }
        let row = self
            .context
            .db
            .read(move |tx| Box::pin(executions::get(tx, execution)))
            .await?;
        let Some(row) = row else {
            return Ok(AskedInput::Ended);
        };
        let shown = self.show(row).await?;
        Ok(match shown.state {
            Ok(state) => match became(&state, request) {
                AskedInput::Open => AskedInput::Ended,
                other => other,
            },
            Err(_) => AskedInput::Ended,
        })
    }

    /// The execution that runs in a slot, and the task it works for.
    pub fn in_slot(&self, slot: SlotId) -> Option<(ExecutionId, Option<BoardTaskId>)> {
        let run = self.context.run_in(slot)?;
        Some((run.id, run.task()))
    }

    /// Who works in a running execution; none when it has ended.
    pub fn worker(&self, execution: ExecutionId) -> Option<Worker> {
        let run = self.context.run(execution)?;
        let open = self.context.slots.find(&run.slot.to_string())?;
        Some(Worker {
            slot: run.slot,
            slot_name: open.slot.name,
            engine: run.engine.clone(),
            task: run.task(),
            folder: open.record.cwd,
        })
    }

    /// Whether what runs in a slot was given a hook that asks us before every tool.
    pub fn asks_before_tools(&self, slot: SlotId) -> bool {
        let Some(run) = self.context.run_in(slot) else {
            return false;
        };
        let engines = self.context.config.borrow().engines.clone();
        let has_hooks = adapter_of(&run.engine, &engines).asks_before_tools();
        has_hooks && access::file_in(&self.context.launch_folder(run.id)).exists()
    }

    /// Whether the launch of what runs in a slot answers this dialog by itself.
    pub fn answers_itself(&self, slot: SlotId, dialog: &Dialog) -> bool {
        let run = self.context.run_in(slot);
        run.is_some_and(|run| run.startup.answers(dialog))
    }
}

fn became(state: &ExecutionState, request: ObservationId) -> AskedInput {
    if state.requests.contains_key(&request) {
        return AskedInput::Open;
    }
    let mut messages = state.messages.values();
    let answer = messages.find(|message| message.answers == Some(request));
    match answer.map(|message| &message.content) {
        Some(Some(MessageContent::Answer(answer))) => {
            AskedInput::Answered(answer.text.as_str().to_owned())
        }
        Some(_) => AskedInput::Answered("answered".to_owned()),
        None => AskedInput::Withdrawn,
    }
}
