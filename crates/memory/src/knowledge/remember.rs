//! Remembering: secrets out, the same key as a new revision, and what the new
//! entry is to those that are there. All of it is one transaction, and the
//! index follows it.

use std::sync::Arc;

use missiond_core::{EdgeKind, Entry, EntryEdge, EntryId, Event, Timestamp, TraceContext};
use missiond_knowledge::transfer::Draft;
use missiond_knowledge::utility::FIRST_UTILITY;
use missiond_knowledge::{
    Mode, Paths, Profile, Purpose, Reads, Request, Statement, Verdict, classify,
};
use missiond_runtime::blocking;
use missiond_secrets::mask;
use missiond_store::knowledge::edges::{self, EdgeRow, MadeBy};
use missiond_store::knowledge::inbox;
use missiond_store::knowledge::{self, EntryRow, Standing, vectors};
use missiond_store::{StoreError, Tx};

use super::entries::{edge, entry};
use super::index::searched_text;
use super::{Knowledge, KnowledgeError};

/// Entries a new one is compared with.
const COMPARED: usize = 10;

/// What was remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub entry: Entry,
    pub change: EntryChange,
    /// What it is to entries that were there.
    pub edges: Vec<EntryEdge>,
    /// Secrets that were taken out before it was stored.
    pub masked: usize,
}

/// What a draft did to its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryChange {
    Added,
    Revised,
    /// It was known in the same words already.
    Unchanged,
}

impl EntryChange {
    /// How many entries were added, and how many revised.
    const fn counts(self) -> (u32, u32) {
        match self {
            Self::Added => (1, 0),
            Self::Revised => (0, 1),
            Self::Unchanged => (0, 0),
        }
    }
}

/// What happens to a draft that contradicts what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contradiction {
    /// It is kept, and both are told apart by an edge.
    Recorded,
    /// It is not kept: a person decides.
    Waits,
}

/// What a write came to.
struct Written {
    row: EntryRow,
    change: EntryChange,
    edges: Vec<EdgeRow>,
    /// How it and the entries around it stand now.
    standings: Vec<Standing>,
}

/// An entry a new one was compared with.
#[derive(Debug, Clone)]
struct ComparedEntry {
    id: EntryId,
    alike: Option<bool>,
}

/// The vector of a new entry and the model that made it.
type Embedded = Option<(String, Vec<f32>)>;

impl Knowledge {
    /// Remembers what a draft says.
    pub async fn remember(
        &self,
        draft: Draft,
        trace: TraceContext,
    ) -> Result<Remembered, KnowledgeError> {
        let (draft, masked) = masked(draft.checked()?);
        let recorded = Contradiction::Recorded;
        let kept = self.keep(draft, None, masked, recorded, trace).await?;
        kept.ok_or_else(contradiction_refused)
    }

    pub(super) async fn keep(
        &self,
        draft: Draft,
        proposal: Option<EntryId>,
        masked: usize,
        contradiction: Contradiction,
        trace: TraceContext,
    ) -> Result<Option<Remembered>, KnowledgeError> {
        let this = self.clone();
        self.run_to_completion(async move {
            this.keep_now(draft, proposal, masked, contradiction, trace)
                .await
        })
        .await
    }

