//! The missiond daemon.
//!
//! [`run`] is the life of one: it comes up in six phases, serves until it is
//! asked to stop, drains and closes. What it can do is in the crates below, each
//! with a constructor that names what it uses; here they are put together.

mod audit;
mod bootstrap;
mod failures;
mod instance;
mod runs;
mod signals;

pub use bootstrap::{Ready, StartError, database_url, run};
pub use instance::{Instance, InstanceError, PidRecord};
pub use missiond_operations::VERSION;
