//! The slots of this daemon: starting programs, finding them again, and the way
//! to each.
//!
//! Every open slot has a host process, which owns the program, and a task here,
//! which follows what the program shows. The host's record in the run folder is
//! what says that a slot exists; the database row follows it. So a daemon that
//! died at any moment leaves nothing that the next one cannot take up.

mod anomalies;

mod checkpoint;
mod conversation;
mod crashes;
mod deliver;
mod foreground;
mod free_question;
mod hook_claims;
mod hosts;
mod live;
mod manifests;
mod rebuild;
mod retention;
mod strangers;
mod typing;
mod viewers;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_adapters::ControlSetup;
use missiond_api::Home;
use missiond_config::{AnomaliesConfig, Config};
use missiond_core::{
    Anomaly, CliEngine, Clock, Controller, DaemonId, ErrorCode, Event, Slot, SlotId, SlotKind,
    SlotName, TraceContext,
};
use missiond_os::environment::{self, Child};
use missiond_os::files;
use missiond_os::lineage::Lineage;
use missiond_pty::host::{
    self, Channel, FromHost, HostConnection, HostFiles, HostRecord, JoinedCast, LaunchSpec,
    Recording, RecordingLimits, Stranger, ToHost,
};
use missiond_pty::{CastError, Session};
use missiond_runtime::{Component, OnPanic, StartError, Supervisor, Tasks, blocking};
use missiond_sandbox::Place;
use missiond_semantic::{GENERIC, Manifest, Size};
use missiond_store::{Engine, MissionDb, StoreError, incidents, slots};
use missiond_timeline::{Timeline, TimelineError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc, watch};

pub use conversation::{ProtocolTail, TailedEvent};
pub use foreground::{
    ConnectionEvent, ConnectionNumber, Foreground, ForegroundEvent, ForegroundReport,
    ForegroundVoice,
};
pub use live::{CommandError, HandoffError, Listener, NextProgram, SlotCommand, SlotView};
use manifests::Manifests;
pub use manifests::Refreshed;
use strangers::Strangers;
pub use strangers::{Tried, TurnedAway};
pub use typing::{Answer, Attachment, InputError, Message, Picture};
pub use viewers::{ToViewer, ViewerId, Viewing};

/// The size of a terminal nobody chose one for.
pub const DEFAULT_SIZE: Size = Size {
    columns: 120,
    rows: 40,
};

/// Orders that wait for a slot's task.
const WAITING_COMMANDS: usize = 32;

/// How long a program that must not stay is waited for.
const ABANDON_LIMIT: Duration = Duration::from_secs(10);

/// How often the person's manifests are looked at while slots are open.
const MANIFEST_POLL: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum SlotsError {
    #[error("cannot create the folder {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the records of running slots cannot be read: {0}")]
    Records(io::Error),
    #[error("{0}")]
    Invalid(String),
    #[error("a slot named {0} is already open: choose another name, or leave it out")]
    NameTaken(String),
    #[error(
        "{0} slots are open, and the others of `max_slots` are kept for the person: `mission slot \
         kill` ends one"
    )]
    Kept(usize),
    #[error("{0} slots are open, and more may not be (`max_slots`): `mission slot kill` ends one")]
    TooMany(usize),
    #[error(
        "the recordings of this agent's slots take more than `recording.keep_agent_mb` ({0} MB): \
         `mission slot kill` ends one, whose recording then makes room"
    )]
    Recorded(u64),
    #[error(transparent)]
    Launch(#[from] host::LaunchError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
}

impl SlotsError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Folder { .. } | Self::Records(_) => ErrorCode::StorageUnavailable,
            Self::Invalid(_) | Self::Launch(host::LaunchError::Refused(_)) => {
                ErrorCode::InvalidParams
            }
            Self::NameTaken(_) => ErrorCode::Conflict,
            Self::TooMany(_) | Self::Kept(_) | Self::Recorded(_) => ErrorCode::Busy,
            Self::Launch(_) => ErrorCode::Internal,
            Self::Store(error) => error.code(),
            Self::Timeline(error) => error.code(),
        }
    }
}

