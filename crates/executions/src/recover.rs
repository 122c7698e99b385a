//! Taking up the executions an earlier daemon left: their journals are opened
//! again, their slots found again, and the timeline is read from a little before
//! the last thing they recorded. What was recorded already counts once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use missiond_core::machines::Machine;
use missiond_core::{Event, ExecutionLifecycle, Seq, SlotId, Timestamp};
use missiond_journal::{Journal, JournalError, StoreError as JournalStoreError};
use missiond_runtime::blocking;
use missiond_store::Engine;
use missiond_store::executions::{self, ExecutionFilter, ExecutionRow};
use missiond_store::timeline::{self, TimelineFilter};
use missiond_timeline::{FollowError, Follower};

use super::follow::{self, Follow};
use super::run::{Exit, Run};
use super::{Executions, facts, messages, spooled_hooks};
use crate::context::Context;
use crate::error::ExecutionError;

/// An event is on the timeline before it is in a journal, by much less than this.
const OVERLAP: Duration = Duration::from_secs(60);

impl Executions {
    /// Takes up what runs, ends what is gone, and follows the slots from then on.
    pub(super) async fn recover(&self) -> Result<(), ExecutionError> {
        let context = &self.context;
        let rows = context
            .db
            .read(|tx| Box::pin(executions::list(tx, ExecutionFilter::Running)))
            .await?;
        let mut since: Option<Timestamp> = None;
        let mut found = Vec::new();
        for row in rows {
            let id = row.id;
            match self.open(&row).await {
                Ok(Some((run, notices))) => {
                    let updated = run.journal().peek(|state| state.updated_at)?;
                    since = Some(since.map_or(updated, |since| since.min(updated)));
                    context.runs().insert(id, Arc::clone(&run));
                    context.audited.began(id);
                    found.push((row, run, notices));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(execution = %id, %error, "journal not opened");
                }
            }
        }
        let follower = match since {
            Some(since) => {
                let after = context.last_before(since.minus(OVERLAP)).await?;
                context.timeline.follow_after(after)
            }
            None => context.timeline.follow(),
        };
        for (row, run, notices) in found {
            run.publish_recovered().await;
            if context.slots.find(&row.slot.to_string()).is_none() {
                context.end_lost(&row, &run).await?;
                continue;
            }
            tracing::info!(execution = %run.id, "execution recovered");
            context.reopen_way_out((run.id, &run.engine), row.slot);
            messages::settle_interrupted(context, &run).await?;
            spooled_hooks::ingest(context, &run).await;
            let dialogs = context.startup_left(run.id, &run.engine).await;
            let follow = Follow::new(Arc::clone(context), Arc::clone(&run), &row, dialogs).await?;
            self.spawn(run.id, follow.until_closed(notices));
            // It was cancelled, and the daemon died before its program did.
            if run.journal().peek(|state| state.lifecycle.is_final())? {
                self.spawn(run.id, crate::context::kill(Arc::clone(context), run));
            }
        }
        let position = Arc::new(AtomicI64::new(follower.position().0));
        let (context, mut first) = (Arc::clone(context), Some(follower));
        self.tasks.spawn_restarting("execution dispatch", move || {
            let follower = first.take().unwrap_or_else(|| {
                let seen = Seq(position.load(Ordering::Acquire));
                context.timeline.follow_after(seen)
            });
            dispatch(Arc::clone(&context), follower, Arc::clone(&position))
        });
        Ok(())
    }

    async fn open(&self, row: &ExecutionRow) -> Result<Option<RecoveredRun>, ExecutionError> {
        let context = &self.context;
        let (journals, policy, id) = (
            Arc::clone(&context.journals),
            Arc::clone(&context.policy),
            row.id,
        );
        // On a shared database it may be another daemon's.
        let shared = context.db.engine() != Engine::Sqlite;
        let opened = blocking(move || {
            let missing = || JournalError::from(JournalStoreError::NotFound { execution: id });
            if shared && !journals.is_ours(id)? {
                return Err(missing());
            }
            Journal::open(journals, policy, id)
        });
        let (journal, recovery) = match opened.await {
            Ok(opened) => opened,
            Err(JournalError::Store(JournalStoreError::NotFound { .. })) => {
                if !shared {
                    tracing::error!(execution = %id, "journal missing");
                    let at = context.clock.now();
                    context
                        .db
                        .write(move |tx| {
                            let lost = ExecutionLifecycle::Terminated;
                            Box::pin(executions::end(tx, id, at, lost))
                        })
                        .await?;
                }
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(torn) = recovery.torn {
            tracing::warn!(execution = %id, bytes = torn.bytes, "torn end of journal removed");
        }
        let (run, notices) = Run::new(
            row.slot,
            journal,
            context.timeline.clone(),
            Arc::clone(&context.clock),
            context.supervisor.clone(),
            context.audit.clone(),
        )?;
        Ok(Some((Arc::new(run), notices)))
    }
}

type RecoveredRun = (
    Arc<Run>,
    tokio::sync::mpsc::UnboundedReceiver<super::run::Notice>,
);

/// Hands what happens to the slots to the executions in them. The position is
/// moved first: an event that brings it down is not met again.
async fn dispatch(context: Arc<Context>, mut follower: Follower, position: Arc<AtomicI64>) {
    loop {
        match follower.next().await {
            Ok(event) => {
                position.store(follower.position().0, Ordering::Release);
                follow::route(&context, event.seq, &event.event);
            }
            Err(FollowError::Closed) => return,
            Err(error) => {
                tracing::error!(%error, "timeline read failed, retrying");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

impl Context {
    /// The last event before a moment.
    async fn last_before(&self, moment: Timestamp) -> Result<Seq, ExecutionError> {
        let filter = TimelineFilter {
            until: Some(moment),
            order: timeline::SortOrder::NewestFirst,
            limit: 1,
            ..TimelineFilter::default()
        };
        let page = self
            .db
            .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
            .await?;
        Ok(page.reached.unwrap_or_default())
    }

    /// Its slot was closed while nobody looked.
    async fn end_lost(&self, row: &ExecutionRow, run: &Arc<Run>) -> Result<(), ExecutionError> {
        let (exit, reason) = self.end_of(row.slot, row.started_at).await?;
        let ended = follow::ended(exit, &reason);
        run.observe(facts::of_process(ended)).await?;
        follow::close(self, run).await;
        Ok(())
    }

    /// What the timeline says about the end of a slot.
    async fn end_of(
        &self,
        slot: SlotId,
        since: Timestamp,
    ) -> Result<(Exit, String), ExecutionError> {
        let (mut exit, mut reason) = (Exit::default(), "its slot is gone".to_owned());
        let mut after = None;
        loop {
            let filter = TimelineFilter {
                kinds: vec!["session_completed".to_owned(), "slot_closed".to_owned()],
                since: Some(since),
                after,
                limit: 500,
                ..TimelineFilter::default()
            };
            let page = self
                .db
                .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
                .await?;
            for event in page.events {
                match event.event {
                    Event::SessionCompleted {
                        slot: of,
                        exit_status,
                        signal,
                        ..
                    } if of == slot => {
                        exit = Exit {
                            code: exit_status,
                            signal,
                        };
                    }
                    Event::SlotClosed {
                        slot: of,
                        reason: why,
                    } if of == slot => reason = why,
                    _ => {}
                }
            }
            match page.reached {
                Some(reached) => after = Some(reached),
                None => return Ok((exit, reason)),
            }
        }
    }
}
