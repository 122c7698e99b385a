//! Executions and what their agents may do.

use std::path::PathBuf;

use missiond_core::{
    CliEngine, DaemonId, Event, ExecutionId, ExecutionLifecycle, SlotId, TraceContext,
};

use super::fixtures::{minutes_later, noon, open};
use crate::capabilities::{self, Capability, TokenHash};
use crate::executions::{self, ExecutionFilter, ExecutionRow};
use crate::published_effects::{self, EffectPublication};
use crate::{DbUrl, MissionDb, NewEvent, StoreError, timeline};

fn row(slot: SlotId, minute: u64) -> ExecutionRow {
    ExecutionRow {
        id: ExecutionId::generate(),
        slot,
        engine: CliEngine::Claude,
        cwd: PathBuf::from("/src/app"),
        conversation: None,
        transcript: None,
        started_at: minutes_later(minute),
        ended_at: None,
        ended_as: None,
    }
}

async fn begin(db: &MissionDb, row: &ExecutionRow) {
    let row = row.clone();
    db.write(move |tx| Box::pin(async move { executions::begin(tx, &row).await }))
        .await
        .unwrap();
}

pub async fn an_execution_is_found_until_and_after_its_end(url: DbUrl) {
    let db = open(&url).await;
    let slot = SlotId::generate();
    let (first, second) = (row(slot, 0), row(slot, 1));
    begin(&db, &first).await;
    begin(&db, &second).await;
    let id = first.id;
    let ended = db
        .write(move |tx| {
            Box::pin(async move {
                executions::set_conversation(tx, id, "c1").await?;
                executions::set_transcript(tx, id, "{\"offset\":7}").await?;
                let now =
                    executions::end(tx, id, minutes_later(2), ExecutionLifecycle::Failed).await?;
                Ok((
                    now,
                    executions::end(tx, id, minutes_later(3), ExecutionLifecycle::Failed).await?,
                ))
            })
        })
        .await
        .unwrap();
    assert_eq!(ended, (true, false), "an execution ends once");

    let told = ExecutionRow {
        conversation: Some("c1".into()),
        transcript: Some("{\"offset\":7}".into()),
        ended_at: Some(minutes_later(2)),
        ended_as: Some(ExecutionLifecycle::Failed),
        ..first.clone()
    };
    let list = |filter| {
        let db = &db;
        async move {
            db.read(move |tx| Box::pin(executions::list(tx, filter)))
                .await
                .unwrap()
        }
    };
    let only_second = std::slice::from_ref(&second);
    assert_eq!(list(ExecutionFilter::Running).await, only_second);
    let ended = |moment| list(ExecutionFilter::EndedSince(moment));
    assert_eq!(ended(minutes_later(0)).await.len(), 1);
    assert_eq!(ended(minutes_later(600)).await, []);
    let newest = ExecutionFilter::Newest { limit: 5 };
    assert_eq!(list(newest).await, [second.clone(), told.clone()]);
    assert_eq!(
        list(ExecutionFilter::Newest { limit: 1 }).await,
        only_second
    );
    let found = db
        .read(move |tx| {
            Box::pin(async move {
                Ok((
                    executions::get(tx, id).await?,
                    executions::in_slot(tx, slot).await?,
                ))
            })
        })
        .await
        .unwrap();
    assert_eq!(found, (Some(told), Some(second)));

    let unknown = ExecutionId::generate();
    let missing = db
        .write(move |tx| Box::pin(executions::set_conversation(tx, unknown, "c")))
        .await;
    assert!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
}

pub async fn a_capability_is_known_by_its_hash_and_can_be_taken_back(url: DbUrl) {
    let db = open(&url).await;
    let execution = ExecutionId::generate();
    let granted = Capability {
        token: TokenHash("ab".repeat(32)),
        execution,
        uid: 4_000_000_000,
        expires_at: minutes_later(60),
        revoked_at: None,
    };
    let stored = granted.clone();
    db.write(move |tx| Box::pin(async move { capabilities::grant(tx, &stored).await }))
        .await
        .unwrap();
    let find = |token: TokenHash| {
        let db = &db;
        async move {
            db.read(move |tx| Box::pin(async move { capabilities::find(tx, &token).await }))
                .await
                .unwrap()
        }
    };
    assert_eq!(find(granted.token.clone()).await, Some(granted.clone()));
    assert_eq!(find(TokenHash("cd".repeat(32))).await, None);
    let revoke = || db.write(move |tx| Box::pin(capabilities::revoke(tx, execution, noon())));
    assert_eq!(revoke().await.unwrap(), 1);
    assert_eq!(revoke().await.unwrap(), 0);
    let revoked = find(granted.token).await.unwrap();
    assert_eq!(revoked.revoked_at, Some(noon()));
}

pub async fn an_effect_is_told_once(url: DbUrl) {
    let db = open(&url).await;
    let (execution, other) = (ExecutionId::generate(), ExecutionId::generate());
    let publish = |execution: ExecutionId, effect: &'static str| {
        let event = NewEvent {
            at: noon(),
            daemon: DaemonId::generate(),
            trace: TraceContext::root(),
            event: Event::ExecutionEnded {
                execution,
                lifecycle: ExecutionLifecycle::Terminated,
            },
        };
        db.write(move |tx| {
            Box::pin(async move { published_effects::publish(tx, execution, effect, &event).await })
        })
    };
    assert_eq!(
        publish(execution, "a").await.unwrap(),
        EffectPublication::New
    );
    assert_eq!(
        publish(execution, "a").await.unwrap(),
        EffectPublication::Repeated
    );
    assert_eq!(
        publish(execution, "b").await.unwrap(),
        EffectPublication::New
    );
    assert_eq!(publish(other, "a").await.unwrap(), EffectPublication::New);
    let head = || db.read(|tx| Box::pin(timeline::head(tx)));
    assert_eq!(head().await.unwrap().0, 3, "one event for each effect");

    // Two daemons that tell it at once tell it once between them.
    let both = futures::future::join_all((0..8).map(|_| publish(other, "c"))).await;
    let first =
        |told: &&Result<EffectPublication, StoreError>| matches!(told, Ok(EffectPublication::New));
    assert_eq!(both.iter().filter(first).count(), 1, "{both:?}");
    assert_eq!(head().await.unwrap().0, 4);

    let forgotten = db.write(move |tx| Box::pin(published_effects::forget(tx, execution)));
    assert_eq!(forgotten.await.unwrap(), 2);
    assert_eq!(
        publish(other, "a").await.unwrap(),
        EffectPublication::Repeated
    );
}
