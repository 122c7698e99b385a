//! From events to units: what a worker wants of the timeline is queued in the transaction
//! that moves its cursor, so that each event is queued once, whatever dies in between.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Clock, Event, TimelineEvent, TraceContext};
use missiond_store::worker_units::{self, NewUnit};
use missiond_store::{StoreError, Tx};
use missiond_timeline::{Consumer, Pace};
use tokio::sync::Notify;

use crate::registered::Registered;
use crate::worker::{Scope, Trigger};

/// Events that come in one flock are one transaction. How long a unit waits for more of
/// its subject is in the unit.
const FLOCK: Pace = Pace {
    quiet: Duration::from_millis(10),
    longest: Duration::from_millis(100),
    count: 500,
};

#[derive(Debug)]
pub(crate) struct Queuer {
    registered: Arc<Registered>,
    cursor: &'static str,
    quiet: Duration,
    longest: Duration,
    scope: Scope,
    home: String,
    clock: Arc<dyn Clock>,
    queued: Arc<Notify>,
}

impl Queuer {
    /// None for a worker that is not set to work by events.
    pub(crate) fn of(
        registered: &Arc<Registered>,
        home: &str,
        clock: &Arc<dyn Clock>,
        queued: &Arc<Notify>,
    ) -> Option<Self> {
        let Trigger::Events {
            cursor,
            quiet,
            longest,
            scope,
        } = registered.spec().trigger
        else {
            return None;
        };
        let (cursor, home) = match scope {
            Scope::Database => (cursor, String::new()),
            // Each home has a place of its own. Cursors have names for as long as the
            // daemon lives, and there are as many as workers.
            Scope::Home { .. } => (&*format!("{cursor}@{home}").leak(), home.to_owned()),
        };
        Some(Self {
            registered: Arc::clone(registered),
            cursor,
            quiet,
            longest,
            scope,
            home,
            clock: Arc::clone(clock),
            queued: Arc::clone(queued),
        })
    }

    fn is_news(&self, event: &TimelineEvent) -> bool {
        match self.scope {
            Scope::Database => true,
            Scope::Home { news } => event.at >= self.clock.now().minus(news),
        }
    }
}

impl Consumer for Queuer {
    fn name(&self) -> &'static str {
        self.cursor
    }

    fn wants(&self, event: &Event) -> bool {
        self.registered.worker.subject(event).is_some()
    }

    fn pace(&self) -> Pace {
        FLOCK
    }

    fn apply<'t>(
        &self,
        tx: &'t mut Tx<'_>,
        events: Arc<[Arc<TimelineEvent>]>,
    ) -> BoxFuture<'t, Result<(), StoreError>> {
        let spec = self.registered.spec();
        let (worker, most) = (spec.name, spec.budget.waiting);
        let mut subjects: BTreeMap<String, (u32, TraceContext)> = BTreeMap::new();
        for event in events.iter().filter(|event| self.is_news(event)) {
            if let Some(subject) = self.registered.worker.subject(&event.event) {
                let (causes, trace) = subjects.entry(subject).or_insert((0, event.trace));
                *causes += 1;
                *trace = event.trace;
            }
        }
        let now = self.clock.now();
        let (home, quiet, longest) = (self.home.clone(), self.quiet, self.longest);
        Box::pin(async move {
            if subjects.is_empty() {
                return Ok(());
            }
            let waiting = worker_units::open_count(tx, worker).await?;
            if waiting.saturating_add(subjects.len() as u64) > most {
                // The cursor stays, so nothing is lost; it is tried again later.
                return Err(StoreError::Busy {
                    detail: format!(
                        "{waiting} units of the worker {worker} wait: `mission worker show \
                         {worker}` says why"
                    ),
                });
            }
            for (subject, (causes, trace)) in subjects {
                let unit = NewUnit {
                    worker,
                    home: home.clone(),
                    subject,
                    causes,
                    trace,
                    now,
                    quiet,
                    longest,
                };
                worker_units::enqueue(tx, &unit).await?;
            }
            Ok(())
        })
    }

    fn committed(&self) {
        self.queued.notify_one();
    }
}
