//! Writes the recording of a slot: everything the program wrote and was sent.
//!
//! An asciicast holds text, a terminal carries bytes. A character cut in two by
//! a read is recorded when its rest arrives; bytes that are no text at all are
//! shown as replacement characters, and a `#bytes` marker before them holds
//! what they really were. So byte N of the output is byte N of the recording.
//! Secrets are masked before anything is written, byte for byte; what may become one waits
//! until it is known, a few kilobytes at most. A file that has grown enough is followed by the next; the oldest go when all
//! of them together have become too large.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use missiond_os::files::create_private;
use missiond_os::hex;
use missiond_secrets::StreamMask;
use missiond_semantic::Size;
use serde::{Deserialize, Serialize};

use super::segments::{ERRORS_MARKER, MARK_EVERY, RAW_MARKER, files, seek_marker, segment_path};
use crate::cast::{CastError, CastEvent, CastHeader, CastSegment, CastWriter, EventKind};

/// A next file that could not be begun is tried again after this many bytes.
const RETRY_AFTER: u64 = 1 << 20;

/// How large a recording may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingLimits {
    /// Bytes of a file at which the next one is begun.
    pub segment: u64,
    /// Bytes of all files of a recording; beyond it the oldest is deleted. The
    /// one being written always stays.
    pub total: u64,
}

impl Default for RecordingLimits {
    fn default() -> Self {
        Self {
            segment: 64 << 20,
            total: 1 << 30,
        }
    }
}

/// Writes a recording. What could not be written (a full disk) is kept and
/// written by the next [`Recorder::flush`]; the file never keeps half a line.
#[derive(Debug)]
pub(super) struct Recorder {
    first: PathBuf,
    header: CastHeader,
    limits: RecordingLimits,
    file: File,
    number: u32,
    /// Length of the file up to its last whole line.
    length: u64,
    /// Length at which the next file is begun.
    turn_at: u64,
    /// Length at which the next marker is due.
    mark_at: u64,
    /// Bytes of output handed to the files.
    recorded: u64,
    size: Size,
    lines: CastWriter<Vec<u8>>,
    /// Secrets out of what is shown, typed and complained of.
    masks: Masks,
    /// The beginning of a character whose rest has not come yet.
    partial: Vec<u8>,
    start: Instant,
    /// From the start of the recording to that of this file.
    after: Duration,
    unsynced: bool,
    /// Files and folders that are no longer written but not yet on the disk.
    left: Vec<File>,
}

/// Whether what is shown is masked. It is, but where its cost is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Masking {
    On,
    Off,
}

/// Records a stream in pieces as a host does, to measure what that takes.
pub fn record_stream(
    path: &Path,
    stream: &[u8],
    piece: usize,
    masking: Masking,
) -> Result<(), CastError> {
    let size = Size {
        columns: 120,
        rows: 40,
    };
    let limits = RecordingLimits::default();
    let header = CastHeader {
        version: 2,
        width: size.columns,
        height: size.rows,
        timestamp: None,
        title: None,
        env: None,
        mission: None,
    };
    let mut recorder = Recorder::create(path, &header, Duration::ZERO, limits)?;
    if masking == Masking::Off {
        recorder.masks.output = None;
    }
    for piece in stream.chunks(piece) {
        recorder.output(piece)?;
    }
    recorder.finish()
}

/// One masker for each stream of a recording: each is a text of its own.
#[derive(Debug)]
struct Masks {
    /// None where only time is measured.
    output: Option<StreamMask>,
    input: StreamMask,
    errors: StreamMask,
}

impl Masks {
    fn new(size: Size) -> Self {
        Self {
            output: Some(StreamMask::default().with_columns(usize::from(size.columns))),
            input: StreamMask::default(),
            errors: StreamMask::default(),
        }
    }
}

impl Recorder {
    /// Begins a recording; the file must not exist. Its times count from `begun` ago.
    pub(super) fn create(
        path: &Path,
        header: &CastHeader,
        begun: Duration,
        limits: RecordingLimits,
    ) -> Result<Self, CastError> {
        let now = Instant::now();
        let mut recorder = Self {
            first: path.to_owned(),
            header: header.clone(),
            limits,
            file: create_private(path)?,
            number: 1,
            length: 0,
            turn_at: limits.segment,
            mark_at: MARK_EVERY,
            recorded: 0,
            size: header.size(),
            lines: CastWriter::new(Vec::new(), &with_segment(header, 1, 0, Duration::ZERO))?,
            masks: Masks::new(header.size()),
            partial: Vec::new(),
            start: now.checked_sub(begun).unwrap_or(now),
            after: Duration::ZERO,
            unsynced: false,
            left: folder_of(path),
        };
        recorder.flush()?;
        Ok(recorder)
    }

    pub(super) fn output(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        match &mut self.masks.output {
            Some(mask) => mask.feed(bytes, &mut self.partial),
            None => self.partial.extend_from_slice(bytes),
        }
        self.output_text()
    }

