//! What an overview is made from: rows, journals and terminals, each asked for once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::join_all;
use missiond_api::ApiError;
use missiond_autopilot::StepUnderWay;
use missiond_context::is_frame_line;
use missiond_core::{
    Attempt, AttemptId, BoardTask, BoardTaskId, DeliveryStatus, ExecutionId, Incident,
    IncidentState, PtyState, Question, SlotId, Timestamp,
};
use missiond_journal::ExecutionState;
use missiond_journal::record::CurrentTarget;
use missiond_runtime::blocking;
use missiond_semantic::Reading;
use missiond_slots::{OpenSlot, SlotCommand};
use missiond_store::autopilot::{self, ModeRow};
use missiond_store::board::{self, LastRound, OpenTasks};
use missiond_store::conversations::usage::{self as of_conversations, Spent};
use missiond_store::executions::{self, ExecutionFilter, ExecutionRow};
use missiond_store::incidents::{self, IncidentFilter};
use missiond_store::overview::{self, RunUsage};
use missiond_store::questions::{self, QuestionFilter};
use missiond_store::token_usage::{Tokens, begin_of_day};
use missiond_store::{StoreError, Tx};
use tokio::sync::oneshot;

use crate::call::{Call, of_store};
use crate::run_facts::first_prompt;

/// A terminal that does not answer is shown without its screen.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Facts {
    pub now: Timestamp,
    pub rows: Rows,
    /// Finished, and beyond the limit.
    pub finished_beyond: u64,
    pub tasks: HashMap<BoardTaskId, BoardTask>,
    /// The last attempt of each task that is shown.
    pub attempts: HashMap<BoardTaskId, Attempt>,
    pub rounds: HashMap<AttemptId, LastRound>,
    pub usage: HashMap<ExecutionId, RunUsage>,
    pub journals: HashMap<ExecutionId, JournalFacts>,
    pub terminals: HashMap<SlotId, Terminal>,
    pub steps: HashMap<AttemptId, StepUnderWay>,
    /// Runs for tasks, also those whose attempt is over.
    pub of_tasks: HashSet<ExecutionId>,
    /// The checkout of each folder a run without a task works in.
    pub checkouts: HashMap<PathBuf, PathBuf>,
}

/// What is read in one transaction.
pub(super) struct Rows {
    pub mode: ModeRow,
    pub seen: Option<Timestamp>,
    pub open: OpenTasks,
    pub live: Vec<Attempt>,
    pub running: Vec<ExecutionRow>,
    pub ended: Vec<ExecutionRow>,
    pub standing: Vec<BoardTask>,
    pub finished: Vec<BoardTask>,
    /// Of those, given up because another alternative was kept.
    pub not_kept: HashSet<BoardTaskId>,
    pub questions: Vec<Question>,
    pub incidents: Vec<Incident>,
    /// What the agents of tasks spent today, of each engine.
    pub today: Vec<Spent>,
}

/// What the journal of a running agent says.
pub(super) struct JournalFacts {
    pub tokens: Tokens,
    /// Words were delivered to it.
    pub prompted: bool,
    pub waits_for_words: bool,
    pub tool_runs: bool,
    pub changes_files: bool,
    pub target: CurrentTarget,
    pub last_words: Option<String>,
    pub first_prompt: Option<String>,
    pub updated_at: Timestamp,
}

/// What the terminal of an agent shows.
pub(super) struct Terminal {
    pub open: OpenSlot,
    /// None when it did not answer in time.
    pub reading: Option<Reading>,
    pub work_line: Option<String>,
}

impl Terminal {
    pub(super) fn state(&self) -> Option<PtyState> {
        self.reading.as_ref().map(|reading| reading.state)
    }

    /// Since when it is in its state.
    pub(super) fn since(&self) -> Timestamp {
        let began = Timestamp::from_micros(self.open.record.started_at_us);
        let since = self.reading.as_ref().map(|reading| reading.since);
        began.plus(since.unwrap_or_default())
    }
}

