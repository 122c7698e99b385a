//! The host process: owns one program's terminal and outlives the daemon.
//!
//! A host is the same binary started as `mission pty-host`. It records every
//! byte, numbers it, and hands it to whichever daemon is connected; a daemon
//! that dies takes nothing with it. [`run`] is the host itself, [`launch`] and
//! [`HostConnection`] are what a daemon uses.

mod backlog;
mod cgroup;
mod channel;
mod client;
mod connection;
mod fence;
mod frame;
mod joined;
mod lines;
mod peer;
mod process;
mod recording;
mod segments;
mod serve;
mod start;
mod tree;
mod unattended;

pub use cgroup::{Containment, containment};
pub use channel::Channel;
pub use client::{HostConnection, HostError, LaunchError, launch};
pub use frame::{BadFrame, Frame, FromHost, MAX_INPUT, ToHost, fits};
pub use joined::JoinedCast;
pub use lines::{LineDirection, LineTail, ProgramLine};
pub use peer::{Stranger, is_of_a_slot, slot_around};
pub use process::{ExitStatus, Handoff, HostFiles, HostRecord, LaunchSpec};
pub use recording::{Masking, RecordingLimits, record_stream};
pub use segments::{RecordedEvent, Recording, RecordingReader};
pub use start::run;
