//! The daemon's log: written to files of limited size, and read again by whoever asks.

mod lines;
pub mod reader;
mod writer;

pub use writer::{Logging, RotatingFile};
