//! What the operating system tells the daemon.

use missiond_core::TraceContext;

use crate::reload;
use crate::shutdown::Stage;
use crate::state::Daemon;

/// The first request to end drains, the second ends the process at once.
#[cfg(unix)]
pub(crate) async fn listen(daemon: Daemon) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => end(&daemon, "SIGTERM", 15),
            _ = interrupt.recv() => end(&daemon, "SIGINT", 2),
            _ = hangup.recv() => {
                // Refusals are logged and on the timeline.
                let _ = reload::reload(&daemon, TraceContext::root()).await;
            }
        }
    }
}

#[cfg(not(unix))]
pub(crate) async fn listen(daemon: Daemon) -> std::io::Result<()> {
    loop {
        tokio::signal::ctrl_c().await?;
        end(&daemon, "Ctrl-C", 2);
    }
}

fn end(daemon: &Daemon, signal: &str, number: i32) {
    if daemon.shutdown.stage() == Stage::Running {
        tracing::info!(signal, "draining");
        daemon.shutdown.begin(signal);
    } else {
        tracing::warn!(signal, "asked a second time: ending at once");
        std::process::exit(128 + number);
    }
}
