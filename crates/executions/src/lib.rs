//! Executions: runs of agents, each with its journal.
//!
//! Whatever is learnt of an agent, by whatever way, goes through
//! [`Run::observe`]; whatever is said to it is a message that its journal has
//! accepted. A task per execution follows its slot, its transcript and its
//! messages. What a daemon must know to go on after a crash is in the journal
//! and in one row of the database.

pub mod access;
mod attachments;
pub mod audited;
mod context;
mod control;
pub mod database_journal;
#[cfg(test)]
mod effects_once_tests;
mod error;
mod facts;
mod finish;
mod follow;
mod handoff;
mod hooked_calls;
mod interrupt;
mod journal_anchors;
mod journal_page;
pub mod journals;
mod marker_listener;
mod messages;
mod model_watch;
mod open_requests;
mod preamble;
mod program_digests;
mod protocol;
mod recover;
mod repeated_calls;
mod run;
pub mod slot_expiry;
mod spooled_hooks;
mod standing;
mod start;
mod startup;
mod surface;
mod transcript;
mod view;
mod wall;
mod witness;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_adapters::{HookReport, ToolSubject};
use missiond_api::Home;
use missiond_audit::AuditLog;
use missiond_config::Config;
use missiond_core::{Clock, ExecutionId, ObservationId, SendWhen, SlotId};
use missiond_egress::Egress;
use missiond_journal::catalogue::{Review, SignalType, parse_tool_call};
use missiond_journal::{Acknowledgement, Confidence, Observed, Outcome, Policy, Source};
use missiond_llm::Llm;
use missiond_runtime::{Component, OnPanic, StartError, Supervisor, Tasks};
use missiond_slots::{SlotCommand, Slots};
use missiond_store::MissionDb;
use missiond_timeline::Timeline;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::audited::AuditedJournals;
use crate::context::{Context, kill};
use crate::journals::HomeJournals;
use crate::program_digests::ProgramDigests;

pub use control::RunControl;
pub use error::ExecutionError;
pub use finish::FinishMode;
pub use journal_page::{Direction, Part};
pub use messages::Accepted;
/// The server by which agents report to us.
pub use missiond_journal::catalogue::MCP_SERVER_NAME as OWN_SERVER;
pub use missiond_journal::record::Sender;
pub use open_requests::{AskedInput, Worker};
pub use preamble::{Preamble, append_preamble};
use run::ObservationDraft;
pub use run::Run;
pub use start::{Identity, NewExecution, Owner, adapter_of};
pub use surface::{GO_ON, STOP};
pub use view::{ExecutionLookup, Shown};

/// The longest prompt, in characters.
pub const MAX_PROMPT: usize = missiond_journal::catalogue::limits::PROMPT_TEXT;

/// What the executions are made of.
#[derive(Debug)]
pub struct Parts {
    pub home: Home,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub clock: Arc<dyn Clock>,
    pub slots: Arc<Slots>,
    pub llm: Arc<Llm>,
    pub journals: HomeJournals,
    pub config: watch::Receiver<Arc<Config>>,
    pub supervisor: Supervisor,
    pub audit: AuditLog,
    /// What agents behind a wall go out by.
    pub egress: Arc<Egress>,
}

/// The executions of this daemon.
#[derive(Debug)]
pub struct Executions {
    context: Arc<Context>,
    tasks: Tasks,
}

