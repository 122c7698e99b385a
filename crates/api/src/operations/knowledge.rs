//! What was learned: remembered with where it came from, found again, set
//! right, and let go.

use missiond_core::{
    AuthorTier, BoundedOr, EdgeKind, EntryCategory, EntryId, Limit, MAX_EXACT, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

pub use missiond_core::{
    Entry as KbEntry, EntryEdge as KbEdge, EntryMapLimit as KbMapLimit,
    EntryRevision as KbRevision, HitLimit as KbHitLimit,
};

operations! {
    Knowledge;

    KbSearch = "kb_search" (ReadOnly, "knowledge"):
        KbSearchParams => KbSearchResult,
        "Find entries of knowledge by meaning and by words, the most relevant first, each with a snippet.";

    KbGet = "kb_get" (Idempotent, "knowledge", Agents):
        KbGetParams => KbEntryView,
        "Read one entry in full, with its history and how it stands to others; counts as use.";

    KbRemember = "kb_remember" (Additive, "knowledge", Agents):
        KbDraft => KbRemembered,
        "Remember something; a key that exists gets a new revision, and conflicts are reported.";

    KbLink = "kb_link" (Idempotent, "knowledge", Agents):
        KbLinkParams => KbEdge,
        "Say how one entry stands to another: prerequisite, supersedes, contradicts, refines or duplicate.";

    KbConflicts = "kb_conflicts" (ReadOnly, "knowledge"):
        KbConflictsParams => KbConflictList,
        "List entries that contradict each other, newest first, with the reason.";

    KbPropose = "kb_propose" (Additive, "knowledge", Agents):
        KbDraft => KbProposal,
        "Put a candidate into the inbox, for a person to accept.";

    KbInbox = "kb_inbox" (ReadOnly, "knowledge"):
        NoParams => KbInboxPage,
        "List candidates that nobody has decided about, oldest first.";

    KbDecide = "kb_decide" (Idempotent, "knowledge", People):
        KbDecideParams => KbDecided,
        "Accept a candidate of the inbox as an entry, or reject it.";

    KbForget = "kb_forget" (Idempotent, "knowledge", Programs):
        KbForgetParams => KbForgotten,
        "Archive an entry, so that it is not found any more; it can be brought back.";

    KbGc = "kb_gc" (Idempotent, "knowledge", Programs):
        KbGcParams => KbGcReport,
        "Show which entries have aged unused, archive them, or take the last archiving back.";

    KbList = "kb_list" (ReadOnly, "knowledge"):
        KbListParams => KbListPage,
        "List entries, those that were last known to be true first, a page at a time.";

    KbMap = "kb_map" (ReadOnly, "knowledge"):
        KbMapParams => KbMapResult,
        "Lay entries out on a plane by what they mean, so that those alike lie near each other.";

    KbExport = "kb_export" (ReadOnly, "knowledge"):
        KbExportParams => KbExportPage,
        "Read entries in the order of their ids, a page at a time.";

    KbStats = "kb_stats" (ReadOnly, "knowledge"):
        NoParams => KbStatsReport,
        "Count the entries and say which embedding model is in use and how far it is.";

    KbReembed = "kb_reembed" (Idempotent, "knowledge", Programs; Process):
        NoParams => KbStatsReport,
        "Look for the embedding provider again and embed what has no vector, in the background.";
}

/// How much an entry holds; the knowledge base checks drafts of calls and of files
/// alike.
pub const MAX_SUMMARY: usize = 4 * 1024;
pub const MAX_DETAIL: usize = 256 * 1024;
pub const MAX_NAME: usize = 200;
pub const MAX_LABELS: usize = 32;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbSearchParams {
    /// Words, an identifier, or a phrase in double quotes.
    pub query: Text<262_144, 0>,
    /// Only this project's entries and those of all projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Only these categories; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<EntryCategory>,
    /// Hits that are unlike each other rather than the nearest ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explore: bool,
    /// `default` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<KbProfile>,
    /// What the configuration says when left out, 10 at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<KbHitLimit>,
    /// Hits to pass over, for the next page.
    #[serde(default)]
    pub offset: BoundedOr<0, 1000, 0>,
}

// Which parameters a search has: those of the configuration, or those of the source
// document. Documented by the field alone: this is in the list every agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KbProfile {
    Default,
    Seed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbSearchResult {
    pub hits: Vec<KbHit>,
    /// There is a next page.
    pub more: bool,
    /// Whether meaning was compared, or words alone.
    pub vectors_used: bool,
    pub passed: KbPassed,
    /// Why not, when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// How many entries passed the stages of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbPassed {
    /// Candidates that words brought up.
    pub by_words: u32,
    /// Candidates that meaning brought up.
    pub by_meaning: u32,
    /// Candidates that only an identifier or a phrase brought up.
    pub by_letter: u32,
    /// Hits that were dropped for being far below the best.
    pub dropped: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbHit {
    pub id: EntryId,
    pub key: String,
    pub category: EntryCategory,
    pub summary: String,
    /// Up to forty words around what was looked for.
    pub snippet: String,
    /// Byte ranges of the snippet that answer the query.
    pub highlights: Vec<(usize, usize)>,
    /// As much of the detail as the category shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub confidence: f64,
    /// The entry that holds instead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<EntryId>,
    pub source: String,
    pub verified_at: Timestamp,
    pub scores: KbScores,
}

/// What each stage of the search gave a hit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbScores {
    pub keyword: f32,
    pub keyword_rank: Option<u32>,
    pub vector: Option<f32>,
    pub vector_rank: Option<u32>,
    /// Both in one number, before the query moved towards its best documents;
    /// nothing when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_fused: Option<f32>,
    /// What the best turns of its conversation changed in that number.
    pub lent: f32,
    /// Both in one number, all told.
    pub fused: f32,
    pub freshness: f32,
    pub exact: f32,
    pub relevance: f32,
    pub likeness: Option<f32>,
}

/// An entry by its id or by its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbGetParams {
    /// Its id or its key.
    pub entry: String,
    /// The project its key belongs to; none for entries of all projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// Something to remember.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbDraft {
    /// One sentence: what is known.
    #[schemars(length(min = 1, max = MAX_SUMMARY))]
    pub summary: String,
    /// Everything else about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = MAX_DETAIL))]
    pub detail: String,
    /// A name to find it by and to change it under; made from the text when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME))]
    pub key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<EntryCategory>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_LABELS), inner(length(max = MAX_NAME)))]
    pub labels: Vec<String>,
    /// The project it belongs to; all when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME))]
    pub scope: Option<String>,
    /// Where it comes from: a session, a file, a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME))]
    pub source: Option<String>,
    /// The conversation it was said in, and its place there: neighbours help to find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME))]
    pub conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_EXACT))]
    pub turn: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_NAME))]
    pub author: Option<String>,
    /// How far its author is to be believed; `agent` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<AuthorTier>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbEntryView {
    pub entry: KbEntry,
    /// Every revision, oldest first.
    pub history: Vec<KbRevision>,
    pub edges: Vec<KbEdge>,
    /// What is at the other ends of the edges.
    pub others: Vec<KbNamed>,
}

