//! So many at once; whoever waits is let in by class, then in the order of coming.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Who waits, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A person looks at it.
    Person,
    /// An agent cannot go on without it.
    Agent,
    /// A decision of the daemon waits for it.
    Decision,
    Background,
}

#[derive(Debug)]
struct Inner {
    size: u32,
    running: u32,
    number: u64,
    waiting: BTreeMap<(Class, u64), oneshot::Sender<Permit>>,
}

#[derive(Debug)]
pub struct Queue {
    inner: Mutex<Inner>,
}

/// A place; it is given on when this is dropped.
#[derive(Debug)]
pub struct Permit {
    queue: Arc<Queue>,
}

impl Queue {
    #[must_use]
    pub fn new(size: u32) -> Arc<Self> {
        let inner = Inner {
            size: size.max(1),
            running: 0,
            number: 0,
            waiting: BTreeMap::new(),
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
        })
    }

    pub fn resize(self: &Arc<Self>, size: u32) {
        self.inner.lock().size = size.max(1);
        self.admit();
    }

    /// Running and waiting.
    #[must_use]
    pub fn counts(&self) -> (u32, u32) {
        let inner = self.inner.lock();
        let waiting = inner
            .waiting
            .values()
            .filter(|one| !one.is_closed())
            .count();
        (inner.running, u32::try_from(waiting).unwrap_or(u32::MAX))
    }

    pub async fn enter(self: &Arc<Self>, class: Class) -> Permit {
        let receiver = {
            let mut inner = self.inner.lock();
            if inner.running < inner.size && inner.waiting.is_empty() {
                inner.running += 1;
                return self.permit();
            }
            let (sender, receiver) = oneshot::channel();
            let number = inner.number;
            inner.number += 1;
            inner.waiting.insert((class, number), sender);
            receiver
        };
        // Places may be free behind somebody who went away.
        self.admit();
        match receiver.await {
            Ok(permit) => permit,
            // Whoever is dropped by `admit` was given a place first.
            Err(_) => std::future::pending().await,
        }
    }

    fn permit(self: &Arc<Self>) -> Permit {
        Permit {
            queue: Arc::clone(self),
        }
    }

    /// Gives free places to whoever waits.
    fn admit(self: &Arc<Self>) {
        loop {
            let (sender, permit) = {
                let mut inner = self.inner.lock();
                if inner.running >= inner.size {
                    return;
                }
                let Some((_, sender)) = inner.waiting.pop_first() else {
                    return;
                };
                inner.running += 1;
                (sender, self.permit())
            };
            // Outside the lock: a permit that nobody takes is dropped, which locks.
            drop(sender.send(permit));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.queue.inner.lock().running -= 1;
        self.queue.admit();
    }
}
