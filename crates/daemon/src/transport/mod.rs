//! The ways in and out. None of them has logic of its own: they carry messages
//! to the operations and events to whoever listens.

pub(crate) mod http;
pub(crate) mod ipc;
pub(crate) mod otlp;
mod rate;

/// Waits for a moment that may never come.
pub(crate) async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
