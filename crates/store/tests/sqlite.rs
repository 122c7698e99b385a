//! The store's promises on SQLite.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use missiond_store::{DbUrl, suite};

macro_rules! cases {
    ($($case:ident),* $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $case() {
            let folder = tempfile::tempdir().unwrap();
            suite::$case(DbUrl::sqlite(folder.path().join("mission.db"))).await;
        }
    )*};
}

missiond_store::for_each_store_case!(cases);
