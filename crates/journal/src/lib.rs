//! The journal of an execution: what was said to an agent, what was observed of
//! it, what was decided and what came of it, kept so that the state of the
//! execution can be told again after any crash.
//!
//! ```text
//! observation ─▶ Journal::observe ─▶ seen before? ─▶ decide(policy, state) ─▶ one group ─▶ acknowledgement
//!                                        │             observation, decision, effects
//!                                        └─▶ duplicate, with the place of the first
//! ```
//!
//! - [`catalogue`] declares every signal, fact and message once; schemas, MCP
//!   tools and the marker codec are derived from it.
//! - [`record`] has the nine kinds of records, [`state`] what they add up to.
//! - [`policy`] decides: a pure function over a table.
//! - [`store`] says what a place for journals must promise; [`file::FileStore`]
//!   keeps them as JSONL files. [`Journal`] is the one way to write.
//! - [`marker`] finds signals in the output of programs that have no better way.
//! - [`inspect`] verifies, exports and compares journals; [`narrate`] puts them
//!   in words.
//!
//! Everything here blocks and knows no async runtime; time is passed in. The
//! format and the promises are written down in `docs/how/journal.md`.
//!
//! *Committed* means: the records are in the store and were forced to disk.
//! *Acknowledged* means: a call returned `Ok`, which it does after the commit.

pub mod catalogue;
pub mod compaction;
pub mod file;
mod frame;
pub mod inspect;
mod journal;
pub mod last_known;
pub mod marker;
pub mod narrate;
pub mod observation;
pub mod owner;
pub mod policy;
pub mod record;
pub mod replay;
pub mod state;
pub mod store;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
pub mod timeline;

pub use file::FileStore;
pub use frame::{BadGroup, BadLine, Digest, Head, Line, Sequence, encode_group};
pub use journal::{Journal, JournalError, NewMessage, NewObservation};
pub use last_known::{LastKnown, ProgramEnd, StatedClaim};
pub use missiond_core::{List, OutOfBounds, Text};
pub use observation::{
    Confidence, EventId, MessageKey, Observation, ObservationKey, Observed, ObservedType, Source,
};
pub use owner::{OwnerEntity, OwnerRef};
pub use policy::{Acknowledgement, MessageAcknowledgement, Outcome, Policy, Reason, Verdict};
pub use record::{JournalHeader, Record, RecordBody, RecordKind, Transport};
pub use replay::{ReplayError, replay};
pub use state::{ExecutionState, MessageState, ProcessOverlay};
pub use store::{JournalStore, JournalWriter, ReadLimit, Recovery, StoreError, Window};
