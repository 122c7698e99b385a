//! How a daemon comes up and goes down.
//!
//! Up in six phases, each using only what stands before it; down in the
//! opposite order. The instance lock is taken first and let go last, so two
//! daemons never touch the same home, not even while one of them closes.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use missiond_api::Home;
use missiond_attention::network::Network;
use missiond_attention::notifications::Notifications;
use missiond_attention::permissions::{self, Permissions};
use missiond_attention::questions::Questions;
use missiond_audit::AuditLog;
use missiond_audit::anchors::{Anchors, home_name as home_name_in};
use missiond_audit::timeline::AuditedTimeline;
use missiond_autopilot::board::Board;
use missiond_autopilot::worktrees::Worktrees;
use missiond_autopilot::{self as autopilot, Autopilot};
use missiond_briefing::{self as briefing, ContextPipeline};
use missiond_config::policy_files::PolicyFiles;
use missiond_config::{Config, ConfigError, LogConfig, changes};
use missiond_core::{Clock, DaemonId, ErrorCode, Event, SystemClock, TraceContext};
use missiond_egress::Egress;
use missiond_executions::database_journal::{DatabaseJournals, Holder};
use missiond_executions::journals::HomeJournals;
use missiond_executions::{self as executions, ExecutionError, Executions};
use missiond_journal::FileStore;
use missiond_llm::Llm;
use missiond_log::Logging;
use missiond_memory::code::CodeMaps;
use missiond_memory::conversations::Conversations;
use missiond_memory::knowledge::Knowledge;
use missiond_operations::http_access::HttpAccess;
use missiond_operations::settings::Settings;
use missiond_operations::state::{Daemon, DaemonState, VERSION};
use missiond_operations::toolhub::{self, Toolhub};
use missiond_operations::{known_secrets, operations, sampler};
use missiond_os::files::{ClosedTo, use_own_dir};
use missiond_pty::host::slot_around;
use missiond_runtime::{Component, OnPanic, Shutdown, Stage, Supervisor};
use missiond_server::commander::Changes;
use missiond_server::http::{HttpError, HttpServer};
use missiond_server::ipc::{IpcError, IpcServer, remove_socket};
use missiond_server::otlp;
use missiond_slots::{Slots, SlotsError};
use missiond_store::{DbUrl, MissionDb, StoreError};
use missiond_timeline::activity::Activity;
use missiond_timeline::incidents::IncidentRecorder;
use missiond_timeline::metrics::Metrics;
use missiond_timeline::{Consumers, Timeline, TimelineError};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::audit;
use crate::failures;
use crate::instance::{Instance, InstanceError};
use crate::runs::ThisRun;
use crate::signals::Signals;

