//! Entries as they are stored and as they are answered.

use std::collections::BTreeSet;

use missiond_core::{
    AuthorTier, EdgeKind, Entry, EntryCategory, EntryEdge, EntryId, EntryRevision, Event,
    Timestamp, TraceContext,
};
use missiond_knowledge::utility::Use;
use missiond_secrets::mask;
use missiond_store::knowledge::edges::{self, EdgeRow, MadeBy};
use missiond_store::knowledge::{self, EntryFilter, EntryRow, RevisionRow};
use missiond_store::{StoreError, Tx};

use super::{Knowledge, KnowledgeError, Page};

/// Entries on a page of an export: with full details a page stays below what
/// one message may hold.
const EXPORTED: u32 = 2;

/// An entry with its past and what is around it.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryDetails {
    pub entry: Entry,
    /// Every revision, oldest first.
    pub history: Vec<EntryRevision>,
    pub edges: Vec<EntryEdge>,
    /// What is at the other ends of the edges.
    pub neighbours: Vec<NamedEntry>,
}

/// An entry in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntry {
    pub id: EntryId,
    pub summary: String,
    /// It is not in use any more.
    pub archived: bool,
}

/// How one entry is said to stand to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEdge {
    pub from: EntryId,
    pub to: EntryId,
    pub kind: EdgeKind,
    /// Empty when none was given.
    pub reason: String,
}

/// Counts, and how embedding is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeStats {
    /// Entries in use.
    pub entries: i64,
    pub archived: i64,
    /// Candidates that nobody has decided about.
    pub proposals: i64,
    /// Entries in use by category.
    pub categories: Vec<(EntryCategory, i64)>,
    pub embedding: EmbeddingStatus,
    /// The index is being built; who searches waits for it.
    pub building: bool,
    /// What the index takes in memory.
    pub index_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingStatus {
    /// The model whose vectors are searched, when there is one.
    pub serving: Option<String>,
    /// The model that new vectors are made with.
    pub provider: Option<String>,
    /// Entries that have a vector of that model.
    pub embedded: i64,
    /// What is missing or wrong, in a sentence.
    pub notice: Option<String>,
}

