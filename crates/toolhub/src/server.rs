//! One server of the list and its life: started when it is first needed, kept
//! while it is used, watched, started again when it dies, and left alone for a
//! while when it keeps dying.
//!
//! | state | leaves it |
//! |---|---|
//! | stopped | a call, a listing or a person starts it |
//! | starting | it answers (ready), or does not (waiting, parked) |
//! | ready | it ends (waiting, parked), nobody calls it (stopped), three signs of life fail to come (unwell) |
//! | unwell | it answers (ready), or goes on saying nothing with nothing under way (waiting) |
//! | waiting | the pause is over: the next call, or its watcher if it was in use, starts it |
//! | parked | five ends within a minute; as waiting, but for a minute or more, and a person can end it |

mod state;
mod watch;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;

use crate::config::{ServerName, ServerSpec};
use crate::error::HubError;
use crate::hub::{Environment, HubEvent};
use crate::session::Session;
use crate::tools::{Tool, list_tools};

pub use state::{ServerState, ServerStatus};

/// Ends within [`CRASH_WINDOW`] that make a crash loop.
const CRASHES: usize = 5;
const CRASH_WINDOW: Duration = Duration::from_secs(60);
const PARKED: Duration = Duration::from_secs(60);
const PARKED_MOST: Duration = Duration::from_secs(600);
const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MOST: Duration = Duration::from_secs(30);

/// Calls to one server at once; one more waits.
const AT_ONCE: usize = 256;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) name: ServerName,
    pub(crate) spec: ServerSpec,
    pub(crate) file: std::path::PathBuf,
    environment: Arc<Environment>,
    facts: Mutex<Facts>,
    /// Held by whoever starts it, so that it is started once.
    starting: tokio::sync::Mutex<()>,
    in_flight: AtomicUsize,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Facts {
    phase: Phase,
    last_used: Instant,
    ends: VecDeque<Instant>,
    /// Times in a row it was parked; while it is more than none, one more end
    /// parks it again.
    parked: u32,
    ready_at: Option<Instant>,
    starts: u64,
    tools: Option<ToolListing>,
    last_words: Vec<String>,
}

#[derive(Debug, Clone)]
enum Phase {
    Stopped {
        why: String,
    },
    Starting,
    Ready {
        session: Arc<Session>,
        unwell: Option<String>,
    },
    Pausing {
        why: String,
        until: Instant,
        parked: bool,
    },
}

#[derive(Debug, Clone)]
struct ToolListing {
    tools: Arc<Vec<Tool>>,
    /// Of the connection it came from.
    session: std::sync::Weak<Session>,
    /// Which of its changes the list has.
    changes: u64,
    pins: Option<(std::time::SystemTime, u64, u64)>,
}

impl Server {
    pub(crate) fn new(
        name: ServerName,
        spec: ServerSpec,
        file: std::path::PathBuf,
        environment: Arc<Environment>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            spec,
            file,
            environment,
            facts: Mutex::new(Facts {
                phase: Phase::Stopped {
                    why: "not used yet".to_owned(),
                },
                last_used: Instant::now(),
                ends: VecDeque::new(),
                parked: 0,
                ready_at: None,
                starts: 0,
                tools: None,
                last_words: Vec::new(),
            }),
            starting: tokio::sync::Mutex::new(()),
            in_flight: AtomicUsize::new(0),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock()
    }

