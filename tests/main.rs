//! Whole-product tests: the real binary, the real socket, real signals.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod acp;
mod anomalies;
mod attach;
#[cfg(target_os = "linux")]
mod attack_hosts;
mod attack_ways;
#[cfg(target_os = "linux")]
mod attacks;
mod audit;
#[cfg(target_os = "linux")]
mod authority;
mod autopilot;
mod bad_input;
#[cfg(target_os = "linux")]
mod bench;
mod board;
mod canary;
mod code;
mod command_line;
mod commander;
mod conformance;
mod context;
mod contract;
mod conversations;
mod crash;
mod daemon_keys;
mod database_journals;
mod docs;
mod documents;
mod driven;
mod ecosystems;
mod effects;
mod embedding;
mod engines;
mod execution_access;
mod executions;
mod export;
#[cfg(target_os = "linux")]
mod failing_disk;
#[cfg(target_os = "linux")]
mod fault_fs;
mod first_use;
mod fleet;
#[cfg(target_os = "linux")]
mod guard_scan;
mod handoff;
mod harness;
#[cfg(target_os = "linux")]
mod hostile_agent;
mod hosts;
mod http;
mod inbox_watch;
mod init;
mod input;
mod journals;
mod knowledge;
mod lifecycle;
mod manifests;
mod markers;
mod mcp_servers;
mod models;
mod models_sdks;
mod ollama;
mod person;
mod pictures;
mod policy;
#[cfg(target_os = "linux")]
mod power_loss;
mod questions;
mod rehearsal;
mod rehearsal_acp;
mod requests;
mod review;
#[cfg(target_os = "linux")]
mod sandbox;
mod screenshots;
mod scripted_agent;
mod semantic;
mod settings;
mod shared_database;
mod slot_kinds;
mod slot_tools;
mod slots;
mod start_failures;
mod status;
mod status_watch;
mod subscriptions;
mod timeline_load;
mod toolhub;
mod toolhub_hostile;
#[cfg(target_os = "linux")]
mod trust;
mod upgrade;
mod watched;
mod worktrees;
