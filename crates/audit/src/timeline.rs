//! What stands in the timeline, remembered by the log: events are only ever added, so one that
//! is changed, taken out or cut off the end is found by the digest of those around it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use missiond_core::{AuditKind, AuditedEvents, Seq};
use missiond_runtime::blocking;
use missiond_store::{MissionDb, StoreError, timeline};

use crate::entry::Entry;
use crate::log::{AuditError, AuditLog};
use crate::read::{Filter, newest};
use crate::verify::{Finding, Verification};

/// So much of the timeline at most is not yet remembered while a daemon runs.
const EVERY: Duration = Duration::from_secs(30);

/// Events under one digest: so many are read again to find what is not right with them.
const TOGETHER: i64 = 500;

/// Why the timeline could not be put on record.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the log of the audit: {0}")]
    Log(#[from] io::Error),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// The timeline of a daemon, and the log that remembers it.
#[derive(Debug, Clone)]
pub struct AuditedTimeline {
    pub db: MissionDb,
    /// Where the log is.
    pub folder: PathBuf,
    pub log: AuditLog,
}

impl AuditedTimeline {
    /// Puts on record what was added, again and again.
    pub async fn run(self) {
        loop {
            self.record().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Puts on record what was added since the last time.
    pub async fn record(&self) {
        if let Err(error) = self.record_new().await {
            tracing::warn!(%error, "timeline not audited");
        }
    }

    async fn record_new(&self) -> Result<(), TimelineError> {
        let folder = self.folder.clone();
        let of_timeline = Filter {
            kind: Some(AuditKind::Timeline),
            ..Filter::default()
        };
        let last = blocking(move || newest(&folder, &of_timeline, 1)).await?.0;
        let known = last.into_iter().find_map(|record| record.events);
        let mut known = known.map_or(0, |events| events.last.0);
        let read = self.db.read(|tx| Box::pin(timeline::head(tx)));
        let head = read.await?.0;
        while known < head {
            let (first, last) = (Seq(known + 1), Seq(head.min(known + TOGETHER)));
            let read = self
                .db
                .read(move |tx| Box::pin(timeline::digest(tx, first, last)));
            let (_, hash) = read.await?;
            let entry = Entry::of_daemon(AuditKind::Timeline, "audit", "timeline");
            let entry = entry.about(&format!("events {first} to {last}"));
            let events = AuditedEvents { first, last, hash };
            self.log
                .record(entry.events(events).outcome("anchored"))
                .await?;
            known = last.0;
        }
        Ok(())
    }
}

/// Holds the timeline against what the log remembers of it.
pub async fn check(db: &MissionDb, found: &mut Verification) -> Result<(), StoreError> {
    for events in found.events.clone() {
        let AuditedEvents { first, last, .. } = events;
        let read = db.read(move |tx| Box::pin(timeline::digest(tx, first, last)));
        let (count, now) = read.await?;
        let missing = events.count().saturating_sub(count);
        if missing > 0 {
            found.report(Finding::EventsGone {
                first,
                last,
                missing,
            });
        } else if now != events.hash {
            found.report(Finding::EventsChanged { first, last });
        }
    }
    Ok(())
}
