//! Readings of a recording, from recorded time alone.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use missiond_semantic::{Key, Manifest, Reading};

use crate::cast::{CastError, CastReader, EventKind};
use crate::session::{Session, TimedReading};
use crate::terminal::OutputFilter;

/// What a recording says was really going on, from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub at: Duration,
    pub name: String,
}

#[derive(Debug)]
pub struct Replay {
    /// The reading at the beginning, then one per change.
    pub readings: Vec<TimedReading>,
    pub labels: Vec<Label>,
    /// When Enter was pressed.
    pub enters: Vec<Duration>,
    /// Time of the last event.
    pub end: Duration,
}

/// Replays a whole recording.
pub fn replay<R: BufRead>(
    cast: CastReader<R>,
    manifest: Arc<Manifest>,
    filter: OutputFilter,
) -> Result<Replay, CastError> {
    let mut replay = Replay {
        readings: vec![first()],
        labels: Vec::new(),
        enters: Vec::new(),
        end: Duration::ZERO,
    };
    let mut session = Session::new(cast.header().size(), manifest).with_output_filter(filter);
    for event in cast {
        let event = event?;
        replay.end = event.at;
        apply(&mut session, event.at, event.kind, &mut replay);
    }
    session.advance_to(replay.end, &mut replay.readings);
    session.finish(&mut replay.readings);
    Ok(replay)
}

/// Replays up to a moment and hands back the session as it was then.
pub fn replay_until<R: BufRead>(
    cast: CastReader<R>,
    manifest: Arc<Manifest>,
    filter: OutputFilter,
    until: Duration,
) -> Result<(Session, Replay), CastError> {
    let mut replay = Replay {
        readings: vec![first()],
        labels: Vec::new(),
        enters: Vec::new(),
        end: Duration::ZERO,
    };
    let mut session = Session::new(cast.header().size(), manifest).with_output_filter(filter);
    for event in cast {
        let event = event?;
        if event.at > until {
            break;
        }
        replay.end = event.at;
        apply(&mut session, event.at, event.kind, &mut replay);
    }
    session.advance_to(until, &mut replay.readings);
    Ok((session, replay))
}

fn apply(session: &mut Session, at: Duration, kind: EventKind, replay: &mut Replay) {
    match kind {
        EventKind::Output(data) => session.feed(data.as_bytes(), at, &mut replay.readings),
        EventKind::Resize(size) => session.resize(size, at, &mut replay.readings),
        EventKind::Marker(label) if !label.starts_with('#') => {
            replay.labels.push(Label { at, name: label });
        }
        EventKind::Input(data) => {
            if Key::of_input(data.as_bytes()) == Some(Key::Enter) {
                replay.enters.push(at);
            }
            session.sent(data.as_bytes(), at, &mut replay.readings);
        }
        EventKind::Marker(_) => {}
    }
}

fn first() -> TimedReading {
    TimedReading {
        at: Duration::ZERO,
        offset: 0,
        reading: Reading::starting(),
    }
}
