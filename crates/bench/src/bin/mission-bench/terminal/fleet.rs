//! A daemon with many slots, gone when the measurement is over, fails or is
//! interrupted.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use missiond_api::operations::compute::{
    SlotKill, SlotKillParams, SlotList, SlotListParams, SlotParams, SlotRead, SlotSpawn,
    SlotSpawnParams, SlotSummary,
};
use missiond_api::operations::execution::{ExecutionStart, ExecutionStartParams, Permission};
use missiond_api::{Client, Home, SubscribeParams};
use missiond_console::failure::{Failure, parameter};
use missiond_core::{
    AbsolutePath, BoundedOr, CliEngine, Controller, ErrorCode, Event, PtyState, SlotId,
};
use missiond_pty::host::HostFiles;

use super::emulation::ENGINE;
use super::watch::Watch;
use super::writer::unix_micros;
use crate::args::WriterMode;
use crate::temporary::TemporaryDaemon;

const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);
/// Slots that are ended at the same time.
const KILLERS: usize = 8;

pub(crate) struct Fleet<'w> {
    client: Client,
    /// What the programs in the slots note.
    notes: PathBuf,
    slots: Vec<SlotSummary>,
    watch: &'w Watch,
    daemon: TemporaryDaemon,
}

/// A slot is in another state.
pub(crate) struct Change {
    slot: SlotId,
    pub(crate) to: PtyState,
    /// When the daemon read it, and when a subscriber learned of it.
    read: u64,
    heard: u64,
}

/// What became of the changes that programs noted.
#[derive(Default)]
pub(crate) struct Delays {
    /// Until the daemon had the reading.
    pub(crate) read: Vec<Duration>,
    /// Until a subscriber had the news, which is stored first.
    pub(crate) heard: Vec<Duration>,
    pub(crate) missed: usize,
}

impl<'w> Fleet<'w> {
    pub(crate) fn start(watch: &'w Watch) -> Result<Self, Failure> {
        let daemon = TemporaryDaemon::new(watch.mission())?;
        watch.over(daemon.path());
        let home = daemon.home();
        watch.start_something(|| daemon.run(&["daemon", "start"]))?;
        let notes = daemon.path().join("notes");
        std::fs::create_dir_all(&notes)?;
        Ok(Self {
            client: Client::connect(&home)?,
            notes,
            slots: Vec::new(),
            watch,
            daemon,
        })
    }

    /// A folder for what the programs note.
    pub(crate) fn notes(&self) -> &Path {
        &self.notes
    }

