//! A terminal as it was, from its last checkpoint and the recording after it.
//!
//! What it costs does not grow with the recording: without a checkpoint, or
//! when a program wrote much while no daemon made one, only the last part of
//! the output is drawn.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use missiond_pty::host::{RecordedEvent, Recording};
use missiond_pty::{CastError, Session};
use missiond_semantic::Manifest;

use super::checkpoint::Checkpoint;
use super::conversation;

/// Output that is drawn again at most. An agent's screen is redrawn many times
/// in it.
const DRAWN: u64 = 4 << 20;

/// Shorter than any pause that ends a frame. Output of one moment is drawn as
/// one: a program that writes line by line would otherwise be drawn line by line.
const MOMENT: Duration = Duration::from_millis(10);

/// Of these moments the screen is read, not only drawn: reading takes far
/// longer, and what a program is doing now does not depend on older ones.
const READ: usize = 16;

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
    let mut moments: Vec<(Duration, RecordedEvent)> = Vec::new();
    for event in reader {
        let (now, recorded) = event?;
        at = now;
        if let RecordedEvent::Output(bytes) = &recorded {
            offset += bytes.len() as u64;
        }
        match (moments.last_mut(), recorded) {
            (Some((begun, RecordedEvent::Output(drawn))), RecordedEvent::Output(bytes))
                if now.saturating_sub(*begun) < MOMENT =>
            {
                drawn.extend(bytes);
            }
            (_, recorded) => moments.push((now, recorded)),
        }
    }
    let last = moments.split_off(first_read(&moments));
    for (at, recorded) in moments {
        match recorded {
            RecordedEvent::Output(bytes) => session.terminal().feed(&bytes, at),
            RecordedEvent::Resize(size) => session.terminal().resize(size, at),
            RecordedEvent::Input(_) => {}
        }
    }
    for (at, recorded) in last {
        match recorded {
            RecordedEvent::Output(bytes) => session.feed(&bytes, at, &mut changes),
            RecordedEvent::Resize(size) => session.resize(size, at, &mut changes),
            // What a screen means may depend on it: a text that was sent and
            // not taken up yet leaves a prompt that looks free.
            RecordedEvent::Input(bytes) => session.sent(&bytes, at, &mut changes),
        }
        changes.clear();
    }
    // They were answered when they were asked.
    session.terminal().take_replies();
    Ok(Rebuilt {
        session,
        offset,
        at,
    })
}

/// Where the moments begin that are read.
fn first_read(moments: &[(Duration, RecordedEvent)]) -> usize {
    let drawn =
        |(_, recorded): &&(Duration, RecordedEvent)| !matches!(recorded, RecordedEvent::Input(_));
    let drawn = moments.iter().filter(drawn).count();
    let mut skipped = 0;
    let first = moments.iter().position(|(_, recorded)| {
        skipped += usize::from(!matches!(recorded, RecordedEvent::Input(_)));
        skipped + READ > drawn
    });
    first.unwrap_or(moments.len())
}

/// The screen a program left when it ended, and how much it had written.
pub(super) fn last_screen(
    path: &Path,
    manifest: Arc<Manifest>,
) -> Result<(Session, u64), CastError> {
    if let Some(structured) = conversation::recorded(path) {
        return structured.map(|structured| drawn(structured, manifest));
    }
    let Rebuilt {
        mut session,
        offset,
        at,
    } = rebuild(path, manifest)?;
    session.exited(at + LATER, &mut Vec::new());
    Ok((session, offset))
}

/// A structured conversation as it was shown last.
fn drawn(structured: conversation::Rebuilt, manifest: Arc<Manifest>) -> (Session, u64) {
    let mut session = Session::new(crate::DEFAULT_SIZE, manifest);
    let mut last = Duration::ZERO;
    for (at, text) in structured.shown {
        session.terminal().feed(text.as_bytes(), at);
        last = at;
    }
    session.exited(last + LATER, &mut Vec::new());
    (session, structured.offset)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use missiond_core::PtyState;
    use missiond_pty::{CastEvent, CastHeader, CastWriter, EventKind};
    use missiond_semantic::Catalogue;

    use super::*;

    const PROMPT: &str = "\x1b[?2026h\x1b[2J\x1b[H› Ask Codex to do anything\r\n\r\n  \
                          model default · /home/x\x1b[?2026l";

    fn event(seconds: u64, kind: EventKind) -> CastEvent {
        let at = Duration::from_secs(seconds);
        CastEvent { at, kind }
    }

    /// The state a slot is found in two seconds after the last of these.
    fn found(events: &[CastEvent]) -> PtyState {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slot.cast");
        let header = r#"{"version": 2, "width": 80, "height": 24}"#;
        let header: CastHeader = serde_json::from_str(header).unwrap();
        let mut writer = CastWriter::new(File::create(&path).unwrap(), &header).unwrap();
        for event in events {
            writer.write(event).unwrap();
        }
        drop(writer);
        let catalogue = Catalogue::shipped().unwrap();
        let manifest = catalogue.for_engine(Some("codex")).unwrap().clone();
        let Rebuilt {
            mut session, at, ..
        } = rebuild(&path, manifest).unwrap();
        session.advance_to(at + Duration::from_secs(2), &mut Vec::new());
        session.reader().current().state
    }

    #[test]
    fn a_text_that_was_sent_and_not_taken_up_is_remembered() {
        let output = |seconds| event(seconds, EventKind::Output(PROMPT.to_owned()));
        let typed = |seconds, keys: &str| event(seconds, EventKind::Input(keys.to_owned()));
        let (free, sent) = (
            vec![output(0), output(5)],
            vec![output(0), output(5), typed(10, "fix it"), typed(11, "\r")],
        );
        assert_eq!(found(&free), PtyState::Idle);
        assert_ne!(found(&sent), PtyState::Idle, "it was just given something");
        // However much was drawn before.
        let mut long: Vec<_> = (0..40).map(output).collect();
        assert_eq!(found(&long), PtyState::Idle);
        long.extend([typed(50, "fix it"), typed(51, "\r")]);
        assert_ne!(found(&long), PtyState::Idle);
    }
}
