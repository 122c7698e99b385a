//! Following the timeline without missing anything.
//!
//! A follower listens live and knows the last `seq` it has given out. When the
//! next one is not the one after it, or the broadcast has dropped events it was
//! too slow for, it reads what is missing from the database and goes on.

use std::collections::VecDeque;
use std::sync::Arc;

use missiond_core::{Seq, TimelineEvent};
use missiond_store::{StoreError, timeline};
use tokio::sync::broadcast::{self, error::RecvError};

use super::{Backoff, Shared};

const PAGE: u32 = 500;

#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    live: broadcast::Receiver<Arc<TimelineEvent>>,
    /// The last stored event given out.
    last: Seq,
    /// Read from the database, not given out yet.
    backlog: VecDeque<Arc<TimelineEvent>>,
    behind: bool,
    lag: Backoff,
}

/// Why there will be no next event.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error("the timeline is closed")]
    Closed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Follower {
    pub(super) fn live_from(
        shared: Arc<Shared>,
        live: broadcast::Receiver<Arc<TimelineEvent>>,
        last: Seq,
    ) -> Self {
        let (backlog, lag) = (VecDeque::new(), Backoff::default());
        Self {
            shared,
            live,
            last,
            backlog,
            behind: false,
            lag,
        }
    }

    pub(super) fn catching_up_from(
        shared: Arc<Shared>,
        live: broadcast::Receiver<Arc<TimelineEvent>>,
        last: Seq,
    ) -> Self {
        Self {
            behind: true,
            ..Self::live_from(shared, live, last)
        }
    }

    /// Stored events up to here have been given out or cannot be read by this
    /// version.
    #[must_use]
    pub fn position(&self) -> Seq {
        match self.backlog.front() {
            Some(event) => event.seq.map_or(self.last, |seq| Seq(seq.0 - 1)),
            None => self.last,
        }
    }

    /// The next event: stored ones in order and once, ephemeral ones as they
    /// come. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Arc<TimelineEvent>, FollowError> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                return Ok(event);
            }
            if self.behind {
                self.read_page().await?;
                continue;
            }
            match self.live.recv().await {
                Ok(event) => match event.seq {
                    None => return Ok(event),
                    Some(seq) if seq <= self.last => {}
                    Some(seq) if seq.0 == self.last.0 + 1 => {
                        self.last = seq;
                        self.lag.reset();
                        return Ok(event);
                    }
                    Some(_) => self.behind = true,
                },
                Err(RecvError::Lagged(missed)) => {
                    self.behind = true;
                    let delay = self.lag.next_delay();
                    tracing::debug!(missed, ?delay, "timeline follower fell behind");
                    tokio::time::sleep(delay).await;
                }
                Err(RecvError::Closed) => return Err(FollowError::Closed),
            }
        }
    }

    async fn read_page(&mut self) -> Result<(), StoreError> {
        let after = self.last;
        let page = self
            .shared
            .db
            .read(move |tx| Box::pin(timeline::read_after(tx, after, PAGE)))
            .await?;
        match page.reached {
            Some(reached) => {
                // A page that is not full is the last: what comes after it
                // comes live.
                let rows = page.events.len() as u64 + page.unreadable;
                self.behind = rows >= u64::from(PAGE);
                self.last = reached;
                self.backlog.extend(page.events.into_iter().map(Arc::new));
            }
            None => self.behind = false,
        }
        Ok(())
    }
}
