//! Daemons in miniature: a database, its timeline, its consumers and workers, all of which
//! can be let go at once, or be a process that is killed.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use missiond_cognition::{BackgroundWorker, Cognition, Parts};
use missiond_config::TimelineConfig;
use missiond_core::{DaemonId, Event, Seq, SystemClock, TraceContext};
use missiond_runtime::{Component, Shutdown, Supervisor};
use missiond_store::{DbUrl, MissionDb, StoreError, Tx, watermarks};
use missiond_timeline::metrics::Metrics;
use missiond_timeline::{Consumers, Timeline};

/// How long a test waits for what must come; only a defect takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) struct Daemon {
    pub(crate) db: MissionDb,
    pub(crate) timeline: Timeline,
    pub(crate) cognition: Arc<Cognition>,
    consumers: Consumers,
}

impl Daemon {
    pub(crate) async fn start(
        url: &DbUrl,
        home: &str,
        lease: Duration,
        workers: impl FnOnce(&MissionDb) -> Vec<Arc<dyn BackgroundWorker>>,
    ) -> Self {
        let db = MissionDb::open(url).await.unwrap();
        let (supervisor, _) = Supervisor::new(Shutdown::default());
        let daemon = DaemonId::generate();
        let clock = Arc::new(SystemClock);
        let config = TimelineConfig::default();
        let timeline = Timeline::start(
            db.clone(),
            daemon,
            Arc::clone(&clock) as _,
            Arc::new(Metrics::default()),
            &config,
            &supervisor,
        );
        let timeline = timeline.await.unwrap();
        let parts = Parts {
            daemon,
            home: home.to_owned(),
            db: db.clone(),
            timeline: timeline.clone(),
            clock,
            supervisor: supervisor.clone(),
        };
        let cognition = Arc::new(Cognition::with_lease(parts, workers(&db), lease));
        let consumers = Consumers::start(&timeline, cognition.consumers(), &supervisor);
        let consumers = consumers.await.unwrap();
        Arc::clone(&cognition).start().await.unwrap();
        Self {
            db,
            timeline,
            cognition,
            consumers,
        }
    }

    /// In order, as a daemon that is asked to.
    pub(crate) async fn stop(mut self) {
        self.cognition.stop().await;
        self.consumers.stop().await;
        drop(self.timeline);
        self.db.close().await.unwrap();
    }

    /// Says so many things that workers of the tests want to hear; where the last of them
    /// is stored.
    pub(crate) async fn tell(&self, texts: impl IntoIterator<Item = String>) -> Seq {
        let told = texts.into_iter().map(|text| {
            let author = "test".to_owned();
            let event = Event::NoteAdded { text, author };
            self.timeline.record(event, TraceContext::root())
        });
        let recorded = futures::future::join_all(told).await.into_iter();
        recorded
            .filter_map(|event| event.unwrap().seq)
            .max()
            .unwrap_or_default()
    }

    /// Waits until what is stored up to there is queued, which is a moment after it was told.
    pub(crate) async fn queued(&self, cursor: &'static str, told: Seq) {
        until("what was told is queued", async || {
            let at = self
                .db
                .read(move |tx| Box::pin(watermarks::get(tx, cursor)))
                .await;
            at.unwrap() >= Some(told)
        })
        .await;
    }
}

/// What a unit of a test brings about: a row of its own each time.
pub(crate) async fn leave_effect(tx: &mut Tx<'_>, subject: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO effects (subject) VALUES ($1)";
    tx.execute(sql, &[subject.into()]).await.map(drop)
}

pub(crate) async fn prepare_effects(url: &DbUrl) {
    let db = MissionDb::open(url).await.unwrap();
    let create = db.write(|tx| {
        Box::pin(async move {
            let sql = "CREATE TABLE effects (subject text NOT NULL)";
            tx.execute(sql, &[]).await
        })
    });
    create.await.unwrap();
    db.close().await.unwrap();
}

/// Every effect there is, in order.
pub(crate) async fn effects(db: &MissionDb) -> Vec<String> {
    let read = db.read(|tx| {
        Box::pin(async move {
            let sql = "SELECT subject FROM effects ORDER BY subject";
            let rows = tx.query(sql, &[]).await?;
            rows.iter().map(|row| row.get::<String>(0)).collect()
        })
    });
    read.await.unwrap()
}

/// Runs an ignored test of its file in a process of its own, which can be killed.
pub(crate) fn life(test: &str, url: &DbUrl, folder: &std::path::Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let args = [
        "--exact",
        test,
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ];
    let mut command = Command::new(program);
    command
        .args(args)
        .env("MISSION_TEST_LIFE", folder)
        .env("MISSION_TEST_DATABASE", url.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The database of the test that began this life; none where nobody did.
pub(crate) fn database_of_life() -> Option<DbUrl> {
    std::env::var_os("MISSION_TEST_LIFE")?;
    std::env::var("MISSION_TEST_DATABASE").ok()?.parse().ok()
}

/// Waits until something is so, and fails when it never is.
pub(crate) async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let began = std::time::Instant::now();
    while !so().await {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
