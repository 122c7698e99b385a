//! Entries of knowledge: their history, their edges, their vectors, the inbox.

use missiond_core::EntryId;

use super::fixtures::{minutes_later, noon, open};
use crate::knowledge::edges::{self, EdgeRow, MadeBy};
use crate::knowledge::inbox::{self, ProposalRow};
use crate::knowledge::{self, COLLECTED, EntryFilter, EntryRow, vectors};
use crate::{DbUrl, MissionDb, StoreError};

fn entry(key: &str, summary: &str) -> EntryRow {
    EntryRow {
        id: EntryId::generate(),
        key: key.into(),
        scope: "app".into(),
        category: "ops".into(),
        summary: summary.into(),
        detail: "部署 needs a VPN".into(),
        labels: "[\"ci\"]".into(),
        source: "test".into(),
        conversation: Some("c1".into()),
        turn: Some(3),
        author: "person".into(),
        tier: "person".into(),
        trust: 1.0,
        confidence: 0.9,
        utility: 0.3,
        revision: 1,
        created_at: noon(),
        verified_at: noon(),
        used_at: None,
        archived_at: None,
        archived_why: None,
    }
}

async fn insert(db: &MissionDb, row: &EntryRow) {
    let row = row.clone();
    db.write(move |tx| Box::pin(async move { knowledge::insert(tx, &row).await }))
        .await
        .unwrap();
}

async fn revise(db: &MissionDb, row: &EntryRow) -> Result<(), StoreError> {
    let row = row.clone();
    db.write(move |tx| Box::pin(async move { knowledge::revise(tx, &row, minutes_later(1)).await }))
        .await
}

pub async fn an_entry_is_revised_and_never_overwritten(url: DbUrl) {
    let db = open(&url).await;
    let first = entry("deploy", "make ship");
    insert(&db, &first).await;
    let again = EntryRow {
        id: EntryId::generate(),
        ..first.clone()
    };
    let twice = db
        .write(move |tx| Box::pin(async move { knowledge::insert(tx, &again).await }))
        .await;
    assert!(twice.is_err(), "a key is there once in its scope");

    let second = EntryRow {
        summary: "make release".into(),
        revision: 2,
        ..first.clone()
    };
    revise(&db, &second).await.unwrap();
    let stale = revise(&db, &second).await.unwrap_err();
    assert!(matches!(stale, StoreError::Conflict { .. }), "{stale}");

    let id = first.id;
    let (now, history) = db
        .read(move |tx| {
            Box::pin(async move {
                let now = knowledge::by_key(tx, "app", "deploy").await?;
                Ok((now, knowledge::history(tx, id).await?))
            })
        })
        .await
        .unwrap();
    let expected = EntryRow {
        verified_at: minutes_later(1),
        ..second
    };
    assert_eq!(now, Some(expected));
    let said: Vec<_> = history
        .iter()
        .map(|old| (old.revision, old.summary.as_str()))
        .collect();
    assert_eq!(said, [(1, "make ship"), (2, "make release")]);
}

pub async fn what_was_collected_last_comes_back(url: DbUrl) {
    let db = open(&url).await;
    let rows = [entry("a", "one"), entry("b", "two"), entry("c", "three")];
    for row in &rows {
        insert(&db, row).await;
    }
    let [a, b, c] = [rows[0].id, rows[1].id, rows[2].id];
    let (back, in_use, archived) = db
        .write(move |tx| {
            Box::pin(async move {
                knowledge::archive(tx, a, &format!("{COLLECTED}old"), minutes_later(1)).await?;
                knowledge::archive(tx, b, &format!("{COLLECTED}old"), minutes_later(2)).await?;
                knowledge::archive(tx, c, "forgotten", minutes_later(3)).await?;
                assert!(!knowledge::archive(tx, c, "forgotten", minutes_later(4)).await?);
                let back = knowledge::restore_last_collection(tx).await?;
                let in_use = knowledge::page(tx, None, EntryFilter::InUse, 10).await?;
                let archived = knowledge::page(tx, None, EntryFilter::Archived, 10).await?;
                Ok((back, in_use, archived))
            })
        })
        .await
        .unwrap();
    assert_eq!(back, [b]);
    assert_eq!(in_use.iter().map(|row| row.id).collect::<Vec<_>>(), [b]);
    assert_eq!(archived.len(), 2);
}

fn edge(from: &EntryRow, kind: &str, to: &EntryRow) -> EdgeRow {
    EdgeRow {
        from: from.id,
        to: to.id,
        kind: kind.into(),
        reason: "first".into(),
        made_by: MadeBy::Comparison,
        from_keeps: 1.0,
        to_keeps: 0.5,
        at: noon(),
        ended_at: None,
    }
}

pub async fn edges_keep_their_first_reason(url: DbUrl) {
    let db = open(&url).await;
    let (old, new) = (entry("old", "port 8080"), entry("new", "port 9090"));
    insert(&db, &old).await;
    insert(&db, &new).await;
    let edge = edge(&new, "supersedes", &old);
    let (of_old, replaced, contradicting) = db
        .write(move |tx| {
            Box::pin(async move {
                edges::add(tx, &edge).await?;
                let again = EdgeRow {
                    reason: "second".into(),
                    ..edge.clone()
                };
                edges::add(tx, &again).await?;
                let of_old = edges::of_entry(tx, edge.to).await?;
                let replaced = edges::replaced(tx).await?;
                let contradicting = edges::of_kind(tx, "contradicts", 10).await?;
                Ok((of_old, replaced, contradicting))
            })
        })
        .await
        .unwrap();
    assert_eq!(of_old.len(), 1);
    assert_eq!(of_old[0].reason, "first");
    assert_eq!(replaced, [old.id]);
    assert_eq!(contradicting, []);
}

