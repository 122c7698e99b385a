//! The listening socket: where it is bound, and its loop.
//!
//! A browser that is open all day looks for the daemon where it was. So a port
//! that was chosen by the system is remembered, and taken again if it is free.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use missiond_api::Home;
use missiond_config::HttpConfig;
use missiond_operations::Operations;
use missiond_operations::state::Daemon;
use missiond_os::files::replace_private_unsynced;
use missiond_runtime::{OnPanic, Stage, Supervisor, blocking};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::caller::Limits;
use super::connections::{self, Guests, MAX_CONNECTIONS};
use super::origin::Origins;
use super::web::Web;
use super::{gate, router};
use crate::commander::Changes;

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; change `http.listen` or set `http.enabled = false`")]
pub struct HttpError {
    address: SocketAddr,
    source: io::Error,
}

#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    gate: gate::Gate,
}

impl HttpServer {
    pub async fn bind(config: &HttpConfig, home: &Home) -> Result<Self, HttpError> {
        let address = config.listen;
        let listener = match address.port() {
            0 => listen_where_it_was(address, &home.http_dir().join("port")).await,
            _ => TcpListener::bind(address).await,
        };
        let listener = listener.map_err(|source| HttpError { address, source })?;
        let gate = gate::Gate::new(config);
        Ok(Self { listener, gate })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the daemon drains. Then connections that are idle are
    /// closed, and an answer under way has a second to be taken.
    pub async fn serve(
        self,
        daemon: Daemon,
        operations: Arc<Operations>,
        changes: Arc<Changes>,
        supervisor: Supervisor,
    ) {
        let shutdown = daemon.shutdown.clone();
        let origins = Arc::new(Origins::new(Arc::clone(&daemon)));
        let router = router(Web {
            daemon,
            operations,
            changes,
            limits: Arc::<Limits>::default(),
            gate: Arc::new(self.gate),
            socket_permits: Arc::default(),
        });
        let guests = Arc::<Guests>::default();
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => accepted,
                Some(_) = connections.join_next(), if connections.len() >= MAX_CONNECTIONS => continue,
                () = shutdown.reached(Stage::Draining) => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (guest, arrived) = guests.arrive();
                    let conversation = connections::converse(
                        stream,
                        Arc::clone(&origins),
                        router.clone(),
                        guest,
                        shutdown.clone(),
                    );
                    let served =
                        supervisor.watch("HTTP connection", None, OnPanic::Report, conversation);
                    let task = connections.spawn(served);
                    guests.seat(arrived, task);
                }
                Err(error) => {
                    tracing::warn!(%error, "HTTP connection not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        while connections.join_next().await.is_some() {}
    }
}

async fn listen_where_it_was(address: SocketAddr, file: &Path) -> io::Result<TcpListener> {
    if let Some(port) = remembered(file.to_owned()).await
        && let Ok(listener) = TcpListener::bind(SocketAddr::new(address.ip(), port)).await
    {
        return Ok(listener);
    }
    let listener = TcpListener::bind(address).await?;
    let port = listener.local_addr()?.port();
    let path = file.to_owned();
    let written =
        blocking(move || replace_private_unsynced(&path, format!("{port}\n").as_bytes())).await;
    // The daemon is as good without it; only a page that is open must be opened
    // anew after a restart.
    if let Err(error) = written {
        tracing::warn!(%error, "HTTP port not stored");
    }
    Ok(listener)
}

async fn remembered(file: PathBuf) -> Option<u16> {
    let text = blocking(move || std::fs::read_to_string(file)).await.ok()?;
    text.trim().parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_is_taken_again_while_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        std::fs::create_dir_all(home.http_dir()).unwrap();
        let config = HttpConfig::default();
        let port = |server: &HttpServer| server.address().unwrap().port();
        let first = HttpServer::bind(&config, &home).await.unwrap();
        let had = port(&first);
        let beside = HttpServer::bind(&config, &home).await.unwrap();
        assert_ne!(port(&beside), had);
        drop(first);
        std::fs::write(home.http_dir().join("port"), had.to_string()).unwrap();
        let again = HttpServer::bind(&config, &home).await.unwrap();
        assert_eq!(port(&again), had);
    }
}
