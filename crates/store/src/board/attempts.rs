//! Claims and what comes of them.
//!
//! A claim makes an attempt with a fencing token. Whatever its holder writes
//! afterwards is written under that token, with the task's row locked: when
//! the lease has ended or was taken over, the write is refused, however late
//! it arrives, and leaves nothing behind.

use std::path::PathBuf;
use std::time::Duration;

use missiond_core::machines::Machine;
use missiond_core::{
    Attempt, AttemptId, BoardTask, BoardTaskId, BoardTaskStatus, Claim, Consequence, ContextItem,
    ContextOutcome, Event, Evidence, ExecutionId, FencingToken, Lease, Outcome, SlotId, backoff,
};

use super::attempt_rows::{self, ATTEMPT, EVIDENCE};
use super::ready::{ReadyLimits, Running, SortKey, candidates, dependencies_done};
use super::{Act, Claimant, Claimed, graph, lock, ready, resource, rows, updated};
use crate::leases::{self, Claim as LeaseClaim};
use crate::{StoreError, Tx, Value, executions, prompt_snapshots, trust_facts};

/// An attempt that has ended, and what became of its task.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedAttempt {
    pub task: BoardTask,
    pub attempt: Attempt,
}

/// Where an attempt is made. What is absent stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptLocation {
    pub slot: Option<SlotId>,
    pub execution: Option<ExecutionId>,
    pub worktree: Option<PathBuf>,
    pub branch: Option<String>,
    pub base_commit: Option<String>,
}

/// Claims a task, unless something is in its way.
pub async fn claim(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    claimant: &Claimant,
    act: &Act,
) -> Result<Claimed, StoreError> {
    let task = rows::get_for_update(tx, id).await?;
    if task.status != BoardTaskStatus::Open {
        return Err(StoreError::conflict(format!(
            "{} is {}",
            task.number, task.status
        )));
    }
    if !task.touches.is_empty() {
        lock(tx, "touches").await?;
    }
    let none = ReadyLimits::default();
    let obstacles = if dependencies_done(tx, id).await? {
        Running::relevant_to(tx, &task, &none)
            .await?
            .obstacles(&task, act.now, &none)
    } else {
        ready::waits_of(tx, &task, act.now, &none).await?
    };
    if let Some(wait) = obstacles.first() {
        return Err(StoreError::conflict(format!("{} {wait}", task.number)));
    }
    match start(tx, task, claimant, act).await? {
        Ok(claimed) => Ok(claimed),
        Err(held) => Err(StoreError::conflict(format!(
            "{} is held by {} until {}",
            held.resource, held.holder, held.expires_at
        ))),
    }
}

/// Claims the task that is wanted most and can be worked on now. Tasks that
/// others are claiming at this moment are passed over, not waited for.
pub async fn claim_next(
    tx: &mut Tx<'_>,
    claimant: &Claimant,
    limits: &ReadyLimits,
    act: &Act,
) -> Result<Option<Claimed>, StoreError> {
    let skip_locked = tx.for_update_skip_locked();
    let mut after = SortKey::start();
    let mut touches_locked = false;
    loop {
        let found = candidates(tx, &after, 1, skip_locked).await?;
        let Some(task) = found.into_iter().next() else {
            return Ok(None);
        };
        after = SortKey::of(&task);
        if !task.touches.is_empty() && !touches_locked {
            lock(tx, "touches").await?;
            touches_locked = true;
        }
        let running = Running::relevant_to(tx, &task, limits).await?;
        if running.obstacles(&task, act.now, limits).is_empty()
            && let Ok(claimed) = start(tx, task, claimant, act).await?
        {
            return Ok(Some(claimed));
        }
    }
}

