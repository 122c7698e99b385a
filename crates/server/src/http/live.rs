//! The timeline as it grows, for pages.
//!
//! A page says the last event it has and is sent everything after it, in order
//! and without a hole, gathered into few messages. One that cannot keep up is not
//! sent a flood: it is told to load afresh and goes on from there. What is not
//! stored comes as the newest of each kind about each subject.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use missiond_api::ApiError;
use missiond_core::{Seq, TimelineEvent};
use missiond_operations::state::VERSION;
use missiond_timeline::{Backoff, FollowError, subject};
use serde_json::json;
use tokio::time::Instant;

use super::caller::Caller;
use super::refusal::Refusal;
use super::sockets::{self, Closed, Socket};
use super::web::Web;

/// Between two messages.
const GATHER: Duration = Duration::from_millis(50);
/// Events in one message.
const MOST_EVENTS: usize = 500;
/// Text in one message, from which on no event is added.
const ENOUGH_TEXT: usize = 256 << 10;
/// Subjects of events that are not stored, in one message.
const MOST_SUBJECTS: usize = 500;
/// Whoever is further behind loads afresh, which is less than to catch up.
const FAR_BEHIND: i64 = 5000;

pub(super) async fn socket(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let after = after(query.as_deref())?;
    sockets::open(web, &caller, upgrade, move |web, mut socket| async move {
        // However it ends, the client comes again with the last event it has.
        let _ = stream(&web, after, &mut socket).await;
    })
}

fn after(query: Option<&str>) -> Result<Option<Seq>, ApiError> {
    let mut pairs = query.unwrap_or_default().split('&');
    let Some(text) = pairs.find_map(|pair| pair.strip_prefix("after=")) else {
        return Ok(None);
    };
    match text.parse::<i64>() {
        Ok(seq) if seq >= 0 => Ok(Some(Seq(seq))),
        _ => Err(ApiError::invalid_params(
            "`after` is the sequence number of the last event you have",
        )),
    }
}

async fn stream(web: &Web, after: Option<Seq>, socket: &mut Socket) -> Result<(), Closed> {
    let timeline = &web.daemon.timeline;
    let mut follower = match after {
        Some(seq) => timeline.follow_after(seq),
        None => timeline.follow(),
    };
    // With an `after`, events up to the head follow this; without, from it on.
    let head = match after {
        Some(_) => timeline.head(),
        None => follower.position(),
    };
    socket
        .send_json(&json!({
            "type": "hello",
            "seq": head,
            "daemon": VERSION,
            "instance": web.daemon.id,
        }))
        .await?;
    // One that is ahead has its events from another database.
    let mut lost = after.is_some_and(|after| after > head);
    let mut batch = Batch::default();
    let mut due = Instant::now();
    let mut resting: Option<Instant> = None;
    let mut trouble = Backoff::default();
    loop {
        if lost || timeline.head().0 - follower.position().0 > FAR_BEHIND {
            lost = false;
            follower = timeline.follow();
            batch = Batch::default();
            let reset = json!({"type": "reset", "seq": follower.position()});
            socket.send_json(&reset).await?;
        }
        let send_at = (!batch.is_empty()).then_some(due);
        tokio::select! {
            biased;
            () = missiond_runtime::sleep_until(send_at) => {
                batch.send(socket).await?;
                due = Instant::now() + GATHER;
            }
            // Nothing a client says here means anything.
            heard = socket.next_text() => {
                heard?;
            }
            () = missiond_runtime::sleep_until(resting) => resting = None,
            event = follower.next(), if resting.is_none() && !batch.is_full() => match event {
                Ok(event) => {
                    trouble.reset();
                    batch.add(&event);
                }
                Err(FollowError::Closed) => return Ok(()),
                // The follower knows where it was: nothing is missed, only late.
                Err(FollowError::Store(error)) => {
                    let delay = trouble.next_delay();
                    tracing::warn!(%error, ?delay, "missed events not read for page, retrying");
                    resting = Some(Instant::now() + delay);
                }
            },
        }
    }
}

/// What goes out next.
#[derive(Debug, Default)]
struct Batch {
    /// Stored events, as JSON, with commas between them.
    stored: String,
    count: usize,
    last: Option<Seq>,
    told: HashMap<(&'static str, String), Arc<TimelineEvent>>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.count == 0 && self.told.is_empty()
    }

    fn is_full(&self) -> bool {
        self.count >= MOST_EVENTS || self.stored.len() >= ENOUGH_TEXT
    }

    fn add(&mut self, event: &Arc<TimelineEvent>) {
        let Some(seq) = event.seq else {
            let key = (event.event.kind(), subject(&event.event));
            if self.told.len() < MOST_SUBJECTS || self.told.contains_key(&key) {
                self.told.insert(key, Arc::clone(event));
            }
            return;
        };
        match serde_json::to_string(event) {
            Ok(text) => {
                if self.count > 0 {
                    self.stored.push(',');
                }
                self.stored.push_str(&text);
                self.count += 1;
            }
            Err(error) => tracing::error!(%error, %seq, "event not encoded as JSON"),
        }
        self.last = Some(seq);
    }

    async fn send(&mut self, socket: &mut Socket) -> Result<(), Closed> {
        let batch = std::mem::take(self);
        if let Some(last) = batch.last {
            let message = format!(
                "{{\"type\":\"events\",\"seq\":{},\"events\":[{}]}}",
                last.0, batch.stored
            );
            socket.send_text(message).await?;
        }
        if !batch.told.is_empty() {
            let mut told: Vec<_> = batch.told.into_values().collect();
            told.sort_by_key(|event| event.at);
            let message = json!({"type": "ephemeral", "events": told});
            socket.send_json(&message).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_go_on_is_read_from_the_query() {
        assert_eq!(after(None).unwrap(), None);
        assert_eq!(after(Some("")).unwrap(), None);
        assert_eq!(after(Some("after=7")).unwrap(), Some(Seq(7)));
        assert_eq!(after(Some("x=1&after=0")).unwrap(), Some(Seq(0)));
        for wrong in [
            "after=",
            "after=-1",
            "after=x",
            "after=99999999999999999999",
        ] {
            assert!(after(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
