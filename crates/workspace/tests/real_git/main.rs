//! Everything with the real git, real files and real processes.

#![allow(
    clippy::unwrap_used,
    reason = "functions shared by tests, which the lint does not take for tests"
)]

mod commands;
mod contents;
mod crashes;
mod diffs;
mod finishing;
mod leftovers;
mod pushing;
mod sample;
mod worktrees;
