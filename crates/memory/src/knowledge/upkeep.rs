//! What is done for the knowledge base without being asked, a bounded piece at a
//! time: candidates of finished work are taken into the inbox, and those that a
//! rule accepts become entries. Nothing is archived here: what has aged is
//! counted, and a person says `mission kb gc`.

use std::collections::BTreeSet;

use missiond_core::{EntryId, Seq, TraceContext};
use missiond_knowledge::transfer::Draft;
use missiond_knowledge::utility::Use;
use missiond_store::StoreError;
use missiond_store::knowledge::inbox::{self, ProposalRow};
use missiond_store::watermarks::{self, Advance};

use super::collect::aged;
use super::entries::record_uses;
use super::inbox::draft_of;
use super::remember::{Contradiction, masked};
use super::{Knowledge, KnowledgeError};

/// Undecided candidates that are looked at.
const LOOKED_AT: u32 = 1000;

/// Candidates that become entries in one go: each is compared with what is known.
const ACCEPTED_AT_ONCE: usize = 20;

/// How the knowledge base stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tended {
    /// Candidates that a rule made entries just now.
    pub accepted: u64,
    /// Candidates that wait for a person.
    pub waiting: u64,
    /// Entries that have aged unused.
    pub aged: u64,
    pub entries: u64,
    /// Entries with a vector of the model in use.
    pub embedded: u64,
}

/// What finished work has taught.
#[derive(Debug, Default)]
pub struct TaskLessons {
    /// Candidates for the inbox.
    pub drafts: Vec<Draft>,
    /// Entries that were of use to it.
    pub uses: BTreeSet<(EntryId, Use)>,
}

impl Knowledge {
    /// Puts what was learnt up to `to` into the inbox and moves the cursor there,
    /// in one transaction: after a crash neither is without the other, and of
    /// several daemons one does it.
    pub async fn ingest(
        &self,
        learnt: TaskLessons,
        cursor: &'static str,
        from: Seq,
        to: Seq,
    ) -> Result<Advance, KnowledgeError> {
        let at = self.inner.clock.now();
        let mut rows = Vec::with_capacity(learnt.drafts.len());
        for draft in learnt.drafts {
            let (draft, _) = masked(draft.checked()?);
            let proposal = serde_json::to_string(&draft)
                .map_err(|error| KnowledgeError::Invalid(error.to_string()))?;
            rows.push(ProposalRow {
                id: EntryId::generate(),
                proposal,
                source: draft.source.unwrap_or_else(|| "unknown".to_owned()),
                at,
            });
        }
        let taken = self.inner.db.write(move |tx| {
            Box::pin(async move {
                let advance = watermarks::advance_from(tx, cursor, from, to).await?;
                if advance == Advance::Ours {
                    for row in &rows {
                        inbox::add(tx, row).await?;
                    }
                    for (entry, how) in learnt.uses {
                        record_uses(tx, &[entry], how, at).await?;
                    }
                }
                Ok(advance)
            })
        });
        Ok(taken.await?)
    }

    /// Does what is due, and says how things stand.
    pub async fn tend(&self) -> Result<Tended, KnowledgeError> {
        let accepted = self.accept_by_rule().await?;
        let now = self.inner.clock.now();
        let lives = self.inner.profile.half_lives;
        let old = self.inner.db.read(move |tx| Box::pin(aged(tx, lives, now)));
        let old = old.await?.len() as u64;
        let stats = self.stats().await?;
        if stats.embedding.embedded < stats.entries {
            self.retry_provider();
        }
        Ok(Tended {
            accepted,
            waiting: stats.proposals.unsigned_abs(),
            aged: old,
            entries: stats.entries.unsigned_abs(),
            embedded: stats.embedding.embedded.unsigned_abs(),
        })
    }

    /// Candidates whose source is in `knowledge.accept_from` become entries,
    /// unless they contradict what is known: those wait for a person.
    async fn accept_by_rule(&self) -> Result<u64, KnowledgeError> {
        let rows = self
            .inner
            .db
            .read(|tx| Box::pin(inbox::list(tx, LOOKED_AT)))
            .await?;
        let due: Vec<_> = {
            let waiting = self.inner.waiting();
            let is_due =
                |row: &ProposalRow| self.inner.accepts(&row.source) && !waiting.contains(&row.id);
            rows.into_iter()
                .filter(is_due)
                .take(ACCEPTED_AT_ONCE)
                .collect()
        };
        let mut accepted = 0;
        for row in due {
            let draft = draft_of(&row)?;
            let (waits, trace) = (Contradiction::Waits, TraceContext::root());
            match self.keep(draft, Some(row.id), 0, waits, trace).await {
                Ok(Some(_)) => accepted += 1,
                Ok(None) => {
                    self.inner.waiting().insert(row.id);
                }
                // A person was faster.
                Err(KnowledgeError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(accepted)
    }
}
