//! The first two stages of a pass. Memory: what is due in the knowledge base is
//! done, a bounded piece now and then. Extraction: what finished tasks taught
//! goes into its inbox as candidates. Both are jobs like any other, so no pass
//! waits for them; how far the extraction has come is a cursor in the database.

use std::time::Duration;

use missiond_core::{BoardTaskId, BoardTaskStatus, Event, ExecutionId, Seq, Timestamp};
use missiond_knowledge::transfer::{Draft, LONGEST_KEY};
use missiond_store::timeline::{self, TimelineFilter};
use missiond_store::watermarks::Advance;
use missiond_store::{StoreError, Tx, board, questions, slot_sessions, watermarks};

use super::extract::{self, Finished};
use super::jobs::Report;
use crate::knowledge::{KnowledgeError, Tended};
use crate::state::Daemon;

/// How often the knowledge base is tended.
pub(super) const TEND_EVERY: Duration = Duration::from_secs(60);

/// How far the extraction has come in the timeline.
const CURSOR: &str = "autopilot/extraction";

/// Events that one extraction looks at.
const AT_ONCE: u32 = 50;

/// What the last round of the memory stage found, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub at: Timestamp,
    pub tended: Tended,
}

/// Does what is due in the knowledge base.
pub(super) async fn tend(daemon: Daemon) -> Report {
    match daemon.knowledge.tend().await {
        Ok(tended) => {
            let at = daemon.clock.now();
            *daemon.autopilot.remembered() = Some(Remembered { at, tended });
        }
        Err(error) => tracing::warn!(%error, "the knowledge base was not tended"),
    }
    Report::Tended
}

/// Takes what finished tasks taught into the inbox.
pub(super) async fn extract(daemon: Daemon) -> Report {
    let extracted = extract_some(&daemon).await;
    if let Err(error) = &extracted {
        tracing::warn!(%error, "nothing was extracted from finished tasks");
    }
    Report::Extracted {
        more: extracted.unwrap_or(false),
    }
}

/// Whether there may be more.
async fn extract_some(daemon: &Daemon) -> Result<bool, KnowledgeError> {
    let found = daemon
        .db
        .read(|tx| {
            Box::pin(async move {
                let from = watermarks::get(tx, CURSOR).await?.unwrap_or_default();
                let filter = TimelineFilter {
                    kinds: vec!["board_task_updated".to_owned()],
                    after: Some(from),
                    limit: AT_ONCE,
                    ..TimelineFilter::default()
                };
                let page = timeline::query(tx, &filter).await?;
                let Some(to) = page.reached else {
                    return Ok(None);
                };
                let mut over: Vec<BoardTaskId> = Vec::new();
                for event in page.events {
                    if let Event::BoardTaskUpdated { task, status } = event.event
                        && matches!(status, BoardTaskStatus::Done | BoardTaskStatus::Failed)
                        && !over.contains(&task)
                    {
                        over.push(task);
                    }
                }
                let mut finished = Vec::new();
                for task in over {
                    finished.extend(read(tx, task).await?);
                }
                Ok(Some((from, to, finished)))
            })
        })
        .await?;
    let Some((from, to, finished)) = found else {
        return Ok(false);
    };
    let drafts: Vec<Draft> = finished.iter().flat_map(extract::candidates).collect();
    let count = drafts.len();
    let taken = take_in(daemon, drafts, from, to).await?;
    if taken == Advance::Ours && count > 0 {
        tracing::info!(candidates = count, tasks = finished.len(), "extracted");
    }
    Ok(true)
}

async fn take_in(
    daemon: &Daemon,
    drafts: Vec<Draft>,
    from: Seq,
    to: Seq,
) -> Result<Advance, KnowledgeError> {
    daemon.knowledge.take_in(drafts, CURSOR, from, to).await
}

async fn read(tx: &mut Tx<'_>, id: BoardTaskId) -> Result<Option<Finished>, StoreError> {
    let Some(task) = board::get(tx, id).await? else {
        return Ok(None);
    };
    let mut attempts = Vec::new();
    for attempt in board::attempts(tx, id).await? {
        let evidence = board::evidence(tx, attempt.id).await?;
        attempts.push((attempt, evidence));
    }
    let executions: Vec<ExecutionId> = attempts
        .iter()
        .filter_map(|(attempt, _)| attempt.execution)
        .collect();
    let sessions = slot_sessions::of_task(tx, id).await?;
    let conversation = sessions
        .into_iter()
        .find_map(|session| session.conversation);
    Ok(Some(Finished {
        task,
        attempts,
        conversation: conversation.filter(|name| name.len() <= LONGEST_KEY),
        questions: questions::answered_about(tx, id, &executions).await?,
    }))
}
