//! What every WebSocket needs besides its purpose: a place, a sign of life now
//! and then, and an end when its holder is logged out or the daemon stops.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use missiond_api::ApiError;
use missiond_core::{AccessId, ErrorCode};
use missiond_runtime::Stage;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::caller::Caller;
use super::refusal::Refusal;
use super::web::Web;
use crate::share::for_others;

/// Sockets at once, of all browsers and programs; a share of them is a person's.
const MOST: usize = 256;

const PING_EVERY: Duration = Duration::from_secs(20);

/// Whoever has not answered three pings is gone.
const SILENCE: Duration = Duration::from_secs(65);

/// A message must have left by then.
const SEND_LIMIT: Duration = Duration::from_secs(120);

/// What a client says is small: keys, a paste, a size.
const LARGEST_MESSAGE: usize = 256 << 10;

/// The daemon stops; whoever wants to comes again.
const GOING_AWAY: u16 = 1001;
/// What let the client in was taken back or has expired.
const LOGGED_OUT: u16 = 4401;

#[derive(Debug)]
pub(super) struct SocketPermits {
    all: Arc<Semaphore>,
    of_others: Arc<Semaphore>,
}

impl Default for SocketPermits {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MOST)),
            of_others: Arc::new(Semaphore::new(for_others(MOST))),
        }
    }
}

/// One socket, and one of those for others where it is not a person's.
#[derive(Debug)]
struct SocketPermit {
    _of_all: OwnedSemaphorePermit,
    _of_others: Option<OwnedSemaphorePermit>,
}

impl SocketPermits {
    fn acquire(&self, caller: &Caller) -> Option<SocketPermit> {
        let of_others = if caller.principal().is_person() {
            None
        } else {
            Some(Arc::clone(&self.of_others).try_acquire_owned().ok()?)
        };
        Some(SocketPermit {
            _of_all: Arc::clone(&self.all).try_acquire_owned().ok()?,
            _of_others: of_others,
        })
    }
}

/// Turns a request into a socket, which `serve` then has to itself.
pub(super) fn open<F, Fut>(
    web: Web,
    caller: &Caller,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    serve: F,
) -> Result<Response, Refusal>
where
    F: FnOnce(Web, Socket) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let upgrade = upgrade.map_err(|_| {
        Refusal::invalid(StatusCode::UPGRADE_REQUIRED, "this address is a WebSocket")
    })?;
    let permit = web.socket_permits.acquire(caller).ok_or_else(|| {
        let message = format!(
            "as many sockets are open as may be: {MOST} at most, a quarter of them for the \
             person; close a page"
        );
        ApiError::new(ErrorCode::Busy, message)
    })?;
    let id = caller.id;
    let upgrade = upgrade
        .max_message_size(LARGEST_MESSAGE)
        .max_frame_size(LARGEST_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| {
        let socket = Socket::new(&web, id, socket, permit);
        serve(web, socket)
    }))
}

/// A socket and what it is tended by.
pub(super) struct Socket {
    web: Web,
    inner: WebSocket,
    holder: AccessId,
    ping: Interval,
    heard: Instant,
    revocations: watch::Receiver<u64>,
    /// Whether the holder may still be here has to be looked up.
    doubtful: bool,
    _permit: SocketPermit,
}

/// The socket is no more.
#[derive(Debug)]
pub(super) struct Closed;

impl Socket {
    fn new(web: &Web, holder: AccessId, inner: WebSocket, permit: SocketPermit) -> Self {
        let mut ping = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            web: web.clone(),
            inner,
            holder,
            ping,
            heard: Instant::now(),
            revocations: web.daemon.http_access.revocations(),
            // It may have been revoked between the request and the socket.
            doubtful: true,
            _permit: permit,
        }
    }

    /// The next text the client sends. Everything else that belongs to a socket
    /// is done meanwhile. Dropping the future loses nothing.
    pub(super) async fn next_text(&mut self) -> Result<String, Closed> {
        loop {
            if self.doubtful {
                let good = self.web.daemon.http_access.still_good(self.holder).await;
                self.doubtful = false;
                // A database that is away now does not log anybody out.
                if matches!(good, Ok(false)) {
                    return self.leave(LOGGED_OUT, "logged out").await;
                }
            }
            tokio::select! {
                biased;
                () = self.web.daemon.shutdown.reached(Stage::Draining) => {
                    return self.leave(GOING_AWAY, "the daemon stops").await;
                }
                // The sender lives as long as the daemon.
                Ok(()) = self.revocations.changed() => self.doubtful = true,
                _ = self.ping.tick() => {
                    if self.heard.elapsed() > SILENCE {
                        return Err(Closed);
                    }
                    self.doubtful = true;
                    self.send(Message::Ping(Vec::new().into())).await?;
                }
                message = self.inner.recv() => {
                    self.heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Closed),
                        Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {}
                    }
                }
            }
        }
    }

    pub(super) async fn send_json(&mut self, message: &serde_json::Value) -> Result<(), Closed> {
        self.send(Message::Text(message.to_string().into())).await
    }

    pub(super) async fn send_text(&mut self, message: String) -> Result<(), Closed> {
        self.send(Message::Text(message.into())).await
    }

    pub(super) async fn send_bytes(&mut self, bytes: Vec<u8>) -> Result<(), Closed> {
        self.send(Message::Binary(bytes.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Closed> {
        match tokio::time::timeout(SEND_LIMIT, self.inner.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Closed),
        }
    }

    async fn leave<T>(&mut self, code: u16, reason: &'static str) -> Result<T, Closed> {
        let reason = reason.into();
        self.send(Message::Close(Some(CloseFrame { code, reason })))
            .await?;
        Err(Closed)
    }
}
