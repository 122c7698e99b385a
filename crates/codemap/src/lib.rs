//! The code map: what a repository defines and where, kept current, searched and
//! drawn.
//!
//! [`scan`] reads a folder with tree-sitter and says what changed since it was
//! last read; [`CodeIndex`] holds what was found and answers questions about it;
//! [`follow`] finds a beacon again after its code moved. Nothing here knows a
//! database, a runtime or a daemon: whoever keeps an index between runs is given
//! plain values and gives them back.

mod beacon;
mod comment;
mod definition;
mod error;
mod extract;
mod index;
mod language;
mod limits;
mod meaning;
mod query;
mod rank;
mod repository;
mod scan;
mod source;
mod symbol;
mod text_index;
mod topology;
mod words;

pub use beacon::{Anchor, BeaconMatch, FollowOutcome, MatchKind, Suggestion, follow};
pub use error::CodeError;
pub use extract::{Extracted, extract};
pub use index::{CodeIndex, IndexCounts, NodeRef};
pub use language::Language;
pub use limits::Limits;
pub use meaning::{Description, Likeness};
pub use query::{Hit, MAX_QUERY, Match};
pub use repository::Checkout;
pub use scan::{FileChange, KnownFile, Progress, scan};
pub use source::{Skip, Stamp, read_source};
pub use symbol::{ContentHash, FileFacts, FileRecord, Span, Symbol, SymbolKind};
pub use topology::{MapRequest, Topology};

/// What [`extract`] finds has this version. An index made by another one is not
/// read again but made again.
pub const FORMAT: u32 = 2;
