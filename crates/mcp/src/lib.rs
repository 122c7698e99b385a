//! MCP, as far as serving needs it, in both its eras: with a handshake (up to
//! 2025-11-25) and without (2026-07-28). One connection may use both, in any
//! order, because real clients try the newer one first and fall back on the same
//! connection.
//!
//! [`Server`] is the protocol over an [`Offer`] of tools, resources and prompts,
//! on any transport; [`http`] is one of them. [`Face`] is a server with a fixed
//! set of tools that hands calls out to its owner: a line in, a line or a call
//! out. [`Bridge`] carries lines between a client that wants standard input and
//! output and a server that may be restarted meanwhile.

mod bridge;
mod changes;
mod face;
pub mod http;
mod offer;
mod protocol;
mod server;
pub mod tools;

pub use bridge::{Bridge, BridgeLine, Repeat};
pub use face::{Face, Step, ToolCall, ToolOutcome, Verdict};
pub use offer::{Change, Features, Identity, Offer, Outlet, Progress, Refusal, ToolRequest};
pub use server::{Arrival, Dispatch, Reply, RequestLifetime, Server, Work};