/// From the request to stop until the process is gone, whatever hangs.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Why a daemon did not come up. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the daemon is switched off: `daemon.enabled` is false in {file}")]
    Disabled { file: String },
    #[error("cannot write the log {path}: {source}")]
    Log { path: String, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    #[error(transparent)]
    Slots(#[from] SlotsError),
    #[error(transparent)]
    Executions(#[from] ExecutionError),
    #[error(transparent)]
    Component(#[from] missiond_runtime::StartError),
    #[error(transparent)]
    Ipc(#[from] IpcError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("cannot find the program of this process: {0}")]
    Toolhub(io::Error),
    #[error("what the HTTP server keeps cannot be used: {0}")]
    HttpAccess(io::Error),
    #[error("the audit cannot be written, and without it nothing is done: {0}")]
    Audit(io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
    #[error(
        "this is the slot {0}, and what a program of a slot starts is not let to the terminals of \
         slots: start the daemon outside every slot"
    )]
    InSlot(String),
}

impl StartError {
    /// The configuration of this home wants no daemon.
    #[must_use]
    pub fn disabled(home: &Home) -> Self {
        let file = home.config_file().display().to_string();
        Self::Disabled { file }
    }

    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Instance(InstanceError::AlreadyRunning { .. }) => ErrorCode::Conflict,
            Self::Instance(_) | Self::Log { .. } | Self::HttpAccess(_) | Self::Audit(_) => {
                ErrorCode::StorageUnavailable
            }
            Self::Config(_)
            | Self::Disabled { .. }
            | Self::Http(_)
            | Self::Ipc(IpcError::Home(_) | IpcError::Folder { .. } | IpcError::Taken { .. }) => {
                ErrorCode::InvalidConfig
            }
            Self::Store(error) => error.code(),
            Self::Timeline(error) => error.code(),
            Self::Slots(error) => error.code(),
            Self::Executions(error) => error.code(),
            Self::Component(error) => error.code,
            Self::InSlot(_) => ErrorCode::Forbidden,
            Self::Toolhub(_) | Self::Ipc(_) | Self::Signals(_) => ErrorCode::Internal,
        }
    }

    /// Where a value of the configuration is the reason: which it is, and how a person
    /// gets rid of it without a daemon.
    #[must_use]
    pub fn way_out(&self, home: &Home) -> Option<String> {
        let key = match self {
            Self::Config(error) => error.key()?,
            Self::Disabled { .. } => "daemon.enabled",
            Self::Log { .. } => "log.directory",
            Self::Http(_) => "http.listen",
            Self::Ipc(_) => "ipc.socket_path",
            Self::Store(
                StoreError::BadUrl { .. }
                | StoreError::MissingDirectory { .. }
                | StoreError::NotADatabase { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::Unavailable { .. },
            ) => "database.url",
            _ => return None,
        };
        changes::way_out(home, key)
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
    if let Some(around) = slot_around(&home.slots_dir()) {
        return Err(StartError::InSlot(around.name));
    }
    let instance = Instance::acquire(&home)?;
    let config = Config::load(&home.config_file());
    // A file that cannot be used says nothing of the log either.
    let log = config.as_ref().map(|config| config.log.clone());
    let log = log.unwrap_or_default();
    let home = log.place(home);
    let logging = start_log(&home, &log)?;
    let started = match config {
        Ok(config) if !config.daemon.enabled => Err(StartError::disabled(&home)),
        Ok(config) => start(home.clone(), &instance, config, logging.clone()).await,
        Err(error) => Err(error.into()),
    };
    let Started {
        daemon,
        run,
        working,
        signals,
        mut engines,
        of_timeline,
    } = match started {
        Ok(started) => started,
        Err(error) => {
            // Whoever started this is told too, but may not be a person.
            let way_out = error.way_out(&home);
            tracing::error!(%error, way_out, "daemon start failed");
            logging.finish();
            return Err(error);
        }
    };

    let supervisor = daemon.supervisor.clone();
    let signals = supervisor.spawn(
        "signals",
        None,
        OnPanic::Shutdown,
        signals.handle(Arc::clone(&daemon)),
    );
    tracing::info!(version = VERSION, pid = std::process::id(), "daemon ready");
    ready(&Ready {
        pid: std::process::id(),
        http: daemon.http_address(),
    });

    daemon.shutdown.reached(Stage::Draining).await;
    tracing::info!(reason = daemon.shutdown.reason(), "daemon stopping");
    let watched = Arc::clone(&daemon);
    std::thread::spawn(move || {
        std::thread::sleep(STOP_LIMIT);
        tracing::error!(
            "daemon close took longer than {} s: ending now",
            STOP_LIMIT.as_secs()
        );
        watched.end_process(1);
    });
    let drain = Duration::from_secs(daemon.config().daemon.drain_secs);
    if tokio::time::timeout(drain, engines.drained())
        .await
        .is_err()
    {
        tracing::warn!("requests still running after {} s", drain.as_secs());
    }
    daemon.shutdown.close();

    working.stop(&daemon).await;
    let closed = close(&daemon, &run, &of_timeline).await;
    if let Some(exporter) = engines.exporter {
        let _ = exporter.await;
    }
    signals.abort();
    remove_socket(&daemon.home);
    match &closed {
        Ok(()) => tracing::info!("daemon stopped"),
        Err(error) => {
            tracing::error!(%error, "daemon stopped, but the database could not be closed");
        }
    }
    // Whoever waits for the lock may read the log next, or write to it.
    logging.finish();
    drop(instance);
    closed
}

/// A daemon that came up.
struct Started {
    daemon: Daemon,
    run: ThisRun,
    working: Working,
    signals: Signals,
    engines: Engines,
    of_timeline: AuditedTimeline,
}

/// The six phases.
async fn start(
    home: Home,
    instance: &Instance,
    config: Config,
    logging: Logging,
) -> Result<Started, StartError> {
    let base = infrastructure(home, instance.id, config, logging).await?;
    let run = core_modules(&base, instance.crashed).await?;
    let started = go_on(base, run.clone()).await;
    if started.is_err() {
        // It was refused, and did not crash.
        if let Err(error) = run.end().await {
            tracing::warn!(%error, "end of refused start not stored");
        }
    }
    started
}

/// The phases after this run is on record.
async fn go_on(base: Base, run: ThisRun) -> Result<Started, StartError> {
    let gateways = gateways(&base)?;
    let of_timeline = base.of_timeline.clone();
    let daemon = pipelines(base, gateways)?;
    let working = workers(&daemon).await?;
    let signals = Signals::register().map_err(StartError::Signals)?;
    let engines = engines(&daemon).await?;
    Ok(Started {
        daemon,
        run,
        working,
        signals,
        engines,
        of_timeline,
    })
}

fn start_log(home: &Home, config: &LogConfig) -> Result<Logging, StartError> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let (folder, file) = (home.log_dir(), home.log_file());
    let failed = |path: &Path, source| StartError::Log {
        path: path.display().to_string(),
        source,
    };
    if !config.directory.is_empty() {
        use_own_dir(&folder, ClosedTo::Writing).map_err(|source| failed(&folder, source))?;
    }
    Logging::start(&file, config).map_err(|source| failed(&file, source))
}

/// What every component stands on.
struct Base {
    id: DaemonId,
    home: Home,
    host: String,
    clock: Arc<dyn Clock>,
    config: watch::Sender<Arc<Config>>,
    logging: Logging,
    metrics: Arc<Metrics>,
    db_url: DbUrl,
    db: MissionDb,
    timeline: Timeline,
    audit: AuditLog,
    of_timeline: AuditedTimeline,
    shutdown: Shutdown,
    supervisor: Supervisor,
}

/// Phase 1: configuration and log, supervisor, database, timeline.
async fn infrastructure(
    home: Home,
    id: DaemonId,
    config: Config,
    logging: Logging,
) -> Result<Base, StartError> {
    known_secrets::learn(&config)
        .map_err(|why| ConfigError::unusable(&home.config_file(), "secrets.files", why))?;
    let shutdown = Shutdown::default();
    let (supervisor, failures) = Supervisor::new(shutdown.clone());
    let db_url = database_url(&config, &home)?;
    let db = MissionDb::open(&db_url).await?;
    // Its panics go on under the supervisor, which stands above it.
    let failed = db.failed();
    supervisor.spawn("store", None, OnPanic::Shutdown, async move {
        std::panic::resume_unwind(Box::new(failed.await))
    });
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let metrics = Arc::new(Metrics::default());
    let timeline = Timeline::start(
        db.clone(),
        id,
        Arc::clone(&clock),
        Arc::clone(&metrics),
        &config.timeline,
        &supervisor,
    )
    .await?;
    supervisor.spawn(
        "failure reports",
        None,
        OnPanic::Report,
        failures::report(timeline.clone(), failures),
    );
    let host = missiond_os::host_name();
    let places = Anchors::new(
        db.clone(),
        home_name_in(&db_url, &host, home.data_dir()),
        &home.audit_dir(),
    );
    let (audit, of_timeline) = audit::start(&home, &clock, places, &db, &supervisor).await?;
    Ok(Base {
        id,
        host,
        home,
        clock,
        config: watch::Sender::new(Arc::new(config)),
        logging,
        metrics,
        db_url,
        db,
        timeline,
        audit,
        of_timeline,
        shutdown,
        supervisor,
    })
}

/// Phase 2: this run is on record, and earlier ones that died are found.
async fn core_modules(base: &Base, crashed: Option<DaemonId>) -> Result<ThisRun, StartError> {
    let trace = TraceContext::root();
    let run = ThisRun {
        id: base.id,
        host: base.host.clone(),
        db: base.db.clone(),
        clock: Arc::clone(&base.clock),
    };
    run.begin(crashed, trace).await?;
    let started = Event::DaemonStarted {
        host: base.host.clone(),
        pid: std::process::id(),
        version: VERSION.to_owned(),
    };
    base.timeline.record(started, trace).await?;
    let this_run = run.clone();
    base.supervisor
        .spawn_restarting("heartbeat", move || this_run.clone().run_heartbeat());
    Ok(run)
}

/// What connects the daemon with programs of others.
struct Gateways {
    policies: Arc<PolicyFiles>,
    network: Arc<Network>,
    llm: Arc<Llm>,
    toolhub: Arc<Toolhub>,
    http_access: HttpAccess,
}

/// Phase 3: what the daemon reaches out to, and who may reach it.
fn gateways(base: &Base) -> Result<Gateways, StartError> {
    let policies = Arc::new(PolicyFiles::new(&base.home));
    let network = Arc::new(Network::new(
        &base.home,
        Arc::clone(&policies),
        base.timeline.clone(),
        base.audit.clone(),
        base.supervisor.clone(),
    ));
    let toolhub = Toolhub::new(&toolhub::Parts {
        home: &base.home,
        db: &base.db,
        clock: &base.clock,
        timeline: &base.timeline,
        metrics: &base.metrics,
        supervisor: &base.supervisor,
        health_check: base.config.borrow().daemon.health_check(),
        sandbox: &base.config.borrow().sandbox,
        egress: network.egress(),
    })
    .map_err(StartError::Toolhub)?;
    let http_access = HttpAccess::new(&base.home, base.db.clone(), Arc::clone(&base.clock))
        .map_err(StartError::HttpAccess)?;
    let llm = Llm::new(missiond_llm::Parts {
        daemon: base.id,
        db: base.db.clone(),
        clock: Arc::clone(&base.clock),
        config: base.config.subscribe(),
        supervisor: base.supervisor.clone(),
        audit: base.audit.clone(),
    });
    Ok(Gateways {
        policies,
        network,
        llm: Arc::new(llm),
        toolhub: Arc::new(toolhub),
        http_access,
    })
}

/// Phase 4: the components, each with what it uses.
fn pipelines(base: Base, gateways: Gateways) -> Result<Daemon, StartError> {
    let board = Arc::new(Board::new(
        &base.home,
        base.id,
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        base.config.subscribe(),
    ));
    let Memory {
        knowledge,
        code,
        conversations,
    } = memory(&base);
    let Gateways {
        policies, network, ..
    } = &gateways;
    let Agents { slots, executions } = agents(&base, &gateways.llm, network.egress())?;
    let Attention {
        questions,
        permissions,
        notifications,
    } = attention(&base, &slots, &executions, policies);
    network.ask_people(&permissions, &questions, &executions);
    let context = ContextPipeline::new(briefing::Parts {
        db: base.db.clone(),
        clock: Arc::clone(&base.clock),
        config: base.config.subscribe(),
        knowledge: knowledge.clone(),
        conversations: conversations.clone(),
        code: Arc::clone(&code),
        slots: Arc::clone(&slots),
        executions: Arc::clone(&executions),
    });
    let parts = autopilot::Parts {
        id: base.id,
        home: base.home.clone(),
        host: base.host.clone(),
        clock: Arc::clone(&base.clock),
        config: base.config.subscribe(),
        db: base.db.clone(),
        timeline: base.timeline.clone(),
        board: Arc::clone(&board),
        slots: Arc::clone(&slots),
        executions: Arc::clone(&executions),
        questions: Arc::clone(&questions),
        context: context.clone(),
        knowledge: knowledge.clone(),
        egress: Arc::clone(network.egress()),
    };
    Ok(Arc::new(DaemonState {
        id: base.id,
        host: base.host,
        started_at: base.clock.now(),
        clock: base.clock,
        config: base.config,
        logging: base.logging,
        metrics: base.metrics,
        db_url: base.db_url,
        timeline: base.timeline,
        audit: base.audit,
        board,
        code,
        knowledge,
        conversations,
        worktrees: Worktrees::new(&base.home, base.db.clone(), Arc::clone(&slots)),
        db: base.db,
        slots,
        executions,
        context,
        autopilot: Arc::new(Autopilot::new(parts, base.supervisor.clone())),
        questions,
        permissions,
        notifications,
        llm: gateways.llm,
        network: gateways.network,
        toolhub: gateways.toolhub,
        http_access: gateways.http_access,
        settings: Settings::new(&base.home),
        consumers: Mutex::new(None),
        http: Mutex::new(None),
        shutdown: base.shutdown,
        supervisor: base.supervisor,
        home: base.home,
    }))
}

/// What is remembered, and what repositories define.
struct Memory {
    knowledge: Knowledge,
    code: Arc<CodeMaps>,
    conversations: Conversations,
}

fn memory(base: &Base) -> Memory {
    let knowledge = Knowledge::new(
        &base.home,
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        base.config.borrow().knowledge.clone(),
        base.supervisor.clone(),
    );
    let embeds_code = base.config.borrow().knowledge.code;
    let code = Arc::new(CodeMaps::new(
        base.host.clone(),
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        embeds_code.then(|| knowledge.clone()),
        base.supervisor.clone(),
    ));
    let conversations = Conversations::new(
        base.host.clone(),
        base.id,
        base.db.clone(),
        Arc::clone(&base.clock),
        base.config.subscribe(),
        base.supervisor.clone(),
    );
    Memory {
        knowledge,
        code,
        conversations,
    }
}

/// The terminals of agents, and what runs in them.
struct Agents {
    slots: Arc<Slots>,
    executions: Arc<Executions>,
}

fn agents(base: &Base, llm: &Arc<Llm>, egress: &Arc<Egress>) -> Result<Agents, StartError> {
    let slots = Arc::new(Slots::new(
        &base.home,
        base.id,
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        base.config.subscribe(),
        base.supervisor.clone(),
    )?);
    let journals = HomeJournals::new(
        FileStore::open(&base.home.journals_dir()).map_err(ExecutionError::from)?,
        DatabaseJournals::new(
            base.db.clone(),
            tokio::runtime::Handle::current(),
            Arc::clone(&base.clock),
            Holder::new(home_name(&base.host, &base.home), base.id.to_string()),
        ),
        base.config.borrow().journal.store,
        base.db_url.to_string(),
    );
    let executions = Arc::new(Executions::new(executions::Parts {
        home: base.home.clone(),
        db: base.db.clone(),
        timeline: base.timeline.clone(),
        clock: Arc::clone(&base.clock),
        slots: Arc::clone(&slots),
        llm: Arc::clone(llm),
        journals,
        config: base.config.subscribe(),
        supervisor: base.supervisor.clone(),
        audit: base.audit.clone(),
        egress: Arc::clone(egress),
    }));
    Ok(Agents { slots, executions })
}

/// What needs a person.
struct Attention {
    questions: Arc<Questions>,
    permissions: Arc<Permissions>,
    notifications: Arc<Notifications>,
}

fn attention(
    base: &Base,
    slots: &Arc<Slots>,
    executions: &Arc<Executions>,
    policies: &Arc<PolicyFiles>,
) -> Attention {
    let questions = Arc::new(Questions::new(
        base.id,
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        Arc::clone(slots),
        Arc::clone(executions),
        base.supervisor.clone(),
    ));
    let permissions = Arc::new(Permissions::new(permissions::Parts {
        home: base.home.clone(),
        db: base.db.clone(),
        timeline: base.timeline.clone(),
        clock: Arc::clone(&base.clock),
        config: base.config.subscribe(),
        slots: Arc::clone(slots),
        executions: Arc::clone(executions),
        questions: Arc::clone(&questions),
        policies: Arc::clone(policies),
        supervisor: base.supervisor.clone(),
        audit: base.audit.clone(),
    }));
    let notifications = Arc::new(Notifications::new(
        base.db.clone(),
        base.timeline.clone(),
        Arc::clone(&base.clock),
        base.config.subscribe(),
        base.supervisor.clone(),
    ));
    Attention {
        questions,
        permissions,
        notifications,
    }
}

/// What works without being asked.
struct Working {
    /// In the order in which they were started.
    components: Vec<Arc<dyn Component>>,
    sampler: tokio::task::JoinHandle<()>,
}

/// Phase 5: what works without being asked, each after what it needs.
async fn workers(daemon: &Daemon) -> Result<Working, StartError> {
    let consumers = Consumers::start(
        &daemon.timeline,
        vec![Arc::new(Activity), Arc::new(IncidentRecorder)],
        &daemon.supervisor,
    )
    .await?;
    *daemon.consumers.lock() = Some(consumers);
    let pending = daemon
        .settings
        .publish_pending(&daemon.timeline, daemon.clock.as_ref());
    pending.await;
    let components: Vec<Arc<dyn Component>> = vec![
        Arc::clone(&daemon.llm) as _,
        Arc::clone(&daemon.slots) as _,
        Arc::clone(&daemon.executions) as _,
        Arc::clone(&daemon.toolhub) as _,
        Arc::clone(&daemon.questions) as _,
        Arc::clone(&daemon.permissions) as _,
        Arc::clone(&daemon.notifications) as _,
        Arc::clone(&daemon.network) as _,
        Arc::clone(&daemon.autopilot) as _,
        Arc::clone(&daemon.code) as _,
        Arc::new(daemon.knowledge.clone()) as _,
        Arc::new(daemon.conversations.clone()) as _,
    ];
    for component in &components {
        Arc::clone(component).start().await?;
        tracing::debug!(component = component.name(), "component started");
    }
    let sampled = Arc::clone(daemon);
    let sampler = daemon
        .supervisor
        .spawn_restarting("sampler", move || sampler::run(Arc::clone(&sampled)));
    Ok(Working {
        components,
        sampler,
    })
}

impl Working {
    /// In the opposite order; the consumers last, so that they have it all.
    async fn stop(self, daemon: &Daemon) {
        self.sampler.abort();
        for component in self.components.iter().rev() {
            component.stop().await;
        }
        let consumers = daemon.consumers.lock().take();
        if let Some(mut consumers) = consumers {
            consumers.stop().await;
        }
    }
}

/// The listeners, each in its own task.
struct Engines {
    ipc: Option<tokio::task::JoinHandle<()>>,
    http: Option<tokio::task::JoinHandle<()>>,
    exporter: Option<tokio::task::JoinHandle<()>>,
}

impl Engines {
    /// Returns when nothing is under way any more.
    async fn drained(&mut self) {
        for listener in [self.ipc.take(), self.http.take()].into_iter().flatten() {
            let _ = listener.await;
        }
    }
}

/// Phase 6: the ways in and out, opened last.
async fn engines(daemon: &Daemon) -> Result<Engines, StartError> {
    let operations = operations(Arc::clone(daemon));
    let (config, supervisor) = (daemon.config(), &daemon.supervisor);
    if let Some(told) = daemon.slots.turned_away() {
        let recorded = Arc::clone(&operations).record_turned_away(told);
        supervisor.spawn("refusals at terminals", None, OnPanic::Report, recorded);
    }
    let changes = Arc::new(Changes::default());
    let (told, timeline, shutdown) = (
        Arc::clone(&changes),
        daemon.timeline.clone(),
        daemon.shutdown.clone(),
    );
    supervisor.spawn_restarting("MCP changes", move || {
        Arc::clone(&told).follow(timeline.clone(), shutdown.clone())
    });
    let mut engines = Engines {
        ipc: None,
        http: None,
        exporter: None,
    };
    if !config.otlp.endpoint.is_empty() {
        let (daemon, config) = (Arc::clone(daemon), config.otlp.clone());
        let exporter = supervisor.spawn_restarting("metrics export", move || {
            otlp::run(Arc::clone(&daemon), config.clone())
        });
        engines.exporter = Some(exporter);
    }
    if config.http.enabled {
        let server = HttpServer::bind(&config.http, &daemon.home).await?;
        *daemon.http.lock() = server.address().ok();
        if let Some(address) = daemon.http_address() {
            daemon.llm.serve_at(address);
        }
        let served = server.serve(
            Arc::clone(daemon),
            Arc::clone(&operations),
            Arc::clone(&changes),
            supervisor.clone(),
        );
        engines.http = Some(supervisor.spawn("HTTP server", None, OnPanic::Shutdown, served));
    }
    let server = IpcServer::bind(&daemon.home, &config.ipc)?;
    let served = server.serve(Arc::clone(daemon), operations, changes, supervisor.clone());
    engines.ipc = Some(supervisor.spawn("IPC server", None, OnPanic::Shutdown, served));
    Ok(engines)
}

async fn close(
    daemon: &Daemon,
    run: &ThisRun,
    of_timeline: &AuditedTimeline,
) -> Result<(), StartError> {
    let stopped = Event::DaemonStopped {
        reason: daemon.shutdown.reason(),
    };
    if let Err(error) = daemon.timeline.record(stopped, TraceContext::root()).await {
        tracing::error!(%error, "daemon stop not recorded on timeline");
    }
    let ended = run.end().await;
    let url = &daemon.db_url;
    let places = Anchors::new(
        daemon.db.clone(),
        home_name_in(url, &daemon.host, daemon.home.data_dir()),
        &daemon.home.audit_dir(),
    );
    let reason = daemon.shutdown.reason();
    audit::stop(&daemon.audit, of_timeline, &places, &reason).await;
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
fn home_name(host: &str, home: &Home) -> String {
    format!("{host}:{}", home.data_dir().display())
}
