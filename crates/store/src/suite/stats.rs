//! Numbers over time, and what agents used.

use missiond_core::{BoardTaskId, CliEngine, ExecutionId, Timestamp};

use super::fixtures::{minutes_later, noon, open};
use crate::stats_samples::{self, FINE_IN_COARSE, KEPT, Numbers, Sample};
use crate::token_usage::{self, Account, Budgets, Tokens, day_of};
use crate::{DbUrl, MissionDb};

fn sample(minute: u32, number: f64) -> Sample {
    let at = Timestamp::from_micros(noon().as_micros() + i64::from(minute) * 60_000_000);
    Sample {
        at,
        numbers: Numbers::from([("calls".to_owned(), number)]),
    }
}

async fn samples(db: &MissionDb, host: &'static str, since: Timestamp) -> Vec<Sample> {
    db.read(move |tx| Box::pin(stats_samples::since(tx, host, since)))
        .await
        .unwrap()
}

pub async fn samples_grow_coarse_and_are_let_go(url: DbUrl) {
    let db = open(&url).await;
    let beyond = KEPT + 40;
    db.write(move |tx| {
        Box::pin(async move {
            for minute in 0..beyond {
                stats_samples::add(tx, "here", &sample(minute, f64::from(minute))).await?;
            }
            stats_samples::add(tx, "there", &sample(0, 7.0)).await
        })
    })
    .await
    .unwrap();
    let all = samples(&db, "here", noon()).await;
    // The newest are fine; of those that were let go the coarse ones stand.
    let fine = all.len() - KEPT as usize;
    assert_eq!(fine, 40 / FINE_IN_COARSE);
    let middle = (FINE_IN_COARSE - 1) as f64 / 2.0;
    assert_eq!(all[0].numbers["calls"], middle);
    assert_eq!(all[0].at, minutes_later(FINE_IN_COARSE as u64 - 1));
    assert!(all.is_sorted_by(|one, other| one.at < other.at));
    let last = samples(&db, "here", sample(beyond - 2, 0.0).at).await;
    assert_eq!(
        last,
        [
            sample(beyond - 2, f64::from(beyond - 2)),
            sample(beyond - 1, f64::from(beyond - 1))
        ]
    );
    assert_eq!(samples(&db, "there", noon()).await, [sample(0, 7.0)]);
}

pub async fn what_stands_is_counted(url: DbUrl) {
    let db = open(&url).await;
    let standing = || async {
        db.read(|tx| Box::pin(stats_samples::standing(tx)))
            .await
            .unwrap()
    };
    let empty = standing().await;
    assert_eq!(empty.tasks, []);
    assert!(empty.database_bytes > 0);
    db.write(|tx| {
        Box::pin(async move {
            tx.execute(
                "INSERT INTO executions (id, slot, engine, cwd, started_at) \
                 VALUES ('e1', 's1', 'claude', '/src', 5)",
                &[],
            )
            .await
        })
    })
    .await
    .unwrap();
    assert_eq!(standing().await.running_executions, 1);
}

pub async fn usage_is_summed_by_day_task_and_slot(url: DbUrl) {
    let db = open(&url).await;
    let account = |task, slot: &str, engine| Account {
        execution: ExecutionId::generate(),
        task,
        slot_name: slot.to_owned(),
        engine,
    };
    let (first, second) = (BoardTaskId::generate(), BoardTaskId::generate());
    let tokens = |input| Tokens {
        input,
        output: 1,
        cache_read: 100,
        cache_write: 2,
        cache_write_1h: 0,
    };
    let day = 24 * 60;
    for (account, used, at) in [
        (account(first, "a", CliEngine::Claude), 10, noon()),
        (account(first, "b", CliEngine::Codex), 20, noon()),
        (
            account(second, "a", CliEngine::Claude),
            500,
            minutes_later(day),
        ),
    ] {
        let budgets = Budgets::default();
        db.write(move |tx| {
            Box::pin(
                async move { token_usage::record(tx, &account, tokens(used), &budgets, at).await },
            )
        })
        .await
        .unwrap();
    }
    let since = day_of(noon());
    let (days, tasks, slots) = db
        .read(move |tx| {
            Box::pin(async move {
                Ok((
                    token_usage::by_day(tx, since).await?,
                    token_usage::by_task(tx, since, 1).await?,
                    token_usage::by_slot(tx, since, 9).await?,
                ))
            })
        })
        .await
        .unwrap();
    let engines: Vec<_> = days
        .iter()
        .map(|day| (day_of(day.of.0) - since, day.of.1.clone(), day.tokens.input))
        .collect();
    assert_eq!(
        engines,
        [
            (0, CliEngine::Claude, 10),
            (0, CliEngine::Codex, 20),
            (1, CliEngine::Claude, 500)
        ]
    );
    assert_eq!((tasks.len(), tasks[0].of), (1, second));
    assert_eq!(tasks[0].tokens.counted(), 503);
    let slots: Vec<_> = slots
        .iter()
        .map(|slot| (slot.of.as_str(), slot.tokens.counted()))
        .collect();
    assert_eq!(slots, [("a", 516), ("b", 23)]);
    let later = db
        .read(move |tx| Box::pin(token_usage::by_day(tx, since + 1)))
        .await
        .unwrap();
    assert_eq!(later.len(), 1);
}
