//! How a program of ours speaks to whoever started it.
//!
//! [`output`] prints a result as text for people or as JSON for programs,
//! [`failure`] gives every error one sentence and a stable exit code, [`term`]
//! knows the terminal, [`sibling`] finds the program that stands beside this one, and
//! [`recordings`] opens what several commands read. What a command does is the
//! business of its own crate.

pub mod failure;
pub mod output;
pub mod recordings;
pub mod sibling;
pub mod term;
