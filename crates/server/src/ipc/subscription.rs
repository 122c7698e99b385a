//! Events on their way to one connection.

use std::sync::Arc;

use missiond_api::{EventNotice, METHOD_EVENT, Notification, SubscribeParams};
use missiond_core::TimelineEvent;
use missiond_timeline::{Backoff, FollowError, Follower};
use tokio::sync::mpsc;

/// Lines that may wait for a slow connection. Beyond it the follower pauses,
/// falls behind, and later reads what it missed from the database.
pub(super) const QUEUE: usize = 64;

/// Sends every event that fits as a line, until the connection or the daemon
/// ends.
pub(super) async fn forward(
    subscription: u64,
    params: SubscribeParams,
    mut follower: Follower,
    lines: mpsc::Sender<Vec<u8>>,
) {
    let mut trouble = Backoff::default();
    loop {
        let event = match follower.next().await {
            Ok(event) => event,
            Err(FollowError::Closed) => return,
            // The follower knows where it was: nothing is missed, only late.
            Err(FollowError::Store(error)) => {
                let delay = trouble.next_delay();
                tracing::warn!(%error, ?delay, "missed events not read for subscription, retrying");
                tokio::time::sleep(delay).await;
                continue;
            }
        };
        trouble.reset();
        if fits(&params, &event) {
            let notice = EventNotice {
                subscription,
                event: Arc::unwrap_or_clone(event),
            };
            if lines
                .send(Notification::line(METHOD_EVENT, &notice))
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

fn fits(params: &SubscribeParams, event: &TimelineEvent) -> bool {
    let spec = event.event.spec();
    (params.kinds.is_empty() || params.kinds.iter().any(|kind| kind == spec.kind))
        && (params.categories.is_empty() || params.categories.contains(&spec.category))
}
