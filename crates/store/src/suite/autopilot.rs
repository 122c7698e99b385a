//! What the autopilot remembers: its mode, parked tasks, conflicts, the sessions
//! of agents and what they used.

use missiond_core::{AttemptId, BoardTaskId, BudgetScope, CliEngine, ExecutionId};

use super::fixtures::{minutes_later, noon, open};
use crate::autopilot::{self, Conflicts};
use crate::slot_sessions::{self, SlotSession};
use crate::token_usage::{self, Account, Budgets, Tokens};
use crate::{DbUrl, MissionDb};

pub async fn the_mode_of_the_autopilot_is_kept_with_its_reason(url: DbUrl) {
    let db = open(&url).await;
    let mode =
        |db: MissionDb| async move { db.read(|tx| Box::pin(autopilot::mode(tx))).await.unwrap() };
    let set = async |mode: &'static str, reason: &'static str, minute| {
        db.write(move |tx| {
            Box::pin(autopilot::set_mode(
                tx,
                mode,
                reason,
                "person",
                minutes_later(minute),
            ))
        })
        .await
        .unwrap()
    };
    let fresh = mode(db.clone()).await;
    assert_eq!((fresh.mode.as_str(), fresh.changed_at), ("paused", None));
    assert!(set("paused", "not yet", 1).await, "a new reason is news");
    assert!(!set("paused", "not yet", 2).await, "the same again is none");
    let kept = mode(db.clone()).await;
    assert_eq!(
        (kept.mode.as_str(), kept.reason.as_str()),
        ("paused", "not yet")
    );
    assert_eq!(kept.changed_at, Some(minutes_later(1)));
    assert!(set("running", "go", 3).await);
    assert_eq!(mode(db.clone()).await.mode, "running");
}

pub async fn a_parked_task_counts_how_often_it_went_on(url: DbUrl) {
    let db = open(&url).await;
    let (task, other) = (BoardTaskId::generate(), BoardTaskId::generate());
    let park = async |task, until| {
        db.write(move |tx| {
            Box::pin(autopilot::park(
                tx,
                task,
                &CliEngine::Claude,
                minutes_later(until),
                "the limit",
                noon(),
            ))
        })
        .await
        .unwrap();
    };
    park(task, 60).await;
    park(other, 30).await;
    park(task, 90).await;
    let parked = db.read(|tx| Box::pin(autopilot::parked(tx))).await.unwrap();
    let told: Vec<_> = parked
        .iter()
        .map(|one| (one.task, one.until, one.resumes))
        .collect();
    assert_eq!(
        told,
        [(other, minutes_later(30), 0), (task, minutes_later(90), 1)],
        "the first to go on first"
    );
    db.write(move |tx| Box::pin(autopilot::unpark(tx, task)))
        .await
        .unwrap();
    let parked = db.read(|tx| Box::pin(autopilot::parked(tx))).await.unwrap();
    assert_eq!(parked.len(), 1);
}

pub async fn a_conflict_is_counted_once_for_each_round(url: DbUrl) {
    let db = open(&url).await;
    let attempt = AttemptId::generate();
    for (round, files) in [(1, "a.rs"), (1, "never.rs"), (3, "b.rs\nc.rs")] {
        db.write(move |tx| Box::pin(autopilot::record_conflict(tx, attempt, round, files)))
            .await
            .unwrap();
    }
    let found = db
        .read(move |tx| Box::pin(autopilot::conflicts(tx, attempt)))
        .await
        .unwrap();
    let expected = Conflicts {
        times: 2,
        round: 3,
        files: "b.rs\nc.rs".to_owned(),
    };
    assert_eq!(found, Some(expected));
}

