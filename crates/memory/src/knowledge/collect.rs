//! Making space: which entries have aged unused, archiving them, and taking
//! that back.

use std::collections::HashSet;

use missiond_core::{EntryId, Timestamp, TraceContext};
use missiond_knowledge::HalfLives;
use missiond_knowledge::utility::{RetentionFacts, archive_reason};
use missiond_store::knowledge::{self, COLLECTED, EntryFilter, EntryRow, Standing, edges};
use missiond_store::{StoreError, Tx};

use super::{Knowledge, KnowledgeError, PAGE};

/// Entries that one collection shows or archives.
const MOST: usize = 500;

const DAY: i64 = 86_400_000_000;

/// An entry that has aged unused, or that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedEntry {
    pub id: EntryId,
    pub key: String,
    pub summary: String,
    pub reason: String,
}

impl Knowledge {
    /// Which entries would be archived in so many days, when nothing is used until
    /// then.
    pub async fn preview_collection(
        &self,
        in_days: i64,
    ) -> Result<Vec<CollectedEntry>, KnowledgeError> {
        let _changing = self.inner.changing.lock().await;
        let lives = self.inner.profile.half_lives;
        let then = days_after(self.inner.clock.now(), in_days);
        let entries = self
            .inner
            .db
            .read(move |tx| Box::pin(aged(tx, lives, then)))
            .await?;
        Ok(collected(entries))
    }

    /// Archives what has aged unused, or will have in so many days.
    pub async fn collect(
        &self,
        in_days: i64,
        trace: TraceContext,
    ) -> Result<Vec<CollectedEntry>, KnowledgeError> {
        let this = self.clone();
        self.run_to_completion(async move { this.collect_now(in_days, trace).await })
            .await
    }

    /// Brings back what the last collection archived.
    pub async fn undo_collection(
        &self,
        trace: TraceContext,
    ) -> Result<Vec<CollectedEntry>, KnowledgeError> {
        let this = self.clone();
        self.run_to_completion(async move { this.undo_collection_now(trace).await })
            .await
    }

    async fn collect_now(
        &self,
        in_days: i64,
        trace: TraceContext,
    ) -> Result<Vec<CollectedEntry>, KnowledgeError> {
        let _changing = self.inner.changing.lock().await;
        let lives = self.inner.profile.half_lives;
        let now = self.inner.clock.now();
        let then = days_after(now, in_days);
        let archived = self
            .inner
            .db
            .write(move |tx| Box::pin(archive_aged(tx, lives, then, now)));
        let (entries, standings) = archived.await?;
        {
            let mut index = self.inner.write_index();
            entries.iter().for_each(|(row, _)| index.remove(row.id));
            index.stand(&standings);
        }
        self.record_change(0, 0, entries.len() as u32, trace)
            .await?;
        Ok(collected(entries))
    }

    async fn undo_collection_now(
        &self,
        trace: TraceContext,
    ) -> Result<Vec<CollectedEntry>, KnowledgeError> {
        let _changing = self.inner.changing.lock().await;
        let entries = self.inner.db.write(|tx| Box::pin(bring_back(tx))).await?;
        self.rebuild().await?;
        self.record_change(entries.len() as u32, 0, 0, trace)
            .await?;
        Ok(collected(entries))
    }
}

fn days_after(now: Timestamp, days: i64) -> Timestamp {
    Timestamp::from_micros(now.as_micros() + days * DAY)
}

fn collected(entries: Vec<(EntryRow, String)>) -> Vec<CollectedEntry> {
    let collected = |(row, reason): (EntryRow, String)| CollectedEntry {
        id: row.id,
        key: row.key,
        summary: row.summary,
        reason,
    };
    entries.into_iter().map(collected).collect()
}

pub(super) async fn aged(
    tx: &mut Tx<'_>,
    lives: HalfLives,
    now: Timestamp,
) -> Result<Vec<(EntryRow, String)>, StoreError> {
    let replaced: HashSet<EntryId> = edges::replaced(tx).await?.into_iter().collect();
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = knowledge::page(tx, after, EntryFilter::InUse, PAGE).await?;
        let full = page.len() == PAGE as usize;
        after = page.last().map(|row| row.id);
        for row in page {
            let facts = RetentionFacts {
                half_life_days: lives.of(row.category.parse().unwrap_or_default()),
                utility: row.utility,
                confidence: row.confidence,
                verified_at: row.verified_at,
                used_at: row.used_at,
                replaced: replaced.contains(&row.id),
            };
            if let Some(why) = archive_reason(&facts, now) {
                found.push((row, why.to_owned()));
            }
            if found.len() == MOST {
                return Ok(found);
            }
        }
        if !full {
            return Ok(found);
        }
    }
}

async fn archive_aged(
    tx: &mut Tx<'_>,
    lives: HalfLives,
    then: Timestamp,
    now: Timestamp,
) -> Result<(Vec<(EntryRow, String)>, Vec<Standing>), StoreError> {
    let entries = aged(tx, lives, then).await?;
    for (row, why) in &entries {
        knowledge::archive(tx, row.id, &format!("{COLLECTED}{why}"), now).await?;
    }
    let gone: Vec<EntryId> = entries.iter().map(|(row, _)| row.id).collect();
    let standings = knowledge::refresh_neighbours(tx, &gone).await?;
    Ok((entries, standings))
}

async fn bring_back(tx: &mut Tx<'_>) -> Result<Vec<(EntryRow, String)>, StoreError> {
    let mut entries = Vec::new();
    let back = knowledge::restore_last_collection(tx).await?;
    knowledge::refresh_neighbours(tx, &back).await?;
    for id in back {
        if let Some(row) = knowledge::get(tx, id).await? {
            entries.push((row, "brought back".to_owned()));
        }
    }
    Ok(entries)
}
