//! What a background worker is: what it needs, what sets it to work, what it may use, and
//! what one unit of its work is.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Event, TraceContext, WorkerDomain, WorkerKind};
use missiond_store::{StoreError, Tx};

/// Works without being asked, a unit at a time, and rests where the control tree says so.
pub trait BackgroundWorker: fmt::Debug + Send + Sync + 'static {
    fn spec(&self) -> &WorkerSpec;

    /// What an event gives it to do, by the subject of that work: events of one subject
    /// are one unit until it begins. Asked where [`Trigger::Events`] says so.
    fn subject(&self, _: &Event) -> Option<String> {
        None
    }

    /// Returns when there may be something to do before the next look. Asked where
    /// [`Trigger::Looks`] says so.
    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// Does one unit. It may be broken off at every await, and begun again by this or
    /// another daemon: what it changes is in [`Worked::effect`], or is the same when it is
    /// done twice.
    fn work(&self, unit: Unit) -> BoxFuture<'_, Result<Worked, WorkError>>;

    /// The end of a unit, with its effect, is committed.
    fn committed(&self) {}
}

/// What is fixed about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSpec {
    /// Once shipped it never changes: switches and units are kept under it.
    pub name: &'static str,
    pub kind: WorkerKind,
    pub domain: WorkerDomain,
    pub trigger: Trigger,
    pub budget: Budget,
    /// What one unit of its work is, and what a person sees of it, in a sentence.
    pub description: &'static str,
}

/// What sets a worker to work. Each can be told to work now as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Events of the timeline, of which each becomes, or joins, a unit in the queue.
    Events {
        /// Names the place in the timeline up to which they did.
        cursor: &'static str,
        /// A unit waits until nothing more has come for so long,
        quiet: Duration,
        /// and for so long at most.
        longest: Duration,
        scope: Scope,
    },
    /// A look every so often. How far it has come is in a cursor of what it looks at,
    /// which moves with each effect; so a look that finds nothing leaves no trace, and one
    /// that is lost is made again.
    Looks { every: Duration },
}

/// Which daemons of a shared database do what events call for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Any, and one of them.
    Database,
    /// Each, for its own machine; events of longer ago are of no use to it.
    Home { news: Duration },
}

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Units at once.
    pub at_once: u32,
    /// What takes longer is broken off, and failed.
    pub longest: Duration,
    /// How often a unit is tried.
    pub attempts: u32,
    /// Between the first failure and the next attempt; doubled by each.
    pub first_pause: Duration,
    /// Units that may wait. While there are more, the timeline keeps the rest.
    pub waiting: u64,
}

impl Budget {
    /// For work of this machine that is soon done.
    pub const SMALL: Self = Self {
        at_once: 1,
        longest: Duration::from_secs(300),
        attempts: 5,
        first_pause: Duration::from_secs(2),
        waiting: 10_000,
    };
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Empty for a look.
    pub subject: String,
    /// 1 for the first.
    pub attempt: u32,
    /// Events it stands for.
    pub causes: u32,
    /// What it brings about belongs to this chain.
    pub trace: TraceContext,
}

/// What is committed with the end of a unit, and with nothing else.
pub type Effect =
    Box<dyn for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<(), StoreError>> + Send>;

/// What came of a unit.
pub struct Worked {
    /// In a few words, for whoever reads what it did; empty when there was nothing to do.
    pub said: String,
    pub effect: Option<Effect>,
    /// A look found more than it did.
    pub more: bool,
}

impl Worked {
    /// There was nothing to do.
    #[must_use]
    pub fn nothing() -> Self {
        Self::did("")
    }

    #[must_use]
    pub fn did(said: impl Into<String>) -> Self {
        Self {
            said: said.into(),
            effect: None,
            more: false,
        }
    }

    #[must_use]
    pub fn with_more(mut self, more: bool) -> Self {
        self.more = more;
        self
    }

    #[must_use]
    pub fn with_effect<F>(mut self, effect: F) -> Self
    where
        F: for<'t> FnOnce(&'t mut Tx<'_>) -> BoxFuture<'t, Result<(), StoreError>> + Send + 'static,
    {
        self.effect = Some(Box::new(effect));
        self
    }
}

impl fmt::Debug for Worked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worked")
            .field("said", &self.said)
            .field("effect", &self.effect.is_some())
            .field("more", &self.more)
            .finish()
    }
}

/// Why a unit failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorkError {
    pub reason: String,
    pub passes: Passes,
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Maybe,
    Never,
}

impl WorkError {
    /// It may go well another time.
    pub fn passing(reason: impl fmt::Display) -> Self {
        Self {
            reason: reason.to_string(),
            passes: Passes::Maybe,
        }
    }

    /// It will fail every time.
    pub fn lasting(reason: impl fmt::Display) -> Self {
        Self {
            reason: reason.to_string(),
            passes: Passes::Never,
        }
    }
}
