//! The recording of a slot: everything the program wrote and was sent.
//!
//! An asciicast holds text, a terminal carries bytes. A character cut in two by
//! a read is recorded when its rest arrives; bytes that are no text at all are
//! shown as replacement characters, and a `#bytes` marker before them holds
//! what they really were. So byte N of the output is byte N of the recording.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use missiond_semantic::Size;

use crate::cast::{CastError, CastEvent, CastHeader, CastReader, CastWriter, EventKind};

const RAW_MARKER: &str = "#bytes ";

/// Writes a recording. What could not be written (a full disk) is kept and
/// written by the next [`Recorder::flush`]; the file never keeps half a line.
#[derive(Debug)]
pub(super) struct Recorder {
    file: File,
    /// Length of the file up to its last whole line.
    length: u64,
    lines: CastWriter<Vec<u8>>,
    /// The beginning of a character whose rest has not come yet.
    partial: Vec<u8>,
    start: Instant,
    unsynced: bool,
}

impl Recorder {
    /// Begins a recording; the file must not exist.
    pub(super) fn create(path: &Path, header: &CastHeader) -> Result<Self, CastError> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut recorder = Self {
            file: options.open(path)?,
            length: 0,
            lines: CastWriter::new(Vec::new(), header)?,
            partial: Vec::new(),
            start: Instant::now(),
            unsynced: false,
        };
        recorder.flush()?;
        Ok(recorder)
    }

    pub(super) fn output(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        self.partial.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.partial) {
            Ok(_) => self.partial.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.partial.len(),
        };
        let rest = self.partial.split_off(whole);
        let bytes = std::mem::replace(&mut self.partial, rest);
        self.output_whole(&bytes)
    }

    pub(super) fn input(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.queue(EventKind::Input(text))?;
        self.flush()
    }

    pub(super) fn resize(&mut self, size: Size) -> Result<(), CastError> {
        self.queue(EventKind::Resize(size))?;
        self.flush()
    }

    /// Nothing more will come: what was half a character is recorded as it is.
    pub(super) fn finish(&mut self) -> Result<(), CastError> {
        let rest = std::mem::take(&mut self.partial);
        self.output_whole(&rest)?;
        Ok(self.file.sync_data()?)
    }

    /// Everything handed over is in the file.
    pub(super) fn is_clear(&mut self) -> bool {
        self.lines.get_mut().is_empty()
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Result<(), CastError> {
        let waiting = self.lines.get_mut();
        if waiting.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(waiting) {
            let _ = self.file.set_len(self.length);
            return Err(error.into());
        }
        self.length += waiting.len() as u64;
        waiting.clear();
        self.unsynced = true;
        Ok(())
    }

    /// Something written may not be on the disk yet.
    pub(super) fn is_unsynced(&self) -> bool {
        self.unsynced
    }

    /// The file to bring to the disk, if it has something new.
    pub(super) fn take_unsynced(&mut self) -> Option<File> {
        let due = std::mem::replace(&mut self.unsynced, false);
        due.then(|| self.file.try_clone().ok()).flatten()
    }

    fn output_whole(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        if !bytes.is_empty() {
            if std::str::from_utf8(bytes).is_err() {
                self.queue(EventKind::Marker(format!("{RAW_MARKER}{}", hex(bytes))))?;
            }
            let shown = String::from_utf8_lossy(bytes).into_owned();
            self.queue(EventKind::Output(shown))?;
        }
        self.flush()
    }

    fn queue(&mut self, kind: EventKind) -> Result<(), CastError> {
        let at = self.start.elapsed();
        self.lines.write(&CastEvent { at, kind })
    }
}

/// What a recording says happened to the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    Output(Vec<u8>),
    Resize(Size),
}

/// Reads a recording back, byte for byte. One that is still being written ends
/// at its last whole line.
#[derive(Debug)]
pub struct RecordingReader {
    cast: CastReader<BufReader<File>>,
}

impl RecordingReader {
    pub fn open(path: &Path) -> Result<Self, CastError> {
        let cast = CastReader::new(BufReader::new(File::open(path)?))?;
        Ok(Self { cast })
    }

    #[must_use]
    pub fn size(&self) -> Size {
        self.cast.header().size()
    }

    #[must_use]
    pub fn engine(&self) -> Option<&str> {
        self.cast.header().engine()
    }
}

impl Iterator for RecordingReader {
    type Item = Result<(Duration, Recorded), CastError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut raw = None;
        loop {
            let event = match self.cast.next()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let recorded = match event.kind {
                EventKind::Output(text) => {
                    Recorded::Output(raw.take().unwrap_or_else(|| text.into_bytes()))
                }
                EventKind::Resize(size) => Recorded::Resize(size),
                EventKind::Marker(label) => {
                    raw = label.strip_prefix(RAW_MARKER).and_then(unhex);
                    continue;
                }
                EventKind::Input(_) => continue,
            };
            return Some(Ok((event.at, recorded)));
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        text.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
        text.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    Some(
        digits?
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> CastHeader {
        serde_json::from_str(r#"{"version": 2, "width": 80, "height": 24}"#).unwrap()
    }

    fn bytes_of(path: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in RecordingReader::open(path).unwrap() {
            if let Recorded::Output(output) = event.unwrap().1 {
                bytes.extend(output);
            }
        }
        bytes
    }

    fn chunk() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..12),
            ".{0,6}".prop_map(String::into_bytes),
            Just("é漢🦀".as_bytes()[..4].to_vec()),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_read_back_the_same(
            chunks in proptest::collection::vec(chunk(), 0..12),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.cast");
            let mut recorder = Recorder::create(&path, &header()).unwrap();
            for chunk in &chunks {
                recorder.output(chunk).unwrap();
                recorder.input(b"typed").unwrap();
            }
            recorder.finish().unwrap();
            prop_assert_eq!(bytes_of(&path), chunks.concat());
        }
    }

    #[test]
    fn only_the_rest_of_a_character_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let mut recorder = Recorder::create(&path, &header()).unwrap();
        recorder.output(&"ab🦀".as_bytes()[..5]).unwrap();
        assert_eq!(bytes_of(&path), b"ab");
        recorder.output(&"ab🦀".as_bytes()[5..]).unwrap();
        assert_eq!(bytes_of(&path), "ab🦀".as_bytes());
    }

    #[test]
    fn a_recording_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        Recorder::create(&path, &header()).unwrap();
        assert!(Recorder::create(&path, &header()).is_err());
    }
}
