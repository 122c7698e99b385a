//! Conversations between their own words and those of the catalogue.

use missiond_api::ApiError;
use missiond_api::operations::conversation::{
    ConversationHit, ConversationListParams, ConversationListResult, ConversationSearchParams,
    ConversationSearchResult, ConversationShowParams, ConversationShowResult, PastTurn,
};
use missiond_core::BoardTaskId;
use missiond_memory::conversations::{
    self, ConversationError, ConversationPage, ConversationView, ItemWindow, ListQuery,
    SearchAnswer, SearchQuery, WindowStart,
};

pub(super) fn error(error: &ConversationError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

pub(super) fn list_query(
    params: ConversationListParams,
    task: Option<BoardTaskId>,
) -> Result<ListQuery, ApiError> {
    let after = params.after.as_deref().map(str::parse).transpose();
    Ok(ListQuery {
        engine: params.engine,
        project: params.project,
        task,
        execution: params.execution,
        since: params.since,
        until: params.until,
        limit: params.limit.to_u32(),
        after: after.map_err(|refused| error(&refused))?,
    })
}

pub(super) fn list_result(page: ConversationPage) -> ConversationListResult {
    ConversationListResult {
        conversations: page.conversations,
        next: page.next.map(|next| next.to_string()),
    }
}

pub(super) fn window(params: &ConversationShowParams) -> ItemWindow {
    ItemWindow {
        from: match params.after {
            Some(place) => WindowStart::After(place.get()),
            None if params.newest => WindowStart::Newest,
            None => WindowStart::First,
        },
        turn: params.turn.map(|turn| turn.get()),
        limit: params.limit.to_u32(),
    }
}

pub(super) fn show_result(view: ConversationView) -> ConversationShowResult {
    ConversationShowResult {
        conversation: view.conversation,
        turns: view.turns,
        items: view.items,
        next: view.next,
    }
}

pub(super) fn search_query(
    params: ConversationSearchParams,
    task: Option<BoardTaskId>,
) -> SearchQuery {
    SearchQuery {
        query: params.query.into_string(),
        engine: params.engine,
        project: params.project,
        task,
        since: params.since,
        until: params.until,
        limit: params.limit.to_usize(),
        offset: params.offset.to_usize(),
    }
}

pub(super) fn search_result(answer: SearchAnswer) -> ConversationSearchResult {
    ConversationSearchResult {
        hits: answer.hits.into_iter().map(hit).collect(),
        more: answer.more,
        searched: answer.searched,
        searched_since: answer.searched_since,
    }
}

fn hit(hit: conversations::ConversationHit) -> ConversationHit {
    let conversation = hit.conversation;
    ConversationHit {
        conversation: conversation.id,
        engine: conversation.engine,
        session: conversation.session,
        project: conversation.project,
        title: conversation.title,
        task: conversation.task,
        place: hit.place,
        turn: hit.turn,
        role: hit.role,
        tool: hit.tool,
        at: hit.at,
        snippet: hit.snippet.text,
        highlights: hit.snippet.highlights,
        score: hit.score,
    }
}

pub(super) fn past_turn(turn: conversations::PastTurn) -> PastTurn {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    PastTurn {
        conversation: turn.conversation,
        engine: turn.engine,
        number: turn.number,
        prompt: turn.prompt,
        answer: turn.answer,
        tool_calls: count(turn.tool_calls),
        failed: count(turn.failed),
        at: turn.at,
        age_secs: turn.age.as_secs(),
        source: turn.source,
    }
}
