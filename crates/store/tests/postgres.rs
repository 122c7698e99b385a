//! The store's promises on PostgreSQL.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

mod server;

use missiond_store::suite;

macro_rules! cases {
    ($($case:ident),* $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $case() {
            server::on_fresh_database(suite::$case).await;
        }
    )*};
}

missiond_store::for_each_store_case!(cases);
