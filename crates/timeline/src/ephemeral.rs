//! Ephemeral events on their way to the writer.
//!
//! At most one event of each kind about each subject waits at a time: a newer
//! one takes the place of the older. So the queue is bounded by what there is
//! to talk about, and a producer never waits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use missiond_core::{Event, TimelineEvent};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Subjects that may wait at once. Beyond it new subjects are dropped until the
/// writer has told the ones that wait.
const CAPACITY: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// In the order in which the subjects first came.
    events: Vec<TimelineEvent>,
    places: HashMap<Key, usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueueOutcome {
    Queued,
    /// An event made way: an older one of the subject, or this one for want of
    /// room.
    Coalesced,
}

type Key = (&'static str, String);

impl Queue {
    pub(super) fn put(&self, event: TimelineEvent) -> QueueOutcome {
        let key = (event.event.kind(), subject(&event.event));
        let mut waiting = self.lock();
        let Waiting { events, places } = &mut *waiting;
        match places.entry(key) {
            Entry::Occupied(place) => {
                events[*place.get()] = event;
                QueueOutcome::Coalesced
            }
            Entry::Vacant(_) if events.len() >= CAPACITY => QueueOutcome::Coalesced,
            Entry::Vacant(place) => {
                place.insert(events.len());
                events.push(event);
                let first = events.len() == 1;
                drop(waiting);
                if first {
                    self.arrived.notify_one();
                }
                QueueOutcome::Queued
            }
        }
    }

    /// Returns when at least one event has come since the last `drain`.
    pub(super) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    pub(super) fn drain(&self) -> Vec<TimelineEvent> {
        let mut waiting = self.lock();
        waiting.places.clear();
        std::mem::take(&mut waiting.events)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code that can panic runs under the lock.
        self.waiting.lock()
    }
}

/// What the event is about: two of one kind about one subject say the same
/// thing at two times.
pub fn subject(event: &Event) -> String {
    match event {
        Event::PtyOutput { slot, .. } | Event::PtyScreenshot { slot, .. } => slot.to_string(),
        Event::CliToolActivity {
            execution, tool, ..
        } => format!("{execution} {tool}"),
        Event::OperationFinished { operation, .. } => operation.clone(),
        Event::WorkerProgress { worker, .. } => worker.clone(),
        Event::McpToolProgress { server, tool, .. } => format!("{server} {tool}"),
        // One of a kind; persistent events never come here.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::{DaemonId, Timestamp, TraceContext};

    use super::*;

    fn progress(worker: &str, done: u64) -> TimelineEvent {
        TimelineEvent {
            seq: None,
            at: Timestamp::from_micros(0),
            daemon: DaemonId::generate(),
            trace: TraceContext::root(),
            event: Event::WorkerProgress {
                worker: worker.to_owned(),
                done,
                total: None,
            },
        }
    }

    #[test]
    fn the_newest_of_each_subject_is_told_in_order_of_arrival() {
        let queue = Queue::default();
        assert_eq!(queue.put(progress("a", 1)), QueueOutcome::Queued);
        assert_eq!(queue.put(progress("b", 1)), QueueOutcome::Queued);
        assert_eq!(queue.put(progress("a", 2)), QueueOutcome::Coalesced);
        let told: Vec<_> = queue
            .drain()
            .into_iter()
            .map(|event| match event.event {
                Event::WorkerProgress { worker, done, .. } => (worker, done),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
        assert_eq!(queue.put(progress("a", 3)), QueueOutcome::Queued);
    }

    #[test]
    fn the_queue_is_bounded() {
        let queue = Queue::default();
        for number in 0..CAPACITY + 10 {
            queue.put(progress(&number.to_string(), 0));
        }
        assert_eq!(queue.drain().len(), CAPACITY);
    }
}
