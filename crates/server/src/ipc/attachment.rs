//! The picture of a slot on its way to one connection.

use missiond_api::{Attached, EndedNotice, METHOD_ENDED, METHOD_PAINT, Notification, PaintNotice};
use missiond_slots::{ToViewer, Viewing};
use tokio::sync::{mpsc, watch};

/// Text in one message. Each byte takes at most six in JSON, and a line has at
/// most 1 MB.
const LONGEST_TEXT: usize = 128 << 10;

/// A view that this connection holds.
#[derive(Debug)]
pub(super) struct AttachedView {
    pub(super) task: tokio::task::AbortHandle,
    /// The newest frame the viewer has painted.
    pub(super) painted: watch::Sender<u64>,
}

/// An attachment that was granted and is not yet told.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) attached: Attached,
    pub(super) viewing: Viewing,
}

/// Sends each frame when the one before is painted, until the slot, the
/// connection or the daemon ends.
pub(super) async fn forward(
    mut viewing: Viewing,
    mut painted: watch::Receiver<u64>,
    lines: mpsc::Sender<Vec<u8>>,
) {
    let attachment = viewing.id.0;
    let mut frame = 0;
    while let Some(news) = viewing.next().await {
        let (outcome, goes_on) = match news {
            ToViewer::Frame { text, .. } => {
                frame += 1;
                if !send_frame(attachment, frame, &text, &lines).await
                    || painted.wait_for(|painted| *painted >= frame).await.is_err()
                {
                    return;
                }
                continue;
            }
            ToViewer::Ended(outcome) => (outcome, false),
            ToViewer::Dismissed(why) => (why, true),
        };
        let ended = EndedNotice {
            attachment,
            outcome,
            goes_on,
        };
        let _ = lines.send(Notification::line(METHOD_ENDED, &ended)).await;
        return;
    }
}

/// False when nobody reads any more.
async fn send_frame(
    attachment: u64,
    frame: u64,
    text: &str,
    lines: &mpsc::Sender<Vec<u8>>,
) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.floor_char_boundary(LONGEST_TEXT));
        rest = later;
        let notice = PaintNotice {
            attachment,
            frame,
            text: piece.to_owned(),
            more: !rest.is_empty(),
        };
        let line = Notification::line(METHOD_PAINT, &notice);
        if lines.send(line).await.is_err() {
            return false;
        }
    }
    true
}
