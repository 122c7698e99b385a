//! The inbox: candidates that a person, or a rule, makes entries of.

use missiond_core::{EntryId, Timestamp, TraceContext};
use missiond_knowledge::transfer::Draft;
use missiond_store::knowledge::inbox::{self, ProposalRow};

use super::remember::{Contradiction, Remembered, contradiction_refused, masked};
use super::{Knowledge, KnowledgeError, Page};

/// Proposals that are listed.
const LISTED: u32 = 100;

/// A candidate of the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub id: EntryId,
    pub draft: Draft,
    pub source: String,
    pub at: Timestamp,
    /// What it became, when a rule accepted it at once.
    pub entry: Option<EntryId>,
}

impl Knowledge {
    /// Puts a candidate into the inbox. One whose source is in
    /// `knowledge.accept_from` becomes an entry at once, unless it contradicts
    /// what is known.
    pub async fn propose(
        &self,
        draft: Draft,
        trace: TraceContext,
    ) -> Result<Proposal, KnowledgeError> {
        let (checked, secrets) = masked(draft.checked()?);
        let source = checked
            .source
            .clone()
            .unwrap_or_else(|| "unknown".to_owned());
        let text = serde_json::to_string(&checked)
            .map_err(|error| KnowledgeError::Invalid(error.to_string()))?;
        let row = ProposalRow {
            id: EntryId::generate(),
            proposal: text,
            source,
            at: self.inner.clock.now(),
        };
        let stored = row.clone();
        self.inner
            .db
            .write(move |tx| Box::pin(async move { inbox::add(tx, &stored).await }))
            .await?;
        let mut proposed = proposal(&row)?;
        if self.inner.accepts(&row.source) {
            let kept = self
                .keep(checked, Some(row.id), secrets, Contradiction::Waits, trace)
                .await?;
            proposed.entry = kept.map(|kept| kept.entry.id);
        }
        Ok(proposed)
    }

    /// Candidates that nobody has decided about, oldest first.
    pub async fn inbox(&self) -> Result<Page<Proposal>, KnowledgeError> {
        let rows = self
            .inner
            .db
            .read(|tx| Box::pin(inbox::list(tx, LISTED + 1)))
            .await?;
        Ok(Page {
            more: rows.len() > LISTED as usize,
            items: rows
                .iter()
                .take(LISTED as usize)
                .map(proposal)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Makes a candidate an entry, and takes it out of the inbox in the same
    /// transaction.
    pub async fn accept(
        &self,
        id: EntryId,
        trace: TraceContext,
    ) -> Result<Remembered, KnowledgeError> {
        let row = self
            .inner
            .db
            .read(move |tx| Box::pin(async move { inbox::undecided(tx, id).await }))
            .await?;
        let recorded = Contradiction::Recorded;
        let kept = self.keep(draft_of(&row)?, Some(id), 0, recorded, trace);
        kept.await?.ok_or_else(contradiction_refused)
    }

    /// Takes a candidate out of the inbox.
    pub async fn reject(&self, id: EntryId) -> Result<(), KnowledgeError> {
        let now = self.inner.clock.now();
        let rejected = self.inner.db.write(move |tx| {
            Box::pin(async move {
                inbox::undecided(tx, id).await?;
                inbox::decide(tx, id, "rejected", None, now).await
            })
        });
        Ok(rejected.await?)
    }
}

/// What a candidate says.
pub(super) fn draft_of(row: &ProposalRow) -> Result<Draft, KnowledgeError> {
    serde_json::from_str(&row.proposal).map_err(|error| KnowledgeError::Invalid(error.to_string()))
}

fn proposal(row: &ProposalRow) -> Result<Proposal, KnowledgeError> {
    Ok(Proposal {
        id: row.id,
        draft: draft_of(row)?,
        source: row.source.clone(),
        at: row.at,
        entry: None,
    })
}
