//! What clients are told that a list or a resource has changed, made of what
//! happens on the timeline. Several changes at once are told once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::{Category, Event};
use missiond_mcp::Change;
use missiond_runtime::{Shutdown, Stage};
use missiond_timeline::{Backoff, FollowError, Timeline};
use tokio::sync::broadcast;

use super::resources::{BOARD, ENTRIES, EXECUTIONS, QUESTIONS, READY};

/// Who does not listen for longer than this is told that anything may have
/// changed.
const WAITING: usize = 64;
/// What happens within this time is told together.
const TOGETHER: Duration = Duration::from_millis(100);

/// Where changes are told.
#[derive(Debug)]
pub struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(WAITING).0)
    }
}

impl Changes {
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }

    /// Follows the timeline until the daemon drains.
    pub async fn follow(self: Arc<Self>, timeline: Timeline, shutdown: Shutdown) {
        tokio::select! {
            () = self.announce(&timeline) => {}
            () = shutdown.reached(Stage::Draining) => {}
        }
    }

    async fn announce(&self, timeline: &Timeline) {
        let mut follower = timeline.follow();
        let mut trouble = Backoff::default();
        let mut told = BTreeSet::new();
        let mut due: Option<tokio::time::Instant> = None;
        loop {
            let next = tokio::select! {
                next = follower.next() => Some(next),
                () = missiond_runtime::sleep_until(due) => None,
            };
            match next {
                Some(Ok(event)) => {
                    trouble.reset();
                    told.extend(causes(&event.event));
                    if !told.is_empty() && due.is_none() {
                        due = Some(tokio::time::Instant::now() + TOGETHER);
                    }
                }
                Some(Err(FollowError::Closed)) => return,
                Some(Err(FollowError::Store(error))) => {
                    let delay = trouble.next_delay();
                    tracing::warn!(%error, ?delay, "timeline changes not read, retrying");
                    tokio::time::sleep(delay).await;
                }
                None => {
                    due = None;
                    for name in std::mem::take(&mut told) {
                        // Nobody need be listening.
                        let _ = self.0.send(change(name));
                    }
                }
            }
        }
    }
}

const TOOLS: &str = "tools";
const RESOURCES: &str = "resources";

/// Which lists and resources an event changes.
fn causes(event: &Event) -> Vec<&'static str> {
    match event {
        Event::McpToolsListed { .. } | Event::ConfigReloaded { .. } => vec![TOOLS],
        Event::QuestionCreated { .. }
        | Event::QuestionAnswered { .. }
        | Event::QuestionDismissed { .. } => vec![QUESTIONS],
        Event::SlotCreated { .. } | Event::SlotClosed { .. } => vec![RESOURCES, EXECUTIONS],
        Event::KbBatchMutated { .. } => vec![ENTRIES],
        event if event.spec().category == Category::Board => vec![BOARD, READY],
        _ => Vec::new(),
    }
}

fn change(name: &str) -> Change {
    match name {
        TOOLS => Change::Tools,
        RESOURCES => Change::Resources,
        uri => Change::Resource(uri.to_owned()),
    }
}