    async fn keep_now(
        &self,
        draft: Draft,
        proposal: Option<EntryId>,
        masked: usize,
        contradiction: Contradiction,
        trace: TraceContext,
    ) -> Result<Option<Remembered>, KnowledgeError> {
        self.built().await;
        let (near, embedded) = self.compare(&draft).await;
        let _changing = self.inner.changing.lock().await;
        let now = self.inner.clock.now();
        let vector = embedded.clone();
        let written = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let Some(written) = write(tx, draft, &near, contradiction, now).await? else {
                        return Ok(None);
                    };
                    if let Some((model, vector)) = vector {
                        let dimension = vector.len() as i64;
                        vectors::ensure_model(tx, &model, dimension, None).await?;
                        let EntryRow { id, revision, .. } = written.row;
                        vectors::put(tx, &model, id, revision, &vector).await?;
                    }
                    if let Some(proposal) = proposal {
                        inbox::undecided(tx, proposal).await?;
                        inbox::decide(tx, proposal, "accepted", Some(written.row.id), now).await?;
                    }
                    Ok(Some(written))
                })
            })
            .await?;
        let Some(written) = written else {
            return Ok(None);
        };
        if written.change != EntryChange::Unchanged {
            self.index(&written, embedded);
            let (added, revised) = written.change.counts();
            self.record_change(added, revised, 0, trace).await?;
        }
        for edge in &written.edges {
            let event = Event::KbConflictDetected {
                entry: edge.from,
                other: edge.to,
                relation: edge.kind.clone(),
            };
            self.inner.timeline.record(event, trace).await?;
        }
        Ok(Some(Remembered {
            entry: entry(&written.row)?,
            change: written.change,
            edges: written.edges.iter().map(edge).collect::<Result<_, _>>()?,
            masked,
        }))
    }

    fn index(&self, written: &Written, embedded: Embedded) {
        let mut index = self.inner.write_index();
        let vector = embedded.filter(|(model, _)| index.model() == Some(model));
        let has_vector = vector.is_some();
        index.put(&written.row, vector.map(|(_, vector)| vector));
        index.stand(&written.standings);
        drop(index);
        if !has_vector {
            self.inner.wake.notify_one();
        }
    }

    /// The entries nearest to a draft, and its vector when the model that
    /// serves is open.
    async fn compare(&self, draft: &Draft) -> (Vec<ComparedEntry>, Embedded) {
        let inner = Arc::clone(&self.inner);
        let scope = draft.scope.clone();
        let now = self.inner.clock.now();
        let labels = serde_json::json!(draft.labels).to_string();
        let key = draft.key.clone().unwrap_or_else(|| draft.derived_key());
        let full = searched_text(&key, &draft.summary, &draft.detail, &labels);
        let text = draft.summary.clone();
        let compared = blocking(move || {
            let serving = inner.read_index().serving.clone();
            let embedded: Embedded = serving.and_then(|serving| {
                let model = inner.models.serving(&serving)?;
                let mut made = model.embed(&[full.as_str()], Purpose::Entry).ok()?;
                Some((serving.name, made.pop()?))
            });
            let index = inner.read_index();
            // The index may have been replaced meanwhile.
            let vector = embedded
                .as_ref()
                .filter(|(model, _)| index.model() == Some(model))
                .map(|(_, vector)| vector.as_slice());
            let profile = Profile {
                decay: false,
                ..inner.profile.clone()
            };
            let answer = index.corpus.search(&Request {
                query: &text,
                vector,
                profile: &profile,
                model_reads: Reads::Everything,
                paths: Paths::Both,
                mode: Mode::Relevance,
                now,
                scope: (!scope.is_empty()).then_some(scope.as_str()),
                categories: &[],
                limit: COMPARED,
                offset: 0,
            });
            let calibration = index.serving.as_ref().and_then(|s| s.calibration);
            let line = calibration.map(|calibration| calibration.alike());
            let near = answer
                .hits
                .iter()
                .filter_map(|hit| {
                    Some(ComparedEntry {
                        id: hit.id.parse().ok()?,
                        alike: hit
                            .scores
                            .vector
                            .zip(line)
                            .map(|(vector, line)| vector >= line),
                    })
                })
                .collect();
            (near, embedded)
        });
        compared.await
    }
}

