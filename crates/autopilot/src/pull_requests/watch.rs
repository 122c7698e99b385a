//! Looking after the tasks that wait for a pull request: what is verified is handed
//! over, and what is open is asked about every few minutes. While there is none,
//! nothing is asked.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use missiond_core::{
    Attempt, BoardTask, BoardTaskId, BoardTaskStatus, Event, Finish, NoteText, ReviewGate, TaskRef,
    TraceContext,
};
use missiond_store::{StoreError, autopilot, board};
use missiond_timeline::FollowError;
use missiond_workspace::Worktree;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{AUTHOR, HandOver, PullRequestError};
use crate::shared::Shared;
use crate::view::Mode;
use crate::worktrees::reattach;

/// So many are asked about at once; a host that answers slowly keeps the others waiting
/// no longer than that.
const AT_ONCE: usize = 8;
/// The longest time between two questions to a host that does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// A task, the attempt that is waited for, and the pull request as far as there is one:
/// when any of it changes, the story begins anew.
type Key = (BoardTaskId, u32, Option<u64>);

/// One task that waits for a pull request.
struct Waiting {
    task: BoardTask,
    attempt: Attempt,
}

/// When something is done next for a task.
#[derive(Debug, Clone, Copy)]
struct Next {
    /// Never by itself, when absent.
    at: Option<Instant>,
    failures: u32,
}

/// What came of looking after one task.
enum Came {
    Fine,
    MayPass,
    NeedsPerson,
}

/// Looks after them until the timeline is closed.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut follower = shared.timeline.follow();
    let mut jobs: JoinSet<(Key, Came)> = JoinSet::new();
    let mut next: HashMap<Key, Next> = HashMap::new();
    let mut under_way: Vec<Key> = Vec::new();
    let mut due = Some(Instant::now());
    loop {
        tokio::select! {
            event = follower.next() => match event {
                Ok(event) if concerns(&event.event) => due = Some(Instant::now()),
                Ok(_) => {}
                Err(FollowError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "timeline read failed, retrying");
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            },
            Some(report) = jobs.join_next() => {
                if let Ok((key, came)) = report {
                    under_way.retain(|other| *other != key);
                    let failures = next.get(&key).map_or(0, |next| next.failures);
                    next.insert(key, following(&shared, &came, failures));
                }
                due = Some(Instant::now());
            }
            () = missiond_runtime::sleep_until(due) => {
                match waiting(&shared).await {
                    Ok(found) => {
                        next.retain(|key, _| found.iter().any(|one| one.key() == *key));
                        begin(&shared, found, &next, &mut under_way, &mut jobs);
                        // With every place taken, the first that ends says when to look.
                        let free = under_way.len() < AT_ONCE;
                        let idle = |(key, _): &(&Key, &Next)| free && !under_way.contains(*key);
                        due = next.iter().filter(idle).filter_map(|(_, next)| next.at).min();
                    }
                    Err(error) => {
                        tracing::error!(%error, "tasks with pull requests not read, retrying");
                        due = Some(Instant::now() + AFTER_TROUBLE);
                    }
                }
            }
        }
    }
}

/// Whether something may have begun to wait, or may go on.
fn concerns(event: &Event) -> bool {
    match event {
        Event::BoardTaskUpdated { status, .. } => *status == BoardTaskStatus::Review,
        Event::AutopilotChanged { .. } => true,
        _ => false,
    }
}

/// Begins what is due.
fn begin(
    shared: &Arc<Shared>,
    found: Vec<Waiting>,
    next: &HashMap<Key, Next>,
    under_way: &mut Vec<Key>,
    jobs: &mut JoinSet<(Key, Came)>,
) {
    let now = Instant::now();
    for one in found {
        let key = one.key();
        let is_due = next
            .get(&key)
            .is_none_or(|next| next.at.is_some_and(|at| at <= now));
        if !is_due || under_way.len() >= AT_ONCE || under_way.contains(&key) {
            continue;
        }
        under_way.push(key);
        let shared = Arc::clone(shared);
        let number = one.task.number.to_string();
        jobs.spawn(async move {
            let job = AssertUnwindSafe(look_after(&shared, one)).catch_unwind();
            let came = job.await.unwrap_or_else(|panic| {
                let supervisor = &shared.supervisor;
                supervisor.report("pull request", Some(number), panic.as_ref());
                Came::MayPass
            });
            (key, came)
        });
    }
}

fn following(shared: &Shared, came: &Came, failures: u32) -> Next {
    let usual = Duration::from_secs(shared.config().autopilot.pull_request_secs);
    let (pause, failures) = match came {
        Came::Fine => (Some(usual), 0),
        Came::MayPass => {
            let pause = usual * 2_u32.saturating_pow(failures.saturating_add(1).min(12));
            (Some(pause.min(LONGEST_PAUSE.max(usual))), failures + 1)
        }
        Came::NeedsPerson => (None, failures),
    };
    Next {
        at: pause.map(|pause| Instant::now() + pause),
        failures,
    }
}