impl Knowledge {
    /// One entry in full; counts as use.
    pub async fn get(&self, name: &str, scope: &str) -> Result<EntryDetails, KnowledgeError> {
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
        let (history, edges, neighbours) = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let history = knowledge::history(tx, id).await?;
                    let edges = edges::of_entry(tx, id).await?;
                    let neighbours = neighbours(tx, id, &edges).await?;
                    Ok((history, edges, neighbours))
                })
            })
            .await?;
        Ok(EntryDetails {
            entry: entry(&row)?,
            history: history.iter().map(revision).collect::<Result<_, _>>()?,
            edges: edges.iter().map(edge).collect::<Result<_, _>>()?,
            neighbours,
        })
    }

    /// A page of the entries, the newest knowledge first.
    pub async fn list(
        &self,
        category: Option<EntryCategory>,
        which: EntryFilter,
        limit: u32,
        offset: u32,
    ) -> Result<Page<Entry>, KnowledgeError> {
        let category = category.map(EntryCategory::name);
        let rows = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(
                    async move { knowledge::latest(tx, category, which, limit + 1, offset).await },
                )
            })
            .await?;
        page(&rows, limit)
    }

    /// Archives an entry.
    pub async fn forget(
        &self,
        name: String,
        scope: String,
        trace: TraceContext,
    ) -> Result<NamedEntry, KnowledgeError> {
        let this = self.clone();
        self.run_to_completion(async move { this.forget_now(name, scope, trace).await })
            .await
    }

    async fn forget_now(
        &self,
        name: String,
        scope: String,
        trace: TraceContext,
    ) -> Result<NamedEntry, KnowledgeError> {
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
        self.record_change(0, 0, 1, trace).await?;
        Ok(NamedEntry {
            id: row.id,
            summary: row.summary,
            archived: true,
        })
    }

    /// Says how one entry stands to another, for somebody who is believed so far.
    pub async fn link(&self, new: NewEdge, tier: AuthorTier) -> Result<EntryEdge, KnowledgeError> {
        let this = self.clone();
        self.run_to_completion(async move { this.link_now(new, tier).await })
            .await
    }

    async fn link_now(&self, new: NewEdge, tier: AuthorTier) -> Result<EntryEdge, KnowledgeError> {
        if new.from == new.to {
            return Err(KnowledgeError::Invalid(
                "an entry has no edge to itself".into(),
            ));
        }
        let reason = if new.reason.is_empty() {
            "said so".to_owned()
        } else {
            mask(new.reason.as_str()).into_string()
        };
        let row = EdgeRow {
            from: new.from,
            to: new.to,
            kind: new.kind.name().to_owned(),
            reason,
            made_by: MadeBy::Statement,
            from_keeps: 1.0,
            to_keeps: 1.0,
            at: self.inner.clock.now(),
            ended_at: None,
        };
        let overrules = new.kind == EdgeKind::Supersedes;
        let _changing = self.inner.changing.lock().await;
        let stored = row.clone();
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
        edge(&row)
    }

    /// A page of all entries in use.
    pub async fn export(&self, after: Option<EntryId>) -> Result<Page<Entry>, KnowledgeError> {
        let rows = self
            .inner
            .db
            .read(move |tx| Box::pin(knowledge::page(tx, after, EntryFilter::InUse, EXPORTED + 1)))
            .await?;
        page(&rows, EXPORTED)
    }

    /// Counts, and how embedding is doing.
    pub async fn stats(&self) -> Result<KnowledgeStats, KnowledgeError> {
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
        let categories: Vec<(EntryCategory, i64)> = counts
            .categories
            .iter()
            .map(|(name, entries)| (name.parse().unwrap_or_default(), *entries))
            .collect();
        let index = self.inner.read_index();
        Ok(KnowledgeStats {
            entries: categories.iter().map(|(_, entries)| entries).sum(),
            archived: counts.archived,
            proposals: counts.undecided,
            categories,
            embedding: EmbeddingStatus {
                serving: index.model().map(str::to_owned),
                provider: current,
                embedded,
                notice: self.inner.models.problem(),
            },
            building,
            index_bytes: index.bytes() as u64,
        })
    }

    pub(super) async fn record_change(
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
pub async fn record_uses(
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
async fn neighbours(
    tx: &mut Tx<'_>,
    own: EntryId,
    edges: &[EdgeRow],
) -> Result<Vec<NamedEntry>, StoreError> {
    let ends: BTreeSet<EntryId> = edges
        .iter()
        .map(|edge| if edge.from == own { edge.to } else { edge.from })
        .collect();
    let mut neighbours = Vec::with_capacity(ends.len());
    for id in ends {
        neighbours.extend(knowledge::get(tx, id).await?.map(|row| NamedEntry {
            id,
            summary: row.summary,
            archived: row.archived_at.is_some(),
        }));
    }
    Ok(neighbours)
}

/// As many entries as were asked for; the row that was read beyond them says that
/// there are more.
fn page(rows: &[EntryRow], limit: u32) -> Result<Page<Entry>, KnowledgeError> {
    let limit = limit as usize;
    let items = rows.iter().take(limit).map(entry);
    Ok(Page {
        items: items.collect::<Result<_, _>>()?,
        more: rows.len() > limit,
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

pub(super) fn entry(row: &EntryRow) -> Result<Entry, KnowledgeError> {
    Ok(Entry {
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

fn revision(row: &RevisionRow) -> Result<EntryRevision, KnowledgeError> {
    Ok(EntryRevision {
        revision: row.revision,
        category: category(&row.category)?,
        summary: row.summary.clone(),
        detail: row.detail.clone(),
        author: row.author.clone(),
        at: row.at,
    })
}

pub(super) fn edge(row: &EdgeRow) -> Result<EntryEdge, KnowledgeError> {
    let kind = row
        .kind
        .parse()
        .map_err(|error| KnowledgeError::Invalid(format!("{error}")))?;
    Ok(EntryEdge {
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
