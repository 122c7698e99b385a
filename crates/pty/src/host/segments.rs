//! The files of one recording, read as one.
//!
//! A long recording is cut into segments, each a whole asciicast; the oldest are
//! deleted when there are too many bytes of them. Every segment says with which
//! byte of the output it begins, and markers in it say where others are, so any
//! byte is found without reading what lies before it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_os::hex;
use missiond_semantic::Size;
use serde_json::Value;

use crate::cast::{CastError, CastReader, EventKind, parse_size};

pub(super) const RAW_MARKER: &str = "#bytes ";
pub(super) const ERRORS_MARKER: &str = "#stderr ";
const SEEK_MARKER: &str = "#at ";
/// A marker says where it stands after each of these many bytes of the file.
pub(super) const MARK_EVERY: u64 = 64 << 10;
/// Below this a search is slower than reading.
const SCAN_BYTES: u64 = 2 * MARK_EVERY;

/// What a recording says happened at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEvent {
    Output(Vec<u8>),
    Resize(Size),
    /// Keys, and what the terminal answered by itself.
    Input(Vec<u8>),
}

/// The segments of a recording that are still there.
#[derive(Debug, Clone)]
pub struct Recording {
    segments: VecDeque<Segment>,
}

#[derive(Debug, Clone)]
struct Segment {
    path: PathBuf,
    number: u32,
    /// Number of its first byte of output.
    offset: u64,
    after: Duration,
    /// When it began, in seconds since 1970.
    timestamp: Option<i64>,
    size: Size,
    handover: Option<Value>,
}

impl Recording {
    /// Finds the segments of the recording that began in the file `first`.
    pub fn open(first: &Path) -> Result<Self, CastError> {
        let mut segments = Vec::new();
        for (number, path) in files(first)? {
            let file = match File::open(&path) {
                Ok(file) => file,
                // The oldest was deleted this moment.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            match CastReader::new(BufReader::new(file)) {
                Ok(cast) => segments.push(Segment {
                    number,
                    offset: cast.header().segment().offset,
                    after: seconds(cast.header().segment().after),
                    timestamp: cast.header().timestamp,
                    size: cast.header().size(),
                    handover: cast.header().handover().cloned(),
                    path,
                }),
                // Its host has created it this moment, or died at that.
                Err(CastError::Empty) => {}
                Err(error) => return Err(error),
            }
        }
        segments.sort_by_key(|segment| segment.number);
        if segments.is_empty() {
            return Err(CastError::Missing(first.display().to_string()));
        }
        Ok(Self {
            segments: segments.into(),
        })
    }

    /// Number of the first byte that is still there.
    #[must_use]
    pub fn first_byte(&self) -> u64 {
        self.segments.front().map_or(0, |segment| segment.offset)
    }

    /// How long after the beginning the first byte that is still there came.
    #[must_use]
    pub fn begins_after(&self) -> Duration {
        let first = self.segments.front();
        first.map_or(Duration::ZERO, |segment| segment.after)
    }

    /// When that was, in seconds since 1970.
    #[must_use]
    pub fn timestamp(&self) -> Option<i64> {
        self.segments.front()?.timestamp
    }

    /// What says how the lines of a protocol are to be read; a terminal has none.
    #[must_use]
    pub fn handover(&self) -> Option<&Value> {
        self.segments.front()?.handover.as_ref()
    }

    /// Number of the byte that will come next.
    pub fn end(&self) -> Result<u64, CastError> {
        let mut reader = self.read_from(u64::MAX)?;
        while reader.next().transpose()?.is_some() {}
        Ok(reader.position())
    }

    /// Everything that is still there.
    pub fn read(&self) -> Result<RecordingReader, CastError> {
        self.read_from(self.first_byte())
    }

    /// What was recorded from this byte on, or from the first that is still
    /// there. Resizes before it are in the reader's size.
    pub fn read_from(&self, offset: u64) -> Result<RecordingReader, CastError> {
        let mut later = self.segments.clone();
        let mut segment = later.pop_front();
        while let Some(next) = later.pop_front_if(|next| next.offset <= offset) {
            segment = Some(next);
        }
        let Some(segment) = segment else {
            return Err(CastError::Missing(String::new()));
        };
        let mut reader = RecordingReader::open_segment(&segment, offset)?;
        reader.later = later;
        reader.skip_to(offset)?;
        Ok(reader)
    }

    /// Whether anything of the recording that began in this file is here.
    #[must_use]
    pub fn exists(first: &Path) -> bool {
        files(first).is_ok_and(|files| !files.is_empty())
    }

