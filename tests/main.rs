//! Whole-product tests: the real binary, the real socket, real signals.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod anomalies;
mod attach;
#[cfg(unix)]
mod autopilot;
mod bad_input;
#[cfg(target_os = "linux")]
mod bench;
mod board;
mod code;
mod command_line;
#[cfg(unix)]
mod commander;
#[cfg(unix)]
mod conformance;
#[cfg(unix)]
mod context;
mod contract;
#[cfg(unix)]
mod conversations;
mod crash;
mod database_journals;
mod documents;
#[cfg(unix)]
mod effects;
mod embedding;
mod execution_access;
mod executions;
mod export;
#[cfg(target_os = "linux")]
mod failing_disk;
#[cfg(target_os = "linux")]
mod fault_fs;
mod fleet;
mod harness;
mod hosts;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod init;
mod input;
mod journals;
mod knowledge;
mod lifecycle;
#[cfg(unix)]
mod manifests;
mod markers;
#[cfg(unix)]
mod mcp_servers;
mod ollama;
#[cfg(target_os = "linux")]
mod power_loss;
mod questions;
mod rehearsal;
mod requests;
mod review;
mod screenshots;
mod semantic;
mod shared_database;
mod slot_kinds;
#[cfg(unix)]
mod slot_tools;
mod slots;
mod start_failures;
mod subscriptions;
mod timeline_load;
#[cfg(unix)]
mod toolhub;
#[cfg(unix)]
mod toolhub_hostile;
mod watched;
mod worktrees;