/// What a slot is to run.
#[derive(Debug)]
pub struct NewSlot {
    /// Who wants it.
    pub share: Share,
    /// Chosen by whoever must know it before the program runs.
    pub id: SlotId,
    pub argv: Vec<String>,
    pub engine: Option<CliEngine>,
    /// Made up when left out.
    pub name: Option<SlotName>,
    pub cwd: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    pub size: Size,
    /// How it is driven by a protocol; none for a terminal.
    pub control: Option<ControlSetup>,
    /// Behind which wall the program runs; none for no wall.
    pub sandbox: Option<Place>,
}

/// From which share a slot is taken: a quarter of them, and at least one, is kept for the
/// person, so that neither agents nor the autopilot can have them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    Person,
    /// An agent wants it: the slot it runs in, or that of the first of those that started
    /// each other.
    Agent(SlotId),
    Others,
}

impl Share {
    /// How many may be open when one more is wanted.
    fn of(self, limit: usize) -> usize {
        let kept = (limit / 4).max(1).min(limit.saturating_sub(1));
        match self {
            Self::Person => limit,
            Self::Agent(_) | Self::Others => limit - kept,
        }
    }

    /// Whose recording it becomes, where that is not the slot's own.
    fn agent(self) -> Option<SlotId> {
        match self {
            Self::Agent(slot) => Some(slot),
            Self::Person | Self::Others => None,
        }
    }
}

/// What the tasks of the slots share.
#[derive(Debug)]
struct Context {
    home: Home,
    daemon: DaemonId,
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    limits: RecordingLimits,
    manifests: Manifests,
    open: Mutex<HashMap<SlotId, OpenSlot>>,
    hosts: Mutex<hosts::Hosts>,
    /// Slots whose program is being started.
    starting: Mutex<HashSet<SlotId>>,
    /// A slot was opened.
    opened: Notify,
    anomalies: AnomaliesConfig,
    config: watch::Receiver<Arc<Config>>,
    crashes: Mutex<crashes::Crashes>,
    strangers: Strangers,
}

/// The way to an open slot.
#[derive(Debug, Clone)]
pub struct OpenSlot {
    pub slot: Slot,
    pub record: HostRecord,
    pub commands: mpsc::Sender<SlotCommand>,
    /// Who types into it; changes whenever that does.
    pub typist: watch::Receiver<Option<ViewerId>>,
    /// The terminal that had the conversation has ended by itself, and nobody has said
    /// yet what follows.
    pub was_left: bool,
}

impl OpenSlot {
    /// Who drives the program.
    #[must_use]
    pub fn controller(&self) -> Controller {
        match self.record.channel {
            Channel::Terminal => Controller::Terminal,
            Channel::Pipes => Controller::Structured,
        }
    }
}

#[derive(Debug)]
pub struct Slots {
    context: Arc<Context>,
    tasks: Tasks,
    /// The person's own session. Held while a report of it is stored and told, so
    /// that rows and events are in the order of the reports.
    foreground: tokio::sync::Mutex<Option<Foreground>>,
    turned_away: Mutex<Option<mpsc::Receiver<TurnedAway>>>,
}

impl Slots {
    pub fn new(
        home: &Home,
        daemon: DaemonId,
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        config: watch::Receiver<Arc<Config>>,
        supervisor: Supervisor,
    ) -> Result<Self, SlotsError> {
        let (limits, anomalies) = {
            let config = config.borrow();
            let limits = RecordingLimits {
                segment: config.recording.segment_mb << 20,
                total: config.recording.keep_mb << 20,
            };
            (limits, config.anomalies.clone())
        };
        for folder in [home.slots_dir(), home.recordings_dir()] {
            private_dir(&folder)?;
        }
        let manifests = Manifests::new(home.manifests_dir());
        let (strangers, turned_away) = Strangers::new();
        let context = Arc::new(Context {
            home: home.clone(),
            daemon,
            db,
            timeline,
            clock,
            supervisor: supervisor.clone(),
            limits,
            manifests,
            open: Mutex::default(),
            hosts: Mutex::default(),
            starting: Mutex::default(),
            opened: Notify::new(),
            anomalies,
            config,
            crashes: Mutex::default(),
            strangers,
        });
        Ok(Self {
            context,
            tasks: Tasks::new(supervisor),
            foreground: tokio::sync::Mutex::default(),
            turned_away: Mutex::new(Some(turned_away)),
        })
    }