    fn output_text(&mut self) -> Result<(), CastError> {
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
        let mut masked = Vec::with_capacity(bytes.len());
        self.masks.input.feed(bytes, &mut masked);
        if !masked.is_empty() {
            let text = String::from_utf8_lossy(&masked).into_owned();
            self.queue(EventKind::Input(text))?;
        }
        self.flush()
    }

    /// What a program says beside its protocol.
    pub(super) fn errors(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        let mut masked = Vec::with_capacity(bytes.len());
        self.masks.errors.feed(bytes, &mut masked);
        if !masked.is_empty() {
            let text = String::from_utf8_lossy(&masked);
            self.queue(EventKind::Marker(format!("{ERRORS_MARKER}{text}")))?;
        }
        self.flush()
    }

    pub(super) fn resize(&mut self, size: Size) -> Result<(), CastError> {
        self.size = size;
        if let Some(mask) = &mut self.masks.output {
            mask.set_columns(usize::from(size.columns));
        }
        self.queue(EventKind::Resize(size))?;
        self.flush()
    }

    /// Nothing more will come: what was half a character is recorded as it is.
    pub(super) fn finish(&mut self) -> Result<(), CastError> {
        if let Some(mask) = &mut self.masks.output {
            mask.finish(&mut self.partial);
        }
        let rest = std::mem::take(&mut self.partial);
        self.output_whole(&rest)?;
        let mut typed = Vec::new();
        self.masks.input.finish(&mut typed);
        if !typed.is_empty() {
            let typed = String::from_utf8_lossy(&typed).into_owned();
            self.queue(EventKind::Input(typed))?;
            self.flush()?;
        }
        Ok(self.file.sync_data()?)
    }

    /// The size the terminal was last given.
    pub(super) fn size(&self) -> Size {
        self.size
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

    /// The files to bring to the disk, if they have something new.
    pub(super) fn take_unsynced(&mut self) -> Vec<File> {
        let mut due = std::mem::take(&mut self.left);
        if std::mem::replace(&mut self.unsynced, false) {
            due.extend(self.file.try_clone().ok());
        }
        due
    }

    fn output_whole(&mut self, bytes: &[u8]) -> Result<(), CastError> {
        if !bytes.is_empty() {
            if self.length >= self.turn_at && self.is_clear() && self.begin_next().is_err() {
                // The file at hand can still be written; it only grows.
                self.turn_at = self.length + RETRY_AFTER;
            }
            if self.length >= self.mark_at {
                self.mark_at = self.length + MARK_EVERY;
                self.queue(EventKind::Marker(seek_marker(self.recorded, self.size)))?;
            }
            if std::str::from_utf8(bytes).is_err() {
                self.queue(EventKind::Marker(format!(
                    "{RAW_MARKER}{}",
                    hex::encode(bytes)
                )))?;
            }
            let shown = String::from_utf8_lossy(bytes).into_owned();
            self.queue(EventKind::Output(shown))?;
            self.recorded += bytes.len() as u64;
        }
        self.flush()
    }

    fn queue(&mut self, kind: EventKind) -> Result<(), CastError> {
        let at = self.start.elapsed().saturating_sub(self.after);
        self.lines.write(&CastEvent { at, kind })
    }

    /// Begins the next file, and deletes the oldest if they are too large.
    fn begin_next(&mut self) -> Result<(), CastError> {
        // Its header has whole seconds too.
        let after = Duration::from_secs(self.start.elapsed().as_secs());
        let number = self.number + 1;
        let mut header = with_segment(&self.header, number, self.recorded, after);
        (header.width, header.height) = (self.size.columns, self.size.rows);
        header.timestamp = header
            .timestamp
            .map(|began| began.saturating_add_unsigned(after.as_secs()));
        let line = CastWriter::new(Vec::new(), &header)?.into_inner();
        let path = segment_path(&self.first, number);
        let mut file = create_private(&path)?;
        if let Err(error) = file.write_all(&line) {
            let _ = std::fs::remove_file(&path);
            return Err(error.into());
        }
        self.left.push(std::mem::replace(&mut self.file, file));
        self.left.extend(folder_of(&self.first));
        self.length = line.len() as u64;
        self.turn_at = self.limits.segment;
        self.mark_at = MARK_EVERY;
        (self.number, self.after) = (number, after);
        self.delete_oldest();
        Ok(())
    }

    fn delete_oldest(&self) {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut files = files(&self.first).unwrap_or_default();
        files.sort_by_key(|(number, _)| *number);
        let mut total: u64 = files.iter().map(|(_, path)| size(path)).sum();
        for (_, path) in files.iter().filter(|(number, _)| *number < self.number) {
            // The one being written will grow to this.
            if total + self.limits.segment <= self.limits.total {
                return;
            }
            total -= size(path);
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The folder of a new file: the file's name is on the disk when this is.
fn folder_of(path: &Path) -> Vec<File> {
    let folder = path.parent().and_then(|folder| File::open(folder).ok());
    folder.into_iter().collect()
}

fn with_segment(header: &CastHeader, number: u32, offset: u64, after: Duration) -> CastHeader {
    let mut header = header.clone();
    header.mission.get_or_insert_default().segment = Some(CastSegment {
        number,
        offset,
        after: after.as_secs_f64(),
    });
    header
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
