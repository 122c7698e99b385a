//! Slots made on demand are ended when their program has rested for as long as
//! the configuration says. One that works for a task is the autopilot's, one of
//! the configuration stays, and whoever watches one keeps it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use missiond_config::Config;
use missiond_core::{PtyState, SlotId, SlotKind};
use missiond_slots::{OpenSlot, SlotCommand};
use tokio::sync::oneshot;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Executions;

/// Between two looks, at most and at least.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Looks at the open slots until it is dropped.
pub async fn run(executions: Weak<Executions>, config: watch::Receiver<Arc<Config>>) {
    let mut resting: HashMap<SlotId, Rest> = HashMap::new();
    loop {
        let Some(executions) = executions.upgrade() else {
            return;
        };
        let limit = Duration::from_secs(config.borrow().slot_idle_secs);
        if limit.is_zero() {
            resting.clear();
            tokio::time::sleep(LONGEST_PAUSE).await;
            continue;
        }
        let open = executions.slots().open();
        resting.retain(|slot, _| open.iter().any(|open| open.slot.id == *slot));
        for open in open {
            expire_if_idle(&executions, &open, limit, &mut resting).await;
        }
        tokio::time::sleep((limit / 4).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)).await;
    }
}

/// Since when a slot rests, and how much it had written by then.
struct Rest {
    since: Instant,
    offset: u64,
}

async fn expire_if_idle(
    executions: &Executions,
    open: &OpenSlot,
    limit: Duration,
    resting: &mut HashMap<SlotId, Rest>,
) {
    let slot = open.slot.id;
    let for_task = matches!(executions.in_slot(slot), Some((_, Some(_))));
    let Some(look) = open.inspect().await else {
        return;
    };
    let rests = look.reading.state == PtyState::Idle && !look.watched;
    if open.slot.kind != SlotKind::Dynamic || for_task || !rests {
        resting.remove(&slot);
        return;
    }
    let rest = resting.entry(slot).or_insert_with(|| Rest {
        since: Instant::now(),
        offset: look.offset,
    });
    if rest.offset != look.offset {
        rest.since = Instant::now();
        rest.offset = look.offset;
    }
    if rest.since.elapsed() < limit {
        return;
    }
    tracing::info!(%slot, name = open.slot.name, "idle slot expired");
    let (done, gone) = oneshot::channel();
    let command = SlotCommand::Kill { grace: GRACE, done };
    if open.commands.send(command).await.is_ok() {
        let _ = gone.await;
    }
}
