//! How the daemon's parts run.
//!
//! Every task is spawned through the [`Supervisor`], under a name and with a word
//! on what a panic in it means; so none ends in silence. A [`Component`] is what
//! has a life of its own; [`Shutdown`] is the way down that all of them share.

mod bucket;
mod component;
mod shutdown;
mod supervisor;
mod tasks;
mod waiting;

pub use bucket::Bucket;
pub use component::{Component, StartError};
pub use shutdown::{Shutdown, Stage};
pub use supervisor::{Failure, OnPanic, Supervisor, Unfinished};
pub use tasks::Tasks;
pub use waiting::{blocking, sleep_until};
