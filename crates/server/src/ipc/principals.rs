//! Who is at the other end of the socket: told by the process that connected and those
//! above it, and by nothing it says.

use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::StreamCommon;
use missiond_core::Principal;
use missiond_operations::state::Daemon;
use missiond_os::lineage::{Lineage, Top, Unknown};
use missiond_pty::host::is_of_a_slot;

/// Who has connected. Looked at once, when they come: a process that is an agent's stays
/// one, and a person's does not become an agent's.
pub(super) fn of_peer(stream: &Stream, daemon: &Daemon) -> Principal {
    let pid = stream.peer_creds().ok().and_then(|creds| creds.pid());
    let pid = pid.and_then(|pid| u32::try_from(pid).ok());
    let principal = match pid.map(Lineage::of) {
        Some(Ok(lineage)) => of_lineage(&lineage, daemon),
        // Nobody can be told from anybody; `mission doctor` says so.
        Some(Err(Unknown::NoTable)) => Principal::Person,
        Some(Err(Unknown::Ended | Unknown::Restless)) | None => Principal::Untold,
    };
    tracing::debug!(pid, %principal, "peer placed");
    principal
}

fn of_lineage(lineage: &Lineage, daemon: &Daemon) -> Principal {
    if let Some(slot) = daemon.slots.above(lineage) {
        let execution = daemon.executions.in_slot(slot);
        return Principal::Agent {
            slot,
            execution: execution.map(|(execution, _)| execution),
        };
    }
    // Of a slot of another home, or of one whose host was killed or is on record no more.
    if is_of_a_slot(lineage) {
        return Principal::Untold;
    }
    let own = std::process::id();
    if lineage.processes.iter().any(|process| process.pid == own) {
        // A check, a tool server, or a program whose slot is being made.
        return Principal::Untold;
    }
    let asks = lineage.processes.first();
    let at_terminal = asks.is_some_and(|process| process.terminal != 0);
    match lineage.top {
        Top::First => Principal::Person,
        // Somebody of another user is above it, whose own origin is hidden.
        Top::Hidden if at_terminal => Principal::Person,
        Top::Hidden => Principal::Untold,
    }
}

/// The same for a connection on which a model speaks: it is nobody's equal, also when a
/// person started it.
pub(super) const fn of_model(principal: Principal) -> Principal {
    match principal {
        Principal::Person => Principal::Commander,
        other => other,
    }
}