    /// Those that were turned away by hosts, from now on and the last ones before. There is
    /// one listener; whoever asks later gets none.
    pub fn turned_away(&self) -> Option<mpsc::Receiver<TurnedAway>> {
        self.turned_away.lock().take()
    }

    /// Takes up the slots whose hosts an earlier daemon left behind, and closes
    /// those that are gone.
    async fn recover(&self) -> Result<(), SlotsError> {
        let context = &self.context;
        // A mistake in one of the person's own is told at once; the others and
        // those shipped are in force.
        let read = context.manifests.refresh();
        context.publish_refused(&read, TraceContext::root()).await;
        let watched = Arc::clone(context);
        self.tasks.spawn_restarting("manifest watch", move || {
            watch_manifests(Arc::clone(&watched))
        });
        let records = HostFiles::records(&context.home.slots_dir()).map_err(SlotsError::Records)?;
        let (records, posing): (Vec<_>, Vec<_>) =
            records.into_iter().partition(HostRecord::is_credible);
        // Before any of them speaks: they tell of each other's programs.
        for record in &records {
            context.hosts.lock().add(record);
        }
        for record in &records {
            let id = record.slot;
            let known = context
                .db
                .read(move |tx| Box::pin(slots::get(tx, id)))
                .await?;
            let slot = match known {
                Some(slot) => slot,
                // The daemon died between the start of the host and its row.
                None => self.register(record).await?,
            };
            tracing::info!(slot = %slot.id, name = slot.name, host = record.host_pid, "slot recovered");
            self.follow(slot, record.clone(), live::Beginning::Found);
        }
        // Somebody in a slot has written them.
        for record in &posing {
            context.report_impostor(record.slot, &record.name, record.host_pid);
            HostFiles::new(&context.home.slots_dir(), record.slot).remove();
        }
        let open = context
            .db
            .read(|tx| Box::pin(slots::list(tx, slots::SlotFilter::Open)))
            .await?;
        let hosted = |slot: &Slot| records.iter().any(|record| record.slot == slot.id);
        // On a shared database the others may be another daemon's. Those that
        // were recorded in this home are ours.
        let shared = context.db.engine() != Engine::Sqlite;
        let ours =
            |slot: &Slot| !shared || Recording::exists(&recording(&context.home, slot.id, 1));
        for slot in open.iter().filter(|slot| !hosted(slot) && ours(slot)) {
            context
                .close(
                    slot.id,
                    "its terminal is gone: was the machine restarted?",
                    TraceContext::of(slot.id),
                )
                .await?;
        }
        let swept = Arc::clone(context);
        self.tasks.spawn_restarting("recording retention", move || {
            let (home, config) = (swept.home.clone(), swept.config.clone());
            let open = Arc::clone(&swept);
            retention::run(home, config, move || open.recorded_now())
        });
        Ok(())
    }

    /// Starts a program in a new slot; returns when it runs.
    pub async fn spawn(&self, new: NewSlot, trace: TraceContext) -> Result<OpenSlot, SlotsError> {
        let context = &self.context;
        context.reload_manifests(trace).await;
        let share = new.share;
        let spec = context.launch_spec(new)?;
        let _starting = Starting::one_more(context, spec.slot, share)?;
        if let Some(agent) = share.agent() {
            context.make_room_for(agent).await?;
        }
        let name = spec.name.clone();
        let taken = context
            .db
            .read(move |tx| Box::pin(async move { slots::find(tx, &name).await }))
            .await?;
        if taken.is_some() {
            return Err(SlotsError::NameTaken(spec.name));
        }
        let executable = missiond_os::programs::own_program().map_err(host::LaunchError::from)?;
        let (record, mut child) = host::launch(&executable, &spec).await?;
        // The host is this process's child until one of them ends.
        self.tasks
            .spawn("host reaper", None, OnPanic::Report, async move {
                let _ = child.wait().await;
            });
        let slot = match self.register(&record).await {
            Ok(slot) => slot,
            Err(error) => {
                abandon(&record, &context.home.slots_dir()).await;
                return Err(error);
            }
        };
        let created = Event::SlotCreated {
            slot: slot.id,
            name: slot.name.clone(),
            engine: slot.engine.clone(),
        };
        let open = self.follow(slot, record, live::Beginning::New(trace));
        context.timeline.record(created, trace).await?;
        Ok(open)
    }

