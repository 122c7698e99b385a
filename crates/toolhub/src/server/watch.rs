//! Looking after a server that runs: signs of life, tools that change, rest, and
//! a new start when it has died.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Phase, Server};
use crate::error::HubError;
use crate::session::Session;

const PING_LIMIT: Duration = Duration::from_secs(10);
/// Missed signs of life, with silence in between, after which it counts as hung.
const MISSED: u32 = 3;

/// Looks after one connection until it is over. Does not keep the server alive:
/// one that is taken off the list takes this with it.
pub(super) async fn watch(server: std::sync::Weak<Server>, session: Arc<Session>) {
    let (idle, name, every) = match server.upgrade() {
        Some(server) => (
            server.spec.idle,
            server.name.clone(),
            server.environment.health_check,
        ),
        None => return session.link.stop().await,
    };
    let mut missed = 0;
    let mut ping = tokio::time::interval(every);
    ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ping.tick().await;
    let look = idle.map_or(every, |idle| {
        (idle / 4).clamp(Duration::from_millis(50), every)
    });
    let mut looking = tokio::time::interval(look);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let why = loop {
        tokio::select! {
            why = session.link.closed() => break why,
            () = session.inbox.changed() => {
                // Servers change their tools one by one; one listing takes them all.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let Some(server) = server.upgrade() else { return session.link.stop().await };
                if let Err(error) = server.tools(&session, Duration::from_secs(30)).await {
                    tracing::warn!(server = %name, %error, "MCP tools not refreshed");
                }
            }
            _ = looking.tick() => {
                let Some(server) = server.upgrade() else { return session.link.stop().await };
                if idle.is_some_and(|idle| server.is_idle(idle)) && server.is_current(&session) {
                    return server.stop("nobody used it").await;
                }
            }
            _ = ping.tick() => {
                let answered = session.ping(PING_LIMIT).await;
                let Some(server) = server.upgrade() else { return session.link.stop().await };
                match answered {
                    Ok(()) => {
                        missed = 0;
                        server.set_health(&session, None);
                    }
                    Err(error) => {
                        missed += 1;
                        server.set_health(&session, Some(error.to_string()));
                        let hung = missed >= MISSED && session.inbox.silence() > every * MISSED;
                        if hung && server.in_flight.load(Ordering::Relaxed) == 0 {
                            session.link.stop().await;
                            break format!("it gave no sign of life: {error}");
                        }
                    }
                }
            }
        }
    };
    let Some(server) = server.upgrade() else {
        return;
    };
    if server.died(Some(&session), &why) {
        drop(session);
        revive(&server).await;
    }
}

/// A server that was in use is started again after its pause, so that the next
/// call does not wait for it. One that is parked waits for that call.
async fn revive(server: &Arc<Server>) {
    loop {
        let pause = match &server.facts().phase {
            Phase::Pausing {
                until,
                parked: false,
                ..
            } => *until,
            _ => return,
        };
        if server.spec.idle.is_some_and(|idle| server.is_idle(idle)) {
            return;
        }
        tokio::time::sleep_until(pause.into()).await;
        let deadline = Instant::now() + Duration::from_secs(60);
        // What is wrong is in its state.
        if session_again(server, deadline).await.is_ok() {
            return;
        }
    }
}

/// A start leads to a watcher, and a watcher to a start: the type of one must
/// not contain the other.
fn session_again(
    server: &Arc<Server>,
    deadline: Instant,
) -> futures::future::BoxFuture<'_, Result<Arc<Session>, HubError>> {
    Box::pin(server.session(deadline))
}