/// Takes a running attempt over from a holder that is gone, so that what it
/// began goes on under a new token; the old one is stale from now on. That the
/// holder is gone is for the caller to know.
pub async fn adopt(
    tx: &mut Tx<'_>,
    id: AttemptId,
    holder: &str,
    ttl: Duration,
    act: &Act,
) -> Result<Claimed, StoreError> {
    let before = require_attempt(tx, id).await?;
    let task = rows::get_for_update(tx, before.task).await?;
    let mut attempt = require_attempt(tx, id).await?;
    if attempt.ended_at.is_some() {
        return Err(StoreError::conflict(format!(
            "attempt {} of {} has ended",
            attempt.number, task.number
        )));
    }
    let lease = leases::seize(tx, &resource(task.id), holder, act.now, ttl).await?;
    attempt.token = lease.token;
    attempt.holder = holder.to_owned();
    attempt.daemon = act.daemon;
    let sql = "UPDATE board_attempts SET token = $2, holder = $3, daemon = $4 WHERE id = $1";
    let params = [
        Value::written(id),
        lease.token.into(),
        holder.into(),
        Value::written(act.daemon),
    ];
    tx.execute(sql, &params).await?;
    act.record(tx, vec![claimed_event(&attempt)]).await?;
    Ok(Claimed {
        task,
        attempt,
        lease,
    })
}

/// The holder is alive: its lease lasts from now on for another `ttl`.
pub async fn heartbeat(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    ttl: Duration,
    act: &Act,
) -> Result<Lease, StoreError> {
    let attempt = require_attempt(tx, id).await?;
    leases::renew(tx, &resource(attempt.task), token, act.now, ttl).await
}

/// Keeps where the attempt is made.
pub async fn record_location(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    location: &AttemptLocation,
    act: &Act,
) -> Result<Attempt, StoreError> {
    let (_, mut attempt) = require_held(tx, id, token, act).await?;
    attempt.slot = location.slot.or(attempt.slot);
    attempt.execution = location.execution.or(attempt.execution);
    attempt.worktree = location.worktree.clone().or(attempt.worktree);
    attempt.branch = location.branch.clone().or(attempt.branch);
    attempt.base_commit = location.base_commit.clone().or(attempt.base_commit);
    attempt_rows::store(tx, &attempt).await?;
    Ok(attempt)
}

/// Keeps what the agent said; the newest counts.
pub async fn record_claim(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    claim: Claim,
    act: &Act,
) -> Result<Attempt, StoreError> {
    let (task, mut attempt) = require_held(tx, id, token, act).await?;
    attempt.claim = Some(claim);
    attempt_rows::store(tx, &attempt).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(attempt)
}

/// Keeps what the checks of one round said. A round that is on record already
/// is not kept twice.
pub async fn record_evidence(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    round: u32,
    evidence: &[Evidence],
    act: &Act,
) -> Result<Attempt, StoreError> {
    let (task, mut attempt) = require_held(tx, id, token, act).await?;
    if round <= attempt.check_rounds {
        return Ok(attempt);
    }
    for (position, said) in evidence.iter().enumerate() {
        let sql = format!(
            "INSERT INTO board_evidence ({EVIDENCE}, place) VALUES ({})",
            rows::placeholders(1, 13)
        );
        let params = [
            Value::written(id),
            round.into(),
            Value::masked(&said.check),
            said.exit.map(i64::from).into(),
            said.signal.map(i64::from).into(),
            said.timed_out.into(),
            said.passed.into(),
            Value::masked(&said.tail),
            said.commit.as_ref().into(),
            said.at.into(),
            i64::try_from(said.millis).unwrap_or(i64::MAX).into(),
            Value::masked_optional(said.note.as_deref()),
            i64::try_from(position).unwrap_or(i64::MAX).into(),
        ];
        tx.execute(&sql, &params).await?;
    }
    attempt.check_rounds = round;
    attempt_rows::store(tx, &attempt).await?;
    let passed = evidence.iter().filter(|said| said.passed).count();
    let failed = evidence.len() - passed;
    let finished = Event::ChecksFinished {
        task: task.id,
        attempt: id,
        passed: u32::try_from(passed).unwrap_or(u32::MAX),
        failed: u32::try_from(failed).unwrap_or(u32::MAX),
    };
    act.record(tx, vec![finished]).await?;
    Ok(attempt)
}