impl Executions {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let context = Arc::new(Context {
            home: parts.home,
            db: parts.db,
            timeline: parts.timeline,
            clock: parts.clock,
            slots: parts.slots,
            llm: parts.llm,
            journals: Arc::new(parts.journals),
            policy: Arc::new(Policy::standard()),
            runs: Mutex::default(),
            config: parts.config,
            supervisor: parts.supervisor.clone(),
            programs: ProgramDigests::default(),
            audit: parts.audit,
            audited: AuditedJournals::default(),
            egress: parts.egress,
        });
        Self {
            context,
            tasks: Tasks::new(parts.supervisor),
        }
    }

    /// A call of one of the execution's own tools. The caller has made sure that
    /// it comes from the agent of this execution.
    pub async fn signal(
        &self,
        execution: ExecutionId,
        tool: &str,
        arguments: &str,
    ) -> Result<Acknowledgement, ExecutionError> {
        let Some(run) = self.context.run(execution) else {
            return self.context.not_running(execution).await;
        };
        let seen = match parse_tool_call(tool, arguments) {
            Ok((event, signal)) => ObservationDraft {
                key: facts::signal_key(event.as_ref()),
                source: Source::McpTool,
                confidence: Confidence::High,
                observed: Observed::Signal(signal),
            },
            Err(malformed) => facts::malformed(tool, arguments, &malformed),
        };
        run.observe(seen).await
    }

    /// The signals that the agent of this execution may send.
    pub fn offered(&self, execution: ExecutionId) -> Vec<SignalType> {
        let run = self.context.run(execution);
        let offered = run.and_then(|run| run.journal().peek(|state| state.signals.clone()).ok());
        offered.unwrap_or_default()
    }

    /// The slot of a running execution.
    pub fn slot_of(&self, execution: ExecutionId) -> Option<SlotId> {
        Some(self.context.run(execution)?.slot)
    }

    /// What that slot is called, while it is open.
    pub fn slot_name(&self, execution: ExecutionId) -> Option<String> {
        let slot = self.context.run(execution)?.slot;
        let open = self.context.slots.find(&slot.to_string())?;
        Some(open.slot.name)
    }

    /// What a hook of the agent's program reported. Hooks are numbered by the
    /// program that hands them over, so that one handed over twice counts once.
    pub async fn hook(
        &self,
        execution: ExecutionId,
        sequence: u64,
        report: HookReport,
    ) -> Result<(), ExecutionError> {
        let Some(run) = self.context.run(execution) else {
            return Err(ExecutionError::NotRunning { execution });
        };
        let mut is_news = false;
        for seen in facts::of_hook(sequence, &report) {
            let taken = run.observe(seen).await?;
            is_news |= !matches!(taken.outcome, Outcome::Duplicate { .. });
        }
        if is_news && let Some(open) = self.context.slots.find(&run.slot.to_string()) {
            // It is one voice among others: no hook waits for a slot that is busy.
            let _ = open
                .commands
                .try_send(SlotCommand::HookReported(report.event));
        }
        Ok(())
    }

    /// What the hook of an agent's program asked about: a call, by the id that its protocol
    /// and its record know it by. It is held against what they tell of it.
    pub fn hook_asked(&self, execution: ExecutionId, call: &str, arguments: &Value) {
        if let Some(run) = self.context.run(execution)
            && let Some(subject) = ToolSubject::of(arguments)
        {
            run.hooked_calls.add(call.to_owned(), subject);
        }
    }

    /// Queues a text for the agent; it is typed when the agent waits for one.
    /// The same key again is the same message.
    pub async fn message(
        &self,
        execution: ExecutionId,
        text: String,
        files: Vec<PathBuf>,
        key: Option<String>,
        from: Sender,
        when: SendWhen,
    ) -> Result<Accepted, ExecutionError> {
        let run = self.running(execution)?;
        let files = attachments::accept(files, &from).await?;
        messages::prompt(&run, text, files, key, from, when).await
    }

    /// Queues a review of the agent's work, as one message.
    pub async fn review(
        &self,
        execution: ExecutionId,
        review: Review,
        key: Option<String>,
        from: Sender,
    ) -> Result<Accepted, ExecutionError> {
        let run = self.running(execution)?;
        messages::review(&run, review, key, from).await
    }

    /// Answers an open question of the agent: the one named, or the only one.
    pub async fn answer(
        &self,
        execution: ExecutionId,
        request: Option<ObservationId>,
        text: &str,
        key: Option<String>,
        from: Sender,
    ) -> Result<Accepted, ExecutionError> {
        let run = self.running(execution)?;
        messages::answer(&run, request, text, key, from).await
    }

    /// Stops what the agent is doing now; its program goes on.
    pub async fn interrupt(
        &self,
        execution: ExecutionId,
        from: Sender,
    ) -> Result<Accepted, ExecutionError> {
        let run = self.running(execution)?;
        messages::interrupt(&run, from).await
    }

    /// Ends the execution as no longer wanted, with every process of its agent.
    pub async fn cancel(&self, execution: ExecutionId, reason: &str) -> Result<(), ExecutionError> {
        let run = self.running(execution)?;
        // On record first: if this daemon dies now, the next one ends the program.
        run.observe(facts::of_cancel(reason)).await?;
        kill(Arc::clone(&self.context), run).await;
        Ok(())
    }

    fn running(&self, execution: ExecutionId) -> Result<Arc<Run>, ExecutionError> {
        let run = self.context.run(execution);
        run.ok_or(ExecutionError::NotRunning { execution })
    }

    /// A task of one execution; the next daemon takes up what a panic leaves.
    fn spawn(&self, run: ExecutionId, task: impl Future<Output = ()> + Send + 'static) {
        let subject = Some(run.to_string());
        self.tasks
            .spawn("execution", subject, OnPanic::Report, task);
    }

    /// The slots that executions run in.
    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.context.slots
    }
}

impl Component for Executions {
    fn name(&self) -> &'static str {
        "executions"
    }

    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let recovered = self.recover().await;
            recovered.map_err(|error| StartError::new(error.code(), error))?;
            let (this, config) = (Arc::downgrade(&self), self.context.config.clone());
            self.tasks.spawn_restarting("slot expiry", move || {
                slot_expiry::run(this.clone(), config.clone())
            });
            let context = Arc::clone(&self.context);
            self.tasks.spawn_restarting("journal audit", move || {
                journal_anchors::run(Arc::clone(&context))
            });
            Ok(())
        })
    }

    /// Stops following. The agents go on.
    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.tasks.stop().await;
            // What was recorded last is audited too.
            journal_anchors::record(&self.context).await;
        })
    }
}
