//! MCP, as far as serving tools needs it, in both its eras: with a handshake
//! (up to 2025-11-25) and without (2026-07-28). One connection may use both, in
//! any order, because real clients try the newer one first and fall back on the
//! same connection.
//!
//! [`Face`] is the protocol alone: a line in, a line or a call out. It knows no
//! transport and no tool; whoever holds it does the call and hands the outcome
//! back. [`Bridge`] carries lines between a client that wants standard input and
//! output and a server that may be restarted meanwhile.

mod bridge;
mod face;

pub use bridge::{Bridge, BridgeLine};
pub use face::{Face, Identity, Step, ToolCall, ToolOutcome, Verdict};
