//! How much an agent may make us keep. Every bound is checked before what it bounds
//! is allocated or stored, so an agent without manners costs a known amount.

use serde::{Deserialize, Serialize};

/// The bounds of one client. The defaults fit every engine that was driven; tests and
/// fuzz targets make them small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of one line, its newline not counted, in both directions.
    pub line: usize,
    /// Arrays and objects inside each other.
    pub depth: usize,
    /// Values of one message, members and elements counted alike.
    pub values: usize,
    /// Bytes kept of one text.
    pub text: usize,
    /// Bytes kept of one tool's input. Its digest is over all of it.
    pub input: usize,
    /// Bytes kept of what is not understood, and of `_meta`.
    pub raw: usize,
    /// Elements kept of one list: options, plan entries, commands, locations.
    pub list: usize,
    /// Requests of ours that wait for an answer.
    pub open_requests: usize,
    /// Requests of the agent that wait for ours.
    pub open_permissions: usize,
    /// Tool calls remembered to compare with permission requests.
    pub tool_calls: usize,
    /// Events that one line may cause.
    pub events_per_line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 8 * 1024 * 1024,
            depth: 64,
            values: 200_000,
            text: 256 * 1024,
            input: 256 * 1024,
            raw: 4 * 1024,
            list: 256,
            open_requests: 64,
            open_permissions: 32,
            tool_calls: 512,
            events_per_line: 256,
        }
    }
}
