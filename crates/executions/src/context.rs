//! What the tasks of the executions share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use missiond_api::Home;
use missiond_audit::AuditLog;
use missiond_config::Config;
use missiond_core::{Clock, ExecutionId, SlotId};
use missiond_egress::Egress;
use missiond_journal::{Acknowledgement, Policy, Reason};
use missiond_llm::Llm;
use missiond_runtime::Supervisor;
use missiond_slots::{SlotCommand, Slots};
use missiond_store::{MissionDb, executions};
use missiond_timeline::Timeline;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::audited::AuditedJournals;
use crate::error::ExecutionError;
use crate::journals::HomeJournals;
use crate::program_digests::ProgramDigests;
use crate::run::Run;

/// How long a program that is ended may take to end by itself.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// What the tasks of the executions share.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) db: MissionDb,
    pub(crate) timeline: Timeline,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) llm: Arc<Llm>,
    pub(crate) journals: Arc<HomeJournals>,
    pub(crate) policy: Arc<Policy>,
    /// Those that have not ended.
    pub(crate) runs: Mutex<HashMap<ExecutionId, Arc<Run>>>,
    pub(crate) config: watch::Receiver<Arc<Config>>,
    pub(crate) supervisor: Supervisor,
    pub(crate) programs: ProgramDigests,
    pub(crate) audit: AuditLog,
    /// Where the audit has the journals.
    pub(crate) audited: AuditedJournals,
    pub(crate) egress: Arc<Egress>,
}

impl Context {
    pub(crate) fn runs(&self) -> MutexGuard<'_, HashMap<ExecutionId, Arc<Run>>> {
        self.runs.lock()
    }

    pub(crate) fn run(&self, execution: ExecutionId) -> Option<Arc<Run>> {
        self.runs().get(&execution).cloned()
    }

    pub(crate) fn run_in(&self, slot: SlotId) -> Option<Arc<Run>> {
        let runs = self.runs();
        runs.values().find(|run| run.slot == slot).cloned()
    }

    /// Why a signal of this execution is refused.
    pub(crate) async fn not_running(
        &self,
        execution: ExecutionId,
    ) -> Result<Acknowledgement, ExecutionError> {
        let known = self
            .db
            .read(move |tx| Box::pin(executions::get(tx, execution)))
            .await?;
        let reason = match known {
            Some(_) => Reason::Stopped,
            None => Reason::UnknownExecution,
        };
        Ok(Acknowledgement::rejected(
            execution,
            reason,
            reason.sentence(),
        ))
    }
}

/// Ends the program of an execution; returns when it is gone.
pub(crate) async fn kill(context: Arc<Context>, run: Arc<Run>) {
    let Some(open) = context.slots.find(&run.slot.to_string()) else {
        return;
    };
    let (done, gone) = tokio::sync::oneshot::channel();
    let command = SlotCommand::Kill {
        grace: CANCEL_GRACE,
        done,
    };
    if open.commands.send(command).await.is_ok() {
        let _ = gone.await;
    }
}
