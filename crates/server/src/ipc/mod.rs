//! The daemon's socket: JSON-RPC 2.0, one message a line, for processes of the
//! same user.

mod attachment;
mod commander;
mod connection;
mod execution;
mod subscription;

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interprocess::local_socket::tokio::{Listener, Stream, prelude::*};
use interprocess::local_socket::{ListenerOptions, traits::StreamCommon};
use missiond_api::{ApiError, Home, HomeError, Response};
use missiond_config::IpcConfig;
use missiond_core::{ErrorCode, Principal};
use missiond_operations::Operations;
use missiond_operations::state::Daemon;
use missiond_os::files::{ClosedTo, use_own_dir};
use missiond_runtime::Stage;
use missiond_runtime::{OnPanic, Supervisor};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::commander::Changes;
use crate::principals;
use crate::rate::Rates;
use crate::share::for_others;
use connection::Connection;

#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("cannot listen on {socket}: {source}")]
    Listen { socket: String, source: io::Error },
    #[error("the folder {folder} is no place for the socket: {source}")]
    Folder { folder: String, source: io::Error },
    #[error("{socket} is no place for the socket: {why}")]
    Taken { socket: String, why: &'static str },
}

/// How long a connection that is turned away is given to read why.
const FAREWELL: Duration = Duration::from_secs(1);

/// The listening socket, bound but not yet served.
#[derive(Debug)]
pub struct IpcServer {
    listener: Listener,
}

impl IpcServer {
    /// Takes the socket, in the run folder or where the configuration wants it. What a
    /// daemon left that died is replaced: the caller holds the instance lock, so nobody
    /// of this home listens on it.
    pub fn bind(home: &Home, config: &IpcConfig) -> Result<Self, IpcError> {
        remove_socket(home);
        if let Some(place) = config.socket_path() {
            claim(place)?;
            std::os::unix::fs::symlink(place, home.socket()).map_err(|source| {
                IpcError::Listen {
                    socket: home.socket().display().to_string(),
                    source,
                }
            })?;
        }
        let listen = |source| IpcError::Listen {
            socket: home.socket_place().display().to_string(),
            source,
        };
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
        let rates = Rates::default();
        let open = Arc::new(Open::default());
        let shutdown = daemon.shutdown.clone();
        let mut number = 0;
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
            let principal = principals::of_socket(&stream, &daemon);
            if let Err(refusal) = admit(&stream, &daemon, &open, principal) {
                daemon.metrics.connections_refused.add(1);
                let refusing = turn_away(stream, refusal);
                connections.spawn(supervisor.watch("IPC refusal", None, OnPanic::Report, refusing));
                continue;
            }
            number += 1;
            let connection = Connection::new(
                number,
                principal,
                Arc::clone(&daemon),
                Arc::clone(&operations),
                Arc::clone(&changes),
                &rates,
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
                open.leave(principal);
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

/// Removes the socket of this home, and the link to it where it is elsewhere.
pub fn remove_socket(home: &Home) {
    let (name, place) = (home.socket(), home.socket_place());
    if name != place && is_abandoned(&place) {
        let _ = std::fs::remove_file(&place);
    }
    let _ = std::fs::remove_file(name);
}

/// Makes room for the socket at a place that a person chose. Its folder is private, or
/// another user could put a socket of theirs in its place.
fn claim(place: &Path) -> Result<(), IpcError> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    use_own_dir(folder, ClosedTo::Everything).map_err(|source| IpcError::Folder {
        folder: folder.display().to_string(),
        source,
    })?;
    let taken = |why| IpcError::Taken {
        socket: place.display().to_string(),
        why,
    };
    match std::fs::symlink_metadata(place) {
        Err(_) => Ok(()),
        Ok(_) if !is_socket(place) => Err(taken("there is something that is not a socket")),
        Ok(_) if !is_abandoned(place) => Err(taken("another program listens on it")),
        Ok(_) => std::fs::remove_file(place).map_err(|source| IpcError::Listen {
            socket: place.display().to_string(),
            source,
        }),
    }
}

fn is_socket(place: &Path) -> bool {
    std::fs::symlink_metadata(place).is_ok_and(|file| file.file_type().is_socket())
}

/// A socket on which nobody listens any more.
fn is_abandoned(place: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket(place) && UnixStream::connect(place).err().is_some_and(refused)
}

/// The connections there are.
#[derive(Debug, Default)]
struct Open {
    all: AtomicUsize,
    /// Those of everybody but the person.
    of_others: AtomicUsize,
}

impl Open {
    /// Counts one more, if there is room for it. A quarter is kept for the person, so that
    /// no agent can shut them out of their own daemon.
    fn enter(&self, principal: Principal, limit: usize) -> bool {
        if !principal.is_person()
            && self.of_others.fetch_add(1, Ordering::AcqRel) >= for_others(limit)
        {
            self.of_others.fetch_sub(1, Ordering::AcqRel);
            return false;
        }
        let has_room = self.all.fetch_add(1, Ordering::AcqRel) < limit;
        if !has_room {
            self.leave(principal);
        }
        has_room
    }

    fn leave(&self, principal: Principal) {
        if !principal.is_person() {
            self.of_others.fetch_sub(1, Ordering::AcqRel);
        }
        self.all.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Same user only, and no more than the limit; counts the connection if it may
/// stay.
fn admit(
    stream: &Stream,
    daemon: &Daemon,
    open: &Open,
    principal: Principal,
) -> Result<(), ApiError> {
    check_peer(stream)?;
    let limit = daemon.config().ipc.max_connections as usize;
    if !open.enter(principal, limit) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_connections_is_kept_for_the_person() {
        let open = Open::default();
        let others = (0..512).filter(|_| open.enter(Principal::Untold, 512));
        assert_eq!(others.count(), 384);
        let persons = (0..512).filter(|_| open.enter(Principal::Person, 512));
        assert_eq!(persons.count(), 128);
        open.leave(Principal::Person);
        assert!(!open.enter(Principal::Commander, 512));
        assert!(open.enter(Principal::Person, 512));
        open.leave(Principal::Untold);
        assert!(open.enter(Principal::Commander, 512));
        // With one alone, whoever comes first has it.
        assert!(Open::default().enter(Principal::Untold, 1));
    }
}
