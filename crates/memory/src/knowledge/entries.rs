//! Entries as they are stored and as they are told.

use std::collections::BTreeSet;

use missiond_api::operations::knowledge::{
    KbCategoryCount, KbChange, KbDraft, KbEdge, KbEmbedding, KbEntry, KbEntryView, KbExportPage,
    KbForgotten, KbLinkParams, KbListPage, KbListParams, KbListed, KbNamed, KbRevision,
    KbStatsReport, MAX_DETAIL, MAX_LABELS, MAX_NAME, MAX_SUMMARY,
};
use missiond_core::{AuthorTier, EdgeKind, EntryCategory, EntryId, Event, Timestamp, TraceContext};
use missiond_knowledge::masking::mask;
use missiond_knowledge::transfer::{
    Draft, LONGEST_DETAIL, LONGEST_KEY, LONGEST_SUMMARY, MOST_LABELS,
};
use missiond_knowledge::utility::Use;
use missiond_store::knowledge::edges::{self, EdgeRow, MadeBy};
use missiond_store::knowledge::{self, EntryRow, RevisionRow, Which};
use missiond_store::{StoreError, Tx};

use super::{Knowledge, KnowledgeError, run_to_completion};

/// Entries on a page of an export: with full details a page stays below what
/// one message may hold.
const EXPORTED: u32 = 2;