    /// The open slot with this id or name.
    pub fn find(&self, reference: &str) -> Option<OpenSlot> {
        let open = self.context.open();
        match reference.parse::<SlotId>() {
            Ok(id) => open.get(&id).cloned(),
            Err(_) => open
                .values()
                .find(|open| open.slot.name == reference)
                .cloned(),
        }
    }

    /// The slot a process belongs to: the nearest whose host is above it, or the one
    /// whose control group it is in.
    #[must_use]
    pub fn above(&self, lineage: &Lineage) -> Option<SlotId> {
        let known = self.context.hosts.lock().above(lineage);
        known.or_else(|| {
            let own = std::process::id();
            let is_ours = lineage.processes.iter().any(|one| one.pid == own);
            // A program can ask before whoever started it has heard that it runs.
            let records = is_ours.then(|| HostFiles::records(&self.context.home.slots_dir()));
            let records = records?.ok()?;
            self.context.hosts.lock().starting_above(lineage, &records)
        })
    }

    /// Every open slot, in the command they were made.
    pub fn open(&self) -> Vec<OpenSlot> {
        let mut open: Vec<_> = self.context.open().values().cloned().collect();
        open.sort_by_key(|open| open.slot.id);
        open
    }

    /// Which manifest reads an engine's screens.
    pub fn manifest_name(&self, engine: &CliEngine) -> String {
        let manifest = self.context.manifest(engine);
        manifest.map_or_else(String::new, |manifest| manifest.engine().to_owned())
    }

    pub fn running(&self) -> u64 {
        self.context.open().len() as u64
    }

    /// The last screen of a slot that was closed, from its recording, and how
    /// many bytes it had written.
    pub async fn last_screen(&self, slot: &Slot) -> Option<(Session, u64)> {
        let path = self.recordings(slot.id).pop()?;
        let manifest = self.context.manifest(&slot.engine)?;
        blocking(move || rebuild::last_screen(&path, manifest))
            .await
            .ok()
    }

    /// What a slot has shown, open or closed, by all programs it had.
    pub async fn recorded(&self, id: SlotId) -> Result<JoinedCast, CastError> {
        let first = recording(&self.context.home, id, 1);
        let recordings = self.recordings(id);
        blocking(move || {
            let mut later = recordings.into_iter().skip(1);
            let first = drawn(&first)?;
            later.try_fold(first, |cast, path| Ok(cast.followed_by(drawn(&path)?)))
        })
        .await
    }

    /// The recordings of a slot, one for each program it had.
    #[must_use]
    pub fn recordings(&self, id: SlotId) -> Vec<PathBuf> {
        let home = &self.context.home;
        let later = (2..).map(|generation| recording(home, id, generation));
        let later = later.take_while(|path| Recording::exists(path));
        iter::once(recording(home, id, 1)).chain(later).collect()
    }

    /// Reads the person's manifests that have changed. Open slots go on with
    /// the new ones; a broken one changes nothing.
    pub async fn reload_manifests(&self, trace: TraceContext) -> Refreshed {
        self.context.reload_manifests(trace).await
    }

    /// Why manifests of the person are not in force as they are now.
    pub fn manifest_errors(&self) -> Vec<String> {
        self.context.manifests.wrong()
    }

