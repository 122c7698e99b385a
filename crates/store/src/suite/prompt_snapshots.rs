//! What agents were told at their start.

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, SlotId, Timestamp};

use super::fixtures::{minutes_later, noon, open};
use crate::executions::{self, ExecutionRow};
use crate::prompt_snapshots::{self, SnapshotRow};
use crate::{DbUrl, MissionDb};

fn row(at: Timestamp, task: Option<BoardTaskId>) -> SnapshotRow {
    SnapshotRow {
        execution: ExecutionId::generate(),
        slot: SlotId::generate(),
        task,
        engine: CliEngine::Claude,
        cwd: "/src/app".into(),
        at,
        budget: 4000,
        used: 812,
        masked: 1,
        context: "> Deploys go through make ship\n> 读取\n".into(),
        items: r#"[{"source":"entries","title":"a\u0000b"}]"#.into(),
        sources: "[]".into(),
    }
}

async fn put(db: &MissionDb, row: SnapshotRow) {
    db.write(move |tx| Box::pin(async move { prompt_snapshots::put(tx, &row).await }))
        .await
        .unwrap();
}

async fn get(db: &MissionDb, execution: ExecutionId) -> Option<SnapshotRow> {
    db.read(move |tx| Box::pin(prompt_snapshots::get(tx, execution)))
        .await
        .unwrap()
}

pub async fn a_snapshot_stays_as_it_was_typed_until_its_time_is_over(url: DbUrl) {
    let db = open(&url).await;
    let old = row(noon(), Some(BoardTaskId::generate()));
    let new = row(minutes_later(60), None);
    put(&db, old.clone()).await;
    put(&db, new.clone()).await;
    let again = SnapshotRow {
        context: "other".into(),
        ..old.clone()
    };
    put(&db, again).await;
    assert_eq!(get(&db, old.execution).await, Some(old.clone()));

    // By the conversation that their executions belong to.
    let of = |snapshot: &SnapshotRow| ExecutionRow {
        id: snapshot.execution,
        slot: snapshot.slot,
        engine: snapshot.engine.clone(),
        cwd: snapshot.cwd.clone(),
        conversation: Some("c0ffee".into()),
        transcript: None,
        started_at: snapshot.at,
        ended_at: None,
        ended_as: None,
    };
    let begun = [of(&old), of(&new)];
    db.write(move |tx| {
        Box::pin(async move {
            for row in &begun {
                executions::begin(tx, row).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
    let told = |conversation: &'static str, limit| {
        let db = db.clone();
        async move {
            db.read(move |tx| Box::pin(prompt_snapshots::of_conversation(tx, conversation, limit)))
                .await
                .unwrap()
        }
    };
    assert_eq!(told("c0ffee", 10).await, [new.clone(), old.clone()]);
    assert_eq!(told("c0ffee", 1).await, std::slice::from_ref(&new));
    assert_eq!(told("cafe", 10).await, []);

    let gone = db
        .write(|tx| Box::pin(prompt_snapshots::forget_before(tx, minutes_later(30))))
        .await
        .unwrap();
    assert_eq!(gone, 1);
    assert_eq!(get(&db, old.execution).await, None);
    assert_eq!(get(&db, new.execution).await, Some(new));
}
