//! Units of the queue: claimed when they are due, at work under a lease that is renewed,
//! ended once. What a unit brings about is committed with its end, under the token it was
//! claimed with; so whoever dies in between leaves a unit that the next begins again, and
//! whoever comes too late changes nothing.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{Event, Timestamp, TraceContext};
use missiond_runtime::OnPanic;
use missiond_store::worker_units::{self, Claimant, UnitRow};
use missiond_store::{NewEvent, StoreError, timeline};

use super::{Shared, attempt, pause_after};
use crate::registered::{AtHand, Registered, Run, RunEnd};
use crate::worker::{Passes, Unit, WorkError, Worked};

/// Units of other daemons that died, and of homes that share the database, are looked for
/// at least so often.
const LOOK: Duration = Duration::from_secs(10);
/// The same where a unit is due that another of its subject holds up.
const HELD_UP: Duration = Duration::from_millis(500);
const AFTER_TROUBLE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Claims what is due, for as long as the daemon works.
pub(crate) async fn dispatch(shared: Arc<Shared>) {
    let mut tree = shared.control.watch();
    let mut stopping = shared.stopping.subscribe();
    loop {
        if *stopping.borrow() {
            return;
        }
        let pause = match begin_due(&shared).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "units of background workers not claimed");
                AFTER_TROUBLE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shared.queued.notified() => {}
            _ = tree.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// Begins what is due and has a place; how long there is nothing more to begin.
async fn begin_due(shared: &Arc<Shared>) -> Result<Duration, StoreError> {
    let free: Vec<(Arc<Registered>, u32)> = shared
        .workers
        .iter()
        .filter(|registered| registered.is_queued() && shared.may_begin(registered))
        .filter_map(|registered| {
            let places = registered.spec().budget.at_once;
            let free = places.saturating_sub(registered.at_hand());
            (free > 0).then(|| (Arc::clone(registered), free))
        })
        .collect();
    let dues = dues(shared, &free).await?;
    let now = shared.clock.now();
    let is_due = |due: &Option<Timestamp>| due.is_some_and(|due| due <= now);
    let due: Vec<_> = free
        .into_iter()
        .zip(&dues)
        .filter_map(|(place, due)| is_due(due).then_some(place))
        .collect();
    let next = dues.into_iter().flatten().filter(|due| *due > now).min();
    let until_next = next.map_or(LOOK, |next| next.since(now).min(LOOK));
    if due.is_empty() {
        return Ok(until_next);
    }
    let begun = claim(shared, due, now).await?;
    Ok(if begun > 0 {
        Duration::ZERO
    } else {
        until_next.min(HELD_UP)
    })
}

/// When the next unit of each may begin.
async fn dues(
    shared: &Shared,
    workers: &[(Arc<Registered>, u32)],
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    if workers.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = workers.iter().map(|(each, _)| each.spec().name).collect();
    let home = shared.home.clone();
    shared
        .db
        .read(move |tx| {
            Box::pin(async move {
                let mut dues = Vec::with_capacity(names.len());
                for name in names {
                    dues.push(worker_units::next_due(tx, name, &home).await?);
                }
                Ok(dues)
            })
        })
        .await
}

/// How many units were claimed; each is at work in a task of its own.
async fn claim(
    shared: &Arc<Shared>,
    due: Vec<(Arc<Registered>, u32)>,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let by = Claimant {
        home: shared.home.clone(),
        holder: shared.home.clone(),
        now,
        lease: shared.lease,
    };
    let wanted: Vec<_> = due
        .iter()
        .map(|(each, free)| (each.spec().name, *free))
        .collect();
    let claimed = shared
        .db
        .write(move |tx| {
            Box::pin(async move {
                let mut claimed = Vec::with_capacity(wanted.len());
                for (name, free) in wanted {
                    claimed.push(worker_units::claim(tx, name, &by, free).await?);
                }
                Ok(claimed)
            })
        })
        .await?;
    let mut begun = 0;
    for ((registered, _), units) in due.into_iter().zip(claimed) {
        for unit in units {
            begun += 1;
            begin(shared, Arc::clone(&registered), unit);
        }
    }
    Ok(begun)
}

fn begin(shared: &Arc<Shared>, registered: Arc<Registered>, unit: UnitRow) {
    let at_hand = registered.begin();
    shared.held.lock().insert(unit.id.clone(), unit.token);
    let subject = Some(format!("{} {}", registered.spec().name, unit.subject));
    let work = see_through(Arc::clone(shared), registered, unit, at_hand);
    shared
        .tasks
        .spawn("background worker", subject, OnPanic::Report, work);
}

/// One unit, from its claim to its end.
async fn see_through(
    shared: Arc<Shared>,
    registered: Arc<Registered>,
    row: UnitRow,
    at_hand: AtHand,
) {
    let id = row.id.clone();
    if shared.may_begin(&registered) {
        work(&shared, &registered, row).await;
    } else {
        // Switched off between the claim and now.
        release(&shared, &row).await;
    }
    shared.held.lock().remove(&id);
    drop(at_hand);
    shared.queued.notify_one();
}

async fn work(shared: &Shared, registered: &Registered, row: UnitRow) {
    let (began, began_at) = (Instant::now(), shared.clock.now());
    let unit = Unit {
        subject: row.subject.clone(),
        attempt: row.attempts,
        causes: row.causes,
        trace: row.cause.child(),
    };
    let trace = unit.trace;
    let budget = registered.spec().budget;
    let worked = if row.attempts > budget.attempts {
        // Nobody lived to say why it failed: whatever it is, it ends daemons.
        Err(WorkError::lasting(format!(
            "it was begun {} times, and no daemon came to its end",
            budget.attempts
        )))
    } else {
        while_held(shared, &row, attempt(registered, unit)).await
    };
    let ended = match worked {
        Ok(worked) => complete(shared, &row, worked).await,
        Err(error) => Err(error),
    };
    let (ended, said) = match ended {
        Ok(Some(said)) => {
            registered.worker.committed();
            (RunEnd::Done, said)
        }
        // Another daemon has it.
        Ok(None) => return,
        Err(error) => {
            let last = error.passes == Passes::Never || row.attempts >= budget.attempts;
            let ended = if last { RunEnd::Dead } else { RunEnd::Failed };
            let worker = registered.spec().name;
            tracing::warn!(worker, subject = row.subject, ?ended, %error, "unit of work failed");
            if let Err(error) = fail(shared, registered, &row, &error, ended, trace).await {
                // Its lease ends, and then it is begun again.
                tracing::warn!(worker, %error, "failure of unit not stored");
            }
            (ended, error.reason)
        }
    };
    registered.record(Run {
        began_at,
        took: began.elapsed(),
        subject: row.subject,
        ended,
        said,
    });
}

/// Works for as long as the unit is ours, and says so to the database now and then.
async fn while_held<T>(
    shared: &Shared,
    row: &UnitRow,
    work: impl Future<Output = Result<T, WorkError>>,
) -> Result<T, WorkError> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            worked = &mut work => return worked,
            () = tokio::time::sleep(shared.lease / 3) => {}
        }
        let (id, token) = (row.id.clone(), row.token);
        let until = shared.clock.now().plus(shared.lease);
        let renewed = shared.db.write(move |tx| {
            Box::pin(async move { worker_units::renew(tx, &id, token, until).await })
        });
        match renewed.await {
            Err(StoreError::StaleLease { .. }) => {
                return Err(WorkError::passing("another daemon has taken it over"));
            }
            Err(error) => tracing::warn!(%error, "lease of unit not renewed"),
            Ok(()) => {}
        }
    }
}

