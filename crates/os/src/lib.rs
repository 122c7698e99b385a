//! What every part asks of the operating system, answered once: files that only
//! their owner can read and that are whole or not there, the environment a
//! child process gets, trees of processes, and a few facts about this machine.
//!
//! Nothing here knows what missiond is. missiond is for Unix, and built and tested
//! on Linux; this is the one place that says so to the compiler.

#[cfg(not(unix))]
compile_error!("missiond is for Unix: it needs pseudo-terminals, process groups and file modes");

pub mod environment;
pub mod files;
pub mod hex;
mod home_path;
mod host;
pub mod lineage;
pub mod mark;
pub mod peer;
pub mod processes;
pub mod programs;
pub mod tcp;

pub use home_path::expand_home;
pub use host::host_name;
