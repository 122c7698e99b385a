//! The transcripts of executions: those that run, and those that ended a moment
//! ago or while nobody looked.

use std::collections::HashMap;
use std::time::Duration;

use missiond_adapters::FoundTranscript;
use missiond_core::{ExecutionId, Timestamp};
use missiond_runtime::blocking;
use missiond_store::conversations::Links;
use missiond_store::executions::{self, ExecutionFilter, ExecutionRow};
use missiond_store::{StoreError, Tx, board};

use super::ingest::Source;
use super::project::project_of;
use super::{ConversationError, Conversations};

/// Executions of earlier runs of the daemon that are looked at once.
const EARLIER: u32 = 1000;
/// How long after the end of an execution its transcript may still grow.
const LINGERS: Duration = Duration::from_secs(10);

/// Executions whose transcripts are followed.
#[derive(Debug, Default)]
pub(super) struct Runs {
    followed: HashMap<ExecutionId, Followed>,
    /// When they were last looked for. Before the first time, those of earlier
    /// runs of the daemon are.
    looked_at: Option<Timestamp>,
}

#[derive(Debug)]
struct Followed {
    /// Once its transcript is known.
    source: Option<Source>,
    linked: bool,
}

impl Conversations {
    /// Takes in what the agents of executions and their people said since.
    pub(super) async fn follow_runs(&self, runs: &mut Runs) -> Result<(), ConversationError> {
        let began = self.inner.now();
        // One may begin and end between two looks.
        let ended = match runs.looked_at {
            None => ExecutionFilter::Newest { limit: EARLIER },
            Some(last) => ExecutionFilter::EndedSince(last.minus(LINGERS)),
        };
        let running = self.executions(ExecutionFilter::Running).await?;
        let found = self.executions(ended).await?.into_iter().chain(running);
        let mut rows: HashMap<ExecutionId, ExecutionRow> = found.map(|row| (row.id, row)).collect();
        let followed = runs.followed.keys().copied();
        let ended: Vec<ExecutionId> = followed.filter(|id| !rows.contains_key(id)).collect();
        for id in ended {
            let found = self
                .inner
                .db
                .read(move |tx| Box::pin(executions::get(tx, id)))
                .await?;
            match found {
                Some(row) => drop(rows.insert(id, row)),
                None => drop(runs.followed.remove(&id)),
            }
        }
        for row in rows.into_values() {
            let followed = runs.followed.entry(row.id).or_insert(Followed {
                source: None,
                linked: false,
            });
            if followed.source.is_none() {
                followed.source = self.source_of(&row).await?;
            }
            if let Some(source) = followed.source.clone() {
                while self.advance(&source).await? {}
                if !followed.linked {
                    followed.linked = self.link(&source).await?;
                }
            }
            let now = self.inner.now();
            if row.ended_at.is_some_and(|ended| ended.plus(LINGERS) < now) {
                runs.followed.remove(&row.id);
            }
        }
        runs.looked_at = Some(began);
        Ok(())
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
    ) -> Result<Vec<ExecutionRow>, ConversationError> {
        let found = self
            .inner
            .db
            .read(move |tx| Box::pin(executions::list(tx, filter)))
            .await?;
        Ok(found)
    }

    async fn source_of(&self, row: &ExecutionRow) -> Result<Option<Source>, ConversationError> {
        let Some(FoundTranscript { conversation, tail }) = row
            .transcript
            .as_deref()
            .and_then(FoundTranscript::from_cursor)
        else {
            return Ok(None);
        };
        let (execution, slot) = (row.id, row.slot);
        let task = self
            .inner
            .db
            .read(move |tx| Box::pin(task_of(tx, execution)))
            .await?;
        let cwd = row.cwd.clone();
        // The folder of an attempt may be gone; its task knows the repository.
        let about = match &task {
            Some((_, Some(repository))) => repository.clone(),
            _ => cwd.clone(),
        };
        let project = blocking(move || project_of(&about)).await;
        Ok(Some(Source {
            engine: row.engine.clone(),
            session: conversation,
            tail,
            cwd,
            project,
            links: Links {
                execution: Some(execution),
                task: task.map(|(task, _)| task),
                slot: Some(slot),
            },
        }))
    }
}

type TaskAndRepository = (missiond_core::BoardTaskId, Option<std::path::PathBuf>);

async fn task_of(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
) -> Result<Option<TaskAndRepository>, StoreError> {
    let Some(attempt) = board::attempt_of_execution(tx, execution).await? else {
        return Ok(None);
    };
    let task = board::get(tx, attempt.task).await?;
    Ok(Some((attempt.task, task.and_then(|task| task.repository))))
}
