//! What was learned, and how it is found again.
//!
//! The search is a library of its own: text in, an order out, no I/O and no
//! clock. Around it stand the entries with their history, and what decides
//! about them: conflicts, utility.

pub mod conflict;
pub mod conversation;
pub mod corpus;
mod detail;
pub mod embedder;
mod fusion;
mod inverted_lists;
pub mod keyword;
pub mod profile;
pub mod projection;
mod quantized;
pub mod search;
mod sign_bits;
mod simd;
pub mod snippet;
pub mod telling;
pub mod tokens;
pub mod transfer;
pub mod utility;
pub mod vectors;

pub use conflict::{Statement, Verdict, classify};
pub use corpus::{Corpus, Document, TurnPosition};
pub use detail::shown_detail;
pub use embedder::{Calibration, EmbedError, Embedder, ModelName, Purpose, Reads};
pub use profile::{ByCategory, Context, Fusion, HalfLives, Profile};
pub use projection::{Projection, project};
pub use search::{Hit, Mode, Paths, Request, Scores, SearchResult, StageCounts};
