//! The wall around a program that an agent wrote, chose or is: what it sees and may
//! write, which network it reaches, how much it may use. The kernel holds it, by
//! namespaces, mounts, Landlock and a filter of system calls; nothing has to be installed.
//!
//! [`Place`] says where a program is to run, [`Wall`] is the plan made of it, and
//! [`Wall::command`] the command that runs a program behind it: this program again, as the
//! two stages of [`take_part`], which `main` asks before anything else. A wall that cannot
//! be built whole is refused; nothing is run in less.
//!
//! What is kept from programs without a wall too is [`refuse_typing`].

mod command;
mod git;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
mod place;
mod probe;
mod profile;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod stages;
#[cfg(not(target_os = "linux"))]
mod stages_elsewhere;
#[cfg(target_os = "linux")]
mod syscalls;
mod toolchains;
mod typing;
#[cfg(target_os = "linux")]
mod typing_filter;
mod wall;

pub use command::{WalledCommand, refusal};
pub use place::Place;
pub use probe::{Probed, probe};
pub use profile::Profile;
#[cfg(target_os = "linux")]
pub use stages::take_part;
#[cfg(not(target_os = "linux"))]
pub use stages_elsewhere::take_part;
pub use typing::{Typing, refuse_typing, typing};
pub use wall::{Entry, Kind, Limits, Nesting, Network, PROXY_PORT, Wall};