/// An entry in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbNamed {
    pub id: EntryId,
    pub summary: String,
    /// It is not in use any more.
    pub archived: bool,
}

/// What became of something that was to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KbChange {
    Added,
    Revised,
    /// It was known in the same words already.
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbRemembered {
    pub entry: KbEntry,
    pub change: KbChange,
    /// What it is to entries that were there.
    pub edges: Vec<KbEdge>,
    /// Secrets that were taken out before it was stored.
    pub masked: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbLinkParams {
    pub from: EntryId,
    pub to: EntryId,
    pub kind: EdgeKind,
    #[serde(default)]
    pub reason: Text<2000, 0>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KbConflictsParams {
    /// At most so many.
    pub limit: Limit<200, 50>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbConflictList {
    pub conflicts: Vec<KbConflict>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbConflict {
    pub edge: KbEdge,
    pub newer: String,
    pub older: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbProposal {
    pub id: EntryId,
    pub draft: KbDraft,
    pub source: String,
    pub at: Timestamp,
    /// What it became, when a rule accepted it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbInboxPage {
    pub proposals: Vec<KbProposal>,
    /// There are more than are listed.
    pub more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KbDecision {
    Accept,
    Reject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbDecideParams {
    pub proposal: EntryId,
    pub decision: KbDecision,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbDecided {
    pub proposal: EntryId,
    /// What it became, when it was accepted.
    pub remembered: Option<KbRemembered>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbForgetParams {
    /// Its id or its key.
    pub entry: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbForgotten {
    pub id: EntryId,
    pub summary: String,
}

/// What to do about entries that have aged unused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KbGcAction {
    /// Say which ones.
    #[default]
    Preview,
    Archive,
    /// Bring back what the last archiving took away.
    Undo,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KbGcParams {
    pub action: KbGcAction,
    /// Judge as it will be in so many days, when nothing is used until then.
    pub in_days: BoundedOr<0, 3650, 0>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbGcReport {
    pub action: KbGcAction,
    pub entries: Vec<KbGcEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbGcEntry {
    pub id: EntryId,
    pub key: String,
    pub summary: String,
    pub why: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KbListParams {
    /// Only this category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<EntryCategory>,
    /// Those out of use instead of those in use.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// At most so many.
    pub limit: Limit<100, 50>,
    /// Entries to pass over, for the next page.
    pub offset: BoundedOr<0, 100_000, 0>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbListPage {
    pub entries: Vec<KbListed>,
    /// There is a next page.
    pub more: bool,
}

/// An entry without its detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbListed {
    pub id: EntryId,
    pub key: String,
    pub category: EntryCategory,
    pub summary: String,
    pub scope: Option<String>,
    pub source: String,
    pub tier: AuthorTier,
    pub confidence: f64,
    pub verified_at: Timestamp,
    pub archived_why: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KbMapParams {
    /// At most so many entries.
    pub limit: KbMapLimit,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbMapResult {
    pub points: Vec<KbPoint>,
    /// Entries that have a vector; not all need be on the map.
    pub embedded: u64,
    /// Which share of the differences between entries the plane shows, 0 to 1.
    pub shown: f32,
    /// Why nothing can be laid out, when that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Where an entry lies, -1 to 1 both ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbPoint {
    pub id: EntryId,
    pub x: f32,
    pub y: f32,
    pub category: EntryCategory,
    /// The beginning of what it says.
    pub title: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KbExportParams {
    /// Only what comes after this entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<EntryId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbExportPage {
    pub entries: Vec<KbEntry>,
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbStatsReport {
    /// Entries in use.
    pub entries: i64,
    pub archived: i64,
    pub proposals: i64,
    /// Entries in use by category.
    pub categories: Vec<KbCategoryCount>,
    pub embedding: KbEmbedding,
    /// The index is being built; who searches waits for it.
    pub building: bool,
    /// What the index takes in memory.
    pub index_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbCategoryCount {
    pub category: EntryCategory,
    pub entries: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbEmbedding {
    /// The model whose vectors are searched, when there is one.
    pub serving: Option<String>,
    /// The model that new vectors are made with.
    pub provider: Option<String>,
    /// Entries that have a vector of that model.
    pub embedded: i64,
    /// What is missing or wrong, in a sentence.
    pub notice: Option<String>,
}
