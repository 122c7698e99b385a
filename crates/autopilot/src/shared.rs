//! What the parts of the autopilot work with: the components it directs, and the
//! little that its jobs and its loop have in common.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use missiond_api::Home;
use missiond_attention::questions::Questions;
use missiond_briefing::ContextPipeline;
use missiond_config::Config;
use missiond_core::{AttemptId, Clock, DaemonId, Timestamp};
use missiond_egress::Egress;
use missiond_executions::Executions;
use missiond_memory::knowledge::{Knowledge, Tended};
use missiond_runtime::Supervisor;
use missiond_slots::Slots;
use missiond_store::MissionDb;
use missiond_timeline::Timeline;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::board::Board;
use crate::pull_requests::UnderWay;

/// What the autopilot is made of.
#[derive(Debug)]
pub struct Parts {
    pub id: DaemonId,
    pub home: Home,
    pub host: String,
    pub clock: Arc<dyn Clock>,
    pub config: watch::Receiver<Arc<Config>>,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub board: Arc<Board>,
    pub slots: Arc<Slots>,
    pub executions: Arc<Executions>,
    pub questions: Arc<Questions>,
    pub context: ContextPipeline,
    pub knowledge: Knowledge,
    /// What checks behind a wall go out by.
    pub egress: Arc<Egress>,
}

/// What the last round of the memory stage found, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    pub at: Timestamp,
    pub tended: Tended,
}

/// What the daemon itself does for an attempt at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepUnderWay {
    pub doing: Doing,
    pub since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Makes the place the agent works in.
    Prepare,
    /// Starts the agent.
    Start,
    /// Runs the checks.
    Check { round: u32 },
    /// Brings the work to where it belongs.
    Integrate,
    /// Something that takes no time worth telling of.
    Other,
}

/// The parts, and what jobs and loop share.
#[derive(Debug)]
pub(crate) struct Shared {
    parts: Parts,
    pub(crate) supervisor: Supervisor,
    pub(crate) wakes: Notify,
    /// Held from when the work was seen to stand on its target until the target
    /// has it: nobody else of this daemon moves a target in between.
    pub(crate) integrating: tokio::sync::Mutex<()>,
    /// The work that is put into pull requests at this moment.
    pub(crate) handing_over: UnderWay,
    /// Names of slots that agents are being started in.
    names: Mutex<HashSet<String>>,
    remembered: Mutex<Option<Remembered>>,
    steps: Mutex<HashMap<AttemptId, StepUnderWay>>,
}

impl std::ops::Deref for Shared {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl Shared {
    pub(crate) fn new(parts: Parts, supervisor: Supervisor) -> Self {
        Self {
            parts,
            supervisor,
            wakes: Notify::new(),
            integrating: tokio::sync::Mutex::default(),
            handing_over: UnderWay::default(),
            names: Mutex::default(),
            remembered: Mutex::default(),
            steps: Mutex::default(),
        }
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.parts.config.borrow())
    }

    /// Has a look at the board soon: something has changed.
    pub(crate) fn wake(&self) {
        self.wakes.notify_one();
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.names.lock()
    }

    /// What is done for attempts at the moment.
    pub(crate) fn steps(&self) -> MutexGuard<'_, HashMap<AttemptId, StepUnderWay>> {
        self.steps.lock()
    }

    /// What the memory stage found last.
    pub(crate) fn remembered(&self) -> MutexGuard<'_, Option<Remembered>> {
        self.remembered.lock()
    }
}
