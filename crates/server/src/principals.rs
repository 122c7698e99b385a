//! Who is at the other end of a connection: told by the process that connected and those
//! above it, and by nothing it says.

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::StreamCommon;
use missiond_core::Principal;
use missiond_operations::state::Daemon;
use missiond_os::lineage::{Lineage, Top, Unknown};
use missiond_os::peer::Peer;
use missiond_pty::host::is_of_a_slot;

/// What is known of a process by those above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descent {
    /// It is in a slot, or comes of what the daemon started, or cannot be looked at.
    Ours(Principal),
    /// Nothing of ours is above it.
    Outside,
    /// Somebody of another user is above it, whose own origin is hidden.
    Hidden { at_terminal: bool },
    /// The system tells nothing of processes: nobody can be told from anybody, and `mission
    /// doctor` says so.
    NotTold,
}

impl Descent {
    pub(crate) fn of(pid: u32, daemon: &Daemon) -> Self {
        match Lineage::of(pid) {
            Ok(lineage) => of_lineage(&lineage, daemon),
            Err(Unknown::NoTable) => Self::NotTold,
            Err(Unknown::Ended | Unknown::Restless) => Self::Ours(Principal::Untold),
        }
    }
}

fn of_lineage(lineage: &Lineage, daemon: &Daemon) -> Descent {
    if let Some(slot) = daemon.slots.above(lineage) {
        let execution = daemon.executions.in_slot(slot);
        return Descent::Ours(Principal::Agent {
            slot,
            execution: execution.map(|(execution, _)| execution),
        });
    }
    // Of a slot of another home, or of one whose host was killed or is on record no more.
    if is_of_a_slot(lineage) {
        return Descent::Ours(Principal::Untold);
    }
    let own = std::process::id();
    if lineage.processes.iter().any(|process| process.pid == own) {
        // A check, a tool server, or a program whose slot is being made.
        return Descent::Ours(Principal::Untold);
    }
    match lineage.top {
        Top::First => Descent::Outside,
        Top::Hidden => {
            let asks = lineage.processes.first();
            let at_terminal = asks.is_some_and(|process| process.terminal != 0);
            Descent::Hidden { at_terminal }
        }
    }
}

/// Who has connected to the socket. Looked at once, when they come: a process that is an
/// agent's stays one, and a person's does not become an agent's.
pub(crate) fn of_socket(stream: &Stream, daemon: &Daemon) -> Principal {
    let pid = stream.peer_creds().ok().and_then(|creds| creds.pid());
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    let Stream::UdSocket(socket) = stream;
    let descent = pid.map(|pid| {
        let peer = Peer::of(socket);
        let descent = Descent::of(pid, daemon);
        // Whoever ended meanwhile may have left its number to another, who was looked at.
        if peer.has_ended() {
            Descent::Ours(Principal::Untold)
        } else {
            descent
        }
    });
    let principal = match descent {
        Some(Descent::Ours(principal)) => principal,
        Some(Descent::Outside | Descent::NotTold | Descent::Hidden { at_terminal: true }) => {
            Principal::Person
        }
        Some(Descent::Hidden { at_terminal: false }) | None => Principal::Untold,
    };
    tracing::debug!(pid, %principal, "peer placed");
    principal
}

/// The same for a connection on which a model speaks: it is nobody's equal, also when a
/// person started it.
pub(crate) const fn of_model(principal: Principal) -> Principal {
    match principal {
        Principal::Person => Principal::Commander,
        other => other,
    }
}
