//! A person's session as its connection shows it: that it is there, when it waits
//! for a tool of ours, and when it leaves. It is told to the slots by a task of
//! its own, so that no answer waits for a slot.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use missiond_api::CommanderHelloParams;
use missiond_core::CliEngine;
use missiond_operations::state::Daemon;
use missiond_runtime::OnPanic;
use missiond_slots::{ConnectionEvent, ConnectionNumber};
use tokio::sync::watch;

/// Told of as long as this is kept.
#[derive(Debug)]
pub struct SessionWatch {
    calls: watch::Sender<usize>,
}

impl SessionWatch {
    /// Begins to tell of the session behind a connection; `None` when the hello
    /// names no client or no place, as a program does that is no session.
    pub fn begin(daemon: &Daemon, hello: &CommanderHelloParams) -> Option<Self> {
        let engine: CliEngine = hello.client.as_deref()?.parse().ok()?;
        let cwd = PathBuf::from(hello.cwd.as_deref()?);
        if !cwd.is_absolute() {
            return None;
        }
        let (calls, told) = watch::channel(0);
        let told = report_session(Daemon::clone(daemon), engine, cwd, told);
        daemon
            .supervisor
            .spawn("foreground session", None, OnPanic::Report, told);
        Some(Self { calls })
    }

    /// So many calls of it are under way now.
    pub fn calls(&self, count: usize) {
        self.calls.send_if_modified(|known| {
            let changed = *known != count;
            *known = count;
            changed
        });
    }
}

async fn report_session(
    daemon: Daemon,
    engine: CliEngine,
    cwd: PathBuf,
    mut calls: watch::Receiver<usize>,
) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let connection = ConnectionNumber(NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut event = ConnectionEvent::Opened;
    loop {
        let taken = daemon
            .slots
            .foreground_connection(&engine, &cwd, connection, event)
            .await;
        if let Err(error) = taken {
            tracing::warn!(%error, "foreground slot not updated");
        }
        if event == ConnectionEvent::Closed {
            return;
        }
        event = match calls.changed().await {
            Ok(()) => ConnectionEvent::Calls(*calls.borrow_and_update()),
            Err(_) => ConnectionEvent::Closed,
        };
    }
}
