//! What stands in the timeline, remembered by the log: events are only ever added, so one that
//! is changed, taken out or cut off the end is found by the digest of those around it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::{AuditKind, AuditedEvents, ErrorCode, Seq};
use missiond_runtime::blocking;
use missiond_store::{MissionDb, StoreError, timeline};
use tokio::sync::Mutex;

use crate::entry::Entry;
use crate::log::{AuditError, AuditLog};
use crate::read::{Filter, newest};
use crate::verify::{Finding, Verification};

/// So much of the timeline at most is not yet remembered while a daemon runs.
const EVERY: Duration = Duration::from_secs(30);

/// Events under one digest: so many are read again to find what is not right with them.
const TOGETHER: u64 = 500;

/// What a daemon that stops takes for it at most; the next goes on where it was.
const AT_THE_END: Duration = Duration::from_secs(2);

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
    db: MissionDb,
    /// Where the log is.
    folder: PathBuf,
    log: AuditLog,
    /// The last event that is on record, once that was looked up. Held while some are put
    /// there.
    known: Arc<Mutex<Option<Seq>>>,
}

impl AuditedTimeline {
    #[must_use]
    pub fn new(db: MissionDb, folder: PathBuf, log: AuditLog) -> Self {
        let known = Arc::default();
        Self {
            db,
            folder,
            log,
            known,
        }
    }

    /// Puts on record what was added, again and again.
    pub async fn run(self) {
        loop {
            if let Err(error) = self.record().await {
                tracing::warn!(%error, "timeline not audited");
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Puts on record what is not yet, as far as that is soon done.
    pub async fn finish(&self) {
        match tokio::time::timeout(AT_THE_END, self.record()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "timeline not audited"),
            Err(_) => tracing::info!("the rest of the timeline is left to the next daemon"),
        }
    }

    async fn record(&self) -> Result<(), TimelineError> {
        let mut known = self.known.lock().await;
        let mut last = match *known {
            Some(last) => last,
            None => self.on_record().await?,
        };
        let read = self.db.read(|tx| Box::pin(timeline::head(tx)));
        let head = read.await?;
        while last < head {
            let events = self.events_after(last, head).await?;
            let Seq(first) = events.first;
            last = events.last;
            let entry = Entry::of_daemon(AuditKind::Timeline, "audit", "timeline");
            let entry = entry.about(&format!("events {first} to {last}"));
            let entry = entry.events(events).outcome("anchored");
            self.log.record(entry).await?;
            *known = Some(last);
        }
        *known = Some(last);
        Ok(())
    }

    async fn on_record(&self) -> Result<Seq, TimelineError> {
        let folder = self.folder.clone();
        let of_timeline = Filter {
            kind: Some(AuditKind::Timeline),
            ..Filter::default()
        };
        let newest = blocking(move || newest(&folder, &of_timeline, 1)).await?.0;
        let events = newest.into_iter().find_map(|record| record.events);
        Ok(events.map_or(Seq(0), |events| events.last))
    }

    async fn events_after(&self, last: Seq, head: Seq) -> Result<AuditedEvents, StoreError> {
        let first = Seq(last.0 + 1);
        let last = Seq(head.0.min(last.0.saturating_add_unsigned(TOGETHER)));
        let read = self
            .db
            .read(move |tx| Box::pin(timeline::digest(tx, first, last)));
        let hash = match read.await {
            Ok((_, hash)) => hash,
            Err(error) if is_of_rows(&error) => UNREADABLE.to_owned(),
            Err(error) => return Err(error),
        };
        Ok(AuditedEvents { first, last, hash })
    }
}

/// The place of a digest, where a row was spoilt before there was one.
const UNREADABLE: &str = "unreadable";

/// Whether the rows are what cannot be read, and not the database.
fn is_of_rows(error: &StoreError) -> bool {
    error.code() == ErrorCode::Internal
}

/// Holds the timeline against what the log remembers of it.
pub async fn check(db: &MissionDb, found: &mut Verification) -> Result<(), StoreError> {
    for events in found.events.clone() {
        let AuditedEvents { first, last, .. } = events;
        // A log that says so was changed, which is a finding already.
        if !(1..=TOGETHER).contains(&events.count()) {
            continue;
        }
        let read = db.read(move |tx| Box::pin(timeline::digest(tx, first, last)));
        let (count, now) = match read.await {
            Ok(found) => found,
            Err(error) if is_of_rows(&error) => {
                found.report(Finding::EventsUnreadable { first, last });
                continue;
            }
            Err(error) => return Err(error),
        };
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