    /// Deletes the recording that began in this file.
    pub fn remove(first: &Path) -> io::Result<()> {
        for (_, path) in files(first)? {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// Reads a recording back, byte for byte. One that is still being written ends
/// at its last whole line.
#[derive(Debug)]
pub struct RecordingReader {
    cast: CastReader<BufReader<File>>,
    after: Duration,
    later: VecDeque<Segment>,
    /// Number of the byte that comes next.
    position: u64,
    size: Size,
    /// Read already, comes next.
    ready: Option<(Duration, RecordedEvent)>,
}

impl RecordingReader {
    /// The size of the terminal where reading began.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Number of the next byte of output.
    #[must_use]
    pub fn position(&self) -> u64 {
        let ready = match &self.ready {
            Some((_, RecordedEvent::Output(bytes))) => bytes.len() as u64,
            _ => 0,
        };
        self.position - ready
    }

    fn open_segment(segment: &Segment, offset: u64) -> Result<Self, CastError> {
        let mut file = File::open(&segment.path)?;
        let point = seek_point_before(&mut file, offset, segment)?;
        file.seek(SeekFrom::Start(0))?;
        let mut cast = CastReader::new(BufReader::new(file))?;
        let (mut position, mut size) = (segment.offset, segment.size);
        if let Some(point) = point {
            cast.skip_to(point.position)?;
            (position, size) = (point.byte, point.size);
        }
        Ok(Self {
            cast,
            after: segment.after,
            later: VecDeque::new(),
            position,
            size,
            ready: None,
        })
    }

    /// Reads up to the byte `offset`, and no further.
    fn skip_to(&mut self, offset: u64) -> Result<(), CastError> {
        while self.position < offset {
            let begin = self.position;
            match self.next().transpose()? {
                None => break,
                Some((_, RecordedEvent::Resize(size))) => self.size = size,
                Some((_, RecordedEvent::Input(_))) => {}
                Some((at, RecordedEvent::Output(mut bytes))) => {
                    if self.position > offset {
                        let skip = usize::try_from(offset - begin).unwrap_or(usize::MAX);
                        bytes.drain(..skip);
                        self.ready = Some((at, RecordedEvent::Output(bytes)));
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn next_in_segment(&mut self) -> Result<Option<(Duration, RecordedEvent)>, CastError> {
        let mut raw = None;
        for event in &mut self.cast {
            let event = event?;
            let recorded = match event.kind {
                EventKind::Output(text) => {
                    let bytes = raw.take().unwrap_or_else(|| text.into_bytes());
                    self.position += bytes.len() as u64;
                    RecordedEvent::Output(bytes)
                }
                EventKind::Resize(size) => RecordedEvent::Resize(size),
                EventKind::Marker(label) => {
                    raw = label.strip_prefix(RAW_MARKER).and_then(hex::decode);
                    continue;
                }
                EventKind::Input(text) => RecordedEvent::Input(text.into_bytes()),
            };
            return Ok(Some((self.after + event.at, recorded)));
        }
        Ok(None)
    }
}

impl Iterator for RecordingReader {
    type Item = Result<(Duration, RecordedEvent), CastError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(ready) = self.ready.take() {
            return Some(Ok(ready));
        }
        loop {
            match self.next_in_segment() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            let segment = self.later.pop_front()?;
            let opened = File::open(&segment.path).map_err(CastError::from);
            match opened.and_then(|file| CastReader::new(BufReader::new(file))) {
                Ok(cast) => self.cast = cast,
                Err(error) => return Some(Err(error)),
            }
            (self.position, self.after) = (segment.offset, segment.after);
        }
    }
}

/// The file of a segment.
pub(super) fn segment_path(first: &Path, number: u32) -> PathBuf {
    match number {
        0 | 1 => first.to_owned(),
        _ => first.with_extension(format!("{number}.cast")),
    }
}

/// The files of a recording with their numbers, in no order.
pub(super) fn files(first: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let (Some(folder), Some(stem)) = (first.parent(), first.file_stem()) else {
        return Ok(Vec::new());
    };
    let stem = stem.to_string_lossy();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&*stem);
        let number = match rest.and_then(|rest| rest.strip_suffix(".cast")) {
            Some("") => Some(1),
            Some(number) => number.strip_prefix('.').and_then(|n| n.parse().ok()),
            None => None,
        };
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    Ok(found)
}

/// The marker for this place.
pub(super) fn seek_marker(byte: u64, size: Size) -> String {
    format!("{SEEK_MARKER}{byte} {}x{}", size.columns, size.rows)
}

/// A place in a segment where reading can begin.
#[derive(Debug, Clone, Copy)]
struct SeekPoint {
    /// In the file.
    position: u64,
    /// Number of the next byte of output.
    byte: u64,
    size: Size,
}

/// The marker nearest before a byte, found by halving the file.
fn seek_point_before(
    file: &mut File,
    offset: u64,
    segment: &Segment,
) -> Result<Option<SeekPoint>, CastError> {
    let mut found = None;
    if offset <= segment.offset {
        return Ok(found);
    }
    let (mut low, mut high) = (0, file.metadata()?.len());
    while high - low > SCAN_BYTES {
        let middle = low + (high - low) / 2;
        match next_seek_point(file, middle, high)? {
            Some(point) if point.byte <= offset => {
                low = point.position.max(middle + 1).min(high);
                found = Some(point);
            }
            _ => high = middle,
        }
    }
    Ok(found)
}

/// The first marker whose line begins after `from` and before `until`.
fn next_seek_point(file: &mut File, from: u64, until: u64) -> Result<Option<SeekPoint>, CastError> {
    file.seek(SeekFrom::Start(from))?;
    let mut lines = BufReader::new(&*file);
    let mut line = Vec::new();
    let mut position = from + lines.read_until(b'\n', &mut line)? as u64;
    while position < until {
        line.clear();
        let length = lines.read_until(b'\n', &mut line)?;
        if let Some((byte, size)) = parse_seek_marker(&line) {
            return Ok(Some(SeekPoint {
                position,
                byte,
                size,
            }));
        }
        if length == 0 {
            break;
        }
        position += length as u64;
    }
    Ok(None)
}

fn parse_seek_marker(line: &[u8]) -> Option<(u64, Size)> {
    // Most lines are output, and long: they are not parsed for this.
    if line.len() > 100 || line.last() != Some(&b'\n') {
        return None;
    }
    let (_, kind, label): (f64, String, String) = serde_json::from_slice(line).ok()?;
    let (byte, size) = label.strip_prefix(SEEK_MARKER)?.split_once(' ')?;
    (kind == "m").then_some((byte.parse().ok()?, parse_size(size)?))
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