    async fn register(&self, record: &HostRecord) -> Result<Slot, SlotsError> {
        let slot = Slot {
            id: record.slot,
            name: record.name.clone(),
            kind: self.context.kind_of(&record.name),
            engine: record.engine.clone(),
            daemon: self.context.daemon,
            created_at: self.context.clock.now(),
            closed_at: None,
        };
        let row = slot.clone();
        self.context
            .db
            .write(move |tx| Box::pin(async move { slots::register(tx, &row).await }))
            .await?;
        Ok(slot)
    }

    fn follow(&self, slot: Slot, record: HostRecord, beginning: live::Beginning) -> OpenSlot {
        let (commands, received) = mpsc::channel(WAITING_COMMANDS);
        let viewers = viewers::Viewers::new();
        let open = OpenSlot {
            slot,
            record,
            commands,
            typist: viewers.holder(),
            was_left: false,
        };
        self.context.hosts.lock().add(&open.record);
        self.context.open().insert(open.slot.id, open.clone());
        self.context.opened.notify_one();
        let task = live::follow(
            Arc::clone(&self.context),
            open.slot.clone(),
            open.record.clone(),
            beginning,
            received,
            viewers,
        );
        // Its program goes on; the next daemon follows it again.
        self.tasks
            .spawn("slot", Some(open.slot.name.clone()), OnPanic::Report, task);
        open
    }
}

impl Component for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let recovered = self.recover().await;
            recovered.map_err(|error| StartError::new(error.code(), error))
        })
    }

    /// Stops following. The hosts and their programs go on.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.forget_foreground().await;
            self.tasks.stop().await;
        })
    }
}

