//! How a daemon comes up and goes down.
//!
//! Up in six phases, each using only what stands before it; down in the
//! opposite order. The instance lock is taken first and let go last, so two
//! daemons never touch the same home, not even while one of them closes.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use missiond_api::Home;
use missiond_core::{Clock, DaemonId, ErrorCode, Event, SystemClock, TraceContext};
#[cfg(unix)]
use missiond_journal::FileStore;
use missiond_store::{DbUrl, MissionDb, StoreError};
use tokio::sync::watch;

use crate::activity::Activity;
#[cfg(unix)]
use crate::autopilot::Autopilot;
use crate::board::Board;
use crate::code::CodeMaps;
#[cfg(unix)]
use crate::commander::Changes;
use crate::config::{Config, ConfigError};
#[cfg(unix)]
use crate::context::{self, ContextPipeline};
#[cfg(unix)]
use crate::conversations::Conversations;
#[cfg(unix)]
use crate::database_journal::{DatabaseJournals, Holder};
#[cfg(unix)]
use crate::executions::{ExecutionError, Executions};
use crate::http_access::HttpAccess;
use crate::incidents::IncidentRecorder;
use crate::instance::{Instance, InstanceError};
#[cfg(unix)]
use crate::journals::HomeJournals;
use crate::knowledge::Knowledge;
use crate::logging::Logging;
use crate::metrics::Metrics;
#[cfg(unix)]
use crate::notifications::Notifications;
use crate::operations::Operations;
#[cfg(unix)]
use crate::permissions::{self, Permissions};
#[cfg(unix)]
use crate::questions::{QuestionError, Questions};
use crate::runs;
use crate::sampler;
use crate::shutdown::{Shutdown, Stage};
use crate::signals::Signals;
#[cfg(unix)]
use crate::slots::{Slots, SlotsError};
use crate::state::{Daemon, DaemonState, VERSION};
use crate::timeline::{Consumers, Timeline, TimelineError};
#[cfg(unix)]
use crate::toolhub::Toolhub;
use crate::transport::http::{HttpError, HttpServer};
use crate::transport::ipc::{IpcError, IpcServer};
use crate::transport::otlp;

