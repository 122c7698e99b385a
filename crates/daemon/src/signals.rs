//! What the operating system tells the daemon.

use std::time::Duration;

use missiond_operations::state::Daemon;
use missiond_runtime::Stage;

/// Registered before the daemon says that it is ready: from then on no signal
/// has its default effect.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    pub(crate) fn register() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The first request to end drains, the second ends the process at once.
    pub(crate) async fn handle(mut self, daemon: Daemon) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => end(&daemon, "SIGTERM", 15),
                _ = self.interrupt.recv() => end(&daemon, "SIGINT", 2),
                _ = self.hangup.recv() => {
                    // A signal does not say who sent it, and every agent of this user can
                    // send one: a file it wrote must not come into force by it.
                    tracing::warn!(
                        "SIGHUP received: the configuration is read again by \
                         `mission daemon reload` only, which says who asks"
                    );
                }
            }
        }
    }
}

/// A signal to a process and to its group arrives twice; that is one request.
const SAME_REQUEST: Duration = Duration::from_millis(500);

fn end(daemon: &Daemon, signal: &str, number: i32) {
    if daemon.shutdown.stage() == Stage::Running {
        tracing::info!(signal, "daemon draining");
        daemon.shutdown.begin(signal);
    } else if daemon.shutdown.since() > SAME_REQUEST {
        tracing::warn!(signal, "second stop signal received: ending at once");
        daemon.end_process(128 + number);
    }
}
