//! A door: a socket of one caller, and the task that serves it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use missiond_runtime::{OnPanic, Tasks};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

use crate::judge::Caller;
use crate::machine::{MachinePort, serve_port};
use crate::proxy::Parts;
use crate::serve::{Context, serve};

/// What one caller goes out by. Dropped, it closes.
#[derive(Debug)]
pub struct Door {
    caller: Arc<Caller>,
    place: Place,
    tasks: Arc<Tasks>,
    /// Its file is gone: another door may have the path by now.
    removed: AtomicBool,
}

#[derive(Debug)]
enum Place {
    Socket(PathBuf),
    Port {
        address: SocketAddr,
        token: Arc<str>,
    },
}

/// Before another connection is taken after the system refused one.
const PAUSE: Duration = Duration::from_millis(50);

impl Door {
    /// A socket that leads to the proxy, or to a port of this machine.
    pub(crate) fn socket(
        path: &Path,
        caller: Caller,
        leads_to: Option<MachinePort>,
        parts: Arc<Parts>,
    ) -> io::Result<Self> {
        // Left by a daemon that was killed.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        // The folder is closed to others already.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let door = Self::new(Place::Socket(path.to_owned()), caller, &parts);
        let (context, tasks) = (door.context(parts), Arc::clone(&door.tasks));
        let open = Arc::new(Semaphore::new(context.parts.limits.connections));
        let inner = Arc::downgrade(&tasks);
        tasks.spawn("egress socket", None, OnPanic::Report, async move {
            loop {
                let Ok(permit) = Arc::clone(&open).acquire_owned().await else {
                    return;
                };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let Some(tasks) = inner.upgrade() else { return };
                        let context = context.clone();
                        tasks.spawn("egress connection", None, OnPanic::Report, async move {
                            match leads_to {
                                None => serve(stream, context).await,
                                Some(port) => serve_port(stream, port, &context).await,
                            }
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "connection to egress socket not accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        });
        Ok(door)
    }

    pub(crate) async fn port(
        caller: Caller,
        parts: Arc<Parts>,
        token: Arc<str>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let door = Self::new(Place::Port { address, token }, caller, &parts);
        let (context, tasks) = (door.context(parts), Arc::clone(&door.tasks));
        let open = Arc::new(Semaphore::new(context.parts.limits.connections));
        let inner = Arc::downgrade(&tasks);
        tasks.spawn("egress port", None, OnPanic::Report, async move {
            loop {
                let Ok(permit) = Arc::clone(&open).acquire_owned().await else {
                    return;
                };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let Some(tasks) = inner.upgrade() else { return };
                        let _ = stream.set_nodelay(true);
                        let served = serve(stream, context.clone());
                        tasks.spawn("egress connection", None, OnPanic::Report, async move {
                            served.await;
                            drop(permit);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "connection to egress port not accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        });
        Ok(door)
    }

    fn new(place: Place, caller: Caller, parts: &Parts) -> Self {
        Self {
            caller: Arc::new(caller),
            place,
            tasks: Arc::new(Tasks::new(parts.supervisor.clone())),
            removed: AtomicBool::new(false),
        }
    }

    fn context(&self, parts: Arc<Parts>) -> Context {
        Context {
            parts,
            caller: Arc::clone(&self.caller),
            token: match &self.place {
                Place::Socket(_) => None,
                Place::Port { token, .. } => Some(Arc::clone(token)),
            },
        }
    }

    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The file of its socket, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Socket(path) => Some(path),
            Place::Port { .. } => None,
        }
    }

    /// What `http_proxy` is set to, if it is a port of this machine.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        match &self.place {
            Place::Socket(_) => None,
            Place::Port { address, token } => Some(format!("http://mission:{token}@{address}")),
        }
    }

    /// Ends every connection; returns when none runs any more.
    pub(crate) async fn close(&self) {
        self.remove();
        self.tasks.stop().await;
    }

    /// Takes its file away, once.
    pub(crate) fn remove(&self) {
        if let Place::Socket(path) = &self.place
            && !self.removed.swap(true, Ordering::AcqRel)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.remove();
    }
}
