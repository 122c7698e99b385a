//! What is on record about tools and servers, and what runs were started with.

use missiond_core::{ExecutionId, Timestamp};

use super::fixtures::{minutes_later, open};
use crate::run_surfaces::{self, RunDrift, SurfacePart};
use crate::{DbUrl, MissionDb, trust_facts};

const SERVER: &str = "server:docs";

async fn count(db: &MissionDb, kind: &'static str, at: Timestamp) {
    let counted = db.write(move |tx| Box::pin(trust_facts::count(tx, SERVER, kind, at)));
    counted.await.unwrap();
}

async fn record(db: &MissionDb, kind: &'static str, at: Timestamp) {
    let recorded = db.write(move |tx| Box::pin(trust_facts::record(tx, SERVER, kind, None, at)));
    recorded.await.unwrap();
}

/// The kinds on record with their counts.
async fn facts(db: &MissionDb) -> Vec<(String, u32)> {
    let facts = db.read(|tx| Box::pin(trust_facts::of(tx, SERVER)));
    let facts = facts.await.unwrap().into_iter();
    facts.map(|fact| (fact.kind, fact.count)).collect()
}

fn pairs(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
    pairs
        .iter()
        .map(|&(kind, count)| (kind.to_owned(), count))
        .collect()
}

pub async fn trust_facts_of_an_hour_are_counted_together(url: DbUrl) {
    let db = open(&url).await;
    for minute in [0, 1, 2] {
        count(&db, "answered", minutes_later(minute)).await;
    }
    count(&db, "errored", minutes_later(3)).await;
    assert_eq!(facts(&db).await, pairs(&[("answered", 3), ("errored", 1)]));
    // Behind a line that somebody drew, and an hour later, it begins anew.
    record(&db, "reset", minutes_later(4)).await;
    count(&db, "answered", minutes_later(5)).await;
    count(&db, "answered", minutes_later(6)).await;
    count(&db, "answered", minutes_later(70)).await;
    let expected = [
        ("answered", 3),
        ("errored", 1),
        ("reset", 1),
        ("answered", 2),
        ("answered", 1),
    ];
    assert_eq!(facts(&db).await, pairs(&expected));
}

pub async fn trust_the_same_drift_is_on_record_once_until_it_is_accepted(url: DbUrl) {
    let db = open(&url).await;
    let drift = async |note: &'static str| {
        let at = minutes_later(1);
        let found = db.write(move |tx| Box::pin(trust_facts::record_drift(tx, SERVER, note, at)));
        found.await.unwrap();
    };
    drift("a").await;
    drift("a").await;
    drift("b").await;
    record(&db, "accepted", minutes_later(2)).await;
    drift("b").await;
    let expected = [
        ("drifted", 1),
        ("drifted", 1),
        ("accepted", 1),
        ("drifted", 1),
    ];
    assert_eq!(facts(&db).await, pairs(&expected));
}

pub async fn runs_keep_what_they_were_started_with_and_what_was_decided(url: DbUrl) {
    let db = open(&url).await;
    let execution = ExecutionId::generate();
    let part = |digest: &str| SurfacePart {
        part: "AGENTS.md".to_owned(),
        digest: digest.to_owned(),
        text: Some("Be kind.".to_owned()),
    };
    for digest in ["one", "two"] {
        let parts = vec![part(digest)];
        db.write(move |tx| {
            let parts = parts.clone();
            Box::pin(async move { run_surfaces::keep(tx, execution, &parts).await })
        })
        .await
        .unwrap();
    }
    let kept = db.read(move |tx| Box::pin(run_surfaces::of(tx, execution)));
    assert_eq!(kept.await.unwrap(), [part("two")]);
    let drift = RunDrift {
        execution,
        digest: "d".to_owned(),
        changes: vec!["AGENTS.md is gone".to_owned()],
        found_at: minutes_later(1),
        decision: None,
    };
    let mut news = Vec::new();
    for _ in 0..2 {
        let drift = drift.clone();
        let found =
            db.write(move |tx| Box::pin(async move { run_surfaces::found(tx, &drift).await }));
        news.push(found.await.unwrap());
    }
    assert_eq!(news, [true, false]);
    let mut decided = Vec::new();
    for decision in ["go on", "stop"] {
        let at = minutes_later(2);
        let done =
            db.write(move |tx| Box::pin(run_surfaces::decide(tx, execution, "d", decision, at)));
        decided.push(done.await.unwrap());
    }
    assert_eq!(decided, [true, false]);
    let found = db.read(move |tx| Box::pin(run_surfaces::drift(tx, execution, "d")));
    let decision = Some("go on".to_owned());
    assert_eq!(found.await.unwrap(), Some(RunDrift { decision, ..drift }));
    // A run that is not among those that go on asks nothing.
    let open = db.read(|tx| Box::pin(run_surfaces::undecided(tx)));
    assert_eq!(open.await.unwrap(), []);
}
