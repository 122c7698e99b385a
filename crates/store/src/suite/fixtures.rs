//! What the cases are made of.

use std::time::Duration;

use missiond_core::{
    CliEngine, DaemonId, Event, Slot, SlotId, SlotKind, TaskId, Timestamp, TraceContext,
};

use crate::tasks::NewTask;
use crate::{DbUrl, MissionDb, NewEvent, slots, tasks};

/// One hour is long enough for no lease to end by accident.
pub(super) const TTL: Duration = Duration::from_secs(3600);

/// How long a case waits for word that must come; only a defect takes so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn open(url: &DbUrl) -> MissionDb {
    MissionDb::open(url).await.unwrap()
}

pub(super) fn noon() -> Timestamp {
    "2026-01-04T12:00:00Z".parse().unwrap()
}

pub(super) fn minutes_later(minutes: u64) -> Timestamp {
    noon().plus(Duration::from_secs(minutes * 60))
}

pub(super) fn note(text: impl Into<String>) -> NewEvent {
    NewEvent {
        at: noon(),
        daemon: DaemonId::generate(),
        trace: TraceContext::root(),
        event: Event::NoteAdded {
            text: text.into(),
            author: "suite".into(),
        },
    }
}

pub(super) fn text_of(event: &Event) -> &str {
    match event {
        Event::NoteAdded { text, .. } => text,
        other => panic!("{other:?} is not a note"),
    }
}

pub(super) fn slot(name: &str, engine: CliEngine) -> Slot {
    Slot {
        id: SlotId::generate(),
        name: name.into(),
        kind: SlotKind::Dynamic,
        engine,
        daemon: DaemonId::generate(),
        created_at: noon(),
        closed_at: None,
    }
}

/// Registers an open slot and returns its id.
pub(super) async fn open_slot(db: &MissionDb, name: &str, engine: CliEngine) -> SlotId {
    let slot = slot(name, engine);
    let id = slot.id;
    db.write(move |tx| Box::pin(async move { slots::register(tx, &slot).await }))
        .await
        .unwrap();
    id
}

/// Submits a task created `minute` minutes after noon.
pub(super) async fn submit(db: &MissionDb, prompt: &str, minute: u64) -> TaskId {
    submit_for(db, prompt, minute, None).await
}

pub(super) async fn submit_for(
    db: &MissionDb,
    prompt: &str,
    minute: u64,
    engine: Option<CliEngine>,
) -> TaskId {
    let new = NewTask {
        id: TaskId::generate(),
        prompt: prompt.into(),
        engine,
        created_at: minutes_later(minute),
    };
    db.write(move |tx| Box::pin(tasks::submit(tx, new)))
        .await
        .unwrap()
        .id
}
