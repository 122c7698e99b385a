//! A PostgreSQL database of a test's own, for daemons that share one.

use std::sync::atomic::{AtomicU32, Ordering};

use missiond_store::private_postgres::{PrivatePostgres, create_database, drop_database};
use missiond_store::{DbUrl, StoreError};

use crate::harness::TestHome;

/// A database on the server of the test run, or on one just for it.
pub(crate) struct SharedDatabase {
    server: DbUrl,
    name: String,
    url: DbUrl,
    _private: Option<PrivatePostgres>,
}

impl SharedDatabase {
    /// `None` when the person asked for no tests on PostgreSQL.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if std::env::var_os("MISSION_TEST_SKIP_POSTGRES").is_some() {
            eprintln!("skipped: MISSION_TEST_SKIP_POSTGRES is set");
            return None;
        }
        let (server, private) = match std::env::var("MISSION_TEST_POSTGRES") {
            Ok(url) => (url.parse().unwrap(), None),
            Err(_) => {
                let private = PrivatePostgres::start().unwrap_or_else(|error| panic!("{error}"));
                (private.url().clone(), Some(private))
            }
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fleet_{}_{number}", std::process::id());
        let url = block_on(create_database(&server, &name)).unwrap();
        Some(Self {
            server,
            name,
            url,
            _private: private,
        })
    }

    /// The part of a configuration that names it.
    pub(crate) fn config(&self) -> String {
        // The server of a test has no password, so the shown form is the whole.
        format!("[database]\nurl = \"{}\"\n", self.url)
    }

    /// A home that keeps its data there, with this besides in its configuration.
    pub(crate) fn home(&self, more: &str) -> TestHome {
        TestHome::with_config(&format!("{}{more}", self.config()))
    }

    /// A home with a running daemon.
    pub(crate) fn daemon(&self) -> TestHome {
        let home = self.home("");
        home.start();
        home
    }

    /// Changes the database behind the back of the daemons.
    pub(crate) fn execute(&self, sql: &'static str) -> u64 {
        let url = self.url.clone();
        block_on(async move {
            let db = missiond_store::MissionDb::open(&url).await?;
            let changed = db
                .write(move |tx| Box::pin(async move { tx.execute(sql, &[]).await }))
                .await?;
            db.close().await?;
            Ok(changed)
        })
        .unwrap()
    }
}

impl Drop for SharedDatabase {
    fn drop(&mut self) {
        let _ = block_on(drop_database(&self.server, &self.name));
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}
