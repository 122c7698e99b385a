//! How a signal of the agent reaches its execution.

use futures::future::BoxFuture;
use serde_json::Value;

/// A way to tell an execution something. The caller of a rehearsal chooses it;
/// without one, signals go to the MCP server that has a tool of their type.
pub trait SignalChannel: Send {
    /// Returns what was answered, in words for the screen.
    fn send<'a>(
        &'a mut self,
        kind: &'a str,
        payload: &'a Value,
    ) -> BoxFuture<'a, Result<String, SignalError>>;
}

/// A signal that did not arrive, or was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SignalError(pub String);
