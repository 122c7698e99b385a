//! The store's promises on PostgreSQL: on the server `MISSION_TEST_POSTGRES`
//! names, else on a private one. Without PostgreSQL the tests fail and say
//! what to install, unless `MISSION_TEST_SKIP_POSTGRES=1`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use missiond_store::{DbUrl, suite};

/// The server all tests of this process share. Nothing drops a static: the
/// server ends because the process does.
static SERVER: Mutex<Option<PrivatePostgres>> = Mutex::new(None);

fn server() -> Option<DbUrl> {
    if std::env::var("MISSION_TEST_SKIP_POSTGRES").is_ok_and(|skip| skip == "1") {
        return None;
    }
    if let Ok(given) = std::env::var("MISSION_TEST_POSTGRES") {
        return Some(
            given
                .parse()
                .unwrap_or_else(|error| panic!("MISSION_TEST_POSTGRES: {error}")),
        );
    }
    let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match &mut *shared {
        Some(server) => server,
        empty => empty.insert(PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"))),
    };
    Some(server.url().clone())
}

/// A name no other test on the server uses.
fn database_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("missiond_test_{}_{number}", std::process::id())
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $case() {
            let Some(server) = tokio::task::block_in_place(server) else { return };
            let name = database_name();
            let url = create_database(&server, &name).await.unwrap();
            suite::$case(url).await;
            drop_database(&server, &name).await.unwrap();
        }
    )*};
}

missiond_store::for_each_store_case!(cases);
