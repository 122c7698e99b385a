//! Workers that look every so often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::TraceContext;

use super::{Shared, attempt, pause_after};
use crate::registered::{Registered, Run, RunEnd};
use crate::worker::{Trigger, Unit};

/// Between two looks that fail, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Looks until the daemon stops, while the worker may work.
pub(crate) async fn keep_looking(shared: Arc<Shared>, registered: Arc<Registered>) {
    let Trigger::Looks { every } = registered.spec().trigger else {
        return;
    };
    let mut tree = shared.control.watch();
    let mut stopping = shared.stopping.subscribe();
    loop {
        let at_hand = registered.begin();
        let next = if shared.may_begin(&registered) {
            look(&shared, &registered, every).await
        } else {
            Next::WhenSwitched
        };
        drop(at_hand);
        let pause = match next {
            // Others have their turn, and a switch its effect.
            Next::AtOnce => {
                tokio::task::yield_now().await;
                continue;
            }
            Next::After(pause) => pause,
            Next::WhenSwitched => Duration::MAX,
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = registered.wanted.notified() => {}
            () = registered.worker.woken(), if pause != Duration::MAX => {}
            _ = tree.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

enum Next {
    AtOnce,
    After(Duration),
    WhenSwitched,
}

async fn look(shared: &Shared, registered: &Registered, every: Duration) -> Next {
    let (began, began_at) = (Instant::now(), shared.clock.now());
    let unit = Unit {
        subject: String::new(),
        attempt: registered.totals().failing + 1,
        causes: 0,
        trace: TraceContext::root(),
    };
    let worked = attempt(registered, unit).await;
    let run = |ended, said| Run {
        began_at,
        took: began.elapsed(),
        subject: String::new(),
        ended,
        said,
    };
    match worked {
        Ok(worked) => {
            if worked.said.is_empty() {
                registered.record_idle(began.elapsed());
            } else {
                registered.record(run(RunEnd::Done, worked.said));
            }
            if worked.more {
                Next::AtOnce
            } else {
                Next::After(every)
            }
        }
        Err(error) => {
            let worker = registered.spec().name;
            let known = registered
                .last_run()
                .is_some_and(|last| last.ended == RunEnd::Failed && last.said == error.reason);
            if !known {
                tracing::warn!(worker, %error, "background worker failed, retrying");
            }
            registered.record(run(RunEnd::Failed, error.reason));
            let failures = registered.totals().failing;
            Next::After(pause_after(failures, every, LONGEST_PAUSE.max(every)))
        }
    }
}
