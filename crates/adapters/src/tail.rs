//! Following a transcript file by its offset, so that a reader that was stopped
//! goes on exactly where it was. The file belongs to the CLI: it may grow, be
//! cut, be replaced or hold a line without end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fnv::fnv;
use crate::opencode_rows::RowTail;

/// What is read in one go.
const CHUNK: u64 = 1 << 20;
/// A longer line is skipped: transcripts hold whole files now and then.
const LONGEST_LINE: usize = 4 << 20;
/// Bytes before a place that tell whether they are still those that were read.
const MARK_BYTES: u64 = 64;

/// A place in a transcript. It is stored, and a later process goes on from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TranscriptTail {
    File(FileTail),
    OpenCode(RowTail),
}

impl TranscriptTail {
    /// The file it is in.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File(tail) => &tail.path,
            Self::OpenCode(tail) => tail.database(),
        }
    }

    /// What it is called among transcripts.
    #[must_use]
    pub fn source(&self) -> String {
        match self {
            Self::File(tail) => tail.path.display().to_string(),
            Self::OpenCode(tail) => format!("{}#{}", tail.database().display(), tail.session()),
        }
    }

    /// The beginning of the same transcript.
    #[must_use]
    pub fn from_start(&self) -> Self {
        match self {
            Self::File(tail) => Self::File(FileTail::new(&tail.path)),
            Self::OpenCode(tail) => Self::OpenCode(RowTail::new(tail.database(), tail.session())),
        }
    }

    /// What came since, a bounded number of lines. A transcript that is not there
    /// yet has none.
    pub fn advance(&mut self) -> Result<TailBatch, TailError> {
        match self {
            Self::File(tail) => tail.advance(),
            Self::OpenCode(tail) => tail.advance(),
        }
    }

    /// Moves behind everything that is there now.
    pub fn skip_to_end(&mut self) -> Result<(), TailError> {
        match self {
            Self::File(tail) => {
                tail.skip_to_end();
                Ok(())
            }
            Self::OpenCode(tail) => tail.skip_to_end(),
        }
    }
}

/// A place in a transcript that is a file of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTail {
    path: PathBuf,
    /// The file the offset belongs to; another one begins at 0.
    inode: Option<u64>,
    /// The end of the last line that was handed out.
    offset: u64,
    /// What stands before the offset, as a hash: a file that was written anew in
    /// its place has something else there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<u64>,
}

/// What was found behind the place.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TailBatch {
    pub lines: Vec<TailedLine>,
    /// Lines that were too long or no text.
    pub skipped: u64,
    /// There is more to read at once.
    pub more: bool,
    /// The transcript is another than before and was read from its beginning.
    pub restarted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailedLine {
    /// Where it stands in its transcript: the same however often it is read.
    pub position: String,
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the transcript {} cannot be read: {source}", path.display())]
pub struct TailError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl FileTail {
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            inode: None,
            offset: 0,
            mark: None,
        }
    }

    /// A file that is not there yet is read from its beginning.
    fn skip_to_end(&mut self) {
        let found = self.path.metadata().ok();
        self.inode = found.as_ref().map(MetadataExt::ino);
        self.offset = found.map_or(0, |found| found.len());
        self.mark = None;
    }

    /// The complete lines that came since, a bounded number of them. A file that
    /// is not there yet has none.
    fn advance(&mut self) -> Result<TailBatch, TailError> {
        match self.read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TailBatch::default()),
            read => read.map_err(|source| TailError {
                path: self.path.clone(),
                source,
            }),
        }
    }

    fn read(&mut self) -> io::Result<TailBatch> {
        let mut file = File::open(&self.path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let replaced = self.inode.is_some_and(|inode| inode != found.ino());
        let rewritten = || -> io::Result<bool> {
            Ok(match self.mark {
                Some(mark) => mark_before(&file, self.offset)? != mark,
                None => false,
            })
        };
        let mut batch = TailBatch::default();
        if replaced || found.len() < self.offset || rewritten()? {
            batch.restarted = self.offset > 0;
            self.offset = 0;
            self.mark = None;
        }
        self.inode = Some(found.ino());
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.offset))?;
        loop {
            let read = (&mut file).take(CHUNK).read_to_end(&mut bytes)?;
            let Some(end) = memrchr_newline(&bytes) else {
                if bytes.len() > LONGEST_LINE {
                    self.skip_line(&mut file, bytes.len() as u64, &mut batch)?;
                    return Ok(batch);
                }
                if read == 0 {
                    return Ok(batch);
                }
                continue;
            };
            for line in bytes[..end].split(|byte| *byte == b'\n') {
                match std::str::from_utf8(line) {
                    Ok(line) if line.len() <= LONGEST_LINE => batch.lines.push(TailedLine {
                        position: format!("{}:{}", self.offset, batch.lines.len()),
                        text: line.to_owned(),
                    }),
                    _ => batch.skipped += 1,
                }
            }
            self.offset += end as u64 + 1;
            self.mark = Some(mark_before(&file, self.offset)?);
            batch.more = self.offset < found.len() && read as u64 == CHUNK;
            return Ok(batch);
        }
    }

    /// Moves behind the line that begins here, when it has an end by now. `read`
    /// bytes of it have been read without one.
    fn skip_line(&mut self, file: &mut File, read: u64, batch: &mut TailBatch) -> io::Result<()> {
        let mut skipped = read;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            if let Some(end) = chunk[..count].iter().position(|byte| *byte == b'\n') {
                self.offset += skipped + end as u64 + 1;
                self.mark = Some(mark_before(file, self.offset)?);
                batch.skipped += 1;
                batch.more = true;
                return Ok(());
            }
            skipped += count as u64;
        }
    }
}

