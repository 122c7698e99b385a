//! The screen of a slot on a page, and the hand of whoever took it over.
//!
//! A page is painted as every other viewer is: from the screen as it is when the
//! page is ready for it, about thirty times a second. So one that is slow gets
//! the newest picture and never a backlog. What lies in the buffers of a socket is
//! a backlog too: a page of many terminals says of each when it has drawn the last.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use missiond_api::ApiError;
use missiond_api::operations::compute::{Columns, Rows, SlotKeys};
use missiond_core::Principal;
use missiond_operations::{Operations, Terminal};
use missiond_semantic::Size;
use missiond_slots::{ToViewer, ViewerId, Viewing};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::caller::Caller;
use super::refusal::Refusal;
use super::sockets::{self, Closed, Socket};
use super::web::Web;

/// Between two pictures.
const FRAME_EVERY: Duration = Duration::from_millis(33);

/// What a page says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum PageMessage {
    /// It wants to type.
    Take {},
    Input {
        data: String,
    },
    Resize {
        columns: Columns,
        rows: Rows,
    },
    Release {},
    /// The last picture is drawn, of a page that is paced.
    Ready {},
}

/// When a page is sent the next picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// When there is one.
    Free,
    /// When it has said that it drew the one before.
    Paced,
}

pub(super) async fn socket(
    State(web): State<Web>,
    Path(slot): Path<String>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    // Joined before the answer, so that a slot that is not there is a status.
    let (terminal, viewing) = Terminal::join(web.daemon.clone(), &slot).await?;
    let pace = match query.as_deref() {
        Some("paced") => Pace::Paced,
        _ => Pace::Free,
    };
    let hand = Hand {
        terminal,
        operations: Arc::clone(&web.operations),
        principal: caller.principal(),
    };
    sockets::open(web, &caller, upgrade, move |_, mut socket| async move {
        let _ = stream(&hand, viewing, pace, &mut socket).await;
    })
}

/// The terminal in the hand of whoever is on the page.
struct Hand {
    terminal: Terminal,
    operations: Arc<Operations>,
    principal: Principal,
}

async fn stream(
    hand: &Hand,
    mut viewing: Viewing,
    pace: Pace,
    socket: &mut Socket,
) -> Result<(), Closed> {
    let me = viewing.id;
    let mut holder = viewing.holder();
    let (mut size, mut painted, mut draws) = (None, false, false);
    let mut ready = Instant::now();
    holder.mark_changed();
    loop {
        tokio::select! {
            biased;
            // The sender goes with the slot, of which the frames tell.
            Ok(()) = holder.changed(), if size.is_some() => {
                let by = by(*holder.borrow_and_update(), me);
                socket.send_json(&json!({"type": "taken", "by": by})).await?;
            }
            said = socket.next_text() => {
                let (said, holds) = (said?, *holder.borrow() == Some(me));
                match handle_message(hand, &said, holds).await {
                    Ok(PageMessageOutcome::Done) => {}
                    Ok(PageMessageOutcome::Drawn) => draws = false,
                    Err(error) => {
                        let refused = json!({"type": "refused", "message": error.message});
                        socket.send_json(&refused).await?;
                    }
                }
            }
            news = next(&mut viewing, ready), if !draws => match news {
                Some(ToViewer::Frame { text, size: now }) => {
                    if size.replace(now) != Some(now) {
                        let (columns, rows) = (now.columns, now.rows);
                        let told = json!({"type": "size", "columns": columns, "rows": rows});
                        socket.send_json(&told).await?;
                    }
                    // Rows are painted whole; a terminal that wraps would move on.
                    let mut bytes = if painted { Vec::new() } else { b"\x1b[?7l".to_vec() };
                    painted = true;
                    bytes.extend(text.into_bytes());
                    socket.send_bytes(bytes).await?;
                    ready = Instant::now() + FRAME_EVERY;
                    draws = pace == Pace::Paced;
                }
                Some(ToViewer::Ended(outcome) | ToViewer::Dismissed(outcome)) => {
                    let ended = json!({"type": "ended", "outcome": outcome});
                    return socket.send_json(&ended).await;
                }
                // The daemon lets go of the slot, whose program goes on.
                None => return Ok(()),
            },
        }
    }
}

/// The next picture, but not before its time. Dropping the future loses nothing.
async fn next(viewing: &mut Viewing, ready: Instant) -> Option<ToViewer> {
    tokio::time::sleep_until(ready).await;
    viewing.next().await
}

/// What came of what a page said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageMessageOutcome {
    Done,
    /// It can be sent the next picture.
    Drawn,
}

async fn handle_message(
    hand: &Hand,
    said: &str,
    holds: bool,
) -> Result<PageMessageOutcome, ApiError> {
    let said = serde_json::from_str(said)
        .map_err(|error| ApiError::invalid_params(format!("this is not understood: {error}")))?;
    let held = || {
        if holds {
            Ok(())
        } else {
            Err(ApiError::invalid_params("take the terminal over first"))
        }
    };
    let terminal = &hand.terminal;
    match said {
        PageMessage::Take {} => {
            // Whoever holds it presses its keys.
            let authorized = hand.operations.authorize::<SlotKeys>(hand.principal, None);
            authorized.await?;
            if terminal.acquire_input().await? {
            } else {
                return Err(ApiError::invalid_params(
                    "somebody else has taken this terminal over",
                ));
            }
        }
        PageMessage::Release {} => terminal.release().await?,
        PageMessage::Input { data } => {
            held()?;
            terminal.type_keys(data.into_bytes()).await?;
        }
        PageMessage::Resize { columns, rows } => {
            held()?;
            let (columns, rows) = (columns.to_u16(), rows.to_u16());
            terminal.resize(Size { columns, rows }).await?;
        }
        PageMessage::Ready {} => return Ok(PageMessageOutcome::Drawn),
    }
    Ok(PageMessageOutcome::Done)
}

fn by(holder: Option<ViewerId>, me: ViewerId) -> &'static str {
    match holder {
        Some(holder) if holder == me => "you",
        Some(_) => "somebody",
        None => "nobody",
    }
}
