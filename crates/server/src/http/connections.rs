//! One connection, and who of those connected is a stranger.
//!
//! Any local user can connect, so those who have not shown who they are get few
//! places: one more sends the stranger away that has been there longest, and of those
//! who come from a slot or are not seen one before all others. Whoever is known keeps
//! its place, however many strangers come. Of all places a share is kept from those who
//! come from slots.

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
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::origin::{Origin, Origins};
use crate::share::for_others;

/// Connections at once; beyond it those who come wait.
pub(super) const MAX_CONNECTIONS: usize = 512;

/// Strangers at once.
const STRANGERS: usize = 64;

/// A request must come soon and its head at once.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// So long whoever comes from a slot waits for one of its places.
const PLACE_LIMIT: Duration = Duration::from_secs(60);

/// What a head may take; cookies of other servers on this machine are in it.
pub(super) const LARGEST_HEAD: usize = 64 << 10;

const FAREWELL: Duration = Duration::from_secs(1);

/// Those who have not shown who they are, in the order they came.
#[derive(Debug)]
pub(super) struct Guests {
    inside: Mutex<Inside>,
    /// Of connections from slots, and from who is not seen.
    places: Arc<Semaphore>,
}

impl Default for Guests {
    fn default() -> Self {
        Self {
            inside: Mutex::default(),
            places: Arc::new(Semaphore::new(for_others(MAX_CONNECTIONS))),
        }
    }
}

#[derive(Debug, Default)]
struct Inside {
    last: u64,
    strangers: VecDeque<Stranger>,
}

#[derive(Debug)]
struct Stranger {
    number: u64,
    task: Option<AbortHandle>,
    is_bound: bool,
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
        inside.strangers.push_back(Stranger {
            number,
            task: None,
            is_bound: false,
        });
        let leaves = (inside.strangers.len() > STRANGERS).then(|| {
            let bound = inside.strangers.iter().position(|one| one.is_bound);
            inside.strangers.remove(bound.unwrap_or(0))
        });
        drop(inside);
        if let Some(task) = leaves.flatten().and_then(|stranger| stranger.task) {
            task.abort();
        }
        let guests = Arc::clone(self);
        (Guest(Arc::new(Entry { number, guests })), number)
    }

    /// What ends it when it has to go.
    pub(super) fn seat(&self, number: u64, task: AbortHandle) {
        let mut inside = self.lock();
        let mut strangers = inside.strangers.iter_mut();
        if let Some(stranger) = strangers.find(|one| one.number == number) {
            stranger.task = Some(task);
        }
    }

    /// It comes from a slot or is not seen. It waits for a place among others, of whom there
    /// are no more than strangers may be; none if none becomes free.
    async fn bind(&self, number: u64) -> Option<OwnedSemaphorePermit> {
        {
            let mut inside = self.lock();
            let mut strangers = inside.strangers.iter_mut();
            if let Some(stranger) = strangers.find(|one| one.number == number) {
                stranger.is_bound = true;
            }
        }
        let place = Arc::clone(&self.places).acquire_owned();
        tokio::time::timeout(PLACE_LIMIT, place).await.ok()?.ok()
    }

    fn forget(&self, number: u64) {
        self.lock().strangers.retain(|one| one.number != number);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // No code that can panic runs under the lock.
        self.inside.lock()
    }
}

/// Serves one connection until it or the daemon ends.
pub(super) async fn converse(
    stream: TcpStream,
    origins: Arc<Origins>,
    router: Router,
    guest: Guest,
    shutdown: Shutdown,
) {
    // What is said in a terminal is small and wanted at once.
    let _ = stream.set_nodelay(true);
    let origin = origins.of(&stream).await;
    let _place = match origin {
        Origin::AsShown => None,
        Origin::AtMost(_) => match guest.0.guests.bind(guest.0.number).await {
            Some(place) => Some(place),
            None => return,
        },
    };
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(guest.clone());
        request.extensions_mut().insert(origin);
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

    #[tokio::test]
    async fn of_strangers_those_from_slots_go_first_and_never_have_all_the_places() {
        let guests = Arc::<Guests>::default();
        let mut seated = Vec::new();
        let mut places = Vec::new();
        for number in 0..STRANGERS {
            let (guest, arrived) = guests.arrive();
            let task = tokio::spawn(std::future::pending::<()>());
            guests.seat(arrived, task.abort_handle());
            if number % 2 == 1 {
                places.extend(guests.bind(arrived).await);
            }
            seated.push((guest, task));
        }
        let (_one_more, _) = guests.arrive();
        let (_, task) = seated.remove(1);
        assert!(task.await.unwrap_err().is_cancelled(), "it is from a slot");
        assert!(!seated[0].1.is_finished(), "it has been there longest");
        while let Ok(place) = Arc::clone(&guests.places).try_acquire_owned() {
            places.push(place);
        }
        assert_eq!(places.len(), for_others(MAX_CONNECTIONS));
        let waits = guests.bind(0);
        places.pop();
        assert!(waits.await.is_some());
    }
}