    /// Its connection; starts it if there is none. Waits for a pause that ends
    /// in time.
    pub(crate) async fn session(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Arc<Session>, HubError> {
        if !self.spec.enabled {
            return Err(HubError::Disabled(self.name.to_string()));
        }
        if let Some(session) = self.ready() {
            return Ok(session);
        }
        let _starting = self.starting.lock().await;
        loop {
            if let Some(session) = self.ready() {
                return Ok(session);
            }
            self.environment.still_running()?;
            let dead = match &self.facts().phase {
                Phase::Ready { session, .. } => Some(Arc::clone(session)),
                _ => None,
            };
            if let Some(dead) = dead {
                let why = dead.link.closed().await;
                self.died(Some(&dead), &why);
            }
            let pause = match &self.facts().phase {
                Phase::Pausing { why, until, parked } => {
                    Some((why.clone(), *until, *parked)).filter(|_| *until > Instant::now())
                }
                _ => None,
            };
            match pause {
                Some((_, until, false)) if until < deadline => {
                    tokio::time::sleep_until(until.into()).await;
                }
                Some((why, until, _)) => {
                    return Err(HubError::Parked {
                        server: self.name.to_string(),
                        why,
                        left: until.saturating_duration_since(Instant::now()),
                    });
                }
                None => return self.start().await,
            }
        }
    }

    fn ready(&self) -> Option<Arc<Session>> {
        match &self.facts().phase {
            Phase::Ready { session, .. } if session.link.is_open() => Some(Arc::clone(session)),
            _ => None,
        }
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Session>, HubError> {
        self.set_phase(Phase::Starting);
        // Whoever asked may go away; then nothing must stay "starting" for ever.
        let mut guard = StartGuard(Some(self));
        let Environment {
            keeper, supervisor, ..
        } = &*self.environment;
        let opened = Session::open(&self.name, &self.spec, keeper, supervisor).await;
        guard.0 = None;
        match opened {
            Ok(session) => {
                let session = Arc::new(session);
                {
                    let mut facts = self.facts();
                    facts.starts += 1;
                    facts.last_used = Instant::now();
                    facts.ready_at = Some(facts.last_used);
                }
                self.set_phase(Phase::Ready {
                    session: Arc::clone(&session),
                    unwell: None,
                });
                let (server, watched) = (Arc::downgrade(self), Arc::clone(&session));
                let watching = move || watch::watch(server.clone(), Arc::clone(&watched));
                supervisor.spawn_restarting("MCP server", watching);
                Ok(session)
            }
            Err(error) => {
                let why = match &error {
                    HubError::Start { why, .. } => why.clone(),
                    other => other.to_string(),
                };
                self.died(None, &why);
                Err(error)
            }
        }
    }

    /// It ended, or did not come up. With a session: unless somebody else has
    /// seen to that end already.
    fn died(&self, of: Option<&Arc<Session>>, why: &str) -> bool {
        let now = Instant::now();
        let (from, to) = {
            let mut facts = self.facts();
            let is_current = |current: &Phase| match (current, of) {
                (Phase::Ready { session, .. }, Some(of)) => Arc::ptr_eq(session, of),
                (_, of) => of.is_none(),
            };
            if !is_current(&facts.phase) {
                return false;
            }
            let (pause, parked) = pause_after(&mut facts, now);
            let phase = Phase::Pausing {
                why: why.to_owned(),
                until: now + pause,
                parked,
            };
            self.change(&mut facts, phase)
        };
        self.announce(from, to);
        true
    }

    fn set_phase(&self, phase: Phase) {
        let (from, to) = self.change(&mut self.facts(), phase);
        self.announce(from, to);
    }

    fn change(&self, facts: &mut Facts, phase: Phase) -> (ServerState, ServerState) {
        let from = self.state_of(&facts.phase);
        if let Phase::Ready { session, .. } = &facts.phase {
            facts.last_words = session.inbox.stderr_tail();
        }
        facts.phase = phase;
        (from, self.state_of(&facts.phase))
    }

    fn announce(&self, from: ServerState, to: ServerState) {
        if from.name() == to.name() {
            return;
        }
        tracing::info!(
            server = %self.name, from = from.name(), to = to.name(), why = to.why(),
            "MCP server state changed"
        );
        self.environment.publish(HubEvent::State {
            server: self.name.clone(),
            from,
            to,
        });
    }

    fn state_of(&self, phase: &Phase) -> ServerState {
        let left = |until: &Instant| until.saturating_duration_since(Instant::now());
        match phase {
            _ if !self.spec.enabled => ServerState::Disabled,
            Phase::Stopped { why } => ServerState::Stopped { why: why.clone() },
            Phase::Starting => ServerState::Starting,
            Phase::Ready { unwell: None, .. } => ServerState::Ready,
            Phase::Ready {
                unwell: Some(why), ..
            } => ServerState::Unwell { why: why.clone() },
            Phase::Pausing {
                why,
                until,
                parked: false,
            } => ServerState::Waiting {
                why: why.clone(),
                left: left(until),
            },
            Phase::Pausing {
                why,
                until,
                parked: true,
            } => ServerState::Parked {
                why: why.clone(),
                left: left(until),
            },
        }
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let facts = self.facts();
        let session = match &facts.phase {
            Phase::Ready { session, .. } => Some(session),
            _ => None,
        };
        ServerStatus {
            name: self.name.clone(),
            spec: self.spec.clone(),
            file: self.file.clone(),
            state: self.state_of(&facts.phase),
            tools: facts.tools.as_ref().map(|listing| listing.tools.len()),
            held: facts.tools.as_ref().map_or(0, |listing| {
                listing
                    .tools
                    .iter()
                    .filter(|tool| tool.held.is_some())
                    .count()
            }),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            software: session.map(|session| session.software.clone()),
            version: session.map(|session| session.version.clone()),
            process: session.and_then(|session| session.link.process()),
            starts: facts.starts,
            stderr: session.map_or_else(
                || facts.last_words.clone(),
                |session| session.inbox.stderr_tail(),
            ),
        }
    }

    /// Its tools as they are now, reviewed against what was accepted.
    pub(crate) async fn tools(
        self: &Arc<Self>,
        session: &Arc<Session>,
        limit: Duration,
    ) -> Result<Arc<Vec<Tool>>, HubError> {
        let pins = self.environment.pins.stamp();
        // Read before the list is: a change in between makes it out of date.
        let changes = session.inbox.tool_changes();
        let known = self
            .facts()
            .tools
            .clone()
            .filter(|listing| std::ptr::eq(listing.session.as_ptr(), Arc::as_ptr(session)));
        let mut tools = match known {
            // A list that somebody is asking for does not hold yet: until it is
            // there, whoever needs the tools asks too, rather than use one that the
            // server has said is out of date.
            Some(listing) if listing.changes == changes => {
                if listing.pins == pins {
                    return Ok(listing.tools);
                }
                (*listing.tools).clone()
            }
            _ => list_tools(&self.name, session, &self.spec.transport, limit).await?,
        };
        let digests: Vec<_> = tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.digest.clone()))
            .collect();
        // Taken before the review: pins that change while it is made leave a listing
        // that is reviewed again, not one that passes for reviewed with the new ones.
        let pins = self.environment.pins.stamp();
        let held = self.environment.pins.review(&self.name, &digests)?;
        for (tool, held) in tools.iter_mut().zip(held) {
            tool.held = held;
        }
        let held: Vec<_> = tools
            .iter()
            .filter(|tool| tool.held.is_some())
            .map(|tool| tool.name.clone())
            .collect();
        let tools = Arc::new(tools);
        let before = self.facts().tools.replace(ToolListing {
            tools: Arc::clone(&tools),
            session: Arc::downgrade(session),
            changes,
            pins,
        });
        if before.is_none_or(|before| before.tools != tools) {
            self.environment.publish(HubEvent::Tools {
                server: self.name.clone(),
                count: tools.len(),
                held,
            });
        }
        Ok(tools)
    }

