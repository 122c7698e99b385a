//! What a slot's terminal showed at a certain byte, so that the next daemon
//! need not read the recording from its beginning.
//!
//! The file beside the recording is an asciicast of one event: what draws the
//! screen again. It is written every so often and put in place whole; losing it
//! costs time, or what a program drew once and long ago, and no byte.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_os::files;
use missiond_pty::{
    CastError, CastEvent, CastHeader, CastReader, CastSegment, CastSource, CastWriter, EventKind,
};
use missiond_semantic::Size;
use tokio::time::Instant;

/// Output after which it is worth writing.
const EVERY: u64 = 512 << 10;
/// The least time between two.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checkpoint {
    pub(super) size: Size,
    /// Number of the first byte that is not in it.
    pub(super) offset: u64,
    /// On the recording's clock.
    pub(super) at: Duration,
    pub(super) paint: String,
}

impl Checkpoint {
    /// Where the checkpoint of a recording is kept.
    pub(super) fn path(recording: &Path) -> PathBuf {
        recording.with_extension("screen")
    }

    pub(super) fn read(recording: &Path) -> Result<Self, CastError> {
        let file = File::open(Self::path(recording))?;
        let mut cast = CastReader::new(BufReader::new(file))?;
        let (size, segment) = (cast.header().size(), cast.header().segment());
        match cast.next().transpose()? {
            Some(CastEvent {
                kind: EventKind::Output(paint),
                ..
            }) => Ok(Self {
                size,
                offset: segment.offset,
                at: Duration::try_from_secs_f64(segment.after).unwrap_or_default(),
                paint,
            }),
            _ => Err(CastError::Empty),
        }
    }

    pub(super) fn write(&self, recording: &Path) -> Result<(), CastError> {
        let header = CastHeader {
            version: 2,
            width: self.size.columns,
            height: self.size.rows,
            timestamp: None,
            title: None,
            env: None,
            mission: Some(CastSource {
                segment: Some(CastSegment {
                    number: 1,
                    offset: self.offset,
                    after: self.at.as_secs_f64(),
                }),
                ..CastSource::default()
            }),
        };
        let mut cast = CastWriter::new(Vec::new(), &header)?;
        cast.write(&CastEvent {
            at: Duration::ZERO,
            kind: EventKind::Output(self.paint.clone()),
        })?;
        let path = Self::path(recording);
        Ok(files::replace_private_unsynced(&path, &cast.into_inner())?)
    }

    pub(super) fn remove(recording: &Path) -> io::Result<()> {
        std::fs::remove_file(Self::path(recording))
    }
}

/// Says when a checkpoint is due.
#[derive(Debug)]
pub(super) struct Due {
    offset: u64,
    at: Instant,
    /// Whether the output ends where a terminal can be taken up: between two
    /// control sequences.
    is_between: bool,
}

impl Due {
    /// One was made at this byte just now.
    pub(super) fn after(offset: u64) -> Self {
        Self {
            offset,
            at: Instant::now(),
            is_between: false,
        }
    }

    /// This came last.
    pub(super) fn record_output(&mut self, output: &[u8]) {
        self.is_between = is_between(output);
    }

    /// None can be made of what is there now.
    pub(super) fn await_output(&mut self) {
        self.is_between = false;
    }

    /// When one is due if nothing more comes; none while there is not enough to
    /// save. A program that writes much and then waits must not be without one.
    pub(super) fn at(&self, offset: u64) -> Option<Instant> {
        (offset - self.offset >= EVERY && self.is_between).then(|| self.at + PAUSE)
    }
}

/// Whether these last bytes of output end outside of any control sequence.
fn is_between(output: &[u8]) -> bool {
    let sequence = match output.iter().rposition(|&byte| byte == 0x1b) {
        Some(begin) => &output[begin + 1..],
        // A line feed is in no sequence, so none can have begun before it.
        None => return output.contains(&b'\n'),
    };
    match sequence {
        [] => false,
        [b'[', rest @ ..] => rest.iter().any(|byte| (0x40..=0x7e).contains(byte)),
        [b']', rest @ ..] => rest.contains(&0x07),
        [b'P' | b'X' | b'^' | b'_', ..] => false,
        [b' '..=b'/', rest @ ..] => !rest.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("slot.cast");
        let checkpoint = Checkpoint {
            size: Size {
                columns: 90,
                rows: 30,
            },
            offset: 12_345_678_901,
            at: Duration::from_micros(987_654_321),
            paint: "\x1b[1mé漢\x1b[0m\r\n".to_owned(),
        };
        assert!(Checkpoint::read(&recording).is_err());
        checkpoint.write(&recording).unwrap();
        assert_eq!(Checkpoint::read(&recording).unwrap(), checkpoint);
    }

    #[test]
    fn much_output_within_a_moment_is_saved_a_moment_later() {
        let mut due = Due::after(10);
        due.record_output(b"some\n");
        assert_eq!(due.at(10 + EVERY - 1), None);
        assert_eq!(due.at(10 + EVERY), Some(due.at + PAUSE));
        due.record_output(b"cut \x1b[3");
        assert_eq!(due.at(10 + EVERY), None);
    }

    #[test]
    fn nothing_is_cut_in_a_control_sequence() {
        let between: [&[u8]; 6] = [
            b"text\n",
            b"\x1b[1m",
            b"\x1b[1mtext",
            b"\x1b]2;t\x07",
            b"\x1b]2;t\x1b\\",
            b"\x1b(B",
        ];
        for output in between {
            assert!(is_between(output), "{}", output.escape_ascii());
        }
        let inside: [&[u8]; 7] = [
            b"",
            b"5",
            b"\n\x1b",
            b"\n\x1b[",
            b"\n\x1b[38;5",
            b"\n\x1b]2;title",
            b"\n\x1b(",
        ];
        for output in inside {
            assert!(!is_between(output), "{}", output.escape_ascii());
        }
    }
}
