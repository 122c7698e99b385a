//! The task queue, with several workers and several daemons on it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use missiond_core::{
    CliEngine, ErrorCode, FencingToken, SlotId, Task, TaskId, TaskStatus, Timestamp,
};

use super::fixtures::{TTL, minutes_later, noon, open, open_slot, submit, submit_for};
use crate::tasks::{self, ClaimedTask, TaskFilter};
use crate::{DbUrl, MissionDb, StoreError, leases, slots};

pub async fn sixteen_workers_claim_every_task_once(url: DbUrl) {
    const TASKS: u64 = 120;
    const WORKERS: u32 = 16;
    let daemons = [open(&url).await, open(&url).await];
    let mut submitted = BTreeMap::new();
    for number in 0..TASKS {
        submitted.insert(submit(&daemons[0], "do it", number).await, 0);
    }
    let slot = open_slot(&daemons[0], "shared", CliEngine::Claude).await;
    let workers = (0..WORKERS).map(|worker| {
        let db = daemons[worker as usize % 2].clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let holder = format!("worker {worker}");
                let claimed = claim(&db, &holder, slot, minutes_later(500), 1 + worker % 3).await;
                if claimed.is_empty() {
                    return mine;
                }
                for ClaimedTask { task, lease } in claimed {
                    assert_eq!(lease.holder, holder);
                    assert_eq!(task.status, TaskStatus::Running);
                    mine.push(task.id);
                    complete(&db, task.id, lease.token, minutes_later(501))
                        .await
                        .unwrap();
                }
            }
        })
    });
    for claimed in join_all(workers).await {
        for task in claimed.unwrap() {
            *submitted.get_mut(&task).unwrap() += 1;
        }
    }
    assert!(submitted.values().all(|&times| times == 1), "{submitted:?}");
    let everything = TaskFilter {
        status: Some(TaskStatus::Completed),
        limit: 1000,
        ..TaskFilter::default()
    };
    assert_eq!(list(&daemons[1], everything).await.len() as u64, TASKS);
}

pub async fn a_task_goes_only_to_a_slot_of_its_engine(url: DbUrl) {
    let db = open(&url).await;
    let for_codex = submit_for(&db, "codex only", 0, Some(CliEngine::Codex)).await;
    let for_any = submit(&db, "anyone", 1).await;
    let claude = open_slot(&db, "claude", CliEngine::Claude).await;
    let codex = open_slot(&db, "codex", CliEngine::Codex).await;
    let ids = |claimed: Vec<ClaimedTask>| {
        claimed
            .into_iter()
            .map(|claimed| claimed.task.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ids(claim(&db, "w", claude, minutes_later(2), 10).await),
        [for_any]
    );
    assert_eq!(
        ids(claim(&db, "w", codex, minutes_later(2), 10).await),
        [for_codex]
    );

    db.write(move |tx| Box::pin(slots::close(tx, codex, minutes_later(3))))
        .await
        .unwrap();
    let closed = try_claim(&db, "w", codex, minutes_later(4), TTL, 1)
        .await
        .unwrap_err();
    assert_eq!(closed.code(), ErrorCode::Conflict, "{closed}");
    let missing = try_claim(&db, "w", SlotId::generate(), noon(), TTL, 1)
        .await
        .unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound, "{missing}");
}

pub async fn an_expired_task_is_queued_again_and_its_old_holder_refused(url: DbUrl) {
    let db = open(&url).await;
    let id = submit(&db, "slow work", 0).await;
    let slot = open_slot(&db, "s", CliEngine::Claude).await;
    let ten_minutes = Duration::from_secs(600);
    let first = try_claim(&db, "first", slot, minutes_later(1), ten_minutes, 1)
        .await
        .unwrap();
    let old = first[0].lease.clone();
    assert_eq!(requeue(&db, minutes_later(10)).await, []);
    assert_eq!(
        complete(&db, id, old.token, minutes_later(11)).await,
        Err(leases::stale(&old.resource, old.token)),
        "the lease has ended, although nobody has taken over yet"
    );
    // Collecting leases first must not hide the task from the requeue.
    let collected = db
        .write(|tx| Box::pin(leases::expire(tx, minutes_later(12))))
        .await
        .unwrap();
    assert_eq!(collected, std::slice::from_ref(&old));
    let requeued = requeue(&db, minutes_later(12)).await;
    assert_eq!(requeued.len(), 1);
    let Task {
        status,
        slot: at,
        started_at,
        ..
    } = requeued[0].task.clone();
    assert_eq!((status, at, started_at), (TaskStatus::Queued, None, None));
    assert_eq!(requeued[0].lease, old);
    assert_eq!(requeue(&db, minutes_later(13)).await, []);

    let second = claim(&db, "second", slot, minutes_later(14), 1).await;
    assert!(second[0].lease.token > old.token);
    assert_eq!(
        complete(&db, id, old.token, minutes_later(15)).await,
        Err(leases::stale(&old.resource, old.token))
    );
    let done = complete(&db, id, second[0].lease.token, minutes_later(15))
        .await
        .unwrap();
    assert_eq!(done.result.as_deref(), Some("done"));
    assert_eq!(get(&db, id).await, Some(done));
}

