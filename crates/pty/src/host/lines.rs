//! The lines of a program with pipes, both ways, read from its recording while it is
//! written. Each has a number; what was read once is not read again. However much an
//! agent writes, so much is kept: of a line its beginning, of many lines a batch.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_os::hex;

use super::segments::{RAW_MARKER, segment_path};
use crate::cast::{CastError, CastHeader};

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineDirection {
    FromProgram,
    ToProgram,
}

/// A whole line, without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLine {
    /// Counted from 1, both ways together, in the order of the recording.
    pub number: u64,
    pub direction: LineDirection,
    /// Since the beginning of the recording.
    pub at: Duration,
    pub text: Vec<u8>,
}

/// So many bytes of lines are read at once, beside the last of them.
const BATCH: usize = 4 << 20;

impl ProgramLine {
    /// In memory, also where it is empty.
    fn cost(&self) -> usize {
        size_of::<Self>() + self.text.len()
    }
}

/// Reads on where it stopped.
#[derive(Debug)]
pub struct LineTail {
    first: PathBuf,
    segment: u32,
    /// In the file, behind the last whole event.
    position: u64,
    after: Duration,
    count: u64,
    /// Bytes that are kept of a line.
    most: usize,
    /// A line of the program whose end has not come yet, as far as it is kept.
    begun: Vec<u8>,
    /// Bytes of it beyond those.
    left_out: u64,
    /// Bytes of the program's output in whole lines.
    offset: u64,
}

impl LineTail {
    #[must_use]
    /// Of a line longer than `limit` the first bytes are kept, one more than that.
    pub fn new(first: &Path, limit: usize) -> Self {
        Self {
            first: first.to_owned(),
            segment: 1,
            position: 0,
            after: Duration::ZERO,
            count: 0,
            most: limit.saturating_add(1),
            begun: Vec::new(),
            left_out: 0,
            offset: 0,
        }
    }

    /// Number of the first byte of output that is in no whole line yet.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next lines that have come since, not many megabytes of them; none when there
    /// are no more.
    pub fn read(&mut self) -> Result<Vec<ProgramLine>, CastError> {
        let mut lines = Vec::new();
        loop {
            // A file that has a follower is written no more.
            let next = segment_path(&self.first, self.segment + 1);
            let is_last = !next.exists();
            let all = self.read_segment(&mut lines)?;
            if is_last || !all {
                return Ok(lines);
            }
            self.segment += 1;
            self.position = 0;
        }
    }

    /// False if there may be more in it than is read at once.
    fn read_segment(&mut self, lines: &mut Vec<ProgramLine>) -> Result<bool, CastError> {
        let mut file = File::open(segment_path(&self.first, self.segment))?;
        file.seek(SeekFrom::Start(self.position))?;
        let mut reader = BufReader::new(file);
        let mut event = Vec::new();
        let mut raw = None;
        // An event and the marker that says its bytes are read together.
        let mut pending = 0;
        let mut kept = 0;
        loop {
            if kept >= BATCH {
                return Ok(false);
            }
            event.clear();
            let length = reader.read_until(b'\n', &mut event)? as u64;
            if event.last() != Some(&b'\n') {
                return Ok(true);
            }
            pending += length;
            if self.position == 0 {
                let header: CastHeader = serde_json::from_slice(&event)
                    .map_err(|error| CastError::Header(error.to_string()))?;
                let seconds = header.segment().after;
                self.after = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                (self.position, pending) = (pending, 0);
                continue;
            }
            let (at, kind, data): (f64, String, String) = serde_json::from_slice(&event)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let at = self.after + Duration::try_from_secs_f64(at).unwrap_or_default();
            let known = lines.len();
            match kind.as_str() {
                "m" => {
                    raw = data.strip_prefix(RAW_MARKER).and_then(hex::decode);
                    if raw.is_some() {
                        continue;
                    }
                }
                "o" => {
                    let bytes = raw.take().unwrap_or_else(|| data.into_bytes());
                    self.take_output(&bytes, at, lines);
                }
                "i" => {
                    for line in data.lines() {
                        let text = line.as_bytes().to_vec();
                        self.push(LineDirection::ToProgram, at, text, lines);
                    }
                }
                _ => {}
            }
            kept += lines[known..].iter().map(ProgramLine::cost).sum::<usize>();
            self.position += pending;
            pending = 0;
        }
    }

