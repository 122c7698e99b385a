//! The same client for a thread that may wait.

use super::client::{Answer, HttpClient, HttpError, Limits, Request};

impl HttpClient {
    /// As [`fetch`](Self::fetch), for callers without a runtime. Only for a client
    /// with [`Connections::Closed`](super::Connections::Closed): what drives a
    /// kept connection ends with this call.
    ///
    /// Must not be called from an asynchronous task, which would be held up; that
    /// it panics there is tokio's own guard.
    pub fn fetch_blocking(&self, request: Request, limits: Limits) -> Result<Answer, HttpError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| HttpError::Unreachable(error.to_string()))?;
        let answer = runtime.block_on(self.fetch(request, limits));
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        answer
    }
}
