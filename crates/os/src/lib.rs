//! What every part asks of the operating system, answered once: files that only
//! their owner can read and that are whole or not there, the environment a
//! child process gets, trees of processes, and a few facts about this machine.
//!
//! Nothing here knows what missiond is. What needs Unix is one `cfg` below;
//! the rest builds everywhere.

#[cfg(unix)]
pub mod environment;
#[cfg(unix)]
pub mod files;
pub mod hex;
#[cfg(unix)]
mod host;
#[cfg(unix)]
pub mod processes;
#[cfg(unix)]
pub mod programs;

#[cfg(unix)]
pub use host::host_name;
