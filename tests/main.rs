//! Whole-product tests: the real binary, the real socket, real signals.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod bad_input;
mod command_line;
mod crash;
mod documents;
mod export;
mod fleet;
mod harness;
mod lifecycle;
mod requests;
mod start_failures;
mod subscriptions;
mod timeline_load;
