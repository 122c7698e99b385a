//! Knowledge between its own words and those of the catalogue.

use missiond_api::ApiError;
use missiond_api::operations::knowledge::{
    KbCategoryCount, KbChange, KbConflict, KbDraft, KbEmbedding, KbEntry, KbEntryView, KbGcEntry,
    KbHit, KbListed, KbMapResult, KbNamed, KbPassed, KbPoint, KbProfile, KbProposal, KbRemembered,
    KbScores, KbSearchParams, KbSearchResult, KbStatsReport, MAX_DETAIL, MAX_LABELS, MAX_NAME,
    MAX_SUMMARY,
};
use missiond_knowledge::transfer::{
    Draft, LONGEST_DETAIL, LONGEST_KEY, LONGEST_SUMMARY, MOST_LABELS,
};
use missiond_knowledge::{Mode, Scores, StageCounts};
use missiond_memory::knowledge::{
    CollectedEntry, Conflict, EntryChange, EntryDetails, EntryHit, EntryMap, KnowledgeError,
    KnowledgeStats, MapPoint, NamedEntry, Proposal, Remembered, SearchAnswer, SearchProfile,
    SearchQuery,
};

// What the schema says of a draft is what is checked.
const _: () = assert!(
    MAX_SUMMARY == LONGEST_SUMMARY
        && MAX_DETAIL == LONGEST_DETAIL
        && MAX_NAME == LONGEST_KEY
        && MAX_LABELS == MOST_LABELS
);

pub(super) fn error(error: &KnowledgeError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

pub(super) fn query(params: KbSearchParams) -> SearchQuery {
    SearchQuery {
        query: params.query.into_string(),
        scope: params.scope,
        categories: params.categories,
        mode: if params.explore {
            Mode::Explore
        } else {
            Mode::Relevance
        },
        profile: match params.profile {
            None | Some(KbProfile::Default) => SearchProfile::Configured,
            Some(KbProfile::Seed) => SearchProfile::Seed,
        },
        limit: params.limit,
        offset: params.offset.to_usize(),
    }
}

pub(super) fn search_result(answer: SearchAnswer) -> KbSearchResult {
    KbSearchResult {
        hits: answer.hits.into_iter().map(hit).collect(),
        more: answer.more,
        vectors_used: answer.vectors_used,
        passed: passed(answer.counts),
        notice: answer.notice,
    }
}

fn passed(counts: StageCounts) -> KbPassed {
    KbPassed {
        by_words: counts.by_words as u32,
        by_meaning: counts.by_meaning as u32,
        by_letter: counts.by_letter as u32,
        dropped: counts.dropped as u32,
    }
}

fn hit(hit: EntryHit) -> KbHit {
    KbHit {
        id: hit.id,
        key: hit.key,
        category: hit.category,
        summary: hit.summary,
        snippet: hit.snippet.text,
        highlights: hit.snippet.highlights,
        detail: hit.detail,
        confidence: hit.confidence,
        superseded_by: hit.superseded_by,
        source: hit.source,
        verified_at: hit.verified_at,
        scores: scores(&hit.scores),
    }
}

fn scores(scores: &Scores) -> KbScores {
    let rank = |rank: Option<usize>| rank.and_then(|rank| u32::try_from(rank).ok());
    KbScores {
        keyword: scores.keyword,
        keyword_rank: rank(scores.keyword_rank),
        vector: scores.vector,
        vector_rank: rank(scores.vector_rank),
        first_fused: scores.first_fused,
        lent: scores.lent,
        fused: scores.fused,
        freshness: scores.freshness,
        exact: scores.exact,
        relevance: scores.relevance,
        likeness: scores.likeness,
    }
}

pub(super) fn entry_view(details: EntryDetails) -> KbEntryView {
    KbEntryView {
        entry: details.entry,
        history: details.history,
        edges: details.edges,
        others: details.neighbours.into_iter().map(named).collect(),
    }
}

fn named(entry: NamedEntry) -> KbNamed {
    let NamedEntry {
        id,
        summary,
        archived,
    } = entry;
    KbNamed {
        id,
        summary,
        archived,
    }
}

pub(super) fn draft(wire: KbDraft) -> Draft {
    Draft {
        key: wire.key,
        category: wire.category.unwrap_or_default(),
        summary: wire.summary,
        detail: wire.detail,
        labels: wire.labels,
        scope: wire.scope.unwrap_or_default(),
        source: wire.source,
        conversation: wire.conversation,
        turn: wire.turn,
        author: wire.author,
        tier: wire.tier.unwrap_or_default(),
    }
}

/// A draft as it is sent.
pub fn wire_draft(draft: Draft) -> KbDraft {
    KbDraft {
        summary: draft.summary,
        detail: draft.detail,
        key: draft.key,
        category: Some(draft.category),
        labels: draft.labels,
        scope: (!draft.scope.is_empty()).then_some(draft.scope),
        source: draft.source,
        conversation: draft.conversation,
        turn: draft.turn,
        author: draft.author,
        tier: Some(draft.tier),
    }
}

pub(super) fn remembered(remembered: Remembered) -> KbRemembered {
    KbRemembered {
        entry: remembered.entry,
        change: match remembered.change {
            EntryChange::Added => KbChange::Added,
            EntryChange::Revised => KbChange::Revised,
            EntryChange::Unchanged => KbChange::Unchanged,
        },
        edges: remembered.edges,
        masked: remembered.masked,
    }
}

pub(super) fn conflict(conflict: Conflict) -> KbConflict {
    let Conflict { edge, newer, older } = conflict;
    KbConflict { edge, newer, older }
}

pub(super) fn proposal(proposal: Proposal) -> KbProposal {
    KbProposal {
        id: proposal.id,
        draft: wire_draft(proposal.draft),
        source: proposal.source,
        at: proposal.at,
        entry: proposal.entry,
    }
}

pub(super) fn collected(entry: CollectedEntry) -> KbGcEntry {
    KbGcEntry {
        id: entry.id,
        key: entry.key,
        summary: entry.summary,
        why: entry.reason,
    }
}

/// An entry without its detail.
pub(super) fn listed(entry: KbEntry) -> KbListed {
    KbListed {
        id: entry.id,
        key: entry.key,
        category: entry.category,
        summary: entry.summary,
        scope: entry.scope,
        source: entry.source,
        tier: entry.tier,
        confidence: entry.confidence,
        verified_at: entry.verified_at,
        archived_why: entry.archived_why,
    }
}

pub(super) fn map_result(map: EntryMap) -> KbMapResult {
    let point = |point: MapPoint| KbPoint {
        id: point.id,
        x: point.x,
        y: point.y,
        category: point.category,
        title: point.title,
    };
    KbMapResult {
        points: map.points.into_iter().map(point).collect(),
        embedded: map.embedded,
        shown: map.shown,
        notice: map.notice,
    }
}

pub(super) fn stats_report(stats: KnowledgeStats) -> KbStatsReport {
    let count = |(category, entries)| KbCategoryCount { category, entries };
    KbStatsReport {
        entries: stats.entries,
        archived: stats.archived,
        proposals: stats.proposals,
        categories: stats.categories.into_iter().map(count).collect(),
        embedding: KbEmbedding {
            serving: stats.embedding.serving,
            provider: stats.embedding.provider,
            embedded: stats.embedding.embedded,
            notice: stats.embedding.notice,
        },
        building: stats.building,
        index_bytes: stats.index_bytes,
    }
}
