//! The timeline: what happened, why, and what is happening.

use missiond_core::{Bounded, Category, Limit, Seq, Text, TimelineEvent, Timestamp, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

operations! {
    Communication;

    TimelineQuery = "timeline_query" (ReadOnly, "timeline"):
        TimelineQueryParams => TimelinePage,
        "List stored events of the timeline, filtered by kind, category, trace and time.";

    TimelineTrace = "timeline_trace" (ReadOnly, "timeline"):
        TimelineTraceParams => TimelinePage,
        "List every stored event of one causal chain, oldest first.";

    TimelineWait = "timeline_wait" (ReadOnly, "timeline"; Wait):
        TimelineWaitParams => TimelinePage,
        "Wait until an event that fits the filter is stored, and return it.";

    TimelineNote = "timeline_note" (Additive, "timeline", Agents):
        TimelineNoteParams => TimelineNoteResult,
        "Mark this moment on the timeline with a sentence of your own.";

    TimelineActivity = "timeline_activity" (ReadOnly, "timeline"):
        TimelineActivityParams => ActivityReport,
        "Count the stored events per hour and kind.";
}

/// How many events a page has.
pub type PageLimit = Limit<1000, 100>;

/// How long to wait for an event: below the time limit of a request, so that an
/// empty wait is a result.
pub type WaitMs = Bounded<0, 55_000>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineQueryParams {
    /// Only these kinds of event; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Only these categories; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// Not before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only what comes after this sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// Only what comes before this sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// At most this many events.
    pub limit: PageLimit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePage {
    pub events: Vec<TimelineEvent>,
    /// The newest stored event of the whole timeline.
    pub head: Seq,
    /// More events fit than the page holds.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineTraceParams {
    pub trace_id: TraceId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineWaitParams {
    /// Only these kinds of event; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Only what comes after this sequence number; the newest when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// Give up after this time; the page is then empty.
    pub timeout_ms: WaitMs,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineNoteParams {
    pub text: Text<4096>,
    /// Who speaks; `person` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Text<128>>,
    /// Continue this causal chain instead of beginning one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The event that caused this one; needs `trace_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<missiond_core::SpanId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineNoteResult {
    /// As it was stored.
    pub event: TimelineEvent,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineActivityParams {
    /// Not before this time; the last 24 hours when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityReport {
    pub hours: Vec<ActivityCount>,
    /// Events up to here are counted.
    pub counted_to: Seq,
    /// There are older rows than the report holds: ask for less time.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityCount {
    /// The beginning of the hour.
    pub hour: Timestamp,
    pub kind: String,
    pub count: i64,
}
