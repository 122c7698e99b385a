//! Conversations with agents: listing, reading, searching.

mod convert;

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
    let query = convert::list_query(params, task)?;
    let config = call.daemon.config();
    let page = call.daemon.conversations.list(query, &config.usage).await;
    page.map(convert::list_result)
        .map_err(|error| convert::error(&error))
}

async fn show(
    call: Call,
    params: ConversationShowParams,
) -> Result<ConversationShowResult, ApiError> {
    let (name, window) = (&params.conversation, convert::window(&params));
    let config = call.daemon.config();
    let conversations = &call.daemon.conversations;
    let view = conversations.show(name, window, &config.usage).await;
    view.map(convert::show_result)
        .map_err(|error| convert::error(&error))
}

pub(super) async fn search(
    call: Call,
    params: ConversationSearchParams,
) -> Result<ConversationSearchResult, ApiError> {
    let task = task(&call, params.task).await?;
    let query = convert::search_query(params, task);
    let found = call.daemon.conversations.search(query).await;
    found
        .map(convert::search_result)
        .map_err(|error| convert::error(&error))
}

async fn turns(
    call: Call,
    params: ConversationTurnsParams,
) -> Result<ConversationTurnsResult, ApiError> {
    let folder = params.project.as_path();
    let conversations = &call.daemon.conversations;
    let found = match params.query.as_deref() {
        Some(query) => conversations.turns_about(folder, query, params.limit).await,
        None => conversations.recent_turns(folder, params.limit).await,
    };
    let found = found.map_err(|error| convert::error(&error))?;
    Ok(ConversationTurnsResult {
        turns: found.into_iter().map(convert::past_turn).collect(),
    })
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
