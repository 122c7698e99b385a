//! The gateway as a whole: the real client, the real store, and servers that misbehave.
#![allow(clippy::unwrap_used)]

mod clock;
mod faults;
mod limits;
mod relayed;
mod room;
mod shaped;
mod untrusted;
