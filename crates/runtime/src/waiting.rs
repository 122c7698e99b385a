//! Waiting for moments that may never come, and for work that blocks.

use tokio::time::Instant;

/// Returns at the deadline; never, when there is none.
pub async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Runs what computes or blocks on a thread of its own. A panic in it goes on in
/// the caller, whose supervisor reports it.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is going down and takes the caller with it.
        Err(_) => std::future::pending().await,
    }
}