    /// Room for one more call; counts it as use until it is dropped.
    pub(crate) async fn begin(self: &Arc<Self>, deadline: Instant) -> Result<CallGuard, HubError> {
        let room = Arc::clone(&self.room).acquire_owned();
        let permit = tokio::time::timeout_at(deadline.into(), room).await;
        let Ok(Ok(permit)) = permit else {
            return Err(HubError::Busy {
                server: self.name.to_string(),
                limit: AT_ONCE,
            });
        };
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(CallGuard {
            server: Arc::clone(self),
            _permit: permit,
        })
    }

    /// Ends it; it may be started again by the next call.
    pub(crate) async fn stop(&self, why: &str) {
        let session = match &self.facts().phase {
            Phase::Ready { session, .. } => Some(Arc::clone(session)),
            _ => None,
        };
        self.set_phase(Phase::Stopped {
            why: why.to_owned(),
        });
        if let Some(session) = session {
            session.link.stop().await;
        }
    }

    /// Ends it, forgets how often it died, and starts it.
    pub(crate) async fn restart(self: &Arc<Self>, deadline: Instant) -> Result<(), HubError> {
        self.stop("restarted").await;
        {
            let mut facts = self.facts();
            facts.ends.clear();
            facts.parked = 0;
        }
        self.session(deadline).await.map(drop)
    }

    /// Ends one that is no longer on the list, when its last call is over.
    pub(crate) async fn retire(self: Arc<Self>) {
        let patience = Instant::now() + self.spec.timeout;
        while self.in_flight.load(Ordering::Relaxed) > 0 && Instant::now() < patience {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.stop("it was taken off the list or changed there")
            .await;
    }

    fn is_idle(&self, idle: Duration) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0 && self.facts().last_used.elapsed() >= idle
    }

    fn is_current(&self, session: &Arc<Session>) -> bool {
        matches!(&self.facts().phase, Phase::Ready { session: current, .. } if Arc::ptr_eq(current, session))
    }

    fn set_health(&self, session: &Arc<Session>, unwell: Option<String>) {
        let is_same = match &self.facts().phase {
            Phase::Ready { unwell: before, .. } => before.is_some() == unwell.is_some(),
            _ => true,
        };
        if !is_same && self.is_current(session) {
            self.set_phase(Phase::Ready {
                session: Arc::clone(session),
                unwell,
            });
        }
    }
}

/// How long to leave a server alone that has just ended, and whether that is
/// because it keeps ending.
fn pause_after(facts: &mut Facts, now: Instant) -> (Duration, bool) {
    while facts
        .ends
        .front()
        .is_some_and(|end| now - *end > CRASH_WINDOW)
    {
        facts.ends.pop_front();
    }
    facts.ends.push_back(now);
    let lived = facts.ready_at.take().map(|ready| now - ready);
    if lived.is_some_and(|lived| lived > CRASH_WINDOW) {
        facts.parked = 0;
    }
    if facts.ends.len() >= CRASHES || facts.parked > 0 {
        let pause = (PARKED * 2u32.saturating_pow(facts.parked.min(8))).min(PARKED_MOST);
        facts.parked += 1;
        facts.ends.clear();
        return (pause, true);
    }
    let exponent = u32::try_from(facts.ends.len() - 1).unwrap_or(0);
    let pause = (BACKOFF * 4u32.saturating_pow(exponent)).min(BACKOFF_MOST);
    (pause.mul_f64(rand::random_range(0.75..1.25)), false)
}

/// One call under way.
#[derive(Debug)]
pub(crate) struct CallGuard {
    server: Arc<Server>,
    _permit: tokio::sync::OwnedSemaphorePermit,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.server.facts().last_used = Instant::now();
        self.server.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A start that nobody saw to its end.
struct StartGuard<'a>(Option<&'a Arc<Server>>);

impl Drop for StartGuard<'_> {
    fn drop(&mut self) {
        if let Some(server) = self.0 {
            server.set_phase(Phase::Stopped {
                why: "whoever started it went away".to_owned(),
            });
        }
    }
}
