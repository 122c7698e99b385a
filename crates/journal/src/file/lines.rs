//! Lines of a file, one after another, in bounded memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::failed;
use crate::catalogue::limits;
use crate::frame::{BadLine, Sequence};
use crate::store::StoreError;

const CHUNK: usize = 256 * 1024;

/// A line as it stands in the file.
#[derive(Debug)]
pub(super) struct RawLine<'a> {
    /// Without its newline.
    pub(super) line: Result<&'a [u8], BadLine>,
    /// Where the next line begins.
    pub(super) end: u64,
    /// The file ended before a newline.
    pub(super) cut_short: bool,
}

#[derive(Debug)]
pub(super) struct Lines {
    file: File,
    buffer: Vec<u8>,
    /// What of the buffer is still to be shown.
    from: usize,
    /// Bytes of it already searched for a newline.
    searched: usize,
    position: u64,
    at_end: bool,
    seek_to: Option<u64>,
}

impl Lines {
    pub(super) fn new(file: File, start: u64) -> Self {
        Self {
            file,
            buffer: Vec::with_capacity(CHUNK),
            from: 0,
            searched: 0,
            position: start,
            at_end: false,
            seek_to: Some(start),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<RawLine<'_>>, StoreError> {
        let reading = |error: io::Error| failed("reading the journal", &error);
        let mut too_long = false;
        loop {
            let unseen = &self.buffer[self.from + self.searched..];
            if let Some(found) = memchr::memchr(b'\n', unseen) {
                let begin = self.from;
                let end = begin + self.searched + found;
                self.from = end + 1;
                self.searched = 0;
                self.position += (end + 1 - begin) as u64;
                let line = if too_long || end - begin > limits::LINE_BYTES {
                    Err(BadLine::TooLong)
                } else {
                    Ok(&self.buffer[begin..end])
                };
                return Ok(Some(RawLine {
                    line,
                    end: self.position,
                    cut_short: false,
                }));
            }
            if self.at_end {
                let begin = self.from;
                let rest = self.buffer.len() - begin;
                if rest == 0 && !too_long {
                    return Ok(None);
                }
                self.from = self.buffer.len();
                self.searched = 0;
                self.position += rest as u64;
                let line = if too_long || rest > limits::LINE_BYTES {
                    Err(BadLine::TooLong)
                } else {
                    Ok(&self.buffer[begin..])
                };
                return Ok(Some(RawLine {
                    line,
                    end: self.position,
                    cut_short: true,
                }));
            }
            self.searched = self.buffer.len() - self.from;
            if self.searched > limits::LINE_BYTES {
                // Of a line nobody may write only the length is of interest.
                too_long = true;
                self.position += self.searched as u64;
                self.buffer.clear();
                self.from = 0;
                self.searched = 0;
            }
            self.fill().map_err(reading)?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if let Some(start) = self.seek_to.take() {
            self.file.seek(SeekFrom::Start(start))?;
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK, 0);
        let read = loop {
            match self.file.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer
            .truncate(filled + read.as_ref().copied().unwrap_or(0));
        self.at_end = read? == 0;
        Ok(())
    }
}

/// A place at or before the first line after `after`, near to it. Sequences grow
/// through the file, so it is found by halving; a line that cannot be read makes
/// it fall back to the beginning, where the damage will be met in order.
pub(super) fn locate(file: &File, after: Sequence) -> Result<u64, StoreError> {
    locate_in(file, after).map_err(|error| failed("reading the journal", &error))
}

fn locate_in(file: &File, after: Sequence) -> io::Result<u64> {
    let (mut low, mut high) = (0, file.metadata()?.len());
    while high - low > CHUNK as u64 {
        let middle = low + (high - low) / 2;
        let Some(start) = next_line(file, middle, high)? else {
            high = middle;
            continue;
        };
        match sequence_at(file, start)? {
            Some(sequence) if sequence <= after => low = start,
            Some(_) => high = middle,
            None => return Ok(0),
        }
    }
    Ok(low)
}

/// Where the first line that begins after `from` and before `until` begins.
fn next_line(file: &File, from: u64, until: u64) -> io::Result<Option<u64>> {
    let mut chunk = [0; 4096];
    let mut at = from;
    while at < until {
        let read = file.read_at(&mut chunk, at)?;
        if read == 0 {
            break;
        }
        if let Some(found) = memchr::memchr(b'\n', &chunk[..read]) {
            let start = at + found as u64 + 1;
            return Ok(Some(start).filter(|&start| start < until));
        }
        at += read as u64;
    }
    Ok(None)
}

fn sequence_at(file: &File, start: u64) -> io::Result<Option<Sequence>> {
    let mut head = [0; 32];
    let read = file.read_at(&mut head, start)?;
    let digits = head[..read].strip_prefix(br#"{"seq":"#).map(|rest| {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        &rest[..count]
    });
    Ok(digits
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .map(Sequence))
}