impl Knowledge {
    /// One entry in full; counts as use.
    pub async fn get(&self, name: &str, scope: &str) -> Result<KbEntryView, KnowledgeError> {
        let now = self.inner.clock.now();
        let (wanted, scope) = (name.to_owned(), scope.to_owned());
        let row = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(mut row) = find(tx, &wanted, &scope).await? else {
                        return Ok(None);
                    };
                    row.utility = Use::Read.after(row.utility);
                    row.used_at = Some(now);
                    knowledge::record_use(tx, row.id, row.utility, now).await?;
                    Ok(Some(row))
                })
            })
            .await?;
        let row = row.ok_or_else(|| KnowledgeError::Unknown(name.to_owned()))?;
        let id = row.id;
        let (history, edges, others) = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let history = knowledge::history(tx, id).await?;
                    let edges = edges::of_entry(tx, id).await?;
                    let others = others(tx, id, &edges).await?;
                    Ok((history, edges, others))
                })
            })
            .await?;
        Ok(KbEntryView {
            entry: wire_entry(&row)?,
            history: history
                .iter()
                .map(wire_revision)
                .collect::<Result<_, _>>()?,
            edges: edges.iter().map(wire_edge).collect::<Result<_, _>>()?,
            others,
        })
    }

    /// A page of the entries, the newest knowledge first.
    pub async fn list(&self, params: KbListParams) -> Result<KbListPage, KnowledgeError> {
        let (limit, offset) = (params.limit.to_u32(), params.offset.to_u32());
        let which = if params.archived {
            Which::Archived
        } else {
            Which::InUse
        };
        let category = params.category.map(EntryCategory::name);
        let rows = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(
                    async move { knowledge::latest(tx, category, which, limit + 1, offset).await },
                )
            })
            .await?;
        Ok(KbListPage {
            more: rows.len() > limit as usize,
            entries: rows
                .into_iter()
                .take(limit as usize)
                .map(listed)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Archives an entry.
    pub async fn forget(
        &self,
        name: String,
        scope: String,
        trace: TraceContext,
    ) -> Result<KbForgotten, KnowledgeError> {
        let this = self.clone();
        run_to_completion(async move { this.forget_now(name, scope, trace).await }).await
    }

    async fn forget_now(
        &self,
        name: String,
        scope: String,
        trace: TraceContext,
    ) -> Result<KbForgotten, KnowledgeError> {
        let _changing = self.inner.changing.lock().await;
        let now = self.inner.clock.now();
        let wanted = name.clone();
        let forgotten = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(row) = find(tx, &wanted, &scope).await? else {
                        return Ok(None);
                    };
                    knowledge::archive(tx, row.id, "forgotten", now).await?;
                    let standings = knowledge::refresh_neighbours(tx, &[row.id]).await?;
                    Ok(Some((row, standings)))
                })
            })
            .await?;
        let (row, standings) = forgotten.ok_or_else(|| KnowledgeError::Unknown(name.to_owned()))?;
        {
            let mut index = self.inner.write_index();
            index.remove(row.id);
            index.stand(&standings);
        }
        self.tell(0, 0, 1, trace).await?;
        Ok(KbForgotten {
            id: row.id,
            summary: row.summary,
        })
    }

    /// Says how one entry stands to another, for somebody who is believed so far.
    pub async fn link(
        &self,
        params: KbLinkParams,
        tier: AuthorTier,
    ) -> Result<KbEdge, KnowledgeError> {
        let this = self.clone();
        run_to_completion(async move { this.link_now(params, tier).await }).await
    }

    async fn link_now(
        &self,
        params: KbLinkParams,
        tier: AuthorTier,
    ) -> Result<KbEdge, KnowledgeError> {
        if params.from == params.to {
            return Err(KnowledgeError::Invalid(
                "an entry has no edge to itself".into(),
            ));
        }
        let reason = if params.reason.is_empty() {
            "said so".to_owned()
        } else {
            mask(&params.reason).text
        };
        let edge = EdgeRow {
            from: params.from,
            to: params.to,
            kind: params.kind.name().to_owned(),
            reason,
            made_by: MadeBy::Statement,
            from_keeps: 1.0,
            to_keeps: 1.0,
            at: self.inner.clock.now(),
            ended_at: None,
        };
        let overrules = params.kind == EdgeKind::Supersedes;
        let _changing = self.inner.changing.lock().await;
        let stored = edge.clone();
        let standings = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let older = knowledge::get(tx, stored.to).await?;
                    let older = older.and_then(|row| row.tier.parse().ok());
                    if overrules && older > Some(tier) {
                        return Ok(None);
                    }
                    edges::add_between_known(tx, &stored).await?;
                    Ok(Some([
                        knowledge::refresh_standing(tx, stored.from).await?,
                        knowledge::refresh_standing(tx, stored.to).await?,
                    ]))
                })
            })
            .await?
            .ok_or(KnowledgeError::Overruling)?;
        self.inner.write_index().stand(&standings);
        wire_edge(&edge)
    }

    /// A page of all entries in use.
    pub async fn export(&self, after: Option<EntryId>) -> Result<KbExportPage, KnowledgeError> {
        let rows = self
            .inner
            .db
            .read(move |tx| Box::pin(knowledge::page(tx, after, Which::InUse, EXPORTED + 1)))
            .await?;
        let more = rows.len() > EXPORTED as usize;
        let entries = rows
            .iter()
            .take(EXPORTED as usize)
            .map(wire_entry)
            .collect::<Result<_, _>>()?;
        Ok(KbExportPage { entries, more })
    }

    /// Counts, and how embedding is doing.
    pub async fn stats(&self) -> Result<KbStatsReport, KnowledgeError> {
        let building = !*self.inner.built.borrow();
        let current = self.inner.models.current_name();
        let asked = current.clone();
        let (counts, embedded) = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let counts = knowledge::counts(tx).await?;
                    let progress = match &asked {
                        Some(model) => knowledge::vectors::progress(tx, model).await?.1,
                        None => 0,
                    };
                    Ok((counts, progress))
                })
            })
            .await?;
        let categories: Vec<KbCategoryCount> = counts
            .categories
            .iter()
            .map(|(name, entries)| KbCategoryCount {
                category: name.parse().unwrap_or_default(),
                entries: *entries,
            })
            .collect();
        let index = self.inner.read_index();
        Ok(KbStatsReport {
            entries: categories.iter().map(|count| count.entries).sum(),
            archived: counts.archived,
            proposals: counts.undecided,
            categories,
            embedding: KbEmbedding {
                serving: index.model().map(str::to_owned),
                provider: current,
                embedded,
                notice: self.inner.models.problem(),
            },
            building,
            index_bytes: index.bytes() as u64,
        })
    }

    pub(super) async fn tell(
        &self,
        added: u32,
        revised: u32,
        archived: u32,
        trace: TraceContext,
    ) -> Result<(), KnowledgeError> {
        let event = Event::KbBatchMutated {
            added,
            revised,
            archived,
        };
        self.inner.timeline.record(event, trace).await?;
        Ok(())
    }
}

