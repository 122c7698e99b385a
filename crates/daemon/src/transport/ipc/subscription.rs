//! Events on their way to one connection.

use std::sync::Arc;

use missiond_api::{ApiError, EventNotice, METHOD_EVENT, Notification, SubscribeParams};
use missiond_core::{TimelineEvent, kind_spec};
use tokio::sync::mpsc;

use crate::timeline::Follower;

/// Lines that may wait for a slow connection. Beyond it the follower pauses,
/// falls behind, and later reads what it missed from the database.
pub(super) const QUEUE: usize = 64;

/// Refuses kinds that do not exist: such a subscription would wait for ever.
pub(super) fn check(params: &SubscribeParams) -> Result<(), ApiError> {
    match params.kinds.iter().find(|kind| kind_spec(kind).is_none()) {
        Some(kind) => {
            let kind: String = kind.chars().take(64).collect();
            Err(ApiError::invalid_params(format!(
                "no kind of event is called `{kind}`"
            )))
        }
        None => Ok(()),
    }
}

/// Sends every event that fits as a line, until the connection or the daemon
/// ends.
pub(super) async fn forward(
    subscription: u64,
    params: SubscribeParams,
    mut follower: Follower,
    lines: mpsc::Sender<Vec<u8>>,
) {
    while let Ok(event) = follower.next().await {
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