async fn write(
    tx: &mut Tx<'_>,
    draft: Draft,
    near: &[ComparedEntry],
    contradiction: Contradiction,
    now: Timestamp,
) -> Result<Option<Written>, StoreError> {
    let key = draft.key.clone().unwrap_or_else(|| draft.derived_key());
    let labels = serde_json::json!(draft.labels).to_string();
    let author = draft
        .author
        .clone()
        .unwrap_or_else(|| draft.tier.name().to_owned());
    let source = draft.source.clone().unwrap_or_else(|| author.clone());
    let known = knowledge::by_key(tx, &draft.scope, &key).await?;
    let mut row = EntryRow {
        id: known
            .as_ref()
            .map_or_else(EntryId::generate, |known| known.id),
        key,
        scope: draft.scope,
        category: draft.category.name().to_owned(),
        summary: draft.summary,
        detail: draft.detail,
        labels,
        source,
        conversation: draft.conversation,
        turn: draft.turn,
        author,
        tier: draft.tier.name().to_owned(),
        trust: draft.tier.trust(),
        confidence: draft.tier.trust(),
        utility: FIRST_UTILITY,
        revision: 1,
        created_at: now,
        verified_at: now,
        used_at: None,
        archived_at: None,
        archived_why: None,
    };
    if let Some(known) = &known {
        let same = (
            &known.category,
            &known.summary,
            &known.detail,
            &known.labels,
        ) == (&row.category, &row.summary, &row.detail, &row.labels);
        // Said again by somebody who is believed more it is more than it was.
        if same && row.trust <= known.trust && known.archived_at.is_none() {
            return Ok(Some(Written {
                row: known.clone(),
                change: EntryChange::Unchanged,
                edges: Vec::new(),
                standings: Vec::new(),
            }));
        }
        row.revision = known.revision + 1;
        row.created_at = known.created_at;
        row.utility = known.utility;
        row.used_at = known.used_at;
        row.conversation.clone_from(&known.conversation);
        row.turn = known.turn;
    }
    let mut judged = Vec::new();
    for other in near.iter().filter(|other| other.id != row.id) {
        let Some(old) = knowledge::get(tx, other.id).await? else {
            continue;
        };
        if let Some(verdict) = verdict(&row, &old, other.alike) {
            judged.push((old, verdict));
        }
    }
    let contradicts = |(_, verdict): &(EntryRow, Verdict)| verdict.kind == EdgeKind::Contradicts;
    if contradiction == Contradiction::Waits && judged.iter().any(contradicts) {
        return Ok(None);
    }
    let found: Vec<EdgeRow> = judged
        .into_iter()
        .map(|(old, verdict)| EdgeRow {
            from: row.id,
            to: old.id,
            kind: verdict.kind.name().to_owned(),
            reason: verdict.reason,
            made_by: MadeBy::Comparison,
            from_keeps: verdict.newer_keeps,
            to_keeps: verdict.older_keeps,
            at: now,
            ended_at: None,
        })
        .collect();
    let change = match &known {
        Some(_) => {
            knowledge::revise(tx, &row, now).await?;
            edges::end_of_words(tx, row.id, now).await?;
            EntryChange::Revised
        }
        None => {
            knowledge::insert(tx, &row).await?;
            EntryChange::Added
        }
    };
    for edge in &found {
        edges::add(tx, edge).await?;
    }
    let mut standings = knowledge::refresh_neighbours(tx, &[row.id]).await?;
    let own = knowledge::refresh_standing(tx, row.id).await?;
    row.confidence = own.confidence;
    standings.push(own);
    Ok(Some(Written {
        row,
        change,
        edges: found,
        standings,
    }))
}

fn verdict(new: &EntryRow, old: &EntryRow, alike: Option<bool>) -> Option<Verdict> {
    let statement = |row: &'_ EntryRow| (row.summary.clone(), row.tier.parse().unwrap_or_default());
    let ((new_text, new_tier), (old_text, old_tier)) = (statement(new), statement(old));
    let newer = Statement {
        text: &new_text,
        tier: new_tier,
    };
    let older = Statement {
        text: &old_text,
        tier: old_tier,
    };
    classify(newer, older, alike)
}

/// Secrets out of everything that is stored as it was said.
pub(super) fn masked(mut draft: Draft) -> (Draft, usize) {
    let mut secrets = 0;
    let mut clean = |text: &mut String| {
        let masked = mask(text.as_str());
        secrets += masked.secrets();
        *text = masked.into_string();
    };
    clean(&mut draft.summary);
    clean(&mut draft.detail);
    clean(&mut draft.scope);
    let named = [
        &mut draft.key,
        &mut draft.source,
        &mut draft.conversation,
        &mut draft.author,
    ];
    named.into_iter().flatten().for_each(&mut clean);
    draft.labels.iter_mut().for_each(clean);
    (draft, secrets)
}

pub(super) fn contradiction_refused() -> KnowledgeError {
    KnowledgeError::Invalid("it contradicts what is known".into())
}
