//! All that is on record of a task that is over, and what of the knowledge base was of use
//! to it.

use std::collections::BTreeSet;

use missiond_briefing::entries_told;
use missiond_core::{BoardTaskId, ContextItem, EntryId, ExecutionId, Outcome};
use missiond_knowledge::transfer::LONGEST_KEY;
use missiond_knowledge::utility::Use;
use missiond_memory::knowledge::TaskLessons;
use missiond_store::{StoreError, Tx, board, prompt_snapshots, questions, slot_sessions};

use super::tasks::{self, Finished};

/// What a task taught. One that is at work again teaches when it is over.
pub(super) async fn lessons(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<TaskLessons, StoreError> {
    let Some(finished) = read(tx, task).await? else {
        return Ok(TaskLessons::default());
    };
    let uses: BTreeSet<(EntryId, Use)> = uses_to(tx, &finished).await?.into_iter().collect();
    Ok(TaskLessons {
        drafts: tasks::candidates(&finished),
        uses,
    })
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