    pub(crate) fn spawn(&mut self, count: u32, mode: &WriterMode) -> Result<(), Failure> {
        let mut argv = vec![
            std::env::current_exe()?.display().to_string(),
            "writer".to_owned(),
        ];
        argv.extend(mode.arguments());
        let engine: CliEngine = ENGINE
            .parse()
            .map_err(|_| Failure::new(ErrorCode::Internal, format!("no engine {ENGINE}")))?;
        let notes = AbsolutePath::new(self.notes.display().to_string());
        let notes = parameter("the folder of the notes", notes)?;
        let params = SlotSpawnParams {
            argv,
            engine: Some(engine),
            name: None,
            cwd: Some(notes),
            env: BTreeMap::new(),
            columns: BoundedOr::default(),
            rows: BoundedOr::default(),
        };
        for _ in 0..count {
            let client = &mut self.client;
            let summary = self
                .watch
                .start_something(|| Ok(client.call::<SlotSpawn>(&params)?))?;
            self.slots.push(summary);
        }
        Ok(())
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Runs of the rehearsal agent, which wait for their first prompt; the name of the
    /// last one's slot.
    pub(crate) fn spawn_agents(
        &mut self,
        count: u32,
        controller: Controller,
        args: &[String],
    ) -> Result<String, Failure> {
        let engine: CliEngine = "rehearsal"
            .parse()
            .map_err(|_| Failure::new(ErrorCode::Internal, "no rehearsal agent"))?;
        let cwd = AbsolutePath::new(self.notes.display().to_string());
        let cwd = parameter("the folder of the agents", cwd)?;
        let mut name = String::new();
        for number in 0..count {
            name = format!("agent-{number}");
            let params = ExecutionStartParams {
                engine: engine.clone(),
                cwd: cwd.clone(),
                prompt: None,
                args: args.to_vec(),
                model: None,
                permission: Permission::default(),
                name: name.parse().ok(),
                env: BTreeMap::new(),
                resume: None,
                control: Some(controller),
                signals: None,
                trust_folder: true,
                context: false,
            };
            let client = &mut self.client;
            self.watch
                .start_something(|| Ok(client.call::<ExecutionStart>(&params)?))?;
        }
        let page = self.client.call::<SlotList>(&SlotListParams::default())?;
        self.slots = page.slots;
        Ok(name)
    }

    /// The daemon and the hosts.
    pub(crate) fn processes(&self) -> Result<Vec<u32>, Failure> {
        let mut processes = vec![self.client.welcome().pid];
        let hosts = HostFiles::records(&self.daemon.home().slots_dir())?;
        processes.extend(hosts.iter().map(|record| record.host_pid));
        Ok(processes)
    }

    pub(crate) fn wait_until_all_read(&mut self, states: &[PtyState]) -> Result<(), Failure> {
        let names: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        let names = names.join(" or ");
        wait(&format!("every slot is read as {names}"), || {
            let page = self.client.call::<SlotList>(&SlotListParams::default())?;
            let read = |summary: &SlotSummary| states.contains(&summary.reading.state);
            Ok(page.slots.len() >= self.slots.len() && page.slots.iter().all(read))
        })
    }

    pub(crate) fn wait_until_all_wrote(&mut self, bytes: u64) -> Result<(), Failure> {
        wait("every program has written its share", || {
            for summary in &self.slots {
                let slot = summary.slot.to_string();
                if self.client.call::<SlotRead>(&SlotParams { slot })?.offset < bytes {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Every change of state from now on, with the time it arrived here.
    pub(crate) fn follow_states(&self) -> Result<Receiver<Change>, Failure> {
        let params = SubscribeParams {
            kinds: vec!["pty_state_changed".to_owned()],
            ..SubscribeParams::default()
        };
        let mut events = Client::connect(&self.daemon.home())?.subscribe(&params)?;
        let (changes, received) = std::sync::mpsc::channel();
        // Ends with the daemon, or when nobody wants to know.
        std::thread::spawn(move || {
            while let Ok(event) = events.next_event() {
                let heard = unix_micros();
                let read = u64::try_from(event.at.as_micros()).unwrap_or(0);
                if let Event::PtyStateChanged { slot, to, .. } = event.event {
                    let change = Change {
                        slot,
                        to,
                        read,
                        heard,
                    };
                    if changes.send(change).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(received)
    }

    /// From each change a program noted since `from` to the news of it.
    pub(crate) fn delays(&self, changes: &Receiver<Change>, from: u64) -> Result<Delays, Failure> {
        let mut by_slot: HashMap<SlotId, Vec<Change>> = HashMap::new();
        for change in changes.try_iter() {
            if change.to == PtyState::ToolRunning {
                by_slot.entry(change.slot).or_default().push(change);
            }
        }
        let mut found = Delays::default();
        for summary in &self.slots {
            let Some(program) = &summary.program else {
                continue;
            };
            let changes = by_slot.remove(&summary.slot).unwrap_or_default();
            let text = std::fs::read_to_string(self.notes.join(program.pid.to_string()))?;
            let noted: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
            // The news of the last one may still be on its way.
            for pair in noted.windows(2).filter(|pair| pair[0] >= from) {
                let change = changes
                    .iter()
                    .find(|change| (pair[0]..pair[1]).contains(&change.read));
                let Some(change) = change else {
                    found.missed += 1;
                    continue;
                };
                let since = |at: u64| Duration::from_micros(at.saturating_sub(pair[0]));
                found.read.push(since(change.read));
                found.heard.push(since(change.heard));
            }
        }
        Ok(found)
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        kill_slots(&self.daemon.home());
        let _ = self.daemon.run(&["daemon", "stop", "--force"]);
        self.watch.over_nothing();
    }
}

fn wait(what: &str, mut reached: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let until = Instant::now() + PATIENCE;
    while !reached()? {
        if Instant::now() > until {
            return Err(Failure::new(
                ErrorCode::Timeout,
                format!("waited {} s until {what}", PATIENCE.as_secs()),
            ));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Ends every program of the daemon in this home.
pub(crate) fn kill_slots(home: &Home) {
    let Ok(page) = Client::connect(home)
        .and_then(|mut client| client.call::<SlotList>(&SlotListParams::default()))
    else {
        return;
    };
    std::thread::scope(|scope| {
        for share in page.slots.chunks(page.slots.len().div_ceil(KILLERS).max(1)) {
            scope.spawn(move || {
                let Ok(mut client) = Client::connect(home) else {
                    return;
                };
                for summary in share {
                    let _ = client.call::<SlotKill>(&SlotKillParams {
                        slot: summary.slot.to_string(),
                        grace_ms: BoundedOr::of::<0>(),
                    });
                }
            });
        }
    });
}
