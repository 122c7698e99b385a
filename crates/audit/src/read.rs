//! Reading the log, from its beginning for whoever verifies or takes it out, from its end for
//! whoever looks. A line is never held that is longer than a line can be.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use missiond_core::{AuditKind, AuditRecord};

use crate::chain::{Line, MAX_LINE};
use crate::log::LOG;

/// The file of the log in its folder.
#[must_use]
pub fn file(folder: &Path) -> PathBuf {
    folder.join(LOG)
}

/// Shows every line without its end, in order; of one that is too long its beginning. False
/// when there is no log.
pub fn lines(folder: &Path, mut visit: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<bool> {
    let file = match File::open(file(folder)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(true);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if read as u64 == limit {
            // The rest of it is nothing else.
            skip_line(&mut reader)?;
        }
        if visit(&line).is_break() {
            return Ok(true);
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (found, length) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (true, at + 1),
            None => (false, buffer.len()),
        };
        reader.consume(length);
        if found {
            return Ok(());
        }
    }
}

/// Which records are looked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub kind: Option<AuditKind>,
    /// In who, what, about what, by which rule or with which outcome, whatever the case.
    pub text: Option<String>,
    /// Only those before this one.
    pub before: Option<u64>,
}

impl Filter {
    fn fits(&self, record: &AuditRecord) -> bool {
        if self.before.is_some_and(|before| record.seq >= before)
            || self.kind.is_some_and(|kind| record.kind != kind)
        {
            return false;
        }
        let Some(text) = &self.text else {
            return true;
        };
        let text = text.to_lowercase();
        let who = record.who.to_string();
        let texts = [
            Some(&who),
            Some(&record.action),
            record.about.as_ref(),
            record.rule.as_ref(),
            Some(&record.outcome),
            record.digest.as_ref(),
        ];
        texts
            .into_iter()
            .flatten()
            .any(|part| part.to_lowercase().contains(&text))
    }
}

/// The newest records that fit, the newest first, and whether there are more. Lines that are
/// no records are passed over: whoever wants to know of them verifies.
pub fn newest(
    folder: &Path,
    filter: &Filter,
    limit: usize,
) -> io::Result<(Vec<AuditRecord>, bool)> {
    let mut found = Vec::new();
    let mut more = false;
    backwards(folder, |line| {
        if let Some(Line::Record { record, .. }) = Line::parse(line)
            && filter.fits(&record)
        {
            if found.len() == limit {
                more = true;
                return ControlFlow::Break(());
            }
            found.push(*record);
        }
        ControlFlow::Continue(())
    })?;
    Ok((found, more))
}

/// The record of this number, with its line as it stands in the log.
pub fn find(folder: &Path, seq: u64) -> io::Result<Option<(AuditRecord, String)>> {
    let mut found = None;
    backwards(folder, |line| match Line::parse(line) {
        Some(Line::Record { record, .. }) if record.seq == seq => {
            found = Some((*record, String::from_utf8_lossy(line).into_owned()));
            ControlFlow::Break(())
        }
        Some(Line::Record { record, .. }) if record.seq < seq => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Every line from the last to the first.
fn backwards(folder: &Path, mut visit: impl FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<()> {
    let mut file = match File::open(file(folder)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut from = file.metadata()?.len();
    // The beginning of the block before, whose line began earlier.
    let mut rest: Vec<u8> = Vec::new();
    while from > 0 {
        let length = from.min(MAX_LINE as u64);
        from -= length;
        file.seek(SeekFrom::Start(from))?;
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        block.append(&mut rest);
        let mut end = block.len();
        while let Some(newline) = memchr::memrchr(b'\n', &block[..end]) {
            let line = &block[newline + 1..end];
            if !line.is_empty() && visit(line).is_break() {
                return Ok(());
            }
            end = newline;
        }
        block.truncate(end);
        // Longer than a line can be: none of it is one.
        if block.len() <= 2 * MAX_LINE {
            rest = block;
        }
    }
    if !rest.is_empty() {
        let _ = visit(&rest);
    }
    Ok(())
}
