//! What a structured conversation has come to, read from its recording: every event
//! with the number of its line, so that whoever counts them counts each once.

use std::path::Path;

use missiond_adapters::ControlSetup;
use missiond_control::{Client, ControlEvent, Direction, RecordedLine, Replayer};
use missiond_core::Timestamp;
use missiond_pty::CastError;
use missiond_pty::host::{HostRecord, LineDirection, LineTail, ProgramLine, Recording};

#[derive(Debug)]
pub struct ProtocolTail {
    lines: LineTail,
    replayer: Replayer,
    began: Timestamp,
    /// Lines of ours.
    sent: u64,
}

/// Something that happened, by which line, and as which of what that line says.
#[derive(Debug, Clone, PartialEq)]
pub struct TailedEvent {
    pub line: u64,
    pub index: usize,
    pub at: Timestamp,
    pub event: ControlEvent,
}

impl ProtocolTail {
    /// The conversation of a structured slot, from its beginning; none for a terminal.
    #[must_use]
    pub fn of(record: &HostRecord) -> Option<Self> {
        let setup: ControlSetup = serde_json::from_value(record.handover.clone()?).ok()?;
        let began = Timestamp::from_micros(record.started_at_us);
        Some(Self::new(&record.recording, began, &setup))
    }

    /// The conversation in a recording; none if it is of a terminal.
    #[must_use]
    pub fn of_recording(path: &Path) -> Option<Self> {
        let recording = Recording::open(path).ok()?;
        let setup: ControlSetup = serde_json::from_value(recording.handover()?.clone()).ok()?;
        let seconds = recording.timestamp().unwrap_or_default();
        let began = Timestamp::from_micros(seconds.saturating_mul(1_000_000));
        Some(Self::new(path, began, &setup))
    }

    pub(crate) fn new(recording: &Path, began: Timestamp, setup: &ControlSetup) -> Self {
        Self {
            lines: LineTail::new(recording, setup.options().limits.line),
            replayer: Replayer::new(setup.options()),
            began,
            sent: 0,
        }
    }

    /// What has happened since: so much of it as is read at once, none when that was all.
    pub fn read(&mut self) -> Result<Vec<TailedEvent>, CastError> {
        loop {
            let lines = self.lines.read()?;
            if lines.is_empty() {
                return Ok(Vec::new());
            }
            // Not every line says something.
            let events = self.events(lines);
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    fn events(&mut self, lines: Vec<ProgramLine>) -> Vec<TailedEvent> {
        let mut events = Vec::new();
        for line in lines {
            let micros = i64::try_from(line.at.as_micros()).unwrap_or(i64::MAX);
            let at = Timestamp::from_micros(self.began.as_micros().saturating_add(micros));
            let direction = match line.direction {
                LineDirection::FromProgram => Direction::FromAgent,
                LineDirection::ToProgram => Direction::ToAgent,
            };
            self.sent += u64::from(direction == Direction::ToAgent);
            let recorded = RecordedLine {
                direction,
                at,
                line: line.text,
            };
            let of_line = self.replayer.line(&recorded).into_iter().enumerate();
            events.extend(of_line.map(|(index, event)| TailedEvent {
                line: line.number,
                index,
                at,
                event,
            }));
        }
        events
    }

    /// The client as the lines left it, how many of them were ours, and where the first
    /// line begins that is not whole.
    pub(super) fn into_parts(self) -> (Client, u64, u64) {
        let offset = self.lines.offset();
        (self.replayer.into_client(), self.sent, offset)
    }
}