impl Context {
    fn open(&self) -> MutexGuard<'_, HashMap<SlotId, OpenSlot>> {
        self.open.lock()
    }

    /// The host of a slot has told of it.
    fn report_stranger(&self, at: SlotId, name: &str, who: Stranger) {
        self.report(Tried::Speaking, at, name, who);
    }

    /// Another process listens at the socket of a slot's host, or stands in its record.
    fn report_impostor(&self, at: SlotId, name: &str, pid: u32) {
        self.report(Tried::Posing, at, name, Stranger::of(pid));
    }

    fn report(&self, tried: Tried, at: SlotId, name: &str, who: Stranger) {
        let host = who.host;
        let from = host.and_then(|(pid, start)| self.hosts.lock().slot_of(pid, start));
        let name = name.to_owned();
        self.strangers.tell(TurnedAway {
            tried,
            at,
            name,
            from,
            who,
        });
    }

    /// Slots that write to a recording, or may at any moment.
    fn recorded_now(&self) -> io::Result<HashSet<SlotId>> {
        let mut recorded = self.starting.lock().clone();
        recorded.extend(self.open().keys());
        let hosted = HostFiles::records(&self.home.slots_dir())?;
        recorded.extend(hosted.iter().map(|record| record.slot));
        Ok(recorded)
    }

    /// Deletes of the recordings of this agent's slots what is too much, or says that even
    /// so there is no room for another.
    async fn make_room_for(&self, agent: SlotId) -> Result<(), SlotsError> {
        let megabytes = self.config.borrow().recording.keep_agent_mb;
        let listed = retention::list(self.home.recordings_dir()).await;
        let listed = listed.map_err(SlotsError::Records)?;
        let open = self.recorded_now().map_err(SlotsError::Records)?;
        let room = retention::make_room(listed, open, agent, megabytes).await;
        match room.map_err(SlotsError::Records)? {
            retention::Room::Made => Ok(()),
            retention::Room::None => Err(SlotsError::Recorded(megabytes)),
        }
    }

    /// One that the configuration names is always there.
    fn kind_of(&self, name: &str) -> SlotKind {
        let named = self
            .config
            .borrow()
            .slots
            .iter()
            .any(|slot| slot.name.as_str() == name);
        if named {
            SlotKind::Static
        } else {
            SlotKind::Dynamic
        }
    }

    /// The engine's manifest, or the generic one.
    fn manifest(&self, engine: &CliEngine) -> Option<Arc<Manifest>> {
        self.manifests.for_engine(engine.name())
    }

    /// Reads what has changed among the person's manifests, and says so on the
    /// timeline.
    async fn reload_manifests(&self, trace: TraceContext) -> Refreshed {
        let outcome = self.manifests.refresh();
        for file in &outcome.changed {
            tracing::info!(file, "manifest reloaded");
            let file = file.clone();
            self.publish(Event::ManifestReloaded { file }, trace).await;
        }
        self.publish_refused(&outcome, trace).await;
        outcome
    }

    async fn publish_refused(&self, outcome: &Refreshed, trace: TraceContext) {
        for (file, error) in outcome.refused.iter().cloned() {
            tracing::warn!(error, "manifest refused, the old one stays");
            let refused = Event::ManifestRejected { file, error };
            self.publish(refused, trace).await;
        }
    }

    async fn publish(&self, event: Event, trace: TraceContext) {
        if let Err(error) = self.timeline.record(event, trace).await {
            tracing::warn!(%error, "manifest change not recorded on timeline");
        }
    }

    fn record_end(
        &self,
        name: &str,
        argv: &[String],
        end: crashes::End,
    ) -> Option<crashes::Verdict> {
        let AnomaliesConfig {
            crash_count,
            crash_window_secs,
            ..
        } = self.anomalies;
        let limit = (crash_count, Duration::from_secs(crash_window_secs));
        let mut crashes = self.crashes.lock();
        crashes.record((name, argv), end, self.clock.now(), limit)
    }

    /// What an earlier daemon found wrong with a slot and saw no end of.
    async fn known_anomalies(&self, id: SlotId) -> BTreeSet<Anomaly> {
        let subject = id.to_string();
        let kinds = self
            .db
            .read(move |tx| Box::pin(async move { incidents::open_kinds(tx, &subject).await }))
            .await;
        let kinds = kinds.unwrap_or_else(|error| {
            tracing::warn!(slot = %id, %error, "open incidents of slot not read");
            Vec::new()
        });
        let open = |anomaly: &Anomaly| kinds.iter().any(|kind| kind == anomaly.incident_kind());
        Anomaly::ALL.into_iter().filter(open).collect()
    }

    /// Records the end of a slot, once.
    async fn close(&self, id: SlotId, reason: &str, trace: TraceContext) -> Result<(), SlotsError> {
        let known = self.db.read(move |tx| Box::pin(slots::get(tx, id))).await?;
        if known.is_none_or(|slot| slot.closed_at.is_some()) {
            return Ok(());
        }
        let closed = Event::SlotClosed {
            slot: id,
            reason: reason.to_owned(),
        };
        self.timeline.record(closed, trace).await?;
        let now = self.clock.now();
        self.db
            .write(move |tx| Box::pin(slots::close(tx, id, now)))
            .await?;
        Ok(())
    }

    fn launch_spec(&self, new: NewSlot) -> Result<LaunchSpec, SlotsError> {
        let invalid = |why: String| Err(SlotsError::Invalid(why));
        if new.argv.first().is_none_or(String::is_empty) {
            return invalid("`argv` must name a program".to_owned());
        }
        if new.argv.iter().any(|argument| argument.contains('\0')) {
            return invalid("an argument contains a NUL character".to_owned());
        }
        if let Some(name) = environment::find_unusable(&new.env) {
            return invalid(format!("`{}` cannot be a variable", name.escape_default()));
        }
        let slot = new.id;
        let agent = new.share.agent();
        let engine = new
            .engine
            .unwrap_or_else(|| self.guess_engine(&new.argv[0]));
        let name = match new.name {
            Some(name) => name.into_string(),
            None => {
                let id = slot.to_string();
                format!("{engine}-{}", &id[id.len() - 6..])
            }
        };
        let cwd = match new.cwd {
            Some(cwd) if cwd.is_absolute() => cwd,
            Some(cwd) => return invalid(format!("`cwd` must be absolute: {}", cwd.display())),
            None => std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from),
        };
        let handover = match &new.control {
            Some(setup) => match serde_json::to_value(setup) {
                Ok(setup) => Some(setup),
                Err(error) => return invalid(format!("the session cannot be written: {error}")),
            },
            None => None,
        };
        Ok(LaunchSpec {
            channel: match handover {
                Some(_) => Channel::Pipes,
                None => Channel::Terminal,
            },
            handover,
            slot,
            name,
            engine,
            argv: new.argv,
            cwd,
            environment: program_environment(&new.env),
            size: new.size,
            recording: recording(&self.home, slot, 1),
            generation: 1,
            limits: self.limits,
            agent,
            sandbox: new.sandbox,
            run_dir: self.home.slots_dir(),
        })
    }

    /// The manifest that bears the program's name, or the generic one.
    fn guess_engine(&self, program: &str) -> CliEngine {
        let file = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str());
        let known = file.filter(|name| self.manifests.get(name).is_some());
        let engine = known.unwrap_or(GENERIC).parse();
        engine.unwrap_or(CliEngine::Claude)
    }
}