    fn take_output(&mut self, bytes: &[u8], at: Duration, lines: &mut Vec<ProgramLine>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                None => self.keep(piece),
                Some(end) => {
                    self.keep(end);
                    let left_out = std::mem::take(&mut self.left_out);
                    self.offset += self.begun.len() as u64 + left_out + 1;
                    let text = std::mem::take(&mut self.begun);
                    self.push(LineDirection::FromProgram, at, text, lines);
                }
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = self.most.saturating_sub(self.begun.len());
        let (kept, rest) = piece.split_at(room.min(piece.len()));
        self.begun.extend_from_slice(kept);
        self.left_out += rest.len() as u64;
    }

    fn push(
        &mut self,
        direction: LineDirection,
        at: Duration,
        text: Vec<u8>,
        lines: &mut Vec<ProgramLine>,
    ) {
        self.count += 1;
        lines.push(ProgramLine {
            number: self.count,
            direction,
            at,
            text,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::{Recorder, RecordingLimits};
    use super::*;

    const HEADER: CastHeader = CastHeader {
        version: 2,
        width: 80,
        height: 24,
        timestamp: None,
        title: None,
        env: None,
        mission: None,
    };

    fn said(lines: &[ProgramLine]) -> Vec<(u64, LineDirection, String)> {
        let text = |line: &ProgramLine| String::from_utf8_lossy(&line.text).into_owned();
        lines
            .iter()
            .map(|line| (line.number, line.direction, text(line)))
            .collect()
    }

    #[test]
    fn lines_are_read_once_across_files_and_bytes_that_are_no_text() {
        use LineDirection::{FromProgram, ToProgram};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.cast");
        let limits = RecordingLimits {
            segment: 400,
            total: 1 << 20,
        };
        let mut recorder = Recorder::create(&path, &HEADER, Duration::ZERO, limits).unwrap();
        let mut tail = LineTail::new(&path, 1000);
        assert_eq!(tail.read().unwrap(), []);
        recorder.input(b"{\"id\":1}\n").unwrap();
        recorder.output(b"{\"a\"").unwrap();
        let first = tail.read().unwrap();
        assert_eq!(said(&first), [(1, ToProgram, "{\"id\":1}".into())]);
        assert_eq!(tail.offset(), 0);
        recorder.output(b":1}\n\xff\xfe\n").unwrap();
        let second = tail.read().unwrap();
        assert_eq!(said(&second)[0], (2, FromProgram, "{\"a\":1}".into()));
        assert_eq!(second[1].text, b"\xff\xfe");
        assert_eq!(tail.offset(), 11);
        for number in 0..20 {
            recorder
                .output(format!("{{\"n\":{number}}}\n").as_bytes())
                .unwrap();
            recorder.input(b"{}\n").unwrap();
        }
        assert!(segment_path(&path, 2).exists());
        let rest = tail.read().unwrap();
        assert_eq!(rest.len(), 40);
        assert_eq!(rest.last().unwrap().number, 43);
        let mut again = LineTail::new(&path, 1000);
        assert_eq!(again.read().unwrap().len(), 43);
        assert_eq!(again.offset(), tail.offset());
    }

    #[test]
    fn of_an_endless_line_the_beginning_is_kept_and_of_many_lines_a_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.cast");
        let limits = RecordingLimits::default();
        let mut recorder = Recorder::create(&path, &HEADER, Duration::ZERO, limits).unwrap();
        let piece = vec![b'x'; 64 << 10];
        let mut tail = LineTail::new(&path, 100);
        for _ in 0..32 {
            recorder.output(&piece).unwrap();
        }
        assert_eq!(tail.read().unwrap(), []);
        assert_eq!(tail.begun.len(), 101);
        recorder.output(b"\nshort\n").unwrap();
        let lines = tail.read().unwrap();
        assert_eq!(lines[0].text, vec![b'x'; 101]);
        assert_eq!(lines[1].text, b"short");
        assert_eq!(tail.offset(), (2 << 20) + 7);

        let mut long = piece.clone();
        long.push(b'\n');
        for _ in 0..160 {
            recorder.output(&long).unwrap();
        }
        let mut all = LineTail::new(&path, 1 << 20);
        let mut batches = Vec::new();
        loop {
            let read = all.read().unwrap();
            let bytes = read.iter().map(|line| line.text.len()).sum::<usize>();
            if read.is_empty() {
                break;
            }
            assert!(bytes < BATCH + (2 << 20), "{bytes}");
            batches.push(read.len());
        }
        assert_eq!(batches.iter().sum::<usize>(), 162);
        assert!(batches.len() > 1, "{batches:?}");
    }
}
