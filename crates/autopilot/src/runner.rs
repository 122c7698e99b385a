//! The loop of the autopilot: it listens, passes, and begins jobs. It waits for
//! the database, never for an agent, a check or git.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use missiond_config::AutopilotConfig;
use missiond_core::{Attempt, AttemptId, BoardTaskId, Event, ExecutionId, TraceContext};
use missiond_store::StoreError;
use missiond_timeline::FollowError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::decide::decide;
use super::gather::{self, Rows};
use super::jobs::{self, Cancellation, Failed, Report, Work};
use super::memory;
use super::view::{Action, Busy, Ending, Hours, Mode, Rules, Snapshot};
use super::watch::Watches;
use crate::board::BoardError;
use crate::shared::{Doing, Shared, StepUnderWay};

const TICK: Duration = Duration::from_millis(500);
/// The same while nothing is under way and nothing may begin.
const IDLE_TICK: Duration = Duration::from_secs(5);
/// Events come in flocks: what they add up to is decided once.
const GATHERING: Duration = Duration::from_millis(5);
/// How long a job that failed for a reason that may pass is left alone, at first
/// and at most.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often the answers about blocked tasks are looked for.
const FOLLOW_UP: Duration = Duration::from_secs(1);
/// As often may a step fail before its attempt is given up.
const MOST_FAILURES: u32 = 5;

pub(super) async fn run(shared: Arc<Shared>) {
    let mut runner = Runner::new(shared);
    runner.recover().await;
    runner.listen().await;
}

struct Runner {
    shared: Arc<Shared>,
    holder: Arc<str>,
    watches: Watches,
    /// The agents of attempts that were under way a moment ago.
    agents: HashMap<ExecutionId, AttemptId>,
    endings: HashMap<ExecutionId, Ending>,
    jobs: JoinSet<Report>,
    busy: HashMap<AttemptId, UnderWay>,
    /// Agents without an attempt, on their way out.
    leaving: HashSet<ExecutionId>,
    dispatching: bool,
    failures: HashMap<AttemptId, Failure>,
    renewed_at: Option<Instant>,
    following_up: bool,
    followed_up_at: Option<Instant>,
    tending: bool,
    tended_at: Option<Instant>,
    extraction: Extraction,
    drained: bool,
    passed_at: Instant,
    idle: bool,
}

/// Whether finished tasks have something to teach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extraction {
    /// Nothing has finished since the last look.
    Quiet,
    Due,
    UnderWay,
    /// Something finished while one was under way.
    UnderWayAndDue,
}

/// A step that was begun for an attempt.
struct UnderWay {
    task: BoardTaskId,
    cancellation: watch::Sender<Cancellation>,
}

/// A step that failed for a reason that may pass.
struct Failure {
    times: u32,
    again_at: Instant,
}

