//! One search: every source is asked at once, each within its time, and what they
//! found is ranked by the same words. A source that fails or is late is named.

mod rank;
mod sources;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures::future::join_all;
use missiond_api::ApiError;
use missiond_api::operations::search::{
    Search, SearchFailure, SearchHit, SearchKind, SearchParams, SearchResult,
};

use self::rank::Words;
use crate::call::{Call, Operations};

/// How long a source may take. A person waits for the slowest.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn register(operations: &mut Operations) {
    operations.add::<Search, _, _>(search);
}

/// What one source found, the best first.
type Found<'a> = Pin<Box<dyn Future<Output = Result<Vec<SearchHit>, ApiError>> + Send + 'a>>;

async fn search(call: Call, params: SearchParams) -> Result<SearchResult, ApiError> {
    let query = params.query.trim().to_owned();
    let words = Words::of(&query);
    if words.is_empty() {
        return Ok(SearchResult {
            hits: Vec::new(),
            failed: Vec::new(),
        });
    }
    let wanted = |kind: &SearchKind| params.kinds.is_empty() || params.kinds.contains(kind);
    let asked = SearchKind::ALL.into_iter().filter(wanted).map(|kind| {
        let (call, words, query) = (&call, &words, query.as_str());
        let found: Found<'_> = match kind {
            SearchKind::Task => Box::pin(sources::tasks(call, words)),
            SearchKind::Run => Box::pin(sources::runs(call, words)),
            SearchKind::Question => Box::pin(sources::questions(call, words)),
            SearchKind::Knowledge => Box::pin(sources::knowledge(call, query)),
            SearchKind::Code => Box::pin(sources::code(call, query)),
            SearchKind::Conversation => Box::pin(sources::conversations(call, query)),
            SearchKind::Commit => Box::pin(sources::commits(call, words)),
        };
        async move {
            let found = tokio::time::timeout(PATIENCE, found).await;
            let found = found.unwrap_or_else(|_| {
                let message = format!("it took longer than {} s", PATIENCE.as_secs());
                Err(ApiError::new(missiond_core::ErrorCode::Timeout, message))
            });
            (kind, found)
        }
    });
    let mut hits = Vec::new();
    let mut failed = Vec::new();
    for (kind, found) in join_all(asked).await {
        match found {
            Ok(found) => hits.extend(rank::scored(&words, found)),
            Err(error) => failed.push(SearchFailure {
                kind,
                reason: error.message,
            }),
        }
    }
    Ok(SearchResult {
        hits: rank::best(hits, params.limit.to_usize()),
        failed,
    })
}