/// Ends the attempt, gives the lease back and does to the task what the
/// outcome means for it.
pub async fn finish(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    outcome: Outcome,
    reason: Option<&str>,
    act: &Act,
) -> Result<EndedAttempt, StoreError> {
    let (task, _) = require_held(tx, id, token, act).await?;
    let ended = end(tx, task, outcome, reason, act).await?;
    leases::release(tx, &resource(ended.task.id), token, act.now).await?;
    act.record(tx, vec![updated(&ended.task)]).await?;
    Ok(ended)
}

/// Ends the attempt as verified, gives the lease back and has the task wait for a
/// person, who merges the work, sends it back or gives it up.
pub async fn submit(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    act: &Act,
) -> Result<EndedAttempt, StoreError> {
    let (mut task, _) = require_held(tx, id, token, act).await?;
    let attempt = end_running(tx, task.id, Outcome::Verified, None, act)
        .await?
        .ok_or_else(|| StoreError::internal(format!("{} runs without an attempt", task.number)))?;
    task.status = task.status.transition(BoardTaskStatus::Review)?;
    task.blocked = None;
    task.updated_at = act.now;
    rows::store_status(tx, &task).await?;
    leases::release(tx, &resource(task.id), token, act.now).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(EndedAttempt { task, attempt })
}

/// Ends the attempts whose lease has run out, and opens their tasks again
/// after the backoff. Each is returned once.
pub async fn expire(tx: &mut Tx<'_>, act: &Act) -> Result<Vec<EndedAttempt>, StoreError> {
    let lock = match tx.for_update_skip_locked() {
        "" => "",
        _ => " FOR UPDATE OF task SKIP LOCKED",
    };
    let columns = rows::TASK.replace(", ", ", task.");
    let sql = format!(
        "SELECT task.{columns} FROM board_tasks task \
         JOIN leases lease ON lease.resource = 'board/' || task.id \
         WHERE task.status = 'running' \
             AND (lease.released_at IS NOT NULL OR lease.expires_at <= $1) \
         ORDER BY task.id{lock}"
    );
    let found = rows::tasks(&tx.query(&sql, &[act.now.into()]).await?)?;
    let (mut ended, mut events) = (Vec::new(), Vec::new());
    for task in found {
        let resource = resource(task.id);
        // The holder may have renewed it before we had the row.
        let Some(kept) = leases::find(tx, &resource)
            .await?
            .filter(|kept| !kept.is_live(act.now))
        else {
            continue;
        };
        let reason = format!("nothing was heard of {} any more", kept.lease.holder);
        let one = end(tx, task, Outcome::Expired, Some(&reason), act).await?;
        leases::revoke(tx, &resource, act.now).await?;
        events.push(Event::LeaseExpired {
            resource,
            holder: kept.lease.holder,
            token: kept.lease.token,
        });
        events.push(updated(&one.task));
        ended.push(one);
    }
    act.record(tx, events).await?;
    Ok(ended)
}

pub async fn attempt(tx: &mut Tx<'_>, id: AttemptId) -> Result<Option<Attempt>, StoreError> {
    attempt_rows::one(tx, id).await
}

