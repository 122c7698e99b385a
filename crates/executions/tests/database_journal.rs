//! The promises of a journal store, on both database engines.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use missiond_core::SystemClock;
use missiond_executions::database_journal::{DatabaseJournals, Holder};
use missiond_journal::{JournalStore, suite};
use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use missiond_store::{DbUrl, MissionDb};
use parking_lot::Mutex;
use tokio::runtime::Handle;

/// Runs a case on a thread that may block, with a new handle for each opening.
async fn run(url: DbUrl, case: fn(suite::StoreOpener<'_>)) {
    let db = MissionDb::open(&url).await.unwrap();
    let handle = Handle::current();
    let used = db.clone();
    let place = move || -> Arc<dyn JournalStore> {
        let holder = Holder::new("a test", "a run");
        let clock = Arc::new(SystemClock);
        Arc::new(DatabaseJournals::new(
            used.clone(),
            handle.clone(),
            clock,
            holder,
        ))
    };
    tokio::task::spawn_blocking(move || case(&place))
        .await
        .unwrap();
    db.close().await.unwrap();
}

/// The server all tests of this process share; it ends when the process does.
static SERVER: Mutex<Option<PrivatePostgres>> = Mutex::new(None);

fn server() -> Option<DbUrl> {
    if std::env::var("MISSION_TEST_SKIP_POSTGRES").is_ok_and(|skip| skip == "1") {
        return None;
    }
    if let Ok(given) = std::env::var("MISSION_TEST_POSTGRES") {
        return Some(given.parse().unwrap());
    }
    let mut shared = SERVER.lock();
    let server = match &mut *shared {
        Some(server) => server,
        empty => empty.insert(PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"))),
    };
    Some(server.url().clone())
}

async fn on_postgres(case: fn(suite::StoreOpener<'_>)) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Some(server) = tokio::task::block_in_place(server) else {
        return;
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("missiond_journal_{}_{number}", std::process::id());
    let url = create_database(&server, &name).await.unwrap();
    run(url, case).await;
    drop_database(&server, &name).await.unwrap();
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                let url = super::DbUrl::sqlite(folder.path().join("mission.db"));
                super::run(url, super::suite::$case).await;
            }
        )*}

        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::on_postgres(super::suite::$case).await;
            }
        )*}
    };
}

missiond_journal::for_each_journal_case!(cases);