fn mark_before(file: &File, offset: u64) -> io::Result<u64> {
    let length = offset.min(MARK_BYTES);
    let mut bytes = Vec::with_capacity(MARK_BYTES as usize);
    let mut before = vec![0; length as usize];
    let mut from = offset - length;
    // What is missing because the file is being cut right now leaves another mark.
    loop {
        let count = file.read_at(&mut before, from)?;
        let wanted = (length as usize).saturating_sub(bytes.len()).min(count);
        bytes.extend_from_slice(&before[..wanted]);
        from += count as u64;
        if count == 0 || bytes.len() as u64 == length {
            return Ok(fnv(&bytes));
        }
    }
}

fn memrchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    fn append(path: &Path, bytes: &[u8]) {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        file.write_all(bytes).unwrap();
    }

    fn texts(batch: &TailBatch) -> Vec<&str> {
        batch.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_come_once_when_they_are_complete() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.jsonl");
        let mut tail = FileTail::new(&path);
        assert_eq!(tail.advance().unwrap(), TailBatch::default());
        append(&path, b"one\ntw");
        assert_eq!(texts(&tail.advance().unwrap()), ["one"]);
        assert_eq!(tail.advance().unwrap(), TailBatch::default());
        let stored = serde_json::to_string(&tail).unwrap();
        append(&path, b"o\n\xff\xfe\nthree\n");
        let mut later: FileTail = serde_json::from_str(&stored).unwrap();
        let found = later.advance().unwrap();
        assert_eq!(texts(&found), ["two", "three"]);
        assert_eq!(found.skipped, 1);
    }

    #[test]
    fn what_was_there_before_is_left_out_when_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.jsonl");
        let (mut early, mut late) = (FileTail::new(&path), FileTail::new(&path));
        early.skip_to_end();
        append(&path, b"old\n");
        late.skip_to_end();
        append(&path, b"new\n");
        assert_eq!(texts(&early.advance().unwrap()), ["old", "new"]);
        assert_eq!(texts(&late.advance().unwrap()), ["new"]);
    }

    #[test]
    fn a_file_that_was_cut_or_replaced_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.jsonl");
        append(&path, b"first\nsecond\n");
        let mut tail = FileTail::new(&path);
        assert_eq!(tail.advance().unwrap().lines.len(), 2);
        std::fs::write(&path, "cut\n").unwrap();
        assert_eq!(texts(&tail.advance().unwrap()), ["cut"]);
        let new = place.path().join("new");
        std::fs::write(&new, "another file, longer\n").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(texts(&tail.advance().unwrap()), ["another file, longer"]);
        // Written anew in its place, and longer than before.
        std::fs::write(&path, "one\ntwo\nthree, and that is longer\n").unwrap();
        assert_eq!(tail.advance().unwrap().lines.len(), 3);
        append(&path, b"four\n");
        assert_eq!(texts(&tail.advance().unwrap()), ["four"]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_and_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.jsonl");
        append(&path, &vec![b'x'; LONGEST_LINE + 10]);
        let mut tail = FileTail::new(&path);
        assert_eq!(tail.advance().unwrap(), TailBatch::default());
        append(&path, b"\nnext\n");
        let found = tail.advance().unwrap();
        assert_eq!((found.skipped, texts(&found)), (1, vec!["next"]));

        append(&path, &vec![b'x'; 2 * LONGEST_LINE]);
        append(&path, b"\nlast\n");
        let found = tail.advance().unwrap();
        assert_eq!((found.skipped, found.more), (1, true));
        assert_eq!(texts(&tail.advance().unwrap()), ["last"]);
    }
}
