//! Handlers of the timeline's operations.

use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::communication::{
    ActivityCount, ActivityReport, Order, PageLimit, TimelineActivity, TimelineActivityParams,
    TimelineNote, TimelineNoteParams, TimelineNoteResult, TimelinePage, TimelineQuery,
    TimelineQueryParams, TimelineTrace, TimelineTraceParams, TimelineWait, TimelineWaitParams,
};
use missiond_core::{ErrorCode, Event, SpanId, TraceContext};
use missiond_store::timeline::{self, TimelineFilter};
use missiond_store::{activity, watermarks};
use missiond_timeline::FollowError;
use missiond_timeline::activity::ACTIVITY_CONSUMER;

use crate::call::{Call, Operations, check_kinds, of_store, of_timeline};

const LONGEST_PAGE: u32 = PageLimit::LARGEST.to_u32();

/// A page is also bounded in bytes: its answer must fit in one message.
const PAGE_BYTES: usize = 700_000;

/// Rows of an activity report, the newest: they fit in one message.
const MOST_COUNTS: usize = 5000;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<TimelineQuery, _, _>(query);
    operations.add::<TimelineTrace, _, _>(trace);
    operations.add::<TimelineWait, _, _>(wait);
    operations.add::<TimelineNote, _, _>(note);
    operations.add::<TimelineActivity, _, _>(activity_report);
}

async fn query(call: Call, params: TimelineQueryParams) -> Result<TimelinePage, ApiError> {
    check_kinds(&params.kinds)?;
    let limit = params.limit.to_u32();
    let filter = TimelineFilter {
        kinds: params.kinds,
        categories: params.categories,
        trace_id: params.trace_id,
        since: params.since,
        until: params.until,
        after: params.after,
        before: params.before,
        // One more than asked for tells whether there is more.
        limit: limit + 1,
        order: match params.order.unwrap_or_default() {
            Order::NewestFirst => timeline::SortOrder::NewestFirst,
            Order::OldestFirst => timeline::SortOrder::OldestFirst,
        },
    };
    page(&call, filter, limit as usize).await
}

async fn trace(call: Call, params: TimelineTraceParams) -> Result<TimelinePage, ApiError> {
    let filter = TimelineFilter {
        trace_id: Some(params.trace_id),
        limit: LONGEST_PAGE + 1,
        order: timeline::SortOrder::OldestFirst,
        ..TimelineFilter::default()
    };
    let page = page(&call, filter, LONGEST_PAGE as usize).await?;
    if page.events.is_empty() {
        let message = format!("no stored event has the trace {}", params.trace_id);
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    Ok(page)
}

async fn page(call: &Call, filter: TimelineFilter, limit: usize) -> Result<TimelinePage, ApiError> {
    let (mut events, head) = call
        .daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                Ok((
                    timeline::query(tx, &filter).await?.events,
                    timeline::head(tx).await?,
                ))
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    let mut room = PAGE_BYTES;
    let fitting = events
        .iter()
        .take(limit)
        .take_while(|event| {
            let size = serde_json::to_string(event).map_or(0, |text| text.len());
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .count();
    let more = fitting < events.len();
    events.truncate(fitting);
    Ok(TimelinePage { events, head, more })
}

async fn wait(call: Call, params: TimelineWaitParams) -> Result<TimelinePage, ApiError> {
    check_kinds(&params.kinds)?;
    let limit = Duration::from_millis(params.timeout_ms.to_u64());
    let mut follower = match params.after {
        Some(seq) => call.daemon.timeline.follow_after(seq),
        None => call.daemon.timeline.follow(),
    };
    let found = tokio::time::timeout(limit, async {
        loop {
            let event = follower.next().await.map_err(|error| match error {
                FollowError::Store(error) => of_store(&error),
                FollowError::Closed => {
                    ApiError::new(ErrorCode::ShuttingDown, "the daemon is shutting down")
                }
            })?;
            let kind = event.event.kind();
            let wanted = params.kinds.is_empty() || params.kinds.iter().any(|want| want == kind);
            if event.seq.is_some() && wanted {
                return Ok::<_, ApiError>(event);
            }
        }
    })
    .await;
    let events = match found {
        Ok(event) => vec![(*event?).clone()],
        Err(_) => Vec::new(),
    };
    Ok(TimelinePage {
        events,
        head: call.daemon.timeline.head(),
        more: false,
    })
}

async fn note(call: Call, params: TimelineNoteParams) -> Result<TimelineNoteResult, ApiError> {
    if params.text.trim().is_empty() {
        return Err(ApiError::invalid_params("`text` says nothing"));
    }
    let author = call.principal.with_note(params.author.as_deref());
    let trace = match (params.trace_id, params.parent_span_id) {
        (Some(trace_id), parent_span_id) => TraceContext {
            trace_id,
            span_id: SpanId::generate(),
            parent_span_id,
        },
        (None, None) => call.trace,
        (None, Some(_)) => {
            return Err(ApiError::invalid_params(
                "`parent_span_id` needs `trace_id`",
            ));
        }
    };
    let event = Event::NoteAdded {
        text: params.text.into_string(),
        author,
    };
    let stored = call
        .daemon
        .timeline
        .record(event, trace)
        .await
        .map_err(|error| of_timeline(&error))?;
    Ok(TimelineNoteResult {
        event: (*stored).clone(),
    })
}

async fn activity_report(
    call: Call,
    params: TimelineActivityParams,
) -> Result<ActivityReport, ApiError> {
    let day = Duration::from_secs(24 * 3600);
    let since = params
        .since
        .unwrap_or_else(|| call.daemon.clock.now().minus(day));
    let (counts, cursor) = call
        .daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                let counts = activity::since(tx, since).await?;
                Ok((counts, watermarks::get(tx, ACTIVITY_CONSUMER).await?))
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    let more = counts.len().saturating_sub(MOST_COUNTS);
    let hours = counts
        .into_iter()
        .skip(more)
        .map(|row| ActivityCount {
            hour: row.hour,
            kind: row.kind,
            count: row.count,
        })
        .collect();
    Ok(ActivityReport {
        hours,
        counted_to: cursor.unwrap_or_default(),
        more: more > 0,
    })
}