/// The attempts of a task, the first one first.
pub async fn attempts(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<Vec<Attempt>, StoreError> {
    let sql = format!("SELECT {ATTEMPT} FROM board_attempts WHERE task = $1 ORDER BY number");
    attempt_rows::attempts(&tx.query(&sql, &[Value::written(task)]).await?)
}

/// The newest attempt an execution works on.
pub async fn attempt_of_execution(
    tx: &mut Tx<'_>,
    execution: ExecutionId,
) -> Result<Option<Attempt>, StoreError> {
    let sql = format!(
        "SELECT {ATTEMPT} FROM board_attempts WHERE execution = $1 \
         ORDER BY started_at DESC, id DESC LIMIT 1"
    );
    let row = tx.query_one(&sql, &[Value::written(execution)]).await?;
    row.as_ref().map(attempt_rows::attempt).transpose()
}

/// Every attempt that has not ended, the oldest first.
pub async fn live_attempts(tx: &mut Tx<'_>) -> Result<Vec<Attempt>, StoreError> {
    let sql = format!(
        "SELECT {ATTEMPT} FROM board_attempts WHERE ended_at IS NULL ORDER BY started_at, id"
    );
    attempt_rows::attempts(&tx.query(&sql, &[]).await?)
}

/// What the checks of an attempt said, in the order they ran.
pub async fn evidence(tx: &mut Tx<'_>, id: AttemptId) -> Result<Vec<Evidence>, StoreError> {
    let sql =
        format!("SELECT {EVIDENCE} FROM board_evidence WHERE attempt = $1 ORDER BY round, place");
    let found = tx.query(&sql, &[Value::written(id)]).await?;
    found.iter().map(attempt_rows::evidence).collect()
}

/// Ends the running attempt of a task whose row is locked.
pub(super) async fn end_running(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    outcome: Outcome,
    reason: Option<&str>,
    act: &Act,
) -> Result<Option<Attempt>, StoreError> {
    let sql = format!(
        "UPDATE board_attempts SET outcome = $2, reason = $3, ended_at = $4 \
         WHERE task = $1 AND ended_at IS NULL RETURNING {ATTEMPT}"
    );
    let params = [
        Value::written(task),
        outcome.as_str().into(),
        Value::masked_optional(reason),
        act.now.into(),
    ];
    let row = tx.query_one(&sql, &params).await?;
    let ended = row.as_ref().map(attempt_rows::attempt).transpose()?;
    if let Some(attempt) = &ended {
        record_trust(tx, attempt, outcome, act).await?;
    }
    Ok(ended)
}

/// What an outcome says about the engine, and about the skills its agent was told.
async fn record_trust(
    tx: &mut Tx<'_>,
    attempt: &Attempt,
    outcome: Outcome,
    act: &Act,
) -> Result<(), StoreError> {
    let kind = match outcome {
        Outcome::Verified => "verified",
        Outcome::ChecksFailed | Outcome::Stalled | Outcome::AgentLost => "failed",
        _ => return Ok(()),
    };
    let Some(execution) = attempt.execution else {
        return Ok(());
    };
    let Some(run) = executions::get(tx, execution).await? else {
        return Ok(());
    };
    let note = attempt.id.to_string();
    let engine = format!("engine:{}", run.engine);
    trust_facts::record(tx, &engine, kind, Some(&note), act.now).await?;
    if outcome == Outcome::Verified
        && let Some(told) = prompt_snapshots::get(tx, execution).await?
    {
        // What another build wrote may not be read; then nothing is known of it.
        let items: Vec<ContextItem> = serde_json::from_str(&told.items).unwrap_or_default();
        let told = |item: &&ContextItem| {
            item.source == "skills" && !matches!(item.outcome, ContextOutcome::Cut { .. })
        };
        for skill in items.iter().filter(told) {
            let skill = format!("skill:{}", skill.title);
            trust_facts::record(tx, &skill, kind, Some(&note), act.now).await?;
        }
    }
    Ok(())
}

/// Leases a locked, open task and begins its attempt. Who holds the lease is
/// the answer when somebody does.
async fn start(
    tx: &mut Tx<'_>,
    mut task: BoardTask,
    claimant: &Claimant,
    act: &Act,
) -> Result<Result<Claimed, Lease>, StoreError> {
    let name = resource(task.id);
    let lease = match leases::claim(tx, &name, &claimant.holder, act.now, claimant.ttl).await? {
        LeaseClaim::Granted(lease) => lease,
        LeaseClaim::Held(lease) => return Ok(Err(lease)),
    };
    task.status = task.status.transition(BoardTaskStatus::Running)?;
    task.not_before = None;
    task.updated_at = act.now;
    rows::store_status(tx, &task).await?;
    let sql = "SELECT count(*) FROM board_attempts WHERE task = $1";
    let before: u32 = match tx.query_one(sql, &[Value::written(task.id)]).await? {
        Some(row) => row.get(0)?,
        None => 0,
    };
    let attempt = Attempt {
        id: AttemptId::generate(),
        task: task.id,
        number: before + 1,
        token: lease.token,
        holder: claimant.holder.clone(),
        daemon: act.daemon,
        slot: claimant.slot,
        execution: claimant.execution,
        worktree: None,
        branch: None,
        base_commit: None,
        claim: None,
        outcome: None,
        reason: None,
        check_rounds: 0,
        abandoned: false,
        started_at: act.now,
        ended_at: None,
    };
    attempt_rows::insert(tx, &attempt).await?;
    act.record(tx, vec![claimed_event(&attempt), updated(&task)])
        .await?;
    Ok(Ok(Claimed {
        task,
        attempt,
        lease,
    }))
}

fn claimed_event(attempt: &Attempt) -> Event {
    Event::BoardTaskClaimed {
        task: attempt.task,
        attempt: attempt.id,
        holder: attempt.holder.clone(),
        token: attempt.token,
    }
}

/// Ends the running attempt of a locked task and moves the task on.
async fn end(
    tx: &mut Tx<'_>,
    mut task: BoardTask,
    outcome: Outcome,
    reason: Option<&str>,
    act: &Act,
) -> Result<EndedAttempt, StoreError> {
    let attempt = end_running(tx, task.id, outcome, reason, act)
        .await?
        .ok_or_else(|| StoreError::internal(format!("{} runs without an attempt", task.number)))?;
    let said = reason.unwrap_or(outcome.as_str());
    let (status, blocked) = match outcome.consequence() {
        Consequence::Done => (BoardTaskStatus::Done, None),
        Consequence::Reopen => (BoardTaskStatus::Open, None),
        Consequence::Block => (BoardTaskStatus::Blocked, Some(said.to_owned())),
        Consequence::Fail => (BoardTaskStatus::Failed, Some(said.to_owned())),
        Consequence::TryAgain => {
            task.tries += 1;
            if task.tries >= task.max_attempts {
                let times = match task.tries {
                    1 => "once".to_owned(),
                    tries => format!("{tries} times"),
                };
                let told = format!("it was tried {times}; at last: {said}");
                (BoardTaskStatus::Failed, Some(told))
            } else {
                task.not_before = Some(act.now.plus(backoff(task.tries)));
                (BoardTaskStatus::Open, None)
            }
        }
    };
    task.status = task.status.transition(status)?;
    task.blocked = blocked;
    task.updated_at = act.now;
    if status.is_over() {
        task.finished_at = Some(act.now);
    }
    rows::store_status(tx, &task).await?;
    if status == BoardTaskStatus::Done {
        graph::release_dependents(tx, task.id).await?;
    }
    Ok(EndedAttempt { task, attempt })
}

/// The attempt and its locked task, if the token is that of the live lease.
async fn require_held(
    tx: &mut Tx<'_>,
    id: AttemptId,
    token: FencingToken,
    act: &Act,
) -> Result<(BoardTask, Attempt), StoreError> {
    let before = require_attempt(tx, id).await?;
    let task = rows::get_for_update(tx, before.task).await?;
    let attempt = require_attempt(tx, id).await?;
    let name = resource(task.id);
    leases::check(tx, &name, token, act.now).await?;
    if attempt.token != token || attempt.ended_at.is_some() {
        return Err(leases::stale(&name, token));
    }
    Ok((task, attempt))
}

async fn require_attempt(tx: &mut Tx<'_>, id: AttemptId) -> Result<Attempt, StoreError> {
    attempt_rows::one(tx, id)
        .await?
        .ok_or_else(|| StoreError::not_found("attempt", id))
}
