//! The daemon's socket: JSON-RPC 2.0, one message a line, for processes of the
//! same user.

mod attachment;
mod commander;
mod connection;
mod execution;
mod subscription;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interprocess::local_socket::tokio::{Listener, Stream, prelude::*};
use interprocess::local_socket::{ListenerOptions, traits::StreamCommon};
use missiond_api::{ApiError, Home, HomeError, Response};
use missiond_core::ErrorCode;
use missiond_operations::Operations;
use missiond_operations::state::Daemon;
use missiond_runtime::Stage;
use missiond_runtime::{OnPanic, Supervisor};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::commander::Changes;
use connection::Connection;

#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("cannot listen on {socket}: {source}")]
    Listen { socket: String, source: io::Error },
}

/// How long a connection that is turned away is given to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// The listening socket, bound but not yet served.
#[derive(Debug)]
pub struct IpcServer {
    listener: Listener,
}

impl IpcServer {
    /// Takes the socket. A file left by a daemon that died is replaced: the
    /// caller holds the instance lock, so nobody listens on it.
    pub fn bind(home: &Home) -> Result<Self, IpcError> {
        let socket = home.socket();
        let listen = |source| IpcError::Listen {
            socket: socket.display().to_string(),
            source,
        };
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(listen(error)),
            _ => {}
        }
        let options = ListenerOptions::new().name(home.socket_name()?);
        let options =
            interprocess::os::unix::local_socket::ListenerOptionsExt::mode(options, 0o600);
        Ok(Self {
            listener: options.create_tokio().map_err(listen)?,
        })
    }

    /// Serves until the daemon drains, then lets every connection finish what
    /// it has begun. Returns when the last is gone or the daemon closes.
    pub async fn serve(
        self,
        daemon: Daemon,
        operations: Arc<Operations>,
        changes: Arc<Changes>,
        supervisor: Supervisor,
    ) {
        let mut connections = JoinSet::new();
        let open = Arc::new(AtomicUsize::new(0));
        let shutdown = daemon.shutdown.clone();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                () = shutdown.reached(Stage::Draining) => break,
            };
            let stream = match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely. Those in use come
                    // back; trying again at once would only burn the processor.
                    tracing::warn!(%error, "socket connection not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if let Err(refusal) = admit(&stream, &daemon, &open) {
                daemon.metrics.connections_refused.add(1);
                let refusing = turn_away(stream, refusal);
                connections.spawn(supervisor.watch("IPC refusal", None, OnPanic::Report, refusing));
                continue;
            }
            let connection = Connection::new(
                Arc::clone(&daemon),
                Arc::clone(&operations),
                Arc::clone(&changes),
            );
            let open = Arc::clone(&open);
            let metrics = Arc::clone(&daemon.metrics);
            let served = supervisor.watch("IPC connection", None, OnPanic::Report, async move {
                connection.serve(stream).await;
            });
            connections.spawn(async move {
                metrics.connections_active.up();
                served.await;
                metrics.connections_active.down();
                open.fetch_sub(1, Ordering::AcqRel);
            });
        }
        drop(self.listener);
        let finished = async { while connections.join_next().await.is_some() {} };
        tokio::select! {
            () = finished => {}
            () = shutdown.reached(Stage::Closing) => {}
        }
    }
}

/// Same user only, and no more than the limit; counts the connection if it may
/// stay.
fn admit(stream: &Stream, daemon: &Daemon, open: &AtomicUsize) -> Result<(), ApiError> {
    check_peer(stream)?;
    let limit = daemon.config().ipc.max_connections as usize;
    if open.fetch_add(1, Ordering::AcqRel) >= limit {
        open.fetch_sub(1, Ordering::AcqRel);
        return Err(ApiError {
            retry_after_ms: Some(500),
            ..ApiError::new(
                ErrorCode::Busy,
                format!("the daemon has {limit} connections and takes no more; try again later"),
            )
        });
    }
    Ok(())
}

fn check_peer(stream: &Stream) -> Result<(), ApiError> {
    let peer = stream.peer_creds().ok().and_then(|creds| creds.euid());
    let own = rustix::process::geteuid().as_raw();
    if peer == Some(own) {
        return Ok(());
    }
    tracing::warn!(?peer, own, "connection of another user refused");
    Err(ApiError::new(
        ErrorCode::Forbidden,
        "this daemon serves only the user who runs it",
    ))
}

async fn turn_away(stream: Stream, refusal: ApiError) {
    let line = Response::error_line(None, &refusal);
    let _ = tokio::time::timeout(FAREWELL, (&stream).write_all(&line)).await;
}
