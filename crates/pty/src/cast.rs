//! asciicast v2: the file format of recordings.
//!
//! Reads and writes one event at a time, so a recording of any length needs the
//! memory of its longest line. Lines are capped and every field is checked: a
//! recording may come from anywhere. Unknown event kinds are passed over, as the
//! format asks; a file that ends in the middle of a line ends there.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use missiond_semantic::Size;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest line read; a recorder splits its output long before this.
const MAX_LINE: u64 = 16 << 20;
/// A time beyond this is a mistake, not a long session.
const MAX_SECONDS: f64 = 10.0 * 365.0 * 86_400.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CastHeader {
    pub version: u32,
    pub width: u16,
    pub height: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Value>,
    /// What the recorder knew about the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission: Option<CastSource>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CastSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cli_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal_answers: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<CastSegment>,
    /// What says how the lines of a protocol are to be read; a terminal has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<Value>,
    /// The slot of the agent that started it, or of the first of those that started each
    /// other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// Where a file stands in a recording that has several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CastSegment {
    /// Counted from 1.
    pub number: u32,
    /// Number of its first byte of output.
    pub offset: u64,
    /// Seconds from the beginning of the recording to that of this file.
    pub after: f64,
}

impl CastHeader {
    #[must_use]
    pub fn size(&self) -> Size {
        Size {
            columns: self.width,
            rows: self.height,
        }
    }

    #[must_use]
    pub fn engine(&self) -> Option<&str> {
        self.mission.as_ref()?.engine.as_deref()
    }

    /// Where the file stands; one that does not say is the whole recording.
    #[must_use]
    pub fn segment(&self) -> CastSegment {
        let said = self.mission.as_ref().and_then(|source| source.segment);
        said.unwrap_or(CastSegment {
            number: 1,
            offset: 0,
            after: 0.0,
        })
    }

    #[must_use]
    pub fn handover(&self) -> Option<&Value> {
        self.mission.as_ref()?.handover.as_ref()
    }