impl Runner {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            holder: holder(&shared).into(),
            shared,
            watches: Watches::default(),
            agents: HashMap::new(),
            endings: HashMap::new(),
            jobs: JoinSet::new(),
            busy: HashMap::new(),
            leaving: HashSet::new(),
            dispatching: false,
            failures: HashMap::new(),
            renewed_at: None,
            following_up: false,
            followed_up_at: None,
            tending: false,
            tended_at: None,
            // Whatever finished while no daemon ran.
            extraction: Extraction::Due,
            drained: false,
            passed_at: Instant::now(),
            idle: false,
        }
    }

    /// What this home's last daemon had under way is this one's now, under a new
    /// token: whatever the old one still tries to write is too late.
    async fn recover(&mut self) {
        // Those of a loop that panicked are nobody's any more.
        self.shared.steps().clear();
        loop {
            match self.adopt().await {
                Ok(()) => break,
                Err(error) => {
                    tracing::error!(%error, "running attempts not read, retrying");
                    tokio::time::sleep(SHORTEST_PAUSE).await;
                }
            }
        }
        let (shared, holder) = (Arc::clone(&self.shared), Arc::clone(&self.holder));
        self.spawn(None, jobs::tidy_up(shared, holder), |_| Report::Done);
    }

    async fn adopt(&self) -> Result<(), BoardError> {
        let rows = gather::rows(&self.shared, &self.holder).await?;
        for found in rows.attempts {
            let ttl = self.config().lease();
            let (id, holder) = (found.attempt.id, self.holder.to_string());
            let board = &self.shared.board;
            let adopted = board.adopt(id, holder, ttl, TraceContext::root()).await?;
            if let Some(place) = &adopted.attempt.worktree {
                // A check that was under way runs again.
                missiond_workspace::end_strays(place).await;
            }
            tracing::info!(
                task = %adopted.task.number, attempt = adopted.attempt.number, "attempt recovered"
            );
        }
        Ok(())
    }

    async fn listen(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut follower = shared.timeline.follow();
        let mut due = Some(Instant::now());
        loop {
            let tick = if self.idle { IDLE_TICK } else { TICK };
            tokio::select! {
                event = follower.next() => match event {
                    Ok(event) => {
                        self.count_finished(&event.event);
                        if self.watches.handle_event(&event) {
                            due.get_or_insert_with(|| Instant::now() + GATHERING);
                        }
                    }
                    Err(FollowError::Closed) => return,
                    Err(error) => {
                        tracing::error!(%error, "timeline read failed, retrying");
                        tokio::time::sleep(SHORTEST_PAUSE).await;
                    }
                },
                Some(report) = self.jobs.join_next() => {
                    match report {
                        Ok(report) => self.handle_report(report),
                        Err(error) => tracing::error!(%error, "autopilot job failed"),
                    }
                    due = Some(Instant::now());
                }
                () = shared.wakes.notified() => due = Some(Instant::now()),
                () = missiond_runtime::sleep_until(due.or(Some(self.passed_at + tick))) => {
                    due = None;
                    self.passed_at = Instant::now();
                    if let Err(error) = self.pass().await {
                        tracing::error!(%error, "autopilot pass failed");
                        tokio::time::sleep(SHORTEST_PAUSE).await;
                    }
                }
            }
        }
    }

    fn config(&self) -> AutopilotConfig {
        self.shared.config().autopilot.clone()
    }

    async fn pass(&mut self) -> Result<(), BoardError> {
        self.renew_leases().await?;
        let Rows {
            mode,
            attempts,
            parked,
        } = gather::rows(&self.shared, &self.holder).await?;
        let running = attempts.len();
        self.tend_memory(mode);
        self.extract(mode);
        self.forget(&attempts);
        self.call_off(mode, &attempts);
        let mut views = Vec::with_capacity(running);
        let mut works = HashMap::with_capacity(running);
        for rows in attempts {
            let id = rows.attempt.id;
            let busy = if self.others_at_work(&rows.attempt) {
                Busy::Yes
            } else {
                self.is_busy(id)
            };
            let (view, claim) = gather::view(
                &self.shared,
                &mut self.watches,
                &mut self.endings,
                rows,
                &parked,
                busy,
            )
            .await?;
            let shared = Arc::clone(&self.shared);
            let work = Work::new(shared, view.task.clone(), view.attempt.clone());
            if let (Busy::No, Some(claim)) = (busy, claim) {
                // On record before anything follows from it.
                self.begin(work, Doing::Other, |work| jobs::record_claim(work, claim));
                continue;
            }
            works.insert(id, work);
            views.push(view);
        }
        let config = self.config();
        let places = config
            .max_agents
            .saturating_sub(u32::try_from(running).unwrap_or(u32::MAX));
        let snapshot = Snapshot {
            now: self.shared.clock.now(),
            mode,
            hours: if config.quiet().include(jiff::Zoned::now().time()) {
                Hours::Quiet
            } else {
                Hours::Open
            },
            free_places: if self.dispatching { 0 } else { places },
            rules: rules(&config),
            attempts: views,
        };
        for action in decide(&snapshot) {
            match action {
                Action::Dispatch { places } => {
                    self.dispatching = true;
                    let (shared, holder) = (Arc::clone(&self.shared), Arc::clone(&self.holder));
                    let job = jobs::dispatch(shared, holder, places);
                    self.spawn(None, job, |_| Report::Dispatched);
                }
                Action::For(id, step) => {
                    if let Some(work) = works.remove(&id) {
                        let doing = step.doing();
                        self.begin(work, doing, |work| jobs::run_step(work, step));
                    }
                }
            }
        }
        self.idle = running == 0 && matches!(mode, Mode::Paused | Mode::Stopped);
        self.follow_up_blocked(mode);
        self.pause_when_drained(mode, running).await;
        Ok(())
    }

    /// The first stage: what is due in the knowledge base.
    fn tend_memory(&mut self, mode: Mode) {
        let lately = |at: Instant| at.elapsed() < memory::TEND_EVERY;
        if self.tending || self.tended_at.is_some_and(lately) || mode == Mode::Stopped {
            return;
        }
        self.tending = true;
        self.tended_at = Some(Instant::now());
        let job = memory::tend(Arc::clone(&self.shared));
        self.spawn(None, job, |_| Report::Tended);
    }

    /// The second: what finished tasks taught.
    fn extract(&mut self, mode: Mode) {
        if self.extraction != Extraction::Due || mode == Mode::Stopped {
            return;
        }
        self.extraction = Extraction::UnderWay;
        let job = memory::extract(Arc::clone(&self.shared));
        self.spawn(None, job, |_| Report::Extracted { more: false });
    }

    fn count_finished(&mut self, event: &Event) {
        let Event::BoardTaskUpdated { status, .. } = event else {
            return;
        };
        if status.is_over() {
            self.extraction = match self.extraction {
                Extraction::Quiet | Extraction::Due => Extraction::Due,
                Extraction::UnderWay | Extraction::UnderWayAndDue => Extraction::UnderWayAndDue,
            };
        }
    }

    /// What was answered about blocked tasks is done.
    fn follow_up_blocked(&mut self, mode: Mode) {
        let lately = |at: Instant| at.elapsed() < FOLLOW_UP;
        if self.following_up || self.followed_up_at.is_some_and(lately) || mode == Mode::Stopped {
            return;
        }
        self.following_up = true;
        self.followed_up_at = Some(Instant::now());
        let (shared, holder) = (Arc::clone(&self.shared), Arc::clone(&self.holder));
        self.spawn(None, jobs::follow_up(shared, holder), |_| {
            Report::FollowedUp
        });
    }

    fn begin<J>(&mut self, mut work: Work, doing: Doing, job: impl FnOnce(Work) -> J)
    where
        J: Future<Output = Report> + Send + 'static,
    {
        let (id, task) = (work.attempt.id, work.task.id);
        let (cancellation, receiver) = watch::channel(Cancellation::NotRequested);
        work.cancellation = receiver;
        self.busy.insert(id, UnderWay { task, cancellation });
        let since = self.shared.clock.now();
        let step = StepUnderWay { doing, since };
        self.shared.steps().insert(id, step);
        let (subject, left) = (Some(work.task.number.to_string()), work.clone());
        self.spawn(subject, job(work), move |why| {
            let why = format!("a step panicked: {why}");
            Report::Taken(id, Err(Box::new(Failed { work: left, why })))
        });
    }

    /// Begins a job. One that panics is reported, and answered for by the report
    /// that is made of what it said: nothing stays under way for ever.
    fn spawn<J>(
        &mut self,
        subject: Option<String>,
        job: J,
        panicked: impl FnOnce(String) -> Report + Send + 'static,
    ) where
        J: Future<Output = Report> + Send + 'static,
    {
        let supervisor = self.shared.supervisor.clone();
        self.jobs.spawn(async move {
            match AssertUnwindSafe(job).catch_unwind().await {
                Ok(report) => report,
                Err(panic) => panicked(supervisor.report("autopilot job", subject, panic.as_ref())),
            }
        });
    }

    /// What takes long for an attempt that is over, or when everything is
    /// stopped, is not seen through.
    fn call_off(&self, mode: Mode, live: &[gather::AttemptRows]) {
        for (id, under_way) in &self.busy {
            let over = !live.iter().any(|rows| rows.attempt.id == *id);
            if over || mode == Mode::Stopped {
                let _ = under_way.cancellation.send(Cancellation::Requested);
            }
        }
    }

    /// Whether an earlier attempt of the same task is not quite over: its agent
    /// or one of its steps may still be at work in the place this one would go on
    /// in. An agent that nobody ends is ended.
    fn others_at_work(&mut self, attempt: &Attempt) -> bool {
        let of_task =
            |(id, other): (&AttemptId, &UnderWay)| other.task == attempt.task && *id != attempt.id;
        let steps = self.busy.iter().any(of_task);
        let agents = self.shared.executions.of_tasks().into_iter();
        let others: Vec<_> = agents
            .filter(|(execution, task)| {
                *task == attempt.task && Some(*execution) != attempt.execution
            })
            .map(|(execution, _)| execution)
            .collect();
        for execution in &others {
            if !steps {
                self.dismiss(*execution);
            }
        }
        steps || !others.is_empty()
    }

    fn dismiss(&mut self, execution: ExecutionId) {
        if self.leaving.insert(execution) {
            let shared = Arc::clone(&self.shared);
            let job = jobs::dismiss(shared, execution);
            let subject = Some(execution.to_string());
            self.spawn(subject, job, move |_| Report::Dismissed(execution));
        }
    }

    fn is_busy(&self, id: AttemptId) -> Busy {
        let waits = self
            .failures
            .get(&id)
            .is_some_and(|failure| failure.again_at > Instant::now());
        if self.busy.contains_key(&id) || waits {
            Busy::Yes
        } else {
            Busy::No
        }
    }

    fn handle_report(&mut self, report: Report) {
        match report {
            Report::Dispatched => self.dispatching = false,
            Report::Done => {}
            Report::Dismissed(execution) => {
                self.leaving.remove(&execution);
            }
            Report::FollowedUp => self.following_up = false,
            Report::Tended => self.tending = false,
            Report::Extracted { more } => {
                let due = more || self.extraction == Extraction::UnderWayAndDue;
                self.extraction = if due {
                    Extraction::Due
                } else {
                    Extraction::Quiet
                };
                // What was just taken in may be accepted by a rule.
                self.tended_at = self.tended_at.filter(|_| !more);
            }
            Report::Taken(id, Ok(())) => {
                self.busy.remove(&id);
                self.shared.steps().remove(&id);
                self.failures.remove(&id);
            }
            Report::Taken(id, Err(failed)) => {
                self.busy.remove(&id);
                self.shared.steps().remove(&id);
                self.put_off(id, *failed);
            }
        }
    }

    /// Tries the step again later, and gives the attempt up when that does not
    /// help.
    fn put_off(&mut self, id: AttemptId, failed: Failed) {
        tracing::warn!(attempt = %id, error = %failed.why, "attempt step failed");
        let failure = self.failures.entry(id).or_insert(Failure {
            times: 0,
            again_at: Instant::now(),
        });
        failure.times += 1;
        let pause = SHORTEST_PAUSE * 2_u32.saturating_pow(failure.times - 1);
        failure.again_at = Instant::now() + pause.min(LONGEST_PAUSE);
        if failure.times >= MOST_FAILURES {
            self.failures.remove(&id);
            let why = failed.why;
            self.begin(failed.work, Doing::Other, |work| {
                jobs::give_up(Failed { work, why })
            });
        }
    }

    /// Keeps the leases, and collects those that others let run out.
    async fn renew_leases(&mut self) -> Result<(), BoardError> {
        let ttl = self.config().lease();
        if self.renewed_at.is_some_and(|at| at.elapsed() < ttl / 3) {
            return Ok(());
        }
        let board = &self.shared.board;
        let rows = gather::rows(&self.shared, &self.holder).await?;
        for found in rows.attempts {
            let beaten = board.heartbeat(&found.attempt, ttl, TraceContext::root());
            match beaten.await {
                Ok(_) => {}
                // The machine slept, and nobody else has taken it since.
                Err(BoardError::Store(StoreError::StaleLease { .. })) => {
                    let (id, holder) = (found.attempt.id, self.holder.to_string());
                    match board.adopt(id, holder, ttl, TraceContext::root()).await {
                        Ok(_) => {
                            tracing::warn!(attempt = %id, "attempt adopted again after its lease expired");
                        }
                        Err(error) => {
                            tracing::warn!(attempt = %id, %error, "attempt lost after its lease expired");
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let ended = board.expire(TraceContext::root()).await?;
        for ended in ended {
            tracing::warn!(task = %ended.task.number, holder = ended.attempt.holder, "lease expired");
        }
        self.renewed_at = Some(Instant::now());
        Ok(())
    }

    /// Agents whose attempt is over, by whatever hand, have nothing left to do.
    fn forget(&mut self, live: &[gather::AttemptRows]) {
        let known: Vec<_> = live
            .iter()
            .filter_map(|rows| rows.attempt.execution)
            .collect();
        let is_live = |id: &AttemptId| live.iter().any(|rows| rows.attempt.id == *id);
        self.watches.forget_all_but(&known);
        self.endings
            .retain(|execution, _| known.contains(execution));
        self.failures.retain(|id, _| is_live(id));
        let busy = &self.busy;
        // One whose last step is still under way is ended by that step.
        let over = |id: &AttemptId| !is_live(id) && !busy.contains_key(id);
        let left = self.agents.extract_if(|_, id| over(id)).collect::<Vec<_>>();
        for (execution, _) in left {
            self.dismiss(execution);
        }
        let agents = live
            .iter()
            .filter_map(|rows| Some((rows.attempt.execution?, rows.attempt.id)));
        self.agents.extend(agents);
    }

    /// A drain that has nothing left to wait for ends in a pause.
    async fn pause_when_drained(&mut self, mode: Mode, running: usize) {
        if mode != Mode::Draining || running > 0 {
            self.drained = false;
            return;
        }
        if std::mem::replace(&mut self.drained, true) {
            return;
        }
        let trace = TraceContext::root();
        let (reason, by) = ("everything that ran is done", "autopilot");
        let paused = self.shared.set_mode(Mode::Paused, reason, by, trace).await;
        if let Err(error) = paused {
            tracing::error!(%error, "end of drain not recorded");
        }
    }
}

/// Who claims: this home on this machine, whichever run of the daemon it is.
pub(super) fn holder(shared: &Shared) -> String {
    format!("{}:{}", shared.host, shared.home.data_dir().display())
}

fn rules(config: &AutopilotConfig) -> Rules {
    let settle = Duration::from_millis(config.settle_ms);
    Rules {
        check_rounds: config.check_rounds,
        unchanged_rounds: config.unchanged_rounds,
        conflicts: 1,
        limit_resumes: config.limit_resumes,
        claimed_settle: settle.min(Duration::from_millis(200)),
        settle,
        unseen_settle: 10 * settle,
        stall: Duration::from_secs(config.stall_secs),
    }
}
