//! A daemon that dies at any write of a journal: the next one goes on, and every
//! effect stands on the timeline once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use missiond_audit::AuditLog;
use missiond_config::TimelineConfig;
use missiond_core::{Clock, DaemonId, Event, ExecutionId, SlotId, SystemClock};
use missiond_journal::catalogue::{CompletedClaim, NeedsInput, Process, Signal, SignalType};
use missiond_journal::store::{Batch, OpenedJournal, Visitor};
use missiond_journal::suite::header;
use missiond_journal::{
    Confidence, FileStore, Head, Journal, JournalStore, JournalWriter, ObservationKey, Observed,
    Policy, Sequence, Source, StoreError,
};
use missiond_runtime::Supervisor;
use missiond_store::timeline::{self, TimelineFilter};
use missiond_store::{DbUrl, MissionDb};
use missiond_timeline::Timeline;
use missiond_timeline::metrics::Metrics;

use super::facts;
use super::run::{ObservationDraft, Run};

/// When the daemon dies, seen from the write it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    BeforeTheWrite,
    AfterTheWrite,
}

/// A store whose daemon dies at one of its commits.
#[derive(Debug)]
struct Cut {
    files: FileStore,
    at: usize,
    dies: Dies,
    commits: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct CutWriter {
    inner: Box<dyn JournalWriter>,
    at: usize,
    dies: Dies,
    commits: Arc<AtomicUsize>,
}

impl Cut {
    fn writer(&self, inner: Box<dyn JournalWriter>) -> Box<dyn JournalWriter> {
        Box::new(CutWriter {
            inner,
            at: self.at,
            dies: self.dies,
            commits: Arc::clone(&self.commits),
        })
    }
}

impl JournalStore for Cut {
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, StoreError> {
        Ok(self.writer(self.files.create(execution, first)?))
    }

    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, StoreError> {
        let opened = self.files.open(execution)?;
        Ok(OpenedJournal {
            writer: self.writer(opened.writer),
            recovery: opened.recovery,
        })
    }

    fn list(&self) -> Result<Vec<ExecutionId>, StoreError> {
        self.files.list()
    }

    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        self.files.scan(execution, after, visit)
    }

    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError> {
        self.files.anchor(execution)
    }
}

impl JournalWriter for CutWriter {
    fn head(&self) -> Head {
        self.inner.head()
    }

    fn commit(&mut self, batch: Batch<'_>) -> Result<(), StoreError> {
        let dead = || StoreError::Broken {
            detail: "the daemon is dead".to_owned(),
        };
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        if number > self.at || (number == self.at && self.dies == Dies::BeforeTheWrite) {
            return Err(dead());
        }
        self.inner.commit(batch)?;
        if number == self.at {
            Err(dead())
        } else {
            Ok(())
        }
    }

    fn replace(&mut self, segment: Batch<'_>) -> Result<(), StoreError> {
        self.inner.replace(segment)
    }
}

fn signal(key: &str, signal: impl Into<Signal>) -> ObservationDraft {
    ObservationDraft {
        key: ObservationKey::new(key).unwrap(),
        source: Source::McpTool,
        confidence: Confidence::High,
        observed: Observed::Signal(signal.into()),
    }
}

/// A run as its sources tell it; each tells again what was not acknowledged.
fn story() -> Vec<ObservationDraft> {
    vec![
        facts::of_process(Process::Started { pid: 7 }),
        signal(
            "asks",
            NeedsInput {
                question: "Which port?".try_into().unwrap(),
                choices: Default::default(),
            },
        ),
        signal(
            "claims",
            CompletedClaim {
                summary: "done".try_into().unwrap(),
                artifacts: Default::default(),
            },
        ),
        facts::of_process(Process::Exited {
            code: Some(0),
            signal: None,
        }),
    ]
}

/// Plays the story on a journal; whether the daemon lived to its end.
async fn play(run: Run) -> bool {
    let run = Arc::new(run);
    run.publish_recovered().await;
    let mut lived = true;
    for seen in story() {
        lived = run.observe(seen).await.is_ok();
        if !lived {
            break;
        }
    }
    // An effect that was told and not settled is due in the journal still.
    lived
        && run
            .journal()
            .peek(|state| state.due.is_empty())
            .unwrap_or(false)
}

async fn effects(db: &MissionDb) -> Vec<String> {
    let filter = TimelineFilter {
        limit: 1000,
        ..TimelineFilter::default()
    };
    let page = db
        .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
        .await
        .unwrap();
    let told = page.events.into_iter().filter_map(|told| match told.event {
        Event::InputRequested { question, .. } => Some(format!("asked {question}")),
        Event::ExecutionSignal {
            signal, outcome, ..
        } if outcome == "promoted" => Some(format!("claimed {signal}")),
        Event::ExecutionEnded { lifecycle, .. } => Some(format!("ended {lifecycle:?}")),
        _ => None,
    });
    told.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_at_any_write_tells_every_effect_once() {
    let claim = SignalType::CompletedClaim.name();
    let expected = [
        "asked Which port?".to_owned(),
        format!("claimed {claim}"),
        "ended Completed".to_owned(),
    ];
    for dies in [Dies::BeforeTheWrite, Dies::AfterTheWrite] {
        let mut deaths = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            let url = DbUrl::sqlite(folder.path().join("mission.db"));
            let db = MissionDb::open(&url).await.unwrap();
            let clock: Arc<dyn Clock> = Arc::new(SystemClock);
            let metrics = Arc::new(Metrics::default());
            let config = TimelineConfig::default();
            let daemon = DaemonId::generate();
            let timeline = Timeline::start(
                db.clone(),
                daemon,
                Arc::clone(&clock),
                metrics,
                &config,
                &Supervisor::standalone(),
            )
            .await
            .unwrap();
            let files = FileStore::open(&folder.path().join("journals")).unwrap();
            let policy = Arc::new(Policy::standard());
            let (execution, slot) = (ExecutionId::generate(), SlotId::generate());

            let dying = Arc::new(Cut {
                files: files.clone(),
                at: deaths,
                dies,
                commits: Arc::default(),
            });
            let created =
                Journal::create(dying, Arc::clone(&policy), clock.now(), header(execution));
            let supervisor = Supervisor::standalone();
            let (audit, _) = AuditLog::open(
                &folder.path().join("audit"),
                &folder.path().join("identity"),
                Arc::clone(&clock),
            )
            .unwrap();
            let run = Run::new(
                slot,
                created.unwrap(),
                timeline.clone(),
                Arc::clone(&clock),
                supervisor.clone(),
                audit.clone(),
            );
            let lived = play(run.unwrap().0).await;

            let (journal, _) = Journal::open(Arc::new(files), policy, execution).unwrap();
            let run = Run::new(slot, journal, timeline, clock, supervisor, audit);
            let run = run.unwrap().0;
            assert!(play(run).await, "the next daemon goes on");
            assert_eq!(effects(&db).await, expected, "{dies:?} {deaths}");
            if lived {
                break;
            }
            deaths += 1;
        }
        assert!(
            deaths > 6,
            "observations and settlements are all cut: {deaths}"
        );
    }
}