/// Notes that entries were of use; those that are gone, or are being changed, are
/// passed over.
pub async fn note_uses(
    tx: &mut Tx<'_>,
    entries: &[EntryId],
    how: Use,
    at: Timestamp,
) -> Result<(), StoreError> {
    for &id in entries {
        if let Some(utility) = knowledge::utility_if_free(tx, id).await? {
            knowledge::record_use(tx, id, how.after(utility), at).await?;
        }
    }
    Ok(())
}

/// What is at the other ends of an entry's edges, each once.
async fn others(
    tx: &mut Tx<'_>,
    own: EntryId,
    edges: &[EdgeRow],
) -> Result<Vec<KbNamed>, StoreError> {
    let ends: BTreeSet<EntryId> = edges
        .iter()
        .map(|edge| if edge.from == own { edge.to } else { edge.from })
        .collect();
    let mut others = Vec::with_capacity(ends.len());
    for id in ends {
        others.extend(knowledge::get(tx, id).await?.map(|row| KbNamed {
            id,
            summary: row.summary,
            archived: row.archived_at.is_some(),
        }));
    }
    Ok(others)
}

fn listed(row: EntryRow) -> Result<KbListed, KnowledgeError> {
    Ok(KbListed {
        id: row.id,
        category: category(&row.category)?,
        scope: (!row.scope.is_empty()).then_some(row.scope),
        tier: row.tier.parse().unwrap_or_default(),
        key: row.key,
        summary: row.summary,
        source: row.source,
        confidence: row.confidence,
        verified_at: row.verified_at,
        archived_why: row.archived_why,
    })
}

/// The entry of this id, or of this key in this scope.
pub(super) async fn find(
    tx: &mut Tx<'_>,
    name: &str,
    scope: &str,
) -> Result<Option<EntryRow>, StoreError> {
    if let Ok(id) = name.parse::<EntryId>() {
        return knowledge::get(tx, id).await;
    }
    knowledge::by_key(tx, scope, name).await
}

// What the schema says of a draft is what is checked.
const _: () = assert!(
    MAX_SUMMARY == LONGEST_SUMMARY
        && MAX_DETAIL == LONGEST_DETAIL
        && MAX_NAME == LONGEST_KEY
        && MAX_LABELS == MOST_LABELS
);

/// A draft as it comes over the wire.
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

pub(super) fn wire_entry(row: &EntryRow) -> Result<KbEntry, KnowledgeError> {
    Ok(KbEntry {
        id: row.id,
        key: row.key.clone(),
        category: category(&row.category)?,
        summary: row.summary.clone(),
        detail: row.detail.clone(),
        labels: serde_json::from_str(&row.labels).unwrap_or_default(),
        scope: (!row.scope.is_empty()).then(|| row.scope.clone()),
        source: row.source.clone(),
        conversation: row.conversation.clone(),
        turn: row.turn,
        author: row.author.clone(),
        tier: row.tier.parse().unwrap_or_default(),
        trust: row.trust,
        confidence: row.confidence,
        utility: row.utility,
        revision: row.revision,
        created_at: row.created_at,
        verified_at: row.verified_at,
        used_at: row.used_at,
        archived_at: row.archived_at,
        archived_why: row.archived_why.clone(),
    })
}

fn wire_revision(row: &RevisionRow) -> Result<KbRevision, KnowledgeError> {
    Ok(KbRevision {
        revision: row.revision,
        category: category(&row.category)?,
        summary: row.summary.clone(),
        detail: row.detail.clone(),
        author: row.author.clone(),
        at: row.at,
    })
}

pub(super) fn wire_edge(row: &EdgeRow) -> Result<KbEdge, KnowledgeError> {
    let kind = row
        .kind
        .parse()
        .map_err(|error| KnowledgeError::Invalid(format!("{error}")))?;
    Ok(KbEdge {
        from: row.from,
        to: row.to,
        kind,
        reason: row.reason.clone(),
        at: row.at,
        ended_at: row.ended_at,
    })
}

fn category(name: &str) -> Result<EntryCategory, KnowledgeError> {
    name.parse()
        .map_err(|error| KnowledgeError::Invalid(format!("{error}")))
}

/// How many entries of each kind a change touched.
pub(super) const fn counted(change: KbChange) -> (u32, u32) {
    match change {
        KbChange::Added => (1, 0),
        KbChange::Revised => (0, 1),
        KbChange::Unchanged => (0, 0),
    }
}
