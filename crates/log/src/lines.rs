//! The files of a log and their lines, in both directions.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::names;

/// Bytes of one line; the rest of a longer one is passed over.
const LINE: usize = 256 << 10;
const BLOCK: u64 = 256 << 10;

/// One file of the log, open.
pub(super) struct Opened {
    file: File,
    pub(super) inode: u64,
    pub(super) length: u64,
}

/// The files there are, the newest first.
pub(super) fn open(log: &Path) -> io::Result<Vec<Opened>> {
    let mut opened: Vec<Opened> = Vec::new();
    for path in names(log) {
        let file = match File::open(&path) {
            Ok(file) => file,
            // Just being set aside, or there are no more.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path == log => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) => return Err(error),
        };
        let known = file.metadata()?;
        // Set aside while we opened the others: it is there already.
        if opened.iter().all(|other| other.inode != known.ino()) {
            opened.push(Opened {
                file,
                inode: known.ino(),
                length: known.len(),
            });
        }
    }
    Ok(opened)
}

/// Lines from a place towards the beginning of a file. One that was not finished
/// yet is left for later.
pub(super) struct Backwards<'f> {
    file: &'f Opened,
    /// Where what was read begins.
    start: u64,
    /// From there to the end of the last line that was not returned.
    read: Vec<u8>,
    whole: bool,
}

impl<'f> Backwards<'f> {
    pub(super) const fn new(file: &'f Opened, end: u64) -> Self {
        Self {
            file,
            start: end,
            read: Vec::new(),
            whole: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let body = match (self.whole, self.read.last()) {
                (false, Some(b'\n')) => {
                    self.whole = true;
                    continue;
                }
                // The end of the file, in the middle of a line.
                (false, Some(_)) => match self.read.iter().rposition(|byte| *byte == b'\n') {
                    Some(end) => {
                        self.read.truncate(end + 1);
                        continue;
                    }
                    None if self.start == 0 => return Ok(None),
                    None => None,
                },
                (true, Some(_)) => Some(&self.read[..self.read.len() - 1]),
                (_, None) if self.start == 0 => return Ok(None),
                (_, None) => None,
            };
            if let Some(body) = body {
                let begins = body.iter().rposition(|byte| *byte == b'\n');
                if let Some(begins) = begins {
                    let line = body[begins + 1..].to_vec();
                    self.read.truncate(begins + 1);
                    return Ok(Some((self.start + begins as u64 + 1, line)));
                }
                if self.start == 0 {
                    let line = body.to_vec();
                    self.read.clear();
                    return Ok(Some((0, line)));
                }
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let length = BLOCK.min(self.start);
        let from = self.start - length;
        let mut block = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.file.read_exact_at(&mut block, from)?;
        block.append(&mut self.read);
        if block.len() > LINE + 2 * usize::try_from(BLOCK).unwrap_or(0) {
            // One line longer than anything that is shown: its end is let go.
            block.truncate(LINE);
            block.push(b'\n');
        }
        self.read = block;
        self.start = from;
        Ok(())
    }
}

/// Whole lines from a place towards the end of a file.
pub(super) struct Onwards<'f> {
    file: &'f Opened,
    /// Where the next line begins.
    pub(super) offset: u64,
    read: Vec<u8>,
    /// Bytes of what was read that were returned.
    returned: usize,
}

impl<'f> Onwards<'f> {
    pub(super) const fn new(file: &'f Opened, offset: u64) -> Self {
        Self {
            file,
            offset,
            read: Vec::new(),
            returned: 0,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let mut looked = self.returned;
        loop {
            if let Some(end) = self.read[looked..].iter().position(|byte| *byte == b'\n') {
                let line = &self.read[self.returned..looked + end];
                let offset = self.offset;
                self.offset += line.len() as u64 + 1;
                self.returned += line.len() + 1;
                return Ok(Some((offset, line[..line.len().min(LINE)].to_vec())));
            }
            self.read.drain(..self.returned);
            self.returned = 0;
            looked = self.read.len();
            let at = self.offset + looked as u64;
            let length = BLOCK.min(self.file.length.saturating_sub(at));
            // What is not finished yet is read when it is.
            if length == 0 || looked > 64 * LINE {
                return Ok(None);
            }
            let mut block = vec![0; usize::try_from(length).unwrap_or(0)];
            self.file.file.read_exact_at(&mut block, at)?;
            self.read.append(&mut block);
        }
    }
}
