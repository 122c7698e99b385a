//! Conversations with agents: listing, reading, searching.

use missiond_api::ApiError;
use missiond_api::operations::conversation::{
    ConversationList, ConversationListParams, ConversationListResult, ConversationSearch,
    ConversationSearchParams, ConversationSearchResult, ConversationShow, ConversationShowParams,
    ConversationShowResult, ConversationTurns, ConversationTurnsParams, ConversationTurnsResult,
};
use missiond_core::{BoardTaskId, TaskRef};
use missiond_store::board;

use crate::call::{Call, Operations, of_store};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<ConversationList, _, _>(list);
    operations.add::<ConversationShow, _, _>(show);
    operations.add::<ConversationSearch, _, _>(search);
    operations.add::<ConversationTurns, _, _>(turns);
}

async fn list(
    call: Call,
    params: ConversationListParams,
) -> Result<ConversationListResult, ApiError> {
    let task = task(&call, params.task).await?;
    let config = call.daemon.config();
    Ok(call
        .daemon
        .conversations
        .list(params, task, &config.usage)
        .await?)
}

async fn show(
    call: Call,
    params: ConversationShowParams,
) -> Result<ConversationShowResult, ApiError> {
    let config = call.daemon.config();
    Ok(call
        .daemon
        .conversations
        .show(params, &config.usage)
        .await?)
}

async fn search(
    call: Call,
    params: ConversationSearchParams,
) -> Result<ConversationSearchResult, ApiError> {
    let task = task(&call, params.task).await?;
    Ok(call.daemon.conversations.search(params, task).await?)
}

async fn turns(
    call: Call,
    params: ConversationTurnsParams,
) -> Result<ConversationTurnsResult, ApiError> {
    Ok(call.daemon.conversations.turns(params).await?)
}

/// The task that is meant, which must exist.
async fn task(call: &Call, named: Option<TaskRef>) -> Result<Option<BoardTaskId>, ApiError> {
    let Some(named) = named else {
        return Ok(None);
    };
    let found = call
        .daemon
        .db
        .read(move |tx| Box::pin(board::find(tx, named)))
        .await
        .map_err(|error| of_store(&error))?;
    Ok(Some(found.id))
}
