//! The person's own session: an agent CLI that they started themselves and that
//! tells of itself through its hooks. It is registered and never owned: nothing
//! is typed into it and nothing ends it. There is one; another conversation that
//! reports takes its place. A daemon that restarts knows it again from its next
//! report.

use std::path::PathBuf;

use missiond_core::{CliEngine, Event, PtyState, Slot, SlotId, SlotKind, Timestamp, TraceContext};
use missiond_store::slots;

use super::{Context, Slots, SlotsError};

/// What it is called.
const NAME: &str = "foreground";

/// Something a hook of the session told.
#[derive(Debug, Clone)]
pub(crate) struct ForegroundReport {
    pub engine: CliEngine,
    pub cwd: PathBuf,
    /// The CLI's own name of the conversation.
    pub conversation: Option<String>,
    pub told: ForegroundTold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForegroundTold {
    Is(PtyState),
    Left,
}

/// The session as it was last heard of.
#[derive(Debug, Clone)]
pub(crate) struct Foreground {
    pub slot: Slot,
    pub cwd: PathBuf,
    pub conversation: Option<String>,
    pub state: PtyState,
    pub heard_at: Timestamp,
}

impl Slots {
    pub(crate) async fn foreground(&self) -> Option<Foreground> {
        self.foreground.lock().await.clone()
    }

    /// Takes a report in; the session as it is then.
    pub(crate) async fn foreground_told(
        &self,
        report: ForegroundReport,
        trace: TraceContext,
    ) -> Result<Option<Foreground>, SlotsError> {
        let mut known = self.foreground.lock().await;
        let same = |session: &Foreground| session.conversation == report.conversation;
        let ForegroundTold::Is(state) = report.told else {
            if let Some(session) = known.take_if(|session| same(session)) {
                self.context.close(session.slot.id, "it has left").await?;
            }
            return Ok(known.clone());
        };
        if let Some(other) = known.take_if(|session| !same(session)) {
            let reason = "another session has taken its place";
            self.context.close(other.slot.id, reason).await?;
        }
        let now = self.context.clock.now();
        let session = match known.take() {
            Some(session) => session,
            None => Foreground {
                slot: self.context.register_foreground(&report, trace).await?,
                cwd: report.cwd.clone(),
                conversation: report.conversation.clone(),
                state: PtyState::Starting,
                heard_at: now,
            },
        };
        let changed = session.state != state;
        let session = Foreground {
            cwd: report.cwd,
            state,
            heard_at: now,
            ..session
        };
        let slot = session.slot.id;
        *known = Some(session.clone());
        if changed {
            let event = Event::SlotStateChanged { slot, state };
            self.context.timeline.record(event, trace).await?;
        }
        Ok(Some(session))
    }

    /// What is in its place is not known any more.
    pub(super) async fn forget_foreground(&self) {
        if let Some(session) = self.foreground.lock().await.take() {
            let closed = self
                .context
                .close(session.slot.id, "the daemon has stopped");
            if let Err(error) = closed.await {
                tracing::warn!(%error, "the foreground slot stays open on record");
            }
        }
    }
}

impl Context {
    async fn register_foreground(
        &self,
        report: &ForegroundReport,
        trace: TraceContext,
    ) -> Result<Slot, SlotsError> {
        let slot = Slot {
            id: SlotId::generate(),
            name: NAME.to_owned(),
            kind: SlotKind::Foreground,
            engine: report.engine.clone(),
            daemon: self.daemon,
            created_at: self.clock.now(),
            closed_at: None,
        };
        // One that a daemon left open when it died is in the way.
        let stale = self
            .db
            .read(|tx| Box::pin(slots::find(tx, NAME)))
            .await?
            .filter(|slot| slot.kind == SlotKind::Foreground);
        if let Some(stale) = stale {
            self.close(stale.id, "its daemon is gone").await?;
        }
        let row = slot.clone();
        self.db
            .write(move |tx| Box::pin(async move { slots::register(tx, &row).await }))
            .await?;
        let created = Event::SlotCreated {
            slot: slot.id,
            name: slot.name.clone(),
            engine: slot.engine.clone(),
        };
        self.timeline.record(created, trace).await?;
        Ok(slot)
    }
}
