//! What is particular to a database that is a file: who may read it, what is
//! said when it cannot be used, and what happens when the disk is full.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use missiond_core::{Clock, DaemonId, Event, Seq, SystemClock, TraceContext};
use missiond_store::{DbUrl, MissionDb, NewEvent, StoreError, Value, timeline, watermarks};

fn note(text: &str) -> NewEvent {
    let added = Event::NoteAdded {
        text: text.into(),
        author: "test".into(),
    };
    let daemon = DaemonId::generate();
    NewEvent::new(SystemClock.now(), daemon, TraceContext::root(), added).unwrap()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

async fn refusal(path: &Path) -> StoreError {
    MissionDb::open(&DbUrl::sqlite(path)).await.unwrap_err()
}

/// A database with `events` notes of half a page each, closed.
async fn filled(path: &Path, events: usize) {
    let db = MissionDb::open(&DbUrl::sqlite(path)).await.unwrap();
    let events: Vec<_> = (0..events).map(|_| note(&"x".repeat(2000))).collect();
    db.append(&events).await.unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn the_file_and_its_companions_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let made = folder.path().join("made.db");
    let found = folder.path().join("found.db");
    fs::write(&found, "").unwrap();
    fs::set_permissions(&found, fs::Permissions::from_mode(0o644)).unwrap();
    for path in [made, found] {
        let db = MissionDb::open(&DbUrl::sqlite(&path)).await.unwrap();
        db.append(&[note("secret")]).await.unwrap();
        for file in [path.clone(), beside(&path, "-wal"), beside(&path, "-shm")] {
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
    }
}

#[tokio::test]
async fn closing_leaves_one_complete_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mission.db");
    filled(&path, 50).await;
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["mission.db"]);
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let db = MissionDb::open(&DbUrl::sqlite(&copy)).await.unwrap();
    assert_eq!(
        db.read(|tx| Box::pin(timeline::head(tx))).await,
        Ok(Seq(50))
    );
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("not here");
    let error = refusal(&missing.join("mission.db")).await;
    let path = missing.display().to_string();
    assert_eq!(error, StoreError::MissingDirectory { path });
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refusal(&file.join("mission.db")).await;
    assert!(
        matches!(error, StoreError::MissingDirectory { .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_named() {
    // Permissions do not bind root; nobody can make a file in sysfs.
    let folder = tempfile::tempdir().unwrap();
    let place = if rustix::process::geteuid().is_root() {
        Path::new("/sys/kernel").to_owned()
    } else {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
        folder.path().to_owned()
    };
    let path = place.join("mission.db");
    let error = refusal(&path).await;
    let path = path.display().to_string();
    assert_eq!(error, StoreError::ReadOnly { path });
}

#[tokio::test]
async fn another_file_is_not_taken_for_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in [
        "x",
        "These are my notes, and they are longer than a header.",
    ] {
        fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        assert_eq!(
            refusal(&path).await,
            StoreError::NotADatabase { path: shown }
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            text,
            "it is left as it was"
        );
    }
    let error = refusal(folder.path()).await;
    assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.db");
    filled(&whole, 400).await;
    let whole = fs::read(&whole).unwrap();
    let page = 4096;
    assert!(whole.len() > 40 * page);
    // The schema's page, pages in the middle, and a file cut short.
    let mut schema = whole.clone();
    schema[100..page].fill(0xa5);
    let mut middle = whole.clone();
    middle[20 * page..30 * page].fill(0xa5);
    let short = whole[..whole.len() / 2].to_vec();
    for (name, bytes) in [("schema", schema), ("middle", middle), ("short", short)] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let error = refusal(&path).await;
        assert!(
            matches!(error, StoreError::Corrupt { .. }),
            "{name}: {error:?}"
        );
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_timeline_beyond_its_head_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mission.db");
    filled(&path, 3).await;
    let db = MissionDb::open(&DbUrl::sqlite(&path)).await.unwrap();
    db.write(|tx| {
        Box::pin(async move { tx.execute("UPDATE timeline_head SET seq = 1", &[]).await })
    })
    .await
    .unwrap();
    db.close().await.unwrap();
    let error = refusal(&path).await;
    assert!(
        error.to_string().contains("holds event 3 but ends at 1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_full_disk_is_said_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mission.db");
    let db = MissionDb::open(&DbUrl::sqlite(&path)).await.unwrap();
    // To SQLite a file that may not grow is a full disk.
    let limit_pages = |pages: i64| {
        let db = db.clone();
        async move {
            db.write(move |tx| {
                Box::pin(async move {
                    tx.query(&format!("PRAGMA max_page_count = {pages}"), &[])
                        .await
                })
            })
            .await
            .unwrap()
        }
    };
    limit_pages(100).await;
    let mut kept = 0;
    let full = loop {
        match db.append(&[note(&"x".repeat(4000))]).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 1000, "the limit is not felt");
    };
    let place = path.display().to_string();
    assert_eq!(full, StoreError::Full { place });
    let in_transaction = db
        .write(|tx| {
            Box::pin(async move {
                let big = Value::Text("x".repeat(1 << 20));
                let sql = "INSERT INTO watermarks (consumer, seq) VALUES ($1, 1)";
                tx.execute(sql, &[big]).await
            })
        })
        .await;
    assert!(
        matches!(in_transaction, Err(StoreError::Full { .. })),
        "{in_transaction:?}"
    );

    limit_pages(1_000_000).await;
    let next = db.append(&[note("room again")]).await.unwrap();
    assert_eq!(next, [Seq(kept + 1)], "what was refused left no trace");
    db.write(|tx| Box::pin(watermarks::advance(tx, "fine", Seq(1))))
        .await
        .unwrap();
}

#[tokio::test]
async fn work_that_waits_for_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = MissionDb::open(&DbUrl::sqlite(folder.path().join("mission.db")))
        .await
        .unwrap();
    let waiting = db
        .write(|tx| {
            Box::pin(async move {
                watermarks::advance(tx, "waiting", Seq(1)).await?;
                std::future::pending::<()>().await;
                Ok(())
            })
        })
        .await;
    match waiting {
        Err(StoreError::Internal { detail }) => assert!(detail.contains("waited"), "{detail}"),
        other => panic!("{other:?}"),
    }
    let left = db.read(|tx| Box::pin(watermarks::list(tx))).await.unwrap();
    assert_eq!(left, []);
}
