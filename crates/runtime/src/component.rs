//! A part of the daemon that lives as long as the daemon does.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_core::ErrorCode;

/// Why a component did not start. It says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct StartError {
    pub code: ErrorCode,
    source: Box<dyn Error + Send + Sync>,
}

impl StartError {
    pub fn new(code: ErrorCode, error: impl Error + Send + Sync + 'static) -> Self {
        Self {
            code,
            source: Box::new(error),
        }
    }
}

/// Owns one concern. It is given what it uses when it is made; what it does
/// between `start` and `stop` it does in tasks of the supervisor.
pub trait Component: Debug + Send + Sync {
    /// What it is called in logs and incidents.
    fn name(&self) -> &'static str;

    /// Takes up what an earlier daemon left, and begins to work. Returns when it
    /// may be used.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>>;

    /// Returns when nothing of it runs any more.
    fn stop(&self) -> BoxFuture<'_, ()>;
}
