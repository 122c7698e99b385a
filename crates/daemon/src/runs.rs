//! The runs of daemons on record: that this one lives, and that others died.
//!
//! On SQLite the instance lock proves that every other run is over. On a shared
//! database a run is dead when it has not been heard of for a while, or when it
//! was the last one in this very home: its lock is ours now. That a run was
//! found dead and the event that says so are one transaction.

use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Clock, DaemonId, DaemonRun, Event, Timestamp, TraceContext};
use missiond_operations::VERSION;
use missiond_store::daemon_state::{self, CrashMark};
use missiond_store::timeline::{self, NewEvent};
use missiond_store::{Engine, MissionDb, StoreError, Tx};

const HEARTBEAT: Duration = Duration::from_secs(30);

/// Three beats missed in a row.
const SILENCE: Duration = Duration::from_secs(100);

/// Who looks for the dead, and when.
#[derive(Clone)]
struct Witness {
    id: DaemonId,
    engine: Engine,
    now: Timestamp,
    trace: TraceContext,
}

/// The run of this daemon, and where it is on record.
#[derive(Debug, Clone)]
pub(crate) struct ThisRun {
    pub(crate) id: DaemonId,
    pub(crate) host: String,
    pub(crate) db: MissionDb,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ThisRun {
    /// Puts this run on record and finds those that died. `crashed` is the run
    /// before it in this home, if it did not close.
    pub(crate) async fn begin(
        &self,
        crashed: Option<DaemonId>,
        trace: TraceContext,
    ) -> Result<(), StoreError> {
        let run = DaemonRun {
            id: self.id,
            host: self.host.clone(),
            pid: std::process::id(),
            version: VERSION.to_owned(),
            started_at: self.clock.now(),
            ended_at: None,
            end: None,
        };
        let witness = Witness {
            id: self.id,
            engine: self.db.engine(),
            now: self.clock.now(),
            trace,
        };
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    daemon_state::begin_run(tx, &run).await?;
                    let mut dead = find_dead(tx, &witness).await?;
                    if let Some(id) = crashed
                        && !dead.iter().any(|run| run.id == id)
                        && let Some(run) = daemon_state::get(tx, id).await?
                    {
                        dead.push(run);
                    }
                    record_dead(tx, &witness, dead).await
                })
            })
            .await
    }

    /// Says again and again that this run lives, and looks for those that do not.
    pub(crate) async fn run_heartbeat(self) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            let witness = Witness {
                id: self.id,
                engine: self.db.engine(),
                now: self.clock.now(),
                trace: TraceContext::root(),
            };
            let stored = self.db.write(move |tx| {
                Box::pin(async move {
                    daemon_state::heartbeat(tx, witness.id, witness.now).await?;
                    let dead = find_dead(tx, &witness).await?;
                    record_dead(tx, &witness, dead).await
                })
            });
            if let Err(error) = stored.await {
                tracing::warn!(%error, "heartbeat not stored");
            }
        }
    }

    /// This run has closed.
    pub(crate) async fn end(&self) -> Result<(), StoreError> {
        let (id, now) = (self.id, self.clock.now());
        self.db
            .write(move |tx| Box::pin(daemon_state::end_run(tx, id, now)))
            .await
    }
}

async fn find_dead(tx: &mut Tx<'_>, witness: &Witness) -> Result<Vec<DaemonRun>, StoreError> {
    let since = match witness.engine {
        // Later than any heartbeat: nobody else can be alive.
        Engine::Sqlite => Timestamp::from_micros(i64::MAX),
        Engine::Postgres => witness.now.minus(SILENCE),
    };
    let mut silent = daemon_state::silent_since(tx, since).await?;
    silent.retain(|run| run.id != witness.id);
    Ok(silent)
}

async fn record_dead(
    tx: &mut Tx<'_>,
    witness: &Witness,
    dead: Vec<DaemonRun>,
) -> Result<(), StoreError> {
    let mut events = Vec::new();
    for run in dead {
        if daemon_state::mark_crashed(tx, run.id, witness.now).await? == CrashMark::New {
            let (pid, host) = (run.pid, &run.host);
            tracing::warn!(pid, host, "earlier daemon ended without closing");
            let found = Event::DaemonCrashFound {
                run: run.id,
                host: run.host,
                pid: run.pid,
            };
            let trace = witness.trace.child();
            events.push(NewEvent::new(witness.now, witness.id, trace, found)?);
        }
    }
    timeline::append(tx, &events).await.map(drop)
}
