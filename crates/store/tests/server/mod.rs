//! The PostgreSQL server the tests use: the one `MISSION_TEST_POSTGRES` names,
//! else a private one. Without PostgreSQL the tests fail and say what to
//! install, unless `MISSION_TEST_SKIP_POSTGRES=1`.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::sync::atomic::{AtomicU32, Ordering};

use missiond_store::DbUrl;
use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use parking_lot::Mutex;

/// The server all tests of this process share. Nothing drops a static: the
/// server ends because the process does.
static SERVER: Mutex<Option<PrivatePostgres>> = Mutex::new(None);

fn server() -> Option<DbUrl> {
    if std::env::var("MISSION_TEST_SKIP_POSTGRES").is_ok_and(|skip| skip == "1") {
        return None;
    }
    if let Ok(given) = std::env::var("MISSION_TEST_POSTGRES") {
        let url = given.parse();
        return Some(url.unwrap_or_else(|error| panic!("MISSION_TEST_POSTGRES: {error}")));
    }
    let mut shared = SERVER.lock();
    let server = match &mut *shared {
        Some(server) => server,
        empty => empty.insert(PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"))),
    };
    Some(server.url().clone())
}

/// Runs a test on an empty database, which is removed when it passes.
pub(crate) async fn on_fresh_database(test: impl AsyncFnOnce(DbUrl)) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Some(server) = tokio::task::block_in_place(server) else {
        return;
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("missiond_test_{}_{number}", std::process::id());
    let url = create_database(&server, &name).await.unwrap();
    test(url).await;
    drop_database(&server, &name).await.unwrap();
}
