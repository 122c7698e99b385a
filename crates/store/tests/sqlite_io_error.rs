//! A disk that fails under a running database: the callers of that commit are
//! told, the file is opened again and checked, and work goes on with nothing
//! acknowledged lost.
//!
//! The failure is real: a limit on file sizes makes the write itself fail. It
//! holds for a whole process, so the scene plays in a child.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::process::Command;

use missiond_core::{Clock, DaemonId, Event, Seq, SystemClock, TraceContext};
use missiond_store::{DbUrl, MissionDb, NewEvent, StoreError, timeline};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const SCENE: &str = "the_scene";
const FOLDER: &str = "STORE_IO_ERROR_FOLDER";

#[test]
fn an_io_error_is_told_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    // The signal of an exceeded limit would kill; ignoring it is inherited.
    let scene = Command::new("/bin/sh")
        .args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"])
        .arg(this)
        .args([SCENE, "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&scene.stdout);
    assert!(
        scene.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&scene.stderr)
    );
}

#[tokio::test]
#[ignore = "played in a child by the test above"]
async fn the_scene() {
    let folder = std::env::var(FOLDER).expect("the test above starts this one");
    let path = std::path::Path::new(&folder).join("mission.db");
    let db = MissionDb::open(&DbUrl::sqlite(&path)).await.unwrap();
    let mut acknowledged = Vec::new();
    acknowledged.extend(db.append(&[note("before")]).await.unwrap());

    let unlimited = getrlimit(Resource::Fsize);
    let limited = Rlimit {
        current: Some(256 << 10),
        maximum: unlimited.maximum,
    };
    setrlimit(Resource::Fsize, limited).unwrap();
    let mut unknown = 0;
    let failure = loop {
        match db.append(&[note(&"x".repeat(4000))]).await {
            Ok(places) => acknowledged.extend(places),
            Err(error) => break error,
        }
        assert!(acknowledged.len() < 1000, "the limit is not felt");
    };
    match failure {
        StoreError::OutcomeUnknown { .. } => unknown += 1,
        StoreError::Unavailable { .. } => {}
        other => panic!("{other:?}"),
    }
    setrlimit(Resource::Fsize, unlimited).unwrap();
    acknowledged.extend(db.append(&[note("after")]).await.unwrap());

    db.close().await.unwrap();
    let reopened = MissionDb::open(&DbUrl::sqlite(&path)).await.unwrap();
    let page = reopened
        .read(|tx| Box::pin(timeline::read_after(tx, Seq(0), 10_000)))
        .await
        .unwrap();
    let stored: Vec<_> = page.events.iter().map(|event| event.seq.unwrap()).collect();
    let expected: Vec<_> = (1..=stored.len() as i64).map(Seq).collect();
    assert_eq!(stored, expected, "the places have no holes");
    assert!(acknowledged.iter().all(|seq| stored.contains(seq)));
    let most = acknowledged.len() + unknown;
    assert!(stored.len() <= most, "nothing is there that was refused");
}

fn note(text: &str) -> NewEvent {
    let added = Event::NoteAdded {
        text: text.into(),
        author: "test".into(),
    };
    let daemon = DaemonId::generate();
    NewEvent::new(SystemClock.now(), daemon, TraceContext::root(), added).unwrap()
}