    #[must_use]
    pub fn cli_version(&self) -> Option<&str> {
        self.mission.as_ref()?.cli_version.as_deref()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CastEvent {
    pub at: Duration,
    pub kind: EventKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    Output(String),
    Input(String),
    Resize(Size),
    Marker(String),
}

#[derive(Debug, thiserror::Error)]
pub enum CastError {
    #[error("the recording could not be read or written")]
    Io(#[from] io::Error),
    #[error("the recording is empty: an asciicast v2 file begins with a header line")]
    Empty,
    #[error("line 1 is not an asciicast v2 header: {0}")]
    Header(String),
    #[error("line {line} is not an event `[seconds, \"kind\", \"data\"]`: {why}")]
    Event { line: u64, why: String },
    #[error("line {line} is longer than {MAX_LINE} bytes")]
    TooLong { line: u64 },
    #[error("there is no recording at {0}: it was never made, or deleted because it was old")]
    Missing(String),
}

/// Reads events in file order. A time that runs backwards counts as the latest
/// time seen, so that time never does.
#[derive(Debug)]
pub struct CastReader<R> {
    source: R,
    header: CastHeader,
    line: u64,
    latest: Duration,
    buffer: Vec<u8>,
}

impl<R: BufRead> CastReader<R> {
    pub fn new(mut source: R) -> Result<Self, CastError> {
        let mut buffer = Vec::new();
        if read_line(&mut source, &mut buffer, 1)?.is_none() {
            return Err(CastError::Empty);
        }
        let header: CastHeader = serde_json::from_slice(&buffer)
            .map_err(|error| CastError::Header(error.to_string()))?;
        if header.version != 2 {
            return Err(CastError::Header(format!(
                "version {} is not supported, only 2",
                header.version
            )));
        }
        if header.width == 0 || header.height == 0 {
            return Err(CastError::Header(
                "width and height must be at least 1".into(),
            ));
        }
        Ok(Self {
            source,
            header,
            line: 1,
            latest: Duration::ZERO,
            buffer,
        })
    }

    pub fn header(&self) -> &CastHeader {
        &self.header
    }

    fn event(&mut self) -> Result<Option<CastEvent>, CastError> {
        loop {
            self.line += 1;
            let Some(ended) = read_line(&mut self.source, &mut self.buffer, self.line)? else {
                return Ok(None);
            };
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let fields: (f64, String, Value) = match serde_json::from_slice(&self.buffer) {
                Ok(fields) => fields,
                // A recorder that was killed leaves half a line at the end.
                Err(_) if ended == LineEnd::EndOfFile => return Ok(None),
                Err(error) => return Err(self.bad(error.to_string())),
            };
            let (seconds, kind, data) = fields;
            if !(0.0..=MAX_SECONDS).contains(&seconds) {
                return Err(self.bad(format!("{seconds} is not a time in seconds")));
            }
            let micros = (seconds * 1e6).round() as u64;
            self.latest = self.latest.max(Duration::from_micros(micros));
            let Value::String(data) = data else {
                if matches!(kind.as_str(), "o" | "i" | "r" | "m") {
                    return Err(self.bad("the data is not text".into()));
                }
                continue;
            };
            let kind = match kind.as_str() {
                "o" => EventKind::Output(data),
                "i" => EventKind::Input(data),
                "m" => EventKind::Marker(data),
                "r" => EventKind::Resize(
                    parse_size(&data)
                        .ok_or_else(|| self.bad(format!("`{data}` is not COLSxROWS")))?,
                ),
                _ => continue,
            };
            return Ok(Some(CastEvent {
                at: self.latest,
                kind,
            }));
        }
    }

    fn bad(&self, why: String) -> CastError {
        CastError::Event {
            line: self.line,
            why,
        }
    }
}

impl<R: BufRead + io::Seek> CastReader<R> {
    /// Goes on at a place in the file where a line begins.
    pub(crate) fn skip_to(&mut self, position: u64) -> Result<(), CastError> {
        self.source.seek(io::SeekFrom::Start(position))?;
        Ok(())
    }
}

impl<R: BufRead> Iterator for CastReader<R> {
    type Item = Result<CastEvent, CastError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.event().transpose()
    }
}

#[derive(Debug)]
pub struct CastWriter<W> {
    sink: W,
}

impl<W: Write> CastWriter<W> {
    pub fn new(mut sink: W, header: &CastHeader) -> Result<Self, CastError> {
        write_line(&mut sink, header)?;
        Ok(Self { sink })
    }

    pub fn write(&mut self, event: &CastEvent) -> Result<(), CastError> {
        let (kind, data) = match &event.kind {
            EventKind::Output(data) => ("o", data.clone()),
            EventKind::Input(data) => ("i", data.clone()),
            EventKind::Marker(label) => ("m", label.clone()),
            EventKind::Resize(size) => ("r", format!("{}x{}", size.columns, size.rows)),
        };
        write_line(
            &mut self.sink,
            &(event.at.as_micros() as f64 / 1e6, kind, data),
        )
    }

    pub fn into_inner(self) -> W {
        self.sink
    }

    /// Where the lines go.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.sink
    }
}

fn write_line<W: Write>(sink: &mut W, value: &impl Serialize) -> Result<(), CastError> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
    line.push(b'\n');
    Ok(sink.write_all(&line)?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    EndOfFile,
}

fn read_line<R: BufRead>(
    source: &mut R,
    buffer: &mut Vec<u8>,
    line: u64,
) -> Result<Option<LineEnd>, CastError> {
    buffer.clear();
    let read = io::Read::take(&mut *source, MAX_LINE).read_until(b'\n', buffer)?;
    match (read, buffer.last()) {
        (0, _) => Ok(None),
        (_, Some(b'\n')) => Ok(Some(LineEnd::Newline)),
        (read, _) if read as u64 == MAX_LINE => Err(CastError::TooLong { line }),
        _ => Ok(Some(LineEnd::EndOfFile)),
    }
}

pub(crate) fn parse_size(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    let size = Size {
        columns: columns.parse().ok()?,
        rows: rows.parse().ok()?,
    };
    (size.columns > 0 && size.rows > 0).then_some(size)
}
