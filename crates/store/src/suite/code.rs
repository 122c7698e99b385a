//! What was read of repositories, and beacons in them.

use super::fixtures::{minutes_later, noon, open};
use crate::beacons::{self, BeaconNodeRow, BeaconRow};
use crate::code::{self, CodeFileRow, NodeRow, StampRow};
use crate::code_vectors;
use crate::{DbUrl, MissionDb};

fn node(name: String) -> NodeRow {
    NodeRow {
        kind: "function".into(),
        name,
        container: "Lease".into(),
        signature: "pub fn renew(&mut self)".into(),
        doc: "Makes it last.\nLonger.".into(),
        words: "lease 读取".into(),
        first_line: 3,
        last_line: 9,
        start_byte: 20,
        end_byte: 90,
        hash: "ab".into(),
        nameless: "cd".into(),
    }
}

fn file(path: &str, nodes: usize) -> CodeFileRow {
    CodeFileRow {
        path: path.into(),
        stamp: StampRow {
            size: 7,
            modified_ns: 1_700_000_000_000_000_001,
            changed_ns: 2,
        },
        language: Some("rust".into()),
        hash: Some("ef".into()),
        lines: 12,
        skipped: None,
        identifiers: "renew 3\nuntil 1".into(),
        nodes: (0..nodes)
            .map(|number| node(format!("f{number}")))
            .collect(),
    }
}

async fn put(db: &MissionDb, id: i64, files: Vec<CodeFileRow>) {
    db.write(move |tx| {
        Box::pin(async move {
            for file in &files {
                code::put(tx, id, file).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
}

async fn all(db: &MissionDb, id: i64) -> Vec<CodeFileRow> {
    let mut files: Vec<CodeFileRow> = Vec::new();
    loop {
        let after = files.last().map(|file| file.path.clone());
        let read =
            db.read(move |tx| Box::pin(async move { code::files(tx, id, after.as_deref()).await }));
        let page = read.await.unwrap();
        if page.is_empty() {
            return files;
        }
        files.extend(page);
    }
}

pub async fn code_is_kept_by_file_and_forgotten_with_another_format(url: DbUrl) {
    let db = open(&url).await;
    let begin =
        |format| db.write(move |tx| Box::pin(code::begin(tx, 7, "here", "/src/shop", format)));
    begin(1).await.unwrap();
    let mut skipped = file("big.c", 0);
    (skipped.language, skipped.hash) = (None, None);
    skipped.skipped = Some("too_large".into());
    // More nodes than one statement takes, more files than one page.
    let mut files = vec![skipped, file("many.rs", 130)];
    files.extend((0..300).map(|number| file(&format!("src/{number:03}.rs"), 2)));
    put(&db, 7, files.clone()).await;
    put(&db, 8, vec![file("src/000.rs", 1)]).await;
    assert_eq!(all(&db, 7).await, files);

    let stamp = StampRow {
        size: 8,
        modified_ns: -1,
        changed_ns: i64::MIN,
    };
    db.write(move |tx| {
        Box::pin(async move {
            code::touch(tx, 7, "big.c", stamp).await?;
            code::remove(tx, 7, "src/000.rs").await?;
            code::put(tx, 7, &file("many.rs", 1)).await?;
            code::checked(tx, 7, noon()).await
        })
    })
    .await
    .unwrap();
    files[0].stamp = stamp;
    files[1] = file("many.rs", 1);
    files.remove(2);
    assert_eq!(all(&db, 7).await, files);
    assert_eq!(all(&db, 8).await.len(), 1, "another repository's");

    begin(1).await.unwrap();
    assert_eq!(
        all(&db, 7).await.len(),
        files.len(),
        "the same format stays"
    );
    let known = db
        .read(|tx| Box::pin(code::repositories(tx, "here")))
        .await
        .unwrap();
    assert_eq!((known.len(), known[0].checked_at), (1, Some(noon())));
    begin(2).await.unwrap();
    assert_eq!(all(&db, 7).await, [], "another format is read again");
    let known = db
        .read(|tx| Box::pin(code::repositories(tx, "here")))
        .await
        .unwrap();
    assert_eq!(known[0].checked_at, None);
}

pub async fn a_beacon_is_kept_with_what_became_of_it(url: DbUrl) {
    let db = open(&url).await;
    let node = |path: &str| BeaconNodeRow {
        path: path.into(),
        kind: "function".into(),
        container: String::new(),
        name: "check".into(),
        signature: "fn check()".into(),
        words: "token".into(),
        hash: "ab".into(),
        nameless: "cd".into(),
        line: 4,
        trail: "unchanged".into(),
        moved_from: None,
        lost_at: None,
        followed_at: noon(),
    };
    let beacon = |note: &str| BeaconRow {
        name: "auth".into(),
        note: note.into(),
        repository: 7,
        created_at: noon(),
        nodes: vec![node("a.rs"), node("b.rs")],
    };
    for note in ["first", "second"] {
        let beacon = beacon(note);
        db.write(move |tx| Box::pin(async move { beacons::set(tx, 3, &beacon).await }))
            .await
            .unwrap();
    }
    let list = |family| db.read(move |tx| Box::pin(beacons::list(tx, family)));
    assert_eq!(list(3).await.unwrap(), [beacon("second")]);
    assert_eq!(list(4).await.unwrap(), []);

    let moved = BeaconNodeRow {
        moved_from: Some("b.rs:check".into()),
        lost_at: Some(minutes_later(1)),
        ..node("c.rs")
    };
    let new = moved.clone();
    let follow = |name: &'static str, place| {
        let new = new.clone();
        db.write(move |tx| Box::pin(async move { beacons::follow(tx, 3, name, place, &new).await }))
    };
    assert!(follow("auth", 1).await.unwrap());
    assert!(!follow("auth", 2).await.unwrap(), "it has two");
    assert!(!follow("nobody", 0).await.unwrap());
    let listed = list(3).await.unwrap();
    assert_eq!(listed[0].nodes, [node("a.rs"), moved]);

    let remove = || db.write(|tx| Box::pin(beacons::remove(tx, 3, "auth")));
    assert!(remove().await.unwrap());
    assert!(!remove().await.unwrap());
    assert_eq!(list(3).await.unwrap(), []);
}

/// Vectors of code are known by model and text, kept once, and the oldest go.
pub async fn what_a_model_made_of_code_is_kept_once(url: DbUrl) {
    let db = open(&url).await;
    let row = |name: &str, byte: u8| (name.to_owned(), vec![byte; 4]);
    for (minute, rows) in [
        (0, vec![row("a", 1), row("b", 2)]),
        (1, vec![row("a", 9), row("c", 3)]),
    ] {
        let at = minutes_later(minute);
        db.write(move |tx| {
            let rows = rows.clone();
            Box::pin(async move { code_vectors::put(tx, "one", rows, at).await })
        })
        .await
        .unwrap();
    }
    let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let get = |model: &'static str| {
        let (db, names) = (db.clone(), names.clone());
        async move {
            let found = db.read(move |tx| {
                let names = names.clone();
                Box::pin(async move { code_vectors::get(tx, model, &names).await })
            });
            let mut found = found.await.unwrap();
            found.sort();
            found
        }
    };
    assert_eq!(get("one").await, [row("a", 1), row("b", 2), row("c", 3)]);
    assert_eq!(get("another").await, []);
    db.write(|tx| Box::pin(code_vectors::prune(tx, 1)))
        .await
        .unwrap();
    assert_eq!(get("one").await, [row("c", 3)]);
}
