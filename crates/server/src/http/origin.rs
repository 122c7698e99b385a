//! Where a connection comes from: an agent that found a token or a cookie is still the agent.
//!
//! Looked at once, when somebody connects. Whoever comes from outside every slot, or from
//! another machine, counts as what they show. What is on this machine and cannot be seen
//! may only look, as on the socket: a process that hides is no better than one that is seen.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::request::Parts;
use missiond_api::ApiError;
use missiond_core::{ErrorCode, Principal};
use missiond_operations::state::Daemon;
use missiond_os::tcp::Peer;
use missiond_runtime::blocking;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::principals::Descent;

/// Processes that are looked at first, because they have connected before.
const REMEMBERED: usize = 16;
/// Looks at the machine's processes at once.
const LOOKS: usize = 2;

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// Who it is, is what it shows.
    AsShown,
    /// It is nobody more than this, whatever it shows.
    AtMost(Principal),
}

impl Origin {
    /// As the connection of this request was placed.
    pub(super) fn of_request(request: &Parts) -> Self {
        let placed = request.extensions.get::<Self>().copied();
        placed.unwrap_or(Self::AtMost(Principal::Untold))
    }

    /// Who that is, which shows itself to be `shown`.
    pub(super) const fn principal(self, shown: Principal) -> Principal {
        match self {
            Self::AsShown => shown,
            Self::AtMost(principal) => principal,
        }
    }

    /// A refusal, with what a person can do who was not recognised.
    pub(super) fn explain(self, mut refused: ApiError) -> ApiError {
        if self == Self::AtMost(Principal::Untold) && refused.code == ErrorCode::Forbidden {
            refused.message.push_str(
                "; the daemon does not see which process of this machine connects here: \
                 `http.tunnels = true` is for a tunnel or proxy of yours",
            );
        }
        refused
    }
}

/// Finds out where connections come from.
#[derive(Debug)]
pub(super) struct Origins {
    daemon: Daemon,
    /// Who connected last.
    known: Mutex<VecDeque<u32>>,
    looks: Semaphore,
}

impl Origins {
    pub(super) fn new(daemon: Daemon) -> Self {
        Self {
            daemon,
            known: Mutex::default(),
            looks: Semaphore::new(LOOKS),
        }
    }

    pub(super) async fn of(self: Arc<Self>, stream: &TcpStream) -> Origin {
        let unseen = Origin::AtMost(Principal::Untold);
        let (Ok(theirs), Ok(ours)) = (stream.peer_addr(), stream.local_addr()) else {
            return unseen;
        };
        let Ok(_look) = self.looks.acquire().await else {
            return unseen;
        };
        let this = Arc::clone(&self);
        let origin = blocking(move || this.look(theirs, ours)).await;
        tracing::debug!(%theirs, ?origin, "HTTP peer placed");
        origin
    }

    fn look(&self, theirs: SocketAddr, ours: SocketAddr) -> Origin {
        let hints: Vec<u32> = self.known.lock().iter().copied().collect();
        match Peer::of(theirs, ours, &hints) {
            Peer::NoTable | Peer::Elsewhere => Origin::AsShown,
            Peer::Unseen { user } => self.unseen(user),
            Peer::Held(holders) => {
                self.remember(&holders);
                self.held(&holders)
            }
        }
    }

    /// One of several that hold a socket can use it: they are together what the least of them
    /// is.
    fn held(&self, holders: &[u32]) -> Origin {
        let mut origin = Origin::AsShown;
        for holder in holders {
            match Descent::of(*holder, &self.daemon) {
                Descent::Ours(agent @ Principal::Agent { .. }) => return Origin::AtMost(agent),
                Descent::Ours(principal) => origin = Origin::AtMost(principal),
                // A browser has no terminal, and beside it nobody of ours is above.
                Descent::Outside | Descent::Hidden { .. } | Descent::NotTold => {}
            }
        }
        origin
    }

    fn unseen(&self, user: Option<u32>) -> Origin {
        let config = self.daemon.config();
        let own = rustix::process::geteuid().as_raw();
        // A proxy before the daemon, which whoever named its hosts has set up.
        let is_proxy = user.is_some_and(|user| user != own) && !config.http.hosts.is_empty();
        if is_proxy || config.http.tunnels {
            Origin::AsShown
        } else {
            Origin::AtMost(Principal::Untold)
        }
    }

    fn remember(&self, holders: &[u32]) {
        let mut known = self.known.lock();
        for holder in holders {
            known.retain(|pid| pid != holder);
            known.push_front(*holder);
        }
        known.truncate(REMEMBERED);
    }
}
