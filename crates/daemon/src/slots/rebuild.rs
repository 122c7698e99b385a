//! A terminal as it was, from the recording.
//!
//! A recording can be far longer than what its screen depends on, so only its
//! last part is drawn; all of it is counted, because the place to go on is a
//! number of bytes.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use missiond_pty::host::{Recorded, RecordingReader};
use missiond_pty::{CastError, Session};
use missiond_semantic::{Manifest, Size};

/// Output that is drawn again. An agent's screen is redrawn many times in it.
const DRAWN: usize = 16 << 20;

/// Shorter than any pause that ends a frame.
const MOMENT: Duration = Duration::from_millis(10);

/// A session and how far it has come.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) session: Session,
    /// Number of the first byte of output it has not seen.
    pub(super) offset: u64,
    /// When the recording ends.
    pub(super) at: Duration,
}

/// After the last output: whatever waited for a pause has been read by then.
const LATER: Duration = Duration::from_secs(60);

pub(super) fn rebuild(path: &Path, manifest: Arc<Manifest>) -> Result<Rebuilt, CastError> {
    let reader = RecordingReader::open(path)?;
    let mut size = reader.size();
    let mut tail = Tail::default();
    let (mut offset, mut end) = (0, Duration::ZERO);
    for event in reader {
        let (at, recorded) = event?;
        end = at;
        if let Recorded::Output(bytes) = &recorded {
            offset += bytes.len() as u64;
        }
        if let Some(before) = tail.push(at, recorded) {
            size = before;
        }
    }
    let mut session = Session::new(size, manifest);
    let mut changes = Vec::new();
    for (at, recorded) in tail.events {
        match recorded {
            Recorded::Output(bytes) => session.feed(&bytes, at, &mut changes),
            Recorded::Resize(size) => session.resize(size, at, &mut changes),
        }
        changes.clear();
    }
    // They were answered when they were asked.
    session.terminal().take_replies();
    Ok(Rebuilt {
        session,
        offset,
        at: end,
    })
}

/// The last part of a recording. Output of one moment is one event: a program
/// that writes line by line would otherwise be drawn line by line.
#[derive(Debug, Default)]
struct Tail {
    events: VecDeque<(Duration, Recorded)>,
    bytes: usize,
}

impl Tail {
    /// Adds an event and drops what is too old. Returns the size a dropped
    /// event had set.
    fn push(&mut self, at: Duration, recorded: Recorded) -> Option<Size> {
        if let Recorded::Output(bytes) = &recorded {
            self.bytes += bytes.len();
        }
        match (self.events.back_mut(), recorded) {
            (Some((begun, Recorded::Output(drawn))), Recorded::Output(bytes))
                if at.saturating_sub(*begun) < MOMENT =>
            {
                drawn.extend(bytes);
            }
            (_, recorded) => self.events.push_back((at, recorded)),
        }
        let mut size = None;
        while self.bytes > DRAWN {
            match self.events.pop_front() {
                Some((_, Recorded::Output(bytes))) => self.bytes -= bytes.len(),
                Some((_, Recorded::Resize(before))) => size = Some(before),
                None => break,
            }
        }
        size
    }
}

/// The screen a program left when it ended.
pub(super) fn last_screen(path: &Path, manifest: Arc<Manifest>) -> Result<Session, CastError> {
    let Rebuilt {
        mut session, at, ..
    } = rebuild(path, manifest)?;
    session.exited(at + LATER, &mut Vec::new());
    Ok(session)
}