pub async fn a_slot_session_is_found_until_and_after_its_end(url: DbUrl) {
    let db = open(&url).await;
    let task = BoardTaskId::generate();
    let session = |minute| SlotSession {
        execution: ExecutionId::generate(),
        slot_name: "T-1".to_owned(),
        engine: CliEngine::Codex,
        task,
        attempt: AttemptId::generate(),
        cwd: "/home/me/place of it".into(),
        conversation: None,
        prompted_at: None,
        started_at: minutes_later(minute),
        ended_at: None,
    };
    let (first, second) = (session(1), session(2));
    for session in [first.clone(), second.clone(), first.clone()] {
        db.write(move |tx| Box::pin(async move { slot_sessions::begin(tx, &session).await }))
            .await
            .unwrap();
    }
    let execution = first.execution;
    db.write(move |tx| {
        Box::pin(async move {
            slot_sessions::prompted(tx, execution, "conversation", minutes_later(3)).await?;
            slot_sessions::prompted(tx, execution, "conversation", minutes_later(4)).await?;
            slot_sessions::end(tx, execution, minutes_later(5)).await?;
            slot_sessions::end(tx, execution, minutes_later(6)).await
        })
    })
    .await
    .unwrap();
    let ended = SlotSession {
        conversation: Some("conversation".to_owned()),
        prompted_at: Some(minutes_later(3)),
        ended_at: Some(minutes_later(5)),
        ..first
    };
    let of_task = db
        .read(move |tx| Box::pin(slot_sessions::of_task(tx, task)))
        .await
        .unwrap();
    assert_eq!(of_task, [second.clone(), ended], "the newest first");
    let open = db
        .read(|tx| Box::pin(slot_sessions::open(tx)))
        .await
        .unwrap();
    assert_eq!(open, [second]);
}

pub async fn budgets_are_checked_with_what_is_written(url: DbUrl) {
    let db = open(&url).await;
    let account = |engine: CliEngine, slot: &str| Account {
        execution: ExecutionId::generate(),
        task: BoardTaskId::generate(),
        slot_name: slot.to_owned(),
        engine,
    };
    let used = |input, cache_read| Tokens {
        input,
        output: 10,
        cache_read,
        cache_write: 5,
        cache_write_1h: 0,
    };
    let record = async |account: &Account, tokens, budgets, at| {
        let account = account.clone();
        db.write(move |tx| {
            Box::pin(async move { token_usage::record(tx, &account, tokens, &budgets, at).await })
        })
        .await
        .unwrap()
    };
    let none = Budgets::default();
    let one = account(CliEngine::Claude, "builder");
    let same_slot = account(CliEngine::Codex, "builder");
    // What came from a cache is free; the same count again is nothing new.
    for _ in 0..2 {
        let over = Budgets {
            task: Some(116),
            ..none
        };
        assert_eq!(record(&one, used(100, 9_000), over, noon()).await, None);
    }
    let task = Budgets {
        task: Some(115),
        ..none
    };
    let spent = record(&one, used(100, 9_000), task, noon()).await;
    assert_eq!(spent, Some(BudgetScope::Task));
    // The narrowest budget is named first; each counts what others used.
    let slot = BudgetScope::Slot {
        name: "builder".to_owned(),
    };
    let engine = BudgetScope::Engine {
        engine: CliEngine::Codex,
    };
    let cases = [
        (none, None),
        (
            Budgets {
                slot: Some(230),
                engine: Some(115),
                day: Some(230),
                ..none
            },
            Some(slot),
        ),
        (
            Budgets {
                engine: Some(115),
                day: Some(230),
                ..none
            },
            Some(engine),
        ),
        (
            Budgets {
                engine: Some(116),
                day: Some(230),
                ..none
            },
            Some(BudgetScope::Day),
        ),
        (
            Budgets {
                slot: Some(231),
                engine: Some(116),
                day: Some(231),
                ..none
            },
            None,
        ),
    ];
    for (budgets, expected) in cases {
        let spent = record(&same_slot, used(100, 0), budgets, noon()).await;
        assert_eq!(spent, expected, "{budgets:?}");
    }
    // The next day begins with nothing, and only what is more counts then.
    let tomorrow = token_usage::end_of_day(noon());
    let day = Budgets {
        day: Some(20),
        ..none
    };
    assert_eq!(record(&one, used(119, 9_000), day, tomorrow).await, None);
    let of_day = db
        .read(move |tx| Box::pin(token_usage::of_day(tx, tomorrow)))
        .await
        .unwrap();
    assert_eq!(of_day, 19);
    let engines = db
        .read(|tx| Box::pin(token_usage::engines_of_day(tx, noon())))
        .await
        .unwrap();
    let engines: std::collections::BTreeMap<_, _> = engines.into_iter().collect();
    let expected = [(CliEngine::Claude, 115), (CliEngine::Codex, 115)];
    assert_eq!(engines, expected.into());
}