pub async fn a_task_moves_only_as_its_machine_allows(url: DbUrl) {
    let db = open(&url).await;
    let slot = open_slot(&db, "s", CliEngine::Claude).await;
    let id = submit(&db, "work", 0).await;
    let never_claimed = complete(&db, id, FencingToken(1), minutes_later(1)).await;
    assert!(
        matches!(never_claimed, Err(StoreError::StaleLease { .. })),
        "{never_claimed:?}"
    );

    let claimed = claim(&db, "w", slot, minutes_later(1), 1).await;
    let token = claimed[0].lease.token;
    let back = db
        .write(move |tx| Box::pin(tasks::give_back(tx, id, token, minutes_later(2))))
        .await
        .unwrap();
    assert_eq!(back.status, TaskStatus::Queued);

    let claimed = claim(&db, "w", slot, minutes_later(3), 1).await;
    let token = claimed[0].lease.token;
    let failed = db
        .write(move |tx| Box::pin(tasks::fail(tx, id, token, "no tests", minutes_later(4))))
        .await
        .unwrap();
    assert_eq!(
        (failed.status, failed.error.as_deref()),
        (TaskStatus::Failed, Some("no tests"))
    );
    assert_eq!(failed.finished_at, Some(minutes_later(4)));

    let again = complete(&db, id, token, minutes_later(5))
        .await
        .unwrap_err();
    assert!(matches!(again, StoreError::IllegalMove(_)), "{again}");
    assert_eq!(
        again.to_string(),
        "a task cannot go from failed to completed"
    );
    let cancelled = cancel(&db, id).await.unwrap_err();
    assert!(
        matches!(cancelled, StoreError::IllegalMove(_)),
        "{cancelled}"
    );
    assert_eq!(
        get(&db, id).await,
        Some(failed),
        "a refused move changes nothing"
    );
    let unknown = cancel(&db, TaskId::generate()).await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::NotFound);
}

pub async fn a_cancelled_task_fences_out_its_holder(url: DbUrl) {
    let db = open(&url).await;
    let slot = open_slot(&db, "s", CliEngine::Claude).await;
    let queued = submit(&db, "never starts", 0).await;
    assert_eq!(
        cancel(&db, queued).await.unwrap().status,
        TaskStatus::Failed
    );
    assert_eq!(claim(&db, "w", slot, minutes_later(1), 5).await, []);

    let running = submit(&db, "runs", 1).await;
    let claimed = claim(&db, "w", slot, minutes_later(2), 1).await;
    let lease = &claimed[0].lease;
    assert_eq!(
        cancel(&db, running).await.unwrap().error.as_deref(),
        Some("not wanted")
    );
    let late = complete(&db, running, lease.token, minutes_later(3)).await;
    assert_eq!(late, Err(leases::stale(&lease.resource, lease.token)));
    assert_eq!(requeue(&db, minutes_later(600)).await, []);
}

pub async fn tasks_are_listed_newest_first(url: DbUrl) {
    let db = open(&url).await;
    let slot = open_slot(&db, "s", CliEngine::Claude).await;
    let mut ids = Vec::new();
    for minute in 0..4 {
        ids.push(submit(&db, "work", minute).await);
    }
    claim(&db, "w", slot, minutes_later(5), 2).await;
    let filter = |status, slot, limit| TaskFilter {
        status,
        slot,
        limit,
    };
    let listed = |filter| {
        let db = db.clone();
        async move {
            let tasks = list(&db, filter).await;
            tasks.into_iter().map(|task| task.id).collect::<Vec<_>>()
        }
    };
    assert_eq!(
        listed(filter(None, None, 3)).await,
        [ids[3], ids[2], ids[1]]
    );
    assert_eq!(
        listed(filter(Some(TaskStatus::Queued), None, 9)).await,
        [ids[3], ids[2]]
    );
    assert_eq!(
        listed(filter(Some(TaskStatus::Running), Some(slot), 9)).await,
        [ids[1], ids[0]]
    );
    assert_eq!(listed(filter(None, Some(SlotId::generate()), 9)).await, []);
    let twice = tasks::NewTask {
        id: ids[0],
        prompt: "again".into(),
        engine: None,
        created_at: noon(),
    };
    let twice = db
        .write(move |tx| Box::pin(tasks::submit(tx, twice)))
        .await
        .unwrap_err();
    assert_eq!(twice.code(), ErrorCode::Conflict);
}

async fn claim(
    db: &MissionDb,
    holder: &str,
    slot: SlotId,
    now: Timestamp,
    limit: u32,
) -> Vec<ClaimedTask> {
    try_claim(db, holder, slot, now, TTL, limit).await.unwrap()
}

async fn try_claim(
    db: &MissionDb,
    holder: &str,
    slot: SlotId,
    now: Timestamp,
    ttl: Duration,
    limit: u32,
) -> Result<Vec<ClaimedTask>, StoreError> {
    let holder = holder.to_owned();
    db.write(move |tx| {
        Box::pin(async move { tasks::claim_next(tx, &holder, slot, now, ttl, limit).await })
    })
    .await
}

async fn complete(
    db: &MissionDb,
    id: TaskId,
    token: FencingToken,
    now: Timestamp,
) -> Result<Task, StoreError> {
    db.write(move |tx| Box::pin(tasks::complete(tx, id, token, "done", now)))
        .await
}

async fn cancel(db: &MissionDb, id: TaskId) -> Result<Task, StoreError> {
    db.write(move |tx| Box::pin(tasks::cancel(tx, id, "not wanted", minutes_later(2))))
        .await
}

async fn requeue(db: &MissionDb, now: Timestamp) -> Vec<ClaimedTask> {
    db.write(move |tx| Box::pin(tasks::requeue_expired(tx, now)))
        .await
        .unwrap()
}

async fn get(db: &MissionDb, id: TaskId) -> Option<Task> {
    db.read(move |tx| Box::pin(tasks::get(tx, id)))
        .await
        .unwrap()
}

async fn list(db: &MissionDb, filter: TaskFilter) -> Vec<Task> {
    db.read(move |tx| Box::pin(async move { tasks::list(tx, &filter).await }))
        .await
        .unwrap()
}