/// From the request to stop until the process is gone, whatever hangs.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Why a daemon did not come up. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot write the log {path}: {source}")]
    Log { path: String, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    #[error(transparent)]
    Ipc(#[from] IpcError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[cfg(unix)]
    #[error(transparent)]
    Slots(#[from] SlotsError),
    #[cfg(unix)]
    #[error(transparent)]
    Executions(#[from] ExecutionError),
    #[cfg(unix)]
    #[error(transparent)]
    Questions(#[from] QuestionError),
    #[cfg(unix)]
    #[error("cannot find the program of this process: {0}")]
    Toolhub(io::Error),
    #[error("what the HTTP server keeps cannot be used: {0}")]
    HttpAccess(io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
}

impl StartError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Instance(InstanceError::AlreadyRunning { .. }) => ErrorCode::Conflict,
            Self::Instance(_) | Self::Log { .. } | Self::HttpAccess(_) => {
                ErrorCode::StorageUnavailable
            }
            Self::Config(_) | Self::Http(_) => ErrorCode::InvalidConfig,
            Self::Store(error) => error.code(),
            Self::Timeline(error) => error.code(),
            #[cfg(unix)]
            Self::Slots(error) => error.code(),
            #[cfg(unix)]
            Self::Executions(error) => error.code(),
            #[cfg(unix)]
            Self::Questions(error) => error.code(),
            #[cfg(unix)]
            Self::Toolhub(_) => ErrorCode::Internal,
            Self::Ipc(_) | Self::Signals(_) => ErrorCode::Internal,
        }
    }
}

/// What a daemon says when it answers.
#[derive(Debug, Clone)]
pub struct Ready {
    pub pid: u32,
    pub http: Option<SocketAddr>,
}

/// Runs a daemon for this home until it is asked to stop. `ready` is called
/// once it answers.
pub async fn run(home: Home, ready: impl FnOnce(&Ready)) -> Result<(), StartError> {
    let instance = Instance::acquire(&home)?;
    let config = Config::load(&home.config_file())?;
    let logging = start_log(&home, &config)?;
    // Whoever started this is told too, but may not be a person.
    let told = |error: &StartError| tracing::error!(%error, "the daemon did not start");
    let daemon = infrastructure(home, instance.id, config, logging)
        .await
        .inspect_err(told)?;
    core_modules(&daemon, instance.crashed)
        .await
        .inspect_err(told)?;
    let exporter = gateways(&daemon);
    let operations = pipelines(&daemon);
    let working = workers(&daemon).await.inspect_err(told)?;
    let signals = Signals::register()
        .map_err(StartError::Signals)
        .inspect_err(told)?;
    let served = engines(&daemon, operations).await.inspect_err(told)?;

    let signals = tokio::spawn(signals.obey(Arc::clone(&daemon)));
    tracing::info!(version = VERSION, pid = std::process::id(), "ready");
    ready(&Ready {
        pid: std::process::id(),
        http: daemon.http_address(),
    });

    daemon.shutdown.reached(Stage::Draining).await;
    tracing::info!(reason = daemon.shutdown.reason(), "stopping");
    let watched = Arc::clone(&daemon);
    std::thread::spawn(move || {
        std::thread::sleep(STOP_LIMIT);
        tracing::error!(
            "closing took longer than {} s: ending now",
            STOP_LIMIT.as_secs()
        );
        watched.end_process(1);
    });
    let drain = Duration::from_secs(daemon.config().daemon.drain_secs);
    if tokio::time::timeout(drain, served.drained()).await.is_err() {
        tracing::warn!("requests were still under way after {} s", drain.as_secs());
    }
    daemon.shutdown.close();

    for worker in working {
        worker.abort();
    }
    stop_workers(&daemon).await;
    let closed = close(&daemon).await;
    if let Some(exporter) = exporter {
        let _ = exporter.await;
    }
    signals.abort();
    let _ = std::fs::remove_file(daemon.home.socket());
    match &closed {
        Ok(()) => tracing::info!("stopped"),
        Err(error) => tracing::error!(%error, "stopped, but the database could not be closed"),
    }
    // Whoever waits for the lock may read the log next, or write to it.
    daemon.logging.finish();
    drop(instance);
    closed
}

fn start_log(home: &Home, config: &Config) -> Result<Logging, StartError> {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let file = home.log_file();
    Logging::start(&file, &config.log).map_err(|source| StartError::Log {
        path: file.display().to_string(),
        source,
    })
}

/// Phase 1: configuration and log, database, timeline.
async fn infrastructure(
    home: Home,
    id: DaemonId,
    config: Config,
    logging: Logging,
) -> Result<Daemon, StartError> {
    let db_url = database_url(&config, &home)?;
    let db = MissionDb::open(&db_url).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let metrics = Arc::new(Metrics::default());
    let timeline = Timeline::start(
        db.clone(),
        id,
        Arc::clone(&clock),
        Arc::clone(&metrics),
        &config.timeline,
    )
    .await?;
    let board = Arc::new(Board::new(
        &home,
        id,
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
    ));
    let config = watch::Sender::new(Arc::new(config));
    let knowledge = Knowledge::new(
        &home,
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        config.borrow().knowledge.clone(),
    );
    let code = Arc::new(CodeMaps::new(
        host_name(),
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        config.borrow().knowledge.code.then(|| knowledge.clone()),
    ));
    #[cfg(unix)]
    let slots = Arc::new(Slots::new(
        &home,
        id,
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        config.subscribe(),
    )?);
    #[cfg(unix)]
    let journals = HomeJournals::new(
        FileStore::open(&home.journals_dir()).map_err(ExecutionError::from)?,
        DatabaseJournals::new(
            db.clone(),
            tokio::runtime::Handle::current(),
            Arc::clone(&clock),
            Holder::new(home_name(&home), id.to_string()),
        ),
        config.borrow().journal.store,
        db_url.to_string(),
    );
    #[cfg(unix)]
    let executions = Arc::new(Executions::new(
        &home,
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        Arc::clone(&slots),
        journals,
    ));
    #[cfg(unix)]
    let conversations = Conversations::new(
        host_name(),
        id,
        db.clone(),
        Arc::clone(&clock),
        config.subscribe(),
    );
    #[cfg(unix)]
    let context = ContextPipeline::new(context::Parts {
        db: db.clone(),
        clock: Arc::clone(&clock),
        config: config.subscribe(),
        knowledge: knowledge.clone(),
        conversations: conversations.clone(),
        code: Arc::clone(&code),
        slots: Arc::clone(&slots),
        executions: Arc::clone(&executions),
    });
    #[cfg(unix)]
    let questions = Arc::new(Questions::new(
        id,
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        Arc::clone(&slots),
        Arc::clone(&executions),
    ));
    #[cfg(unix)]
    let permissions = Arc::new(Permissions::new(permissions::Parts {
        home: home.clone(),
        db: db.clone(),
        timeline: timeline.clone(),
        clock: Arc::clone(&clock),
        config: config.subscribe(),
        slots: Arc::clone(&slots),
        executions: Arc::clone(&executions),
        questions: Arc::clone(&questions),
    }));
    #[cfg(unix)]
    let notifications = Arc::new(Notifications::new(
        db.clone(),
        timeline.clone(),
        Arc::clone(&clock),
        config.subscribe(),
    ));
    #[cfg(unix)]
    let toolhub = Toolhub::new(&home, &timeline, &metrics).map_err(StartError::Toolhub)?;
    let http_access =
        HttpAccess::new(&home, db.clone(), Arc::clone(&clock)).map_err(StartError::HttpAccess)?;
    Ok(Arc::new(DaemonState {
        id,
        host: host_name(),
        started_at: clock.now(),
        clock,
        config,
        logging,
        metrics,
        db_url,
        db,
        timeline,
        board,
        code,
        knowledge,
        #[cfg(unix)]
        conversations,
        #[cfg(unix)]
        slots,
        #[cfg(unix)]
        executions,
        #[cfg(unix)]
        context,
        #[cfg(unix)]
        autopilot: Autopilot::default(),
        #[cfg(unix)]
        questions,
        #[cfg(unix)]
        permissions,
        #[cfg(unix)]
        notifications,
        #[cfg(unix)]
        commander: Default::default(),
        #[cfg(unix)]
        toolhub,
        http_access,
        consumers: Mutex::new(None),
        http: Mutex::new(None),
        shutdown: Shutdown::default(),
        home,
    }))
}

/// Phase 2: this run is on record, and earlier ones that died are found.
async fn core_modules(daemon: &Daemon, crashed: Option<DaemonId>) -> Result<(), StartError> {
    let trace = TraceContext::root();
    runs::begin(daemon, crashed, trace).await?;
    let started = Event::DaemonStarted {
        host: daemon.host.clone(),
        pid: std::process::id(),
        version: VERSION.to_owned(),
    };
    daemon.timeline.record(started, trace).await?;
    Ok(())
}

/// Phase 3: what the daemon reaches out to.
fn gateways(daemon: &Daemon) -> Option<tokio::task::JoinHandle<()>> {
    let config = daemon.config().otlp.clone();
    (!config.endpoint.is_empty()).then(|| tokio::spawn(otlp::run(Arc::clone(daemon), config)))
}

/// Phase 4: what turns a request into work.
fn pipelines(daemon: &Daemon) -> Arc<Operations> {
    Operations::new(Arc::clone(daemon))
}

/// Phase 5: what works without being asked.
async fn workers(daemon: &Daemon) -> Result<Vec<tokio::task::JoinHandle<()>>, StartError> {
    let consumers = Consumers::start(
        &daemon.timeline,
        vec![Arc::new(Activity), Arc::new(IncidentRecorder)],
    )
    .await?;
    *daemon
        .consumers
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(consumers);
    #[cfg(unix)]
    daemon.slots.find_again().await?;
    #[cfg(unix)]
    daemon.executions.find_again().await?;
    #[cfg(unix)]
    daemon.questions.start().await?;
    #[cfg(unix)]
    daemon.permissions.start().await?;
    #[cfg(unix)]
    daemon.notifications.start();
    #[cfg(unix)]
    daemon.slots.tend(daemon);
    #[cfg(unix)]
    daemon.autopilot.start(daemon);
    #[cfg(unix)]
    Changes::start(daemon);
    Ok(vec![
        daemon.knowledge.start(),
        #[cfg(unix)]
        daemon.conversations.start(),
        runs::start_beating(daemon),
        sampler::start(daemon),
    ])
}

/// The listeners, each in its own task.
struct Served {
    ipc: tokio::task::JoinHandle<()>,
    http: Option<tokio::task::JoinHandle<()>>,
}

impl Served {
    /// Returns when nothing is under way any more.
    async fn drained(self) {
        let _ = self.ipc.await;
        if let Some(http) = self.http {
            let _ = http.await;
        }
    }
}

/// Phase 6: the ways in, opened last.
async fn engines(daemon: &Daemon, operations: Arc<Operations>) -> Result<Served, StartError> {
    let config = daemon.config();
    let http = if config.http.enabled {
        let server = HttpServer::bind(&config.http, &daemon.home).await?;
        *daemon.http.lock().unwrap_or_else(PoisonError::into_inner) = server.address().ok();
        let operations = Arc::clone(&operations);
        Some(tokio::spawn(server.serve(Arc::clone(daemon), operations)))
    } else {
        None
    };
    let server = IpcServer::bind(&daemon.home)?;
    let ipc = tokio::spawn(server.serve(Arc::clone(daemon), operations));
    Ok(Served { ipc, http })
}

async fn stop_workers(daemon: &Daemon) {
    daemon.code.let_go().await;
    #[cfg(unix)]
    daemon.autopilot.let_go().await;
    #[cfg(unix)]
    daemon.notifications.let_go().await;
    #[cfg(unix)]
    daemon.permissions.let_go().await;
    #[cfg(unix)]
    daemon.questions.let_go().await;
    #[cfg(unix)]
    daemon.toolhub.hub.stop().await;
    #[cfg(unix)]
    daemon.executions.let_go().await;
    #[cfg(unix)]
    daemon.slots.let_go().await;
    let consumers = daemon
        .consumers
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(mut consumers) = consumers {
        consumers.stop().await;
    }
}

async fn close(daemon: &Daemon) -> Result<(), StartError> {
    let stopped = Event::DaemonStopped {
        reason: daemon.shutdown.reason(),
    };
    if let Err(error) = daemon.timeline.record(stopped, TraceContext::root()).await {
        tracing::error!(%error, "the stop is not on the timeline");
    }
    let ended = runs::end(daemon).await;
    let closed = daemon.db.clone().close().await;
    Ok(ended.and(closed)?)
}

/// Where this configuration keeps its data.
pub fn database_url(config: &Config, home: &Home) -> Result<DbUrl, StoreError> {
    if config.database.url.is_empty() {
        Ok(DbUrl::sqlite(home.database()))
    } else {
        config.database.url.parse()
    }
}

/// This home among all that share a database, whichever run of its daemon it is.
#[cfg(unix)]
fn home_name(home: &Home) -> String {
    format!("{}:{}", host_name(), home.data_dir().display())
}

fn host_name() -> String {
    #[cfg(unix)]
    {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }
    #[cfg(not(unix))]
    {
        std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this host".to_owned())
    }
}
