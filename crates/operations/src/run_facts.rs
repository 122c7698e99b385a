//! What makes a run of an agent known to a person: the task it works on, how its
//! prompt begins, what it used, and why it did not end well.

use std::collections::BTreeMap;
use std::path::Path;

use missiond_api::ApiError;
use missiond_api::operations::execution::Tokens;
use missiond_api::operations::overview::RepositoryName;
use missiond_core::{BoardTask, Cost, ExecutionId, ExecutionLifecycle};
use missiond_executions::Shown;
use missiond_journal::{ExecutionState, ProgramEnd};
use missiond_memory::cost;
use missiond_store::board;
use missiond_store::conversations::usage::{self, Spent};

use crate::call::{Call, of_store};

/// What the board and the conversations know of some runs.
pub(crate) struct RunFacts {
    pub(crate) tasks: BTreeMap<ExecutionId, BoardTask>,
    used: BTreeMap<ExecutionId, Spent>,
}

impl RunFacts {
    pub(crate) fn cost(&self, call: &Call, execution: ExecutionId) -> Cost {
        let Some(used) = self.used.get(&execution) else {
            return Cost::default();
        };
        cost::of(
            &call.daemon.config().usage,
            &used.models,
            used.reported_cost,
        )
    }
}

pub(crate) async fn facts_of(call: &Call, shown: &[Shown]) -> Result<RunFacts, ApiError> {
    let runs: Vec<ExecutionId> = shown.iter().map(|shown| shown.row.id).collect();
    let read = call
        .daemon
        .db
        .read(move |tx| Box::pin(async move { read(tx, &runs).await }));
    read.await.map_err(|error| of_store(&error))
}

async fn read(
    tx: &mut missiond_store::Tx<'_>,
    runs: &[ExecutionId],
) -> Result<RunFacts, missiond_store::StoreError> {
    let tasks = board::tasks_of_executions(tx, runs).await?;
    let used = usage::of_executions(tx, runs).await?;
    Ok(RunFacts { tasks, used })
}

pub(crate) fn repository_name(path: &Path) -> RepositoryName {
    let path = path.display().to_string();
    let name = path.rsplit('/').find(|part| !part.is_empty());
    RepositoryName {
        name: name.unwrap_or("/").to_owned(),
        path,
    }
}

/// The first line of the first prompt, for as long as the timeline has it.
pub(crate) fn first_prompt(state: &ExecutionState) -> Option<String> {
    let prompt = state.timeline.items().find(|item| item.title == "prompt")?;
    let line = prompt.text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

pub(crate) fn tokens(state: &ExecutionState) -> Tokens {
    Tokens {
        requests: state.telemetry.requests,
        input: state.telemetry.input_tokens,
        output: state.telemetry.output_tokens,
        cache_read: state.telemetry.cache_read_tokens,
        cache_write: state.telemetry.cache_write_tokens,
    }
}

/// Why a run did not end well: what its agent said, else how its program ended.
pub(crate) fn failure(state: &ExecutionState) -> Option<String> {
    if !matches!(
        state.lifecycle,
        ExecutionLifecycle::Failed | ExecutionLifecycle::Terminated
    ) {
        return None;
    }
    let known = &state.last_known;
    if let Some(trouble) = &known.trouble {
        return Some(trouble.clone());
    }
    Some(match known.end.as_ref()? {
        ProgramEnd::Exited {
            signal: Some(signal),
            ..
        } => {
            format!("Its program was ended by signal {signal}.")
        }
        ProgramEnd::Exited { code, .. } => {
            format!("Its program ended with {}.", code.unwrap_or(0))
        }
        ProgramEnd::Lost { reason } => format!("Its program was lost: {reason}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_called_by_the_last_folder_of_its_path() {
        let names = ["/home/ann/greet", "/home/ann/greet/", "/"]
            .map(|path| repository_name(Path::new(path)).name);
        assert_eq!(names, ["greet", "greet", "/"]);
    }
}
