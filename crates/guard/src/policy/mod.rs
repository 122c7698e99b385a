//! What agents may do, in files that people read and review: commands, files, networks and
//! requests to hosts, decided together.
//!
//! A person's policy allows, asks and denies; that of a repository only asks and denies.
//! Both are merged with the permission rules and grants there are. What denies wins,
//! wherever it stands, what asks wins over what allows, and what nothing knows is asked.
//! Every decision says which rule it is, where that stands, of which layer it is, and what
//! would have to change.

pub mod address;
mod check;
mod decide;
mod file;
pub mod host;
mod network;
mod policies;
mod propose;
mod reach;
mod read;
pub mod rest;
mod rule;
mod starter;
pub mod suggest;
#[cfg(test)]
mod tests;

pub use decide::{Considered, Decision, InForce};
pub use file::{Policy, PolicyProblem, PolicySource};
pub use host::{Host, HostPattern};
pub use network::{NetworkDecision, Outbound};
pub use policies::Policies;
pub use reach::{Endpoint, Reach};
pub use read::{MAX_FILE_BYTES, read};
pub use rule::{Access, Layer, PolicyRule, Subject};
pub use starter::{NEW_POLICY, starter};
