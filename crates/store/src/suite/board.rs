//! The board: its graph, what is ready, and who may work on what. Here is what the
//! cases are made of.

mod alternatives;
mod attempts;
mod cards;
mod graph;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use missiond_core::{
    AttemptId, BoardTask, BoardTaskId, BoardTaskStatus, Claim, ClaimKind, CliEngine, Controller,
    DaemonId, ErrorCode, Event, Evidence, ExecutionId, FencingToken, Isolation, Outcome, Priority,
    SlotId, TaskDraft, TaskNumber, TaskRef, Timestamp, TraceContext, Wait,
};

use super::fixtures::{TTL, minutes_later, noon, open};
use crate::board::{
    self, Act, Claimant, Claimed, Clearable, EndedAttempt, ImportedStatus, NewBoardTask,
    ReadyLimits, TaskEdit, TaskFilter,
};
use crate::timeline::{self, TimelineFilter};
use crate::{DbUrl, MissionDb, StoreError, Tx};

pub use alternatives::*;
pub use attempts::*;
pub use cards::*;
pub use graph::*;
pub use standing::*;

fn act(now: Timestamp) -> Act {
    Act {
        now,
        daemon: DaemonId::generate(),
        trace: TraceContext::root(),
    }
}

fn claimant(holder: &str) -> Claimant {
    Claimant {
        holder: holder.to_owned(),
        ttl: Duration::from_secs(600),
        execution: Some(ExecutionId::generate()),
        slot: Some(SlotId::generate()),
    }
}

fn draft(title: &str) -> TaskDraft {
    TaskDraft {
        title: Some(title.into()),
        isolation: Some(Isolation::None),
        ..TaskDraft::default()
    }
}

async fn write<T: Send + 'static>(
    db: &MissionDb,
    work: impl for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<T, StoreError>> + Send + 'static,
) -> T {
    db.write(work).await.unwrap()
}

async fn add(db: &MissionDb, draft: TaskDraft, on: &[BoardTaskId]) -> BoardTask {
    let new = NewBoardTask {
        depends_on: on.to_vec(),
        ..NewBoardTask::open(draft)
    };
    write(db, move |tx| {
        Box::pin(async move { board::add(tx, new, &act(noon())).await })
    })
    .await
}

async fn titled(db: &MissionDb, title: &str, on: &[BoardTaskId]) -> BoardTaskId {
    add(db, draft(title), on).await.id
}

async fn ready(db: &MissionDb, now: Timestamp) -> Vec<String> {
    ready_within(db, now, ReadyLimits::default()).await
}

async fn ready_within(db: &MissionDb, now: Timestamp, limits: ReadyLimits) -> Vec<String> {
    let found = db
        .read(move |tx| Box::pin(async move { board::ready(tx, now, &limits).await }))
        .await
        .unwrap();
    found.into_iter().map(|task| task.title).collect()
}

/// What each waiting task waits for, in sentences.
async fn waits(
    db: &MissionDb,
    now: Timestamp,
    limits: ReadyLimits,
) -> BTreeMap<String, Vec<String>> {
    let found = db
        .read(move |tx| Box::pin(async move { board::waiting(tx, now, &limits).await }))
        .await
        .unwrap();
    let told = |waits: Vec<Wait>| waits.iter().map(ToString::to_string).collect();
    found
        .into_iter()
        .map(|waiting| (waiting.task.title, told(waiting.waits)))
        .collect()
}

async fn try_claim(
    db: &MissionDb,
    id: BoardTaskId,
    holder: &str,
    now: Timestamp,
) -> Result<Claimed, StoreError> {
    let claimant = claimant(holder);
    db.write(move |tx| Box::pin(async move { board::claim(tx, id, &claimant, &act(now)).await }))
        .await
}

async fn claim(db: &MissionDb, id: BoardTaskId, now: Timestamp) -> Claimed {
    try_claim(db, id, "worker", now).await.unwrap()
}

async fn try_finish(
    db: &MissionDb,
    id: AttemptId,
    token: FencingToken,
    outcome: Outcome,
    now: Timestamp,
) -> Result<EndedAttempt, StoreError> {
    db.write(move |tx| {
        Box::pin(async move {
            board::finish(tx, id, token, outcome, Some("so it was"), &act(now)).await
        })
    })
    .await
}

async fn finish(db: &MissionDb, claimed: &Claimed, outcome: Outcome, now: Timestamp) -> BoardTask {
    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
    try_finish(db, id, token, outcome, now).await.unwrap().task
}

async fn get(db: &MissionDb, id: BoardTaskId) -> BoardTask {
    db.read(move |tx| Box::pin(async move { board::find(tx, TaskRef::Id(id)).await }))
        .await
        .unwrap()
}

async fn events_of_kind(db: &MissionDb, kind: &'static str) -> Vec<Event> {
    let filter = TimelineFilter {
        kinds: vec![kind.to_owned()],
        limit: 1000,
        ..TimelineFilter::default()
    };
    let page = db
        .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
        .await
        .unwrap();
    page.events.into_iter().map(|event| event.event).collect()
}
