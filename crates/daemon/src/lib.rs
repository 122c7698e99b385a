//! The missiond daemon.
//!
//! [`run`] is the life of one: it comes up in six phases, serves until it is
//! asked to stop, drains and closes. What it can do is in `operations`; how it
//! is reached, in `transport`; what happens is on the `timeline`.

mod activity;
#[cfg(unix)]
mod autopilot;
pub mod board;
mod bootstrap;
mod code;
#[cfg(unix)]
mod commander;
pub mod config;
#[cfg(unix)]
mod context;
#[cfg(unix)]
mod conversations;
#[cfg(unix)]
mod cost;
pub mod database_journal;
#[cfg(unix)]
mod executions;
mod http_access;
mod incidents;
mod instance;
#[cfg(unix)]
mod journals;
mod knowledge;
#[cfg(unix)]
mod log_reader;
mod logging;
mod metrics;
#[cfg(unix)]
mod notifications;
mod operations;
#[cfg(unix)]
mod permissions;
#[cfg(unix)]
mod questions;
mod reload;
mod runs;
mod sampler;
mod shutdown;
mod signals;
#[cfg(unix)]
mod slots;
mod state;
pub mod timeline;
#[cfg(unix)]
pub mod toolhub;
mod transport;
#[cfg(unix)]
mod worktrees;

pub use bootstrap::{Ready, StartError, database_url, run};
pub use instance::{Instance, InstanceError, PidRecord};
pub use logging::RotatingFile;
pub use metrics::Metrics;
pub use state::VERSION;
