//! A terminal as it was, from its last checkpoint and the recording after it.
//!
//! What it costs does not grow with the recording: without a checkpoint, or
//! when a program wrote much while no daemon made one, only the last part of
//! the output is drawn.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use missiond_pty::host::{Recorded, Recording};
use missiond_pty::{CastError, Session};
use missiond_semantic::Manifest;

use super::checkpoint::Checkpoint;

/// Output that is drawn again at most. An agent's screen is redrawn many times
/// in it.
const DRAWN: u64 = 4 << 20;

/// Shorter than any pause that ends a frame. Output of one moment is drawn as
/// one: a program that writes line by line would otherwise be drawn line by line.
const MOMENT: Duration = Duration::from_millis(10);

/// After the last output: whatever waited for a pause has been read by then.
const LATER: Duration = Duration::from_secs(60);

/// A session and how far it has come.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) session: Session,
    /// Number of the first byte of output it has not seen.
    pub(super) offset: u64,
    /// When the recording ends.
    pub(super) at: Duration,
}

pub(super) fn rebuild(path: &Path, manifest: Arc<Manifest>) -> Result<Rebuilt, CastError> {
    let recording = Recording::open(path)?;
    let end = recording.end()?;
    let checkpoint = Checkpoint::read(path).ok();
    // One of the future belongs to a recording that lost its end with the power.
    let checkpoint = checkpoint.filter(|checkpoint| checkpoint.offset <= end);
    let painted = checkpoint
        .as_ref()
        .map_or(0, |checkpoint| checkpoint.offset);
    let begin = painted.max(end.saturating_sub(DRAWN));
    let reader = recording.read_from(begin)?;
    let mut changes = Vec::new();
    let (mut session, mut at) = match checkpoint {
        Some(checkpoint) => {
            let mut session = Session::new(checkpoint.size, manifest);
            session.feed(checkpoint.paint.as_bytes(), checkpoint.at, &mut changes);
            if begin > painted {
                session.resize(reader.size(), checkpoint.at, &mut changes);
            }
            (session, checkpoint.at)
        }
        None => (Session::new(reader.size(), manifest), Duration::ZERO),
    };
    let mut offset = reader.position();
    let mut moment = (Duration::ZERO, Vec::new());
    for event in reader {
        let (now, recorded) = event?;
        at = now;
        if !matches!(&recorded, Recorded::Output(_) if now.saturating_sub(moment.0) < MOMENT) {
            let (begun, output) = std::mem::take(&mut moment);
            draw(&mut session, &output, begun);
            moment.0 = now;
        }
        match recorded {
            Recorded::Output(bytes) => {
                offset += bytes.len() as u64;
                moment.1.extend(bytes);
            }
            Recorded::Resize(size) => session.resize(size, now, &mut changes),
        }
        changes.clear();
    }
    draw(&mut session, &moment.1, moment.0);
    // They were answered when they were asked.
    session.terminal().take_replies();
    Ok(Rebuilt {
        session,
        offset,
        at,
    })
}

fn draw(session: &mut Session, output: &[u8], at: Duration) {
    if !output.is_empty() {
        session.feed(output, at, &mut Vec::new());
    }
}

/// The screen a program left when it ended, and how much it had written.
pub(super) fn last_screen(
    path: &Path,
    manifest: Arc<Manifest>,
) -> Result<(Session, u64), CastError> {
    let Rebuilt {
        mut session,
        offset,
        at,
    } = rebuild(path, manifest)?;
    session.exited(at + LATER, &mut Vec::new());
    Ok((session, offset))
}