type Related = (
    Vec<BoardTask>,
    Vec<Attempt>,
    Vec<LastRound>,
    HashMap<ExecutionId, RunUsage>,
);

impl Facts {
    /// Of a repository, or of all, with so many that are finished.
    pub(super) async fn gather(
        call: &Call,
        repository: Option<String>,
        limit: u32,
    ) -> Result<Self, ApiError> {
        let daemon = &call.daemon;
        let now = daemon.clock.now();
        // Terminals first: a question that is raised meanwhile is in the rows then.
        let terminals = terminals(daemon.slots.open()).await;
        let read = daemon.db.read(move |tx| {
            Box::pin(async move {
                let (rows, beyond) = read(tx, now, repository.as_deref(), limit).await?;
                let related = related(tx, &rows).await?;
                Ok::<_, StoreError>((rows, beyond, related))
            })
        });
        let (rows, finished_beyond, related) = read.await.map_err(|error| of_store(&error))?;
        let (others, attempts, rounds, usage) = related;
        let mut journals = HashMap::new();
        for row in &rows.running {
            let facts = daemon.executions.peek(row.id, JournalFacts::of);
            journals.extend(facts.map(|facts| (row.id, facts)));
        }
        let folders = rows.running.iter().chain(&rows.ended);
        let folders: Vec<_> = folders.map(|row| row.cwd.clone()).collect();
        let slots = terminals.values();
        let more = slots.map(|terminal| terminal.open.record.cwd.clone());
        let folders: Vec<_> = folders.into_iter().chain(more).collect();
        let checkouts = blocking(move || checkouts(folders)).await;
        let tasks = rows.standing.iter().chain(&rows.finished).chain(&others);
        let tasks = tasks.map(|task| (task.id, task.clone())).collect();
        Ok(Self {
            now,
            finished_beyond,
            tasks,
            attempts: attempts.into_iter().map(|one| (one.task, one)).collect(),
            rounds: rounds.into_iter().map(|one| (one.attempt, one)).collect(),
            usage,
            journals,
            terminals,
            steps: daemon.autopilot.steps_under_way(),
            of_tasks: daemon
                .executions
                .of_tasks()
                .into_iter()
                .map(|(run, _)| run)
                .collect(),
            checkouts,
            rows,
        })
    }

    /// The attempt a run was started for, as far as its task is shown.
    pub(super) fn attempt_of(&self, run: ExecutionId) -> Option<&Attempt> {
        let of = |attempt: &&Attempt| attempt.execution == Some(run);
        self.attempts.values().find(of)
    }
}

async fn read(
    tx: &mut Tx<'_>,
    now: Timestamp,
    repository: Option<&str>,
    limit: u32,
) -> Result<(Rows, u64), StoreError> {
    let seen = overview::seen(tx).await?;
    let since = seen.unwrap_or_else(|| Timestamp::from_micros(0));
    let (finished, all_finished) = board::finished_after(tx, since, repository, limit).await?;
    let (ended, all_ended) = overview::ended_without_task(tx, since, repository, limit).await?;
    let beyond = (all_finished + all_ended) - (finished.len() + ended.len()) as u64;
    let open = IncidentFilter {
        state: Some(IncidentState::Open),
        limit,
    };
    let today = of_conversations::by_day(tx, begin_of_day(now)).await?;
    let rows = Rows {
        mode: autopilot::mode(tx).await?,
        seen,
        open: board::open_tasks(tx, now).await?,
        live: board::live_attempts(tx).await?,
        running: executions::list(tx, ExecutionFilter::Running).await?,
        ended,
        standing: board::standing(tx, now).await?,
        not_kept: board::not_kept(tx, &finished).await?,
        finished,
        questions: questions::list(tx, QuestionFilter::Open).await?,
        incidents: incidents::list(tx, &open).await?,
        today: today.into_values().collect(),
    };
    Ok((rows, beyond))
}

