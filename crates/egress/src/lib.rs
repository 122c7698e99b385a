//! The one way out for what agents run. Each run, check or tool server that may speak with
//! others is given a door of its own: a socket that only it can reach, behind which an HTTP
//! proxy asks a [`Judge`] before anything is connected.
//!
//! Who asks is known by the door and never by what is said at it. A name is resolved once,
//! here, and the address it was resolved to is judged and is what is connected to. Plain
//! requests are judged by method and path; a tunnel by its host, and where TLS begins in
//! it, by the name that TLS is asked for. One connection carries one request, read by one
//! strict parser, so nothing can hide behind it. Redirections are the client's business.
//!
//! What this crate does not know: policies, the database, the timeline. The judge does.

mod body;
mod dial;
mod door;
pub mod head;
mod judge;
mod machine;
mod proxy;
mod serve;
pub mod sni;
mod tunnel;

pub use dial::{Resolve, SystemResolver};
pub use door::Door;
pub use judge::{Caller, CallerKind, Judge, Outcome, Report, Ruling, Target, Undecided};
pub use machine::MachinePort;
pub use proxy::{Egress, Limits, OpenError, Parts};
