//! What of a text is secret, and the text without it.
//!
//! There is one place where it is decided whether bytes are a secret, and it is here. [`mask`]
//! makes text that may be stored, a [`Masked`]; [`StreamMask`] does the same for a stream and
//! keeps the number of its bytes; [`Detector::scan`] says where secrets are. Which kinds there
//! are is data (`kinds.txt`), with an invented example of each; values known to be secret
//! ([`Known`]) are found exactly, in every form they take.
//!
//! Time grows with the text alone: one automaton reads each byte once, and what it finds is
//! decided within a fixed number of bytes around. Nothing is held back longer than that.
//! Nothing here reads or writes anything.

mod assigned;

pub mod corpus;
mod detector;
mod form;
mod json;
mod kinds;
mod known;
mod masked;
mod places;
mod stream;
mod value;
mod view;

pub use detector::{Detector, Finding};
pub use json::{Names, mask_json, mask_value, mask_written};
pub use kinds::{Kind, kinds};
pub use known::{Known, MOST_KNOWN, SHORTEST_KNOWN};
pub use masked::{Masked, mask, mask_bytes, mask_within};
pub use stream::StreamMask;

#[cfg(test)]
mod tests;