/// The tasks of this home that wait for a pull request; none while everything is
/// stopped.
async fn waiting(shared: &Shared) -> Result<Vec<Waiting>, StoreError> {
    let holder = crate::runner::holder(shared);
    let found = shared.db.read(move |tx| {
        Box::pin(async move {
            let mode = autopilot::mode(tx).await?.mode;
            if Mode::named(&mode) == Some(Mode::Stopped) {
                return Ok(Vec::new());
            }
            board::with_pull_requests(tx).await
        })
    });
    let found = found.await?.into_iter();
    let mut found: Vec<_> = found
        .map(|(task, attempt)| Waiting { task, attempt })
        .collect();
    found.retain(|one| one.attempt.holder == holder && (one.opens() || !one.has_news()));
    Ok(found)
}

/// Whether nobody has to approve it first.
fn is_handed_over_by_itself(task: &BoardTask) -> bool {
    let wanted = task.finish == Finish::PullRequest || task.pull_request.is_some();
    wanted && task.review == ReviewGate::MergeAtOnce
}

impl Waiting {
    fn key(&self) -> Key {
        let opened = self.task.pull_request.as_ref().map(|opened| opened.number);
        (self.task.id, self.attempt.number, opened)
    }

    /// Whether it is handed over without a person. Newer work than the pull request has,
    /// which a person wants to approve, waits for that alone.
    fn opens(&self) -> bool {
        self.has_news() && is_handed_over_by_itself(&self.task)
    }

    /// Whether there is work that no pull request has.
    fn has_news(&self) -> bool {
        let opened = self.task.pull_request.as_ref();
        opened.is_none_or(|opened| opened.attempt != self.attempt.number)
    }
}

async fn look_after(shared: &Shared, one: Waiting) -> Came {
    let task = one.task.clone();
    let opens = one.opens();
    let looked = if opens {
        hand_over(shared, one).await
    } else {
        refresh(shared, &one).await
    };
    let Err(error) = looked else {
        return Came::Fine;
    };
    tracing::warn!(task = %task.number, %error, "pull request not looked after");
    let came = match &error {
        PullRequestError::NeedsPerson(_) if opens => Came::NeedsPerson,
        _ => Came::MayPass,
    };
    let told = match error {
        PullRequestError::NeedsPerson(told) => Some(told),
        PullRequestError::MayPass(told) if opens => Some(told),
        _ => None,
    };
    if let Some(told) = told
        && let Err(error) = tell(shared, &task, &told).await
    {
        tracing::warn!(task = %task.number, %error, "note about pull request not kept");
    }
    came
}

async fn hand_over(shared: &Shared, one: Waiting) -> Result<(), PullRequestError> {
    let Waiting { task, attempt } = one;
    let path = attempt.worktree.clone().unwrap_or_default();
    let worktree = match Worktree::open(&path).await {
        Ok(worktree) => Ok(worktree),
        Err(_) => reattach(&attempt, &task).await,
    };
    let worktree = worktree.map_err(|error| {
        PullRequestError::NeedsPerson(super::words::shortened(&error.to_string()))
    })?;
    let Some(into) = worktree.base().map(str::to_owned) else {
        let number = task.number;
        return Err(PullRequestError::NeedsPerson(format!(
            "the work started from no branch: `mission worktree finish {number} --how pull_request \
             --into BRANCH --yes` opens a pull request into one"
        )));
    };
    let of = Some((attempt, task));
    let work = HandOver { worktree, into, of };
    super::hand_over(shared, &work).await.map(drop)
}

/// Asks how the pull request stands, and does what follows.
async fn refresh(shared: &Shared, one: &Waiting) -> Result<(), PullRequestError> {
    let Waiting { task, attempt } = one;
    let Some(known) = &task.pull_request else {
        return Ok(());
    };
    let places = [attempt.worktree.clone(), task.repository.clone()];
    let mut there = places.into_iter().flatten().filter(|path| path.is_dir());
    let folder = there.next().unwrap_or_else(|| PathBuf::from("/"));
    let found = super::ask(&folder, known).await?;
    super::settled(shared, task, attempt, found).await.map(drop)
}

/// Notes what a person has to know, once.
async fn tell(shared: &Shared, task: &BoardTask, told: &str) -> Result<(), PullRequestError> {
    let id = task.id;
    let notes = shared
        .db
        .read(move |tx| Box::pin(board::notes(tx, id)))
        .await?;
    let said = |note: &missiond_core::Note| note.author == AUTHOR && note.text == told;
    if notes.iter().any(said) {
        return Ok(());
    }
    if let Some(text) = NoteText::excerpt(told) {
        let (task, author) = (TaskRef::Id(id), AUTHOR.to_owned());
        let board = &shared.board;
        board
            .add_note(task, author, text, TraceContext::root())
            .await?;
    }
    Ok(())
}
