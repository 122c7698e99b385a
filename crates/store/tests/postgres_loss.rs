//! Connections that break: what was in flight is told what is known about it,
//! and the next call works again.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use missiond_core::{Clock, DaemonId, Event, Seq, SystemClock, TraceContext};
use missiond_store::{DbUrl, MissionDb, NewEvent, StoreError, timeline, watermarks};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

fn note(text: &str) -> NewEvent {
    let added = Event::NoteAdded {
        text: text.into(),
        author: "test".into(),
    };
    let daemon = DaemonId::generate();
    NewEvent::new(SystemClock.now(), daemon, TraceContext::root(), added).unwrap()
}

async fn advance(db: &MissionDb, to: i64) -> Result<(), StoreError> {
    db.write(move |tx| Box::pin(watermarks::advance(tx, "consumer", Seq(to))))
        .await
}

async fn cursor(db: &MissionDb) -> Option<Seq> {
    db.read(|tx| Box::pin(watermarks::get(tx, "consumer")))
        .await
        .unwrap()
}

const CUT_ALL: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transaction_whose_connection_is_cut_is_lost_and_says_so() {
    server::on_fresh_database(async |url| {
        let db = MissionDb::open(&url).await.unwrap();
        let cut = db
            .write(|tx| {
                Box::pin(async move {
                    watermarks::advance(tx, "consumer", Seq(1)).await?;
                    tx.execute("SELECT pg_terminate_backend(pg_backend_pid())", &[])
                        .await
                })
            })
            .await;
        assert!(
            matches!(cut, Err(StoreError::Unavailable { .. })),
            "{cut:?}"
        );
        assert_eq!(cursor(&db).await, None);
        advance(&db, 2).await.unwrap();
        assert_eq!(cursor(&db).await, Some(Seq(2)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_all_connections_are_cut_everything_works_again() {
    server::on_fresh_database(async |url| {
        let (db, cutter) = (
            MissionDb::open(&url).await.unwrap(),
            MissionDb::open(&url).await.unwrap(),
        );
        db.append(&[note("before")]).await.unwrap();
        advance(&db, 1).await.unwrap();
        let mut hints = db.head_hints();
        cutter
            .write(|tx| Box::pin(async move { tx.query(CUT_ALL, &[]).await.map(drop) }))
            .await
            .unwrap();
        // Kept connections that died unnoticed are replaced without a word.
        advance(&db, 2).await.unwrap();
        // An append in flight is of unknown outcome; the next one reconnects.
        let mut unknown = 0;
        let last = loop {
            match db.append(&[note("after")]).await {
                Ok(places) => break places[0],
                Err(StoreError::OutcomeUnknown { .. } | StoreError::Unavailable { .. }) => {
                    unknown += 1;
                }
                Err(other) => panic!("{other:?}"),
            }
            assert!(unknown < 100, "the connection does not come back");
        };
        assert!(last.0 <= 2 + unknown, "{last}");
        let head = db.read(|tx| Box::pin(timeline::head(tx))).await;
        assert_eq!(head, Ok(last));
        // Word from others arrives again, too.
        let next = cutter_appends(&url).await;
        tokio::time::timeout(
            std::time::Duration::from_secs(60),
            hints.wait_for(|&seq| seq >= next),
        )
        .await
        .expect("no word came")
        .unwrap();
    })
    .await;
}

async fn cutter_appends(url: &DbUrl) -> Seq {
    let other = MissionDb::open(url).await.unwrap();
    other.append(&[note("from elsewhere")]).await.unwrap()[0]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_that_is_never_answered_is_of_unknown_outcome() {
    server::on_fresh_database(async |url| {
        let shown = url.to_string();
        let Some(socket) = socket_folder(&shown) else {
            // A server given by address; the wire test needs a socket folder.
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let cutting = Arc::new(AtomicBool::new(false));
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        tokio::spawn(relay(
            listener,
            format!("{socket}/.s.PGSQL.5432"),
            Arc::clone(&cutting),
        ));
        let relayed = shown.replace(
            &socket.replace('/', "%2F"),
            &folder.path().display().to_string().replace('/', "%2F"),
        );
        let db = MissionDb::open(&relayed.parse().unwrap()).await.unwrap();
        advance(&db, 1).await.unwrap();

        cutting.store(true, Ordering::SeqCst);
        let cut = advance(&db, 2).await;
        assert!(
            matches!(cut, Err(StoreError::OutcomeUnknown { .. })),
            "{cut:?}"
        );
        cutting.store(false, Ordering::SeqCst);
        // This one was in fact kept, which only a look can tell. Asking for the
        // row's lock waits until the server is done with the commit.
        let direct = MissionDb::open(&url).await.unwrap();
        let look = "SELECT seq FROM watermarks FOR UPDATE";
        let kept = direct
            .write(move |tx| Box::pin(tx.query(look, &[])))
            .await
            .unwrap();
        assert_eq!(kept[0].get::<Seq>(0), Ok(Seq(2)));
        assert_eq!(advance(&db, 3).await, Ok(()));
        assert_eq!(cursor(&db).await, Some(Seq(3)));
    })
    .await;
}

fn socket_folder(url: &str) -> Option<String> {
    let host = url
        .split_once('@')?
        .1
        .split('/')
        .next()?
        .replace("%2F", "/");
    Path::new(&host).is_absolute().then_some(host)
}

/// Passes bytes between clients and the server. While `cutting`, a COMMIT is
/// passed on and its connection then dropped, so that no answer arrives.
async fn relay(listener: UnixListener, server: String, cutting: Arc<AtomicBool>) {
    while let Ok((client, _)) = listener.accept().await {
        let (server, cutting) = (server.clone(), Arc::clone(&cutting));
        tokio::spawn(async move {
            let server = UnixStream::connect(server).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            let answers = tokio::spawn(async move {
                let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
            });
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
                let passed = &bytes[..count];
                if cutting.load(Ordering::SeqCst) && passed.windows(6).any(|w| w == b"COMMIT") {
                    answers.abort();
                    let _ = answers.await;
                    let _ = to_server.write_all(passed).await;
                    return;
                }
                if to_server.write_all(passed).await.is_err() {
                    return;
                }
            }
        });
    }
}
