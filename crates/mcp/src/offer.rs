//! What a server has to offer, told to the protocol by whoever keeps it.
//!
//! The protocol asks and words the answers; it never knows what a tool does.
//! Nothing offered may depend on what a connection said before: who may see what
//! is decided when the offer is made.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};

use crate::protocol::{INVALID_PARAMS, excerpt};

/// Lines on their way to the client.
pub type Outlet = mpsc::Sender<Vec<u8>>;

/// A set of tools, resources and prompts. What [`Features`] says it has none of
/// need not be written.
pub trait Offer: Send + Sync + 'static {
    fn identity(&self) -> Identity;

    fn features(&self) -> Features;

    /// The entries of `tools/list`, always in the same order.
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>>;

    /// Calls a tool: the result object, with `content` and what else there is.
    /// What the tool itself failed at is a result; a refusal is for calls that
    /// make no sense. It is dropped when the caller changes their mind.
    fn call(&self, call: ToolRequest) -> BoxFuture<'_, Result<Value, Refusal>>;

    /// A list is good for so long unless a change is told.
    fn lists_last(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// The entries of `resources/list`.
    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, Refusal>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The entries of `resources/templates/list`.
    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The `contents` of a resource, or nothing when there is no such one.
    fn read(&self, _uri: String) -> BoxFuture<'_, Result<Option<Vec<Value>>, Refusal>> {
        Box::pin(async { Ok(None) })
    }

    /// The entries of `prompts/list`.
    fn prompts(&self) -> Vec<Value> {
        Vec::new()
    }

    /// A prompt filled in: an object with `messages`.
    fn prompt(
        &self,
        name: String,
        _arguments: Map<String, Value>,
    ) -> BoxFuture<'_, Result<Value, Refusal>> {
        let message = format!("there is no prompt `{}`", excerpt(&name));
        Box::pin(async { Err(Refusal::invalid(message)) })
    }

    /// Told from now on what has changed.
    fn changes(&self) -> broadcast::Receiver<Change> {
        broadcast::channel(1).1
    }
}

/// Who a server says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub version: String,
    /// What its tools are for, for the model that will use them.
    pub instructions: String,
}

/// Which parts of the protocol a server takes part in. Tools it always has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    pub resources: bool,
    pub prompts: bool,
    /// The lists may change while it runs.
    pub changing_lists: bool,
    /// It tells when the content of a resource has changed.
    pub changing_resources: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
    Resources,
    /// The content of this one.
    Resource(String),
}

/// Why a request is not served.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: INVALID_PARAMS,
            message: message.into(),
            data: None,
        }
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self {
            code: -32603,
            message: message.into(),
            data: None,
        }
    }
}

/// A call of a tool.
#[derive(Debug)]
pub struct ToolRequest {
    pub name: String,
    /// An object, as it was written; nothing when none were given.
    pub arguments: Option<Box<RawValue>>,
    /// What the client says it can do; empty when it did not say.
    pub client_capabilities: Value,
    pub progress: Progress,
}

/// Where a call tells how far it has come. Nobody may be listening.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<Arc<ProgressTarget>>);

#[derive(Debug)]
struct ProgressTarget {
    token: Value,
    outlet: Outlet,
    reached: Mutex<f64>,
}

impl Progress {
    pub(crate) fn to(token: &Value, outlet: &Outlet) -> Self {
        if !(token.is_string() || token.is_i64() || token.is_u64()) {
            return Self(None);
        }
        Self(Some(Arc::new(ProgressTarget {
            token: token.clone(),
            outlet: outlet.clone(),
            reached: Mutex::new(f64::NEG_INFINITY),
        })))
    }

    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Tells it, unless it is no further than before or the client is too slow to
    /// hear it: a call never waits for its listener.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(target) = &self.0 else { return };
        {
            let mut reached = target.reached.lock();
            if progress <= *reached {
                return;
            }
            *reached = progress;
        }
        let mut params = json!({ "progressToken": target.token, "progress": progress });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        let line = notification("notifications/progress", &params);
        let _ = target.outlet.try_send(line);
    }
}

pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    format!("{message}\n").into_bytes()
}