/// What belongs to the tasks and runs that are shown.
async fn related(tx: &mut Tx<'_>, rows: &Rows) -> Result<Related, StoreError> {
    let shown = || rows.standing.iter().chain(&rows.finished);
    let asked = rows.questions.iter().filter_map(|one| one.origin.task());
    let worked_on = rows.live.iter().map(|attempt| attempt.task);
    let mut others: Vec<_> = asked.chain(worked_on).collect();
    others.retain(|id| shown().all(|task| task.id != *id));
    others.sort_unstable();
    others.dedup();
    let others = board::tasks_with(tx, &others).await?;
    let tasks: Vec<_> = shown().chain(&others).map(|task| task.id).collect();
    let attempts = board::last_attempts(tx, &tasks).await?;
    let ids: Vec<_> = attempts.iter().map(|attempt| attempt.id).collect();
    let rounds = board::last_rounds(tx, &ids).await?;
    let of_tasks = attempts.iter().filter_map(|attempt| attempt.execution);
    let runs = rows.running.iter().chain(&rows.ended).map(|row| row.id);
    let mut runs: Vec<_> = of_tasks.chain(runs).collect();
    runs.sort_unstable();
    runs.dedup();
    let usage = overview::usage_of(tx, &runs).await?;
    Ok((others, attempts, rounds, usage))
}

impl JournalFacts {
    fn of(state: &ExecutionState) -> Self {
        let delivered = |status: DeliveryStatus| status == DeliveryStatus::Delivered;
        let telemetry = &state.telemetry;
        Self {
            tokens: Tokens {
                input: telemetry.input_tokens,
                output: telemetry.output_tokens,
                cache_read: telemetry.cache_read_tokens,
                cache_write: telemetry.cache_write_tokens,
                ..Tokens::default()
            },
            prompted: state.messages.values().any(|one| delivered(one.status)),
            waits_for_words: state.undelivered().next().is_some(),
            tool_runs: state.capabilities.tool_call_active,
            changes_files: state.capabilities.filesystem_mutating,
            target: state.target.clone(),
            last_words: state
                .last_known
                .last_words
                .as_ref()
                .map(|(text, _)| text.clone()),
            first_prompt: first_prompt(state),
            updated_at: state.updated_at,
        }
    }
}

/// A look at every open terminal at the same time.
async fn terminals(open: Vec<OpenSlot>) -> HashMap<SlotId, Terminal> {
    let look = |open: OpenSlot| async move {
        let (done, answer) = oneshot::channel();
        let look = async {
            open.commands.send(SlotCommand::Inspect(done)).await.ok()?;
            answer.await.ok()
        };
        let view = match tokio::time::timeout(LOOK_WITHIN, look).await {
            Ok(Some(view)) => Some(view),
            // It was closed meanwhile.
            Ok(None) => return None,
            Err(_) => None,
        };
        let (reading, work_line) = match view {
            Some(view) => {
                // What missiond itself said to the agent is no work of it.
                let work_line = view.work_line.filter(|line| !is_frame_line(line.trim()));
                (Some(view.reading), work_line)
            }
            None => (None, None),
        };
        Some(Terminal {
            open,
            reading,
            work_line,
        })
    };
    let looked = join_all(open.into_iter().map(look)).await;
    let looked = looked.into_iter().flatten();
    looked
        .map(|terminal| (terminal.open.slot.id, terminal))
        .collect()
}

/// The checkout each folder is in; the folder itself when it is in none.
fn checkouts(mut folders: Vec<PathBuf>) -> HashMap<PathBuf, PathBuf> {
    folders.sort_unstable();
    folders.dedup();
    let checkout = |folder: &Path| {
        let mut above = folder.ancestors();
        let found = above.find(|above| above.join(".git").exists());
        found.unwrap_or(folder).to_owned()
    };
    let found = |folder: PathBuf| (folder.clone(), checkout(&folder));
    folders.into_iter().map(found).collect()
}
