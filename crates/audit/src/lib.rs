//! The audit: every decision, refusal, approval and change of authority is one record of a
//! chain that only grows, signed by the daemon's key and anchored where it does not lie.
//!
//! Above the line there is no I/O: what a record is ([`Entry`]), how records are chained and
//! signed (`chain`, `keys`) and how a chain is checked ([`verify`]). Below it are the log that
//! is written ([`AuditLog`]), the keys in their folder ([`identity`]), the places that
//! remember where the log ended ([`anchors`]), what the log remembers of the timeline
//! ([`timeline`]) and of decisions ([`decisions`]), and reading ([`read`]).
//!
//! A record is on disk before whoever asked for it goes on. Whoever has something to put on
//! record needs [`AuditLog::record`] and an [`Entry`], and nothing else of this crate.

mod chain;
mod entry;
mod keys;
pub mod verify;

pub mod anchors;
mod call;
pub mod decisions;
pub mod identity;
mod log;
pub mod read;
pub mod timeline;

pub use call::AuditedCall;
pub use chain::{Head, MAX_LINE};
pub use entry::{Entry, digest_of};
pub use identity::Identity;
pub use keys::PublicKey;
pub use log::{AuditError, AuditLog, Opened, Position};
