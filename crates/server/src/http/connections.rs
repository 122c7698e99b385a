//! One connection, and who of those connected is a stranger.
//!
//! Any local user can connect, so those who have not shown who they are get few
//! places: one more sends the stranger away that has been there longest. Whoever
//! is known keeps its place, however many strangers come.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use missiond_runtime::{Shutdown, Stage};
use parking_lot::{Mutex, MutexGuard};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// Strangers at once.
const STRANGERS: usize = 64;

/// A request must come soon and its head at once.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// What a head may take; cookies of other servers on this machine are in it.
const LARGEST_HEAD: usize = 64 << 10;

const FAREWELL: Duration = Duration::from_secs(1);

/// Those who have not shown who they are, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Guests {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    last: u64,
    strangers: VecDeque<(u64, Option<AbortHandle>)>,
}

/// A connection's own entry; gone with the connection.
#[derive(Debug, Clone)]
pub(super) struct Guest(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    number: u64,
    guests: Arc<Guests>,
}

impl Guest {
    /// It has shown who it is.
    pub(super) fn is_known(&self) {
        self.0.guests.forget(self.0.number);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.guests.forget(self.number);
    }
}

impl Guests {
    /// A stranger comes. Its number is for [`Guests::seat`].
    pub(super) fn arrive(self: &Arc<Self>) -> (Guest, u64) {
        let mut inside = self.lock();
        inside.last += 1;
        let number = inside.last;
        inside.strangers.push_back((number, None));
        let leaves = (inside.strangers.len() > STRANGERS)
            .then(|| inside.strangers.pop_front())
            .flatten();
        drop(inside);
        if let Some((_, Some(task))) = leaves {
            task.abort();
        }
        let guests = Arc::clone(self);
        (Guest(Arc::new(Entry { number, guests })), number)
    }

    /// What ends it when it has to go.
    pub(super) fn seat(&self, number: u64, task: AbortHandle) {
        let mut inside = self.lock();
        let mut strangers = inside.strangers.iter_mut();
        if let Some(entry) = strangers.find(|(known, _)| *known == number) {
            entry.1 = Some(task);
        }
    }

    fn forget(&self, number: u64) {
        self.lock().strangers.retain(|(known, _)| *known != number);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // No code that can panic runs under the lock.
        self.inside.lock()
    }
}

/// Serves one connection until it or the daemon ends.
pub(super) async fn converse(stream: TcpStream, router: Router, guest: Guest, shutdown: Shutdown) {
    // What is said in a terminal is small and wanted at once.
    let _ = stream.set_nodelay(true);
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(guest.clone());
        routes.call(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // How a stranger's connection ended is of no interest.
        _ = connection.as_mut() => {}
        () = shutdown.reached(Stage::Draining) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(FAREWELL, connection).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_stranger_who_has_been_there_longest_goes_and_nobody_known() {
        let guests = Arc::<Guests>::default();
        let mut seated = Vec::new();
        for _ in 0..STRANGERS {
            let (guest, number) = guests.arrive();
            let task = tokio::spawn(std::future::pending::<()>());
            guests.seat(number, task.abort_handle());
            seated.push((guest, task));
        }
        seated[0].0.is_known();
        let (_one_more, _) = guests.arrive();
        assert_eq!(guests.lock().strangers.len(), STRANGERS);
        let (_another, _) = guests.arrive();
        let (_, second) = seated.remove(1);
        assert!(second.await.unwrap_err().is_cancelled());
        assert!(!seated[0].1.is_finished(), "it is known");
        assert!(!seated[1].1.is_finished(), "there is room for it");
        drop(seated);
        assert_eq!(guests.lock().strangers.len(), 2);
    }
}
