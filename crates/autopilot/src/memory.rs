//! The first two stages of a pass. Memory: what is due in the knowledge base is
//! done, a bounded piece now and then. Extraction: what finished tasks taught
//! goes into its inbox as candidates. Both are jobs like any other, so no pass
//! waits for them; how far the extraction has come is a cursor in the database.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use missiond_briefing::entries_told;
use missiond_core::{BoardTaskId, ContextItem, EntryId, Event, ExecutionId, Outcome};
use missiond_knowledge::transfer::{Draft, LONGEST_KEY};
use missiond_knowledge::utility::Use;
use missiond_memory::knowledge::{KnowledgeError, TaskLessons};
use missiond_store::timeline::{self, TimelineFilter};
use missiond_store::watermarks::Advance;
use missiond_store::{
    StoreError, Tx, board, prompt_snapshots, questions, slot_sessions, watermarks,
};

use super::extract::{self, Finished};
use super::jobs::Report;
use crate::shared::{Remembered, Shared};

/// How often the knowledge base is tended.
pub(super) const TEND_EVERY: Duration = Duration::from_secs(60);

/// How far the extraction has come in the timeline.
const CURSOR: &str = "autopilot/extraction";

/// Events that one extraction looks at.
const AT_ONCE: u32 = 50;

/// Does what is due in the knowledge base.
pub(super) async fn tend(shared: Arc<Shared>) -> Report {
    match shared.knowledge.tend().await {
        Ok(tended) => {
            let at = shared.clock.now();
            *shared.remembered() = Some(Remembered { at, tended });
        }
        Err(error) => tracing::warn!(%error, "knowledge upkeep failed"),
    }
    Report::Tended
}

/// Takes what finished tasks taught into the inbox.
pub(super) async fn extract(shared: Arc<Shared>) -> Report {
    let extracted = extract_some(&shared).await;
    if let Err(error) = &extracted {
        tracing::warn!(%error, "knowledge extraction failed");
    }
    Report::Extracted {
        more: extracted.unwrap_or(false),
    }
}

/// Whether there may be more.
async fn extract_some(shared: &Shared) -> Result<bool, KnowledgeError> {
    let found = shared
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
                        && status.is_over()
                        && !over.contains(&task)
                    {
                        over.push(task);
                    }
                }
                let mut finished = Vec::new();
                let mut uses = BTreeSet::new();
                for task in over {
                    if let Some(task) = read(tx, task).await? {
                        uses.extend(uses_to(tx, &task).await?);
                        finished.push(task);
                    }
                }
                Ok(Some((from, to, finished, uses)))
            })
        })
        .await?;
    let Some((from, to, finished, uses)) = found else {
        return Ok(false);
    };
    let drafts: Vec<Draft> = finished.iter().flat_map(extract::candidates).collect();
    let count = drafts.len();
    let learnt = TaskLessons { drafts, uses };
    let taken = shared.knowledge.ingest(learnt, CURSOR, from, to).await?;
    if taken == Advance::Ours && count > 0 {
        tracing::info!(
            candidates = count,
            tasks = finished.len(),
            "knowledge extracted"
        );
    }
    Ok(true)
}

/// Which entries helped a task: those its agent was told when its work was
/// verified, and of them those it named.
async fn uses_to(tx: &mut Tx<'_>, finished: &Finished) -> Result<Vec<(EntryId, Use)>, StoreError> {
    let verified = finished
        .attempts
        .iter()
        .rev()
        .map(|(attempt, _)| attempt)
        .find(|attempt| attempt.outcome == Some(Outcome::Verified));
    let Some(attempt) = verified else {
        return Ok(Vec::new());
    };
    let Some(execution) = attempt.execution else {
        return Ok(Vec::new());
    };
    let Some(snapshot) = prompt_snapshots::get(tx, execution).await? else {
        return Ok(Vec::new());
    };
    // What another build wrote may not be read; then nothing is known of it.
    let items: Vec<ContextItem> = serde_json::from_str(&snapshot.items).unwrap_or_default();
    let said = attempt.claim.as_ref().map_or("", |claim| &claim.text);
    let mut uses = Vec::new();
    for id in entries_told(&items) {
        uses.push((id, Use::Helped));
        let named = |item: &ContextItem| item.entry == Some(id) && names(said, &item.title);
        if names(said, &id.to_string()) || items.iter().any(named) {
            uses.push((id, Use::Cited));
        }
    }
    Ok(uses)
}

/// Whether a text has a name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !name.is_empty() && !before.is_some_and(part) && !after.is_some_and(part)
    })
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