pub async fn an_edge_ends_with_the_words_it_was_about(url: DbUrl) {
    let db = open(&url).await;
    let (old, new) = (entry("old", "port 8080"), entry("new", "port 9090"));
    insert(&db, &old).await;
    insert(&db, &new).await;
    let seen = edge(&new, "supersedes", &old);
    let stated = EdgeRow {
        made_by: MadeBy::Statement,
        ..edge(&new, "prerequisite", &old)
    };
    let (before, after, kept) = db
        .write(move |tx| {
            Box::pin(async move {
                edges::add(tx, &seen).await?;
                let before = knowledge::refresh_standing(tx, seen.to).await?;
                edges::add(tx, &stated).await?;
                edges::end_of_words(tx, seen.from, minutes_later(1)).await?;
                let after = knowledge::refresh_neighbours(tx, &[seen.from]).await?;
                Ok((before, after, edges::of_entry(tx, seen.to).await?))
            })
        })
        .await
        .unwrap();
    assert_eq!(before.superseded_by, Some(new.id));
    assert!((before.confidence - 0.5).abs() < 1e-9, "{before:?}");
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].superseded_by, None);
    let kept: Vec<_> = kept
        .iter()
        .map(|edge| (edge.kind.as_str(), edge.ended_at))
        .collect();
    let expected = [
        ("prerequisite", None),
        ("supersedes", Some(minutes_later(1))),
    ];
    assert_eq!(kept, expected);
}

pub async fn what_is_archived_takes_no_belief_from_others(url: DbUrl) {
    let db = open(&url).await;
    let (old, new) = (entry("old", "port 8080"), entry("new", "port 9090"));
    insert(&db, &old).await;
    insert(&db, &new).await;
    let seen = edge(&new, "contradicts", &old);
    let (doubted, believed) = db
        .write(move |tx| {
            Box::pin(async move {
                edges::add(tx, &seen).await?;
                let doubted = knowledge::refresh_neighbours(tx, &[seen.from]).await?;
                knowledge::archive(tx, seen.from, "forgotten", noon()).await?;
                let believed = knowledge::refresh_neighbours(tx, &[seen.from]).await?;
                Ok((doubted[0].confidence, believed[0].confidence))
            })
        })
        .await
        .unwrap();
    assert!((doubted - 0.5).abs() < 1e-9, "{doubted}");
    assert!((believed - 1.0).abs() < 1e-9, "{believed}");
}

pub async fn vectors_belong_to_a_model_and_a_revision(url: DbUrl) {
    let db = open(&url).await;
    let (a, b) = (entry("a", "one"), entry("b", "two"));
    insert(&db, &a).await;
    insert(&db, &b).await;
    let (first, second) = (a.id.min(b.id), a.id.max(b.id));
    let (missing, kept, other, progress) = db
        .write(move |tx| {
            Box::pin(async move {
                vectors::ensure_model(tx, "m1", 2, None).await?;
                vectors::ensure_model(tx, "m1", 2, None).await?;
                vectors::put(tx, "m1", first, 1, &[1.0, -0.5]).await?;
                vectors::put(tx, "m1", first, 0, &[9.0, 9.0]).await?;
                let missing = vectors::missing(tx, "m1", 10).await?;
                let kept = vectors::page(tx, "m1", None, 10).await?;
                let other = vectors::page(tx, "m2", None, 10).await?;
                Ok((missing, kept, other, vectors::progress(tx, "m1").await?))
            })
        })
        .await
        .unwrap();
    assert_eq!(missing, [second]);
    assert_eq!(kept, [(first, vec![1.0, -0.5])]);
    assert_eq!(other, [], "models are never mixed");
    assert_eq!(progress, (2, 1));

    let row = if a.id == first { &a } else { &b };
    let revised = EntryRow {
        revision: 2,
        summary: "changed".into(),
        ..row.clone()
    };
    revise(&db, &revised).await.unwrap();
    let (missing, models) = db
        .write(move |tx| {
            Box::pin(async move {
                vectors::complete_model(tx, "m1", Some("{}"), noon()).await?;
                let models = vectors::models(tx).await?;
                let missing = vectors::missing(tx, "m1", 10).await?;
                vectors::remove_model(tx, "m1").await?;
                assert_eq!(vectors::models(tx).await?, []);
                Ok((missing, models))
            })
        })
        .await
        .unwrap();
    assert_eq!(
        missing,
        [first, second],
        "a changed entry needs a new vector"
    );
    assert_eq!(models[0].completed_at, Some(noon()));
}

pub async fn a_proposal_is_decided_once(url: DbUrl) {
    let db = open(&url).await;
    let row = ProposalRow {
        id: EntryId::generate(),
        proposal: "{}".into(),
        source: "test".into(),
        at: noon(),
    };
    let (id, stored) = (row.id, row.clone());
    let listed = db
        .write(move |tx| {
            Box::pin(async move {
                inbox::add(tx, &stored).await?;
                let listed = inbox::list(tx, 10).await?;
                inbox::decide(tx, id, "rejected", None, minutes_later(1)).await?;
                assert_eq!(inbox::list(tx, 10).await?, []);
                Ok(listed)
            })
        })
        .await
        .unwrap();
    assert_eq!(listed, [row]);
    let again = db
        .read(move |tx| Box::pin(inbox::undecided(tx, id)))
        .await
        .unwrap_err();
    assert!(again.to_string().contains("rejected already"), "{again}");
}
