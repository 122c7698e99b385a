//! The person's own session: an agent CLI that they started themselves and that
//! tells of itself through its hooks, or is seen by its connection to our MCP
//! server. It is registered and never owned: nothing is typed into it and nothing
//! ends it. There is one; another conversation that reports takes its place. A
//! daemon that restarts knows it again from its next report or connection.
//!
//! Hooks tell more than a connection does: a session that has them is not moved
//! by connections, and one that was seen by its connection becomes theirs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use missiond_core::{CliEngine, Event, PtyState, Slot, SlotId, SlotKind, Timestamp, TraceContext};
use missiond_store::slots;

use super::{Context, Slots, SlotsError};

/// What it is called.
const NAME: &str = "foreground";

/// Something a hook of the session told.
#[derive(Debug, Clone)]
pub struct ForegroundReport {
    pub engine: CliEngine,
    pub cwd: PathBuf,
    /// The CLI's own name of the conversation.
    pub conversation: Option<String>,
    pub event: ForegroundEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForegroundEvent {
    Is(PtyState),
    Left,
}

/// By which way a session is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForegroundVoice {
    Hooks,
    /// Its connection to the MCP server, which shows when it calls a tool.
    Connection,
}

/// One connection of a session to the MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionNumber(pub u64);

/// What a connection tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEvent {
    Opened,
    /// The tools it called and waits for.
    Calls(usize),
    Closed,
}

/// The session as it was last heard of.
#[derive(Debug, Clone)]
pub struct Foreground {
    pub slot: Slot,
    pub cwd: PathBuf,
    pub conversation: Option<String>,
    pub state: PtyState,
    pub heard_at: Timestamp,
    pub voice: ForegroundVoice,
    connections: BTreeSet<ConnectionNumber>,
}

impl Foreground {
    fn is_in(&self, engine: &CliEngine, cwd: &Path) -> bool {
        self.slot.engine == *engine && self.cwd == cwd
    }
}

impl Slots {
    pub async fn foreground(&self) -> Option<Foreground> {
        self.foreground.lock().await.clone()
    }

    /// Takes a report in; the session as it is then.
    pub async fn handle_foreground_report(
        &self,
        report: ForegroundReport,
        trace: TraceContext,
    ) -> Result<Option<Foreground>, SlotsError> {
        let mut known = self.foreground.lock().await;
        let same = |session: &Foreground| match session.voice {
            ForegroundVoice::Hooks => session.conversation == report.conversation,
            ForegroundVoice::Connection => session.is_in(&report.engine, &report.cwd),
        };
        let ForegroundEvent::Is(state) = report.event else {
            if let Some(session) = known.take_if(|session| same(session)) {
                self.context
                    .close(session.slot.id, "it has left", trace)
                    .await?;
            }
            return Ok(known.clone());
        };
        if let Some(other) = known.take_if(|session| !same(session)) {
            let reason = "another session has taken its place";
            self.context.close(other.slot.id, reason, trace).await?;
        }
        let now = self.context.clock.now();
        let session = match known.take() {
            Some(session) => session,
            None => Foreground {
                slot: self
                    .context
                    .register_foreground(&report.engine, trace)
                    .await?,
                cwd: report.cwd.clone(),
                conversation: None,
                state: PtyState::Starting,
                heard_at: now,
                voice: ForegroundVoice::Hooks,
                connections: BTreeSet::new(),
            },
        };
        let changed = session.state != state;
        let session = Foreground {
            cwd: report.cwd,
            conversation: report.conversation,
            voice: ForegroundVoice::Hooks,
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

    /// Takes in what a connection of a person's session tells.
    pub async fn foreground_connection(
        &self,
        engine: &CliEngine,
        cwd: &Path,
        connection: ConnectionNumber,
        event: ConnectionEvent,
    ) -> Result<(), SlotsError> {
        let trace = TraceContext::root();
        let mut known = self.foreground.lock().await;
        let calls = match event {
            ConnectionEvent::Opened => 0,
            ConnectionEvent::Calls(calls) => calls,
            ConnectionEvent::Closed => {
                let left = known.take_if(|session| {
                    session.connections.remove(&connection)
                        && session.connections.is_empty()
                        && session.voice == ForegroundVoice::Connection
                });
                if let Some(session) = left {
                    self.context
                        .close(session.slot.id, "it has left", trace)
                        .await?;
                }
                return Ok(());
            }
        };
        let now = self.context.clock.now();
        if event == ConnectionEvent::Opened {
            let other = known.take_if(|session| {
                session.voice == ForegroundVoice::Connection && !session.is_in(engine, cwd)
            });
            if let Some(other) = other {
                let reason = "another session has taken its place";
                self.context.close(other.slot.id, reason, trace).await?;
            }
            if known.is_none() {
                *known = Some(Foreground {
                    slot: self.context.register_foreground(engine, trace).await?,
                    cwd: cwd.to_owned(),
                    conversation: None,
                    state: PtyState::Starting,
                    heard_at: now,
                    voice: ForegroundVoice::Connection,
                    connections: BTreeSet::new(),
                });
            }
        }
        let here = known.as_mut().filter(|session| session.is_in(engine, cwd));
        let Some(session) = here else {
            return Ok(());
        };
        session.connections.insert(connection);
        if session.voice == ForegroundVoice::Hooks {
            return Ok(());
        }
        // Between two calls it may think, answer or rest: nobody can tell.
        let state = match calls {
            0 => PtyState::Unknown,
            _ => PtyState::ToolRunning,
        };
        session.heard_at = now;
        if std::mem::replace(&mut session.state, state) != state {
            let slot = session.slot.id;
            let event = Event::SlotStateChanged { slot, state };
            self.context.timeline.record(event, trace).await?;
        }
        Ok(())
    }

    /// What is in its place is not known any more.
    pub(super) async fn forget_foreground(&self) {
        if let Some(session) = self.foreground.lock().await.take() {
            let closed = self.context.close(
                session.slot.id,
                "the daemon has stopped",
                TraceContext::root(),
            );
            if let Err(error) = closed.await {
                tracing::warn!(%error, "foreground slot not closed in database");
            }
        }
    }
}

impl Context {
    async fn register_foreground(
        &self,
        engine: &CliEngine,
        trace: TraceContext,
    ) -> Result<Slot, SlotsError> {
        let slot = Slot {
            id: SlotId::generate(),
            name: NAME.to_owned(),
            kind: SlotKind::Foreground,
            engine: engine.clone(),
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
            self.close(stale.id, "its daemon is gone", trace).await?;
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
