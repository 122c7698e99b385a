//! The host process: owns one program's terminal and outlives the daemon.
//!
//! A host is the same binary started as `mission pty-host`. It records every
//! byte, numbers it, and hands it to whichever daemon is connected; a daemon
//! that dies takes nothing with it. [`run`] is the host itself, [`launch`] and
//! [`HostConnection`] are what a daemon uses.

mod backlog;
mod client;
mod connection;
mod frame;
mod process;
mod recording;
mod serve;
mod start;
mod tree;

pub use client::{HostConnection, HostError, LaunchError, launch};
pub use frame::{BadFrame, FromHost, MAX_INPUT, ToHost};
pub use process::{ExitStatus, HostFiles, HostRecord, LaunchSpec};
pub use recording::{Recorded, RecordingReader};
pub use start::run;
