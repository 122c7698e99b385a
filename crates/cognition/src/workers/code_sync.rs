//! Keeps the maps of known repositories current when agents have worked in them, before
//! anybody asks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Event, WorkerDomain, WorkerKind};
use missiond_memory::code::{CodeMapError, CodeMaps};
use missiond_store::{MissionDb, StoreError, Tx, board, conversations, executions};

use crate::worker::{
    BackgroundWorker, Budget, Scope, Trigger, Unit, WorkError, Worked, WorkerSpec,
};

const SPEC: WorkerSpec = WorkerSpec {
    name: "code_sync",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Code,
    trigger: Trigger::Events {
        cursor: "code_sync",
        quiet: Duration::from_secs(2),
        longest: Duration::from_secs(30),
        // What changed while no daemon ran is seen by the next question.
        scope: Scope::Home {
            news: Duration::from_secs(600),
        },
    },
    budget: Budget::SMALL,
    description: "reads what changed in a known repository after a turn, a run or a task there, \
                  and follows its beacons",
};

#[derive(Debug)]
pub(super) struct CodeSync {
    db: MissionDb,
    code: Arc<CodeMaps>,
}

impl CodeSync {
    pub(super) const fn new(db: MissionDb, code: Arc<CodeMaps>) -> Self {
        Self { db, code }
    }
}

impl BackgroundWorker for CodeSync {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn subject(&self, event: &Event) -> Option<String> {
        match event {
            Event::TurnExtracted { conversation, .. } => Some(conversation.to_string()),
            Event::ExecutionEnded { execution, .. } => Some(execution.to_string()),
            Event::BoardTaskUpdated { task, status } if status.is_over() => Some(task.to_string()),
            _ => None,
        }
    }

    fn work(&self, unit: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async move {
            let subject = unit.subject;
            let folder = self
                .db
                .read(move |tx| Box::pin(async move { folder_of(tx, &subject).await }))
                .await
                .map_err(WorkError::passing)?;
            let Some(folder) = folder.filter(|folder| folder.is_absolute()) else {
                return Ok(Worked::nothing());
            };
            let synced = match self.code.sync(&folder).await {
                Ok(synced) => synced,
                // It goes on by itself.
                Err(CodeMapError::Slow(_)) => None,
                Err(error) => return Err(WorkError::passing(error)),
            };
            Ok(synced.map_or_else(Worked::nothing, |synced| {
                let changes = synced.pass.changed + synced.pass.gone;
                Worked::did(format!("{changes} files of {} changed", synced.root))
            }))
        })
    }
}

/// Where it was worked.
async fn folder_of(tx: &mut Tx<'_>, subject: &str) -> Result<Option<PathBuf>, StoreError> {
    if let Ok(id) = subject.parse() {
        let conversation = conversations::get(tx, id).await?;
        return Ok(conversation.map(|row| PathBuf::from(row.cwd)));
    }
    if let Ok(id) = subject.parse() {
        return Ok(executions::get(tx, id).await?.map(|row| row.cwd));
    }
    match subject.parse() {
        Ok(id) => Ok(board::get(tx, id).await?.and_then(|task| task.repository)),
        Err(_) => Ok(None),
    }
}