/// Commits the end of a unit with its effect; what came of it, or none where another daemon
/// has taken the unit over.
async fn complete(
    shared: &Shared,
    row: &UnitRow,
    worked: Worked,
) -> Result<Option<String>, WorkError> {
    let (id, token, now) = (row.id.clone(), row.token, shared.clock.now());
    let Worked { said, effect, .. } = worked;
    let kept = said.clone();
    let done = shared.db.write(move |tx| {
        Box::pin(async move {
            // First: on a shared database it is this row that the others wait for.
            worker_units::complete(tx, &id, token, &kept, now).await?;
            match effect {
                Some(effect) => effect(tx).await,
                None => Ok(()),
            }
        })
    });
    match done.await {
        Ok(()) => Ok(Some(said)),
        Err(StoreError::StaleLease { .. }) => Ok(None),
        // Where it was committed after all, nothing more is changed under this token.
        Err(error) => Err(WorkError::passing(error)),
    }
}

/// Puts a unit off after a failure, or gives it up and tells of it.
async fn fail(
    shared: &Shared,
    registered: &Registered,
    row: &UnitRow,
    error: &WorkError,
    ended: RunEnd,
    trace: TraceContext,
) -> Result<(), StoreError> {
    let (id, token, now) = (row.id.clone(), row.token, shared.clock.now());
    let reason = error.reason.clone();
    let stored = if ended == RunEnd::Dead {
        let event = Event::WorkerUnitFailed {
            worker: registered.spec().name.to_owned(),
            unit: id.clone(),
            subject: row.subject.clone(),
            attempts: row.attempts,
            error: reason.clone(),
        };
        let event = NewEvent::new(now, shared.daemon, trace, event)?;
        let give_up = shared.db.write(move |tx| {
            Box::pin(async move {
                worker_units::give_up(tx, &id, token, &reason, now).await?;
                timeline::append(tx, &[event]).await.map(drop)
            })
        });
        give_up.await
    } else {
        let first = registered.spec().budget.first_pause;
        let due = now.plus(pause_after(row.attempts, first, LONGEST_PAUSE));
        let retry = shared.db.write(move |tx| {
            Box::pin(async move { worker_units::retry(tx, &id, token, &reason, due).await })
        });
        retry.await
    };
    match stored {
        // It is another daemon's, or was ended by a commit whose word was lost.
        Err(StoreError::StaleLease { .. }) => Ok(()),
        stored => stored,
    }
}

async fn release(shared: &Shared, row: &UnitRow) {
    let (id, token) = (row.id.clone(), row.token);
    let released = shared
        .db
        .write(move |tx| Box::pin(async move { worker_units::give_back(tx, &id, token).await }));
    if let Err(error) = released.await {
        tracing::warn!(%error, "unit not given back, its lease ends by itself");
    }
}

/// Gives back what was broken off when the daemon stops.
pub(crate) async fn release_held(shared: &Shared) {
    let held = std::mem::take(&mut *shared.held.lock());
    for (id, token) in held {
        let released = shared.db.write(move |tx| {
            Box::pin(async move { worker_units::give_back(tx, &id, token).await })
        });
        match released.await {
            Ok(()) | Err(StoreError::StaleLease { .. }) => {}
            Err(error) => tracing::warn!(%error, "unit not given back"),
        }
    }
}