/// A slot that counts as open before it is, until this is dropped.
struct Starting<'c> {
    context: &'c Context,
    slot: SlotId,
}

impl<'c> Starting<'c> {
    fn one_more(context: &'c Context, slot: SlotId, share: Share) -> Result<Self, SlotsError> {
        let limit = context.config.borrow().max_slots as usize;
        let mut starting = context.starting.lock();
        let open = context.open().len() + starting.len();
        if open >= limit {
            return Err(SlotsError::TooMany(open));
        }
        if open >= share.of(limit) {
            return Err(SlotsError::Kept(open));
        }
        starting.insert(slot);
        drop(starting);
        Ok(Self { context, slot })
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.context.starting.lock().remove(&self.slot);
    }
}

/// Looks at the person's manifests now and then, while there is a slot to read.
async fn watch_manifests(context: Arc<Context>) {
    loop {
        if context.open().is_empty() {
            context.opened.notified().await;
        }
        tokio::time::sleep(MANIFEST_POLL).await;
        context.reload_manifests(TraceContext::root()).await;
    }
}

/// The whole environment of a program that is given these variables.
pub fn program_environment(wanted: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut environment = environment::inherited(Child::Agent, environment::own_text());
    environment.extend(wanted.clone());
    environment
}

/// Where the output of the program with this number is recorded.
fn recording(home: &Home, slot: SlotId, generation: u32) -> PathBuf {
    home.recordings_dir().join(match generation {
        0 | 1 => format!("{slot}.cast"),
        later => format!("{slot}-{later}.cast"),
    })
}

/// A recording as it was shown: a protocol is drawn.
fn drawn(path: &Path) -> Result<JoinedCast, CastError> {
    let cast = JoinedCast::open(path)?;
    match conversation::recorded(path) {
        Some(structured) => Ok(cast.drawn_as(structured?.shown)),
        None => Ok(cast),
    }
}

/// Ends a program that has no place in the store, and removes its traces.
async fn abandon(record: &HostRecord, run_dir: &Path) {
    let files = HostFiles::new(run_dir, record.slot);
    let ended = tokio::time::timeout(ABANDON_LIMIT, async {
        let mut host = HostConnection::connect(record, &files.socket, 0).await?;
        host.send(&ToHost::Kill { grace_ms: 0 }).await?;
        while let Some(frame) = host.next().await? {
            if matches!(frame, FromHost::Exited(_)) {
                host.send(&ToHost::ExitAcknowledged).await?;
            }
        }
        Ok::<_, host::HostError>(())
    })
    .await;
    match ended {
        Ok(Ok(())) => {
            let _ = Recording::remove(&record.recording);
            let _ = checkpoint::Checkpoint::remove(&record.recording);
        }
        other => tracing::error!(host = record.host_pid, ?other, "slot host not ended"),
    }
}

fn private_dir(path: &Path) -> Result<(), SlotsError> {
    files::create_private_dir(path).map_err(|source| SlotsError::Folder {
        path: path.to_owned(),
        source,
    })
}
