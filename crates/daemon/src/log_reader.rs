//! Reading the daemon's log: from its end backwards, or onwards from a place.
//!
//! A place is a file and a byte in it. Files are set aside under other names when
//! they are full, so a file is known by its inode, which moves with it. What is
//! read is bounded twice: by what is returned and by what is looked at.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use missiond_api::operations::observe::{LogLevel, LogLine};
use missiond_core::Timestamp;
use serde_json::{Map, Value};

/// A byte of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    file: u64,
    offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place in the log: pass one that a page named")]
pub(crate) struct NoPlace(String);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        text.split_once(':')
            .and_then(|(file, offset)| {
                Some(Self {
                    file: file.parse().ok()?,
                    offset: offset.parse().ok()?,
                })
            })
            .ok_or_else(|| NoPlace(text.chars().take(64).collect()))
    }
}

/// Which lines are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub level: Option<LogLevel>,
    /// In lower case.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    End,
    Before(Place),
    After(Place),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// What is older begins before this; none when there is nothing older.
    pub older: Option<Place>,
    /// What is newer begins here.
    pub newer: Place,
}

/// Bytes looked at for one page.
const LOOKED_AT: u64 = 24 << 20;
/// Bytes of the lines of one page.
const RETURNED: usize = 600_000;
/// Bytes of one line; the rest of a longer one is passed over.
const LINE: usize = 256 << 10;
const MESSAGE_CHARS: usize = 8_000;
const BLOCK: u64 = 256 << 10;

pub(crate) fn read(log: &Path, from: From, wanted: &Wanted, limit: usize) -> io::Result<Read> {
    let files = files(log)?;
    match from {
        From::End => backwards(&files, None, wanted, limit),
        From::Before(place) => backwards(&files, Some(place), wanted, limit),
        From::After(place) => onwards(&files, place, wanted, limit),
    }
}

/// One file of the log, open.
struct Opened {
    file: File,
    inode: u64,
    length: u64,
}

/// The files there are, the newest first.
fn files(log: &Path) -> io::Result<Vec<Opened>> {
    let aside = |number: u32| {
        let mut name = log.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    let mut opened: Vec<Opened> = Vec::new();
    for path in std::iter::once(log.to_owned()).chain((1..100).map(aside)) {
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

fn backwards(
    files: &[Opened],
    before: Option<Place>,
    wanted: &Wanted,
    limit: usize,
) -> io::Result<Read> {
    let newest = files
        .first()
        .map_or(Place { file: 0, offset: 0 }, |file| Place {
            file: file.inode,
            offset: file.length,
        });
    let mut page = Page::new(limit);
    let mut older = None;
    let start = match before {
        None => Some(0),
        // A file that was let go since has nothing older either.
        Some(place) => files.iter().position(|file| file.inode == place.file),
    };
    let mut budget = LOOKED_AT;
    'files: for (index, file) in files.iter().enumerate().skip(start.unwrap_or(files.len())) {
        let end = match before {
            Some(place) if place.file == file.inode => place.offset.min(file.length),
            _ => file.length,
        };
        let mut lines = Backwards::new(file, end);
        while let Some((offset, line)) = lines.next()? {
            let place = Place {
                file: file.inode,
                offset,
            };
            budget = budget.saturating_sub(line.len() as u64 + 1);
            let full = !page.take(place, &line, wanted) || page.is_full() || budget == 0;
            if full {
                // The line itself is looked at again only if it did not fit.
                let last = index + 1 == files.len() && offset == 0;
                older = (!last || page.refused).then_some(match page.refused {
                    true => Place {
                        offset: offset + line.len() as u64 + 1,
                        ..place
                    },
                    false => place,
                });
                break 'files;
            }
        }
    }
    let mut lines = page.lines;
    lines.reverse();
    Ok(Read {
        lines,
        older,
        newer: newest,
    })
}

fn onwards(files: &[Opened], after: Place, wanted: &Wanted, limit: usize) -> io::Result<Read> {
    let mut page = Page::new(limit);
    let mut newer = after;
    let known = files.iter().position(|file| file.inode == after.file);
    // What was let go is gone: then everything that is there is newer.
    let from = known.map_or(files.len(), |place| place + 1);
    let mut budget = LOOKED_AT;
    'files: for (index, file) in files[..from].iter().enumerate().rev() {
        let start = match known {
            Some(place) if place == index => after.offset.min(file.length),
            _ => 0,
        };
        let mut lines = Onwards::new(file, start);
        while let Some((offset, line)) = lines.next()? {
            let place = Place {
                file: file.inode,
                offset,
            };
            if !page.take(place, &line, wanted) {
                break 'files;
            }
            newer = Place {
                offset: lines.offset,
                ..place
            };
            budget = budget.saturating_sub(line.len() as u64 + 1);
            if page.is_full() || budget == 0 {
                break 'files;
            }
        }
        newer = Place {
            file: file.inode,
            offset: lines.offset,
        };
    }
    Ok(Read {
        lines: page.lines,
        older: None,
        newer,
    })
}

/// The lines that are returned.
struct Page {
    lines: Vec<LogLine>,
    bytes: usize,
    limit: usize,
    /// A line that was wanted did not fit.
    refused: bool,
}

impl Page {
    const fn new(limit: usize) -> Self {
        Self {
            lines: Vec::new(),
            bytes: 0,
            limit,
            refused: false,
        }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= self.limit
    }

    /// Takes a line if it is wanted; `false` when it does not fit.
    fn take(&mut self, place: Place, line: &[u8], wanted: &Wanted) -> bool {
        let Some(parsed) = wanted.line(place, line) else {
            return true;
        };
        let needs = line.len() + 200;
        if !self.lines.is_empty() && self.bytes + needs > RETURNED {
            self.refused = true;
            return false;
        }
        self.bytes += needs;
        self.lines.push(parsed);
        true
    }
}

impl Wanted {
    /// The line as it is shown, if it is wanted.
    fn line(&self, place: Place, line: &[u8]) -> Option<LogLine> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let line = parse(place, line);
        if let Some(level) = self.level
            && line.level.is_none_or(|found| found > level)
        {
            return None;
        }
        match &self.text {
            Some(text) if !says(&line, text) => None,
            _ => Some(line),
        }
    }
}

fn says(line: &LogLine, text: &str) -> bool {
    let has = |words: &str| words.to_lowercase().contains(text);
    let mut fields = line.fields.iter();
    has(&line.message)
        || has(&line.target)
        || fields.any(|(name, value)| match value {
            Value::String(words) => has(words) || has(name),
            other => has(&other.to_string()) || has(name),
        })
}

/// A line as it was written, or whatever stands there.
fn parse(place: Place, line: &[u8]) -> LogLine {
    let place = place.to_string();
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else {
        return LogLine {
            place,
            at: None,
            level: None,
            target: String::new(),
            message: cut(&String::from_utf8_lossy(line)),
            fields: Map::new(),
        };
    };
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (at, level) = (text("timestamp"), text("level"));
    let (target, message) = (text("target"), cut(&text("message")));
    for value in fields.values_mut() {
        if let Value::String(words) = value {
            *words = cut(words);
        }
    }
    LogLine {
        place,
        at: at.parse::<Timestamp>().ok(),
        level: match level.as_str() {
            "ERROR" => Some(LogLevel::Error),
            "WARN" => Some(LogLevel::Warn),
            "INFO" => Some(LogLevel::Info),
            "DEBUG" => Some(LogLevel::Debug),
            "TRACE" => Some(LogLevel::Trace),
            _ => None,
        },
        target,
        message,
        fields,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Lines from a place towards the beginning of a file. One that was not finished
/// yet is left for later.
struct Backwards<'f> {
    file: &'f Opened,
    /// Where what was read begins.
    start: u64,
    /// From there to the end of the last line that was not returned.
    read: Vec<u8>,
    whole: bool,
}

impl<'f> Backwards<'f> {
    const fn new(file: &'f Opened, end: u64) -> Self {
        Self {
            file,
            start: end,
            read: Vec::new(),
            whole: false,
        }
    }

    fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
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
struct Onwards<'f> {
    file: &'f Opened,
    offset: u64,
    read: Vec<u8>,
}

impl<'f> Onwards<'f> {
    const fn new(file: &'f Opened, offset: u64) -> Self {
        Self {
            file,
            offset,
            read: Vec::new(),
        }
    }

    fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.read[looked..].iter().position(|byte| *byte == b'\n') {
                let end = looked + end;
                let rest = self.read.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                let offset = self.offset;
                self.offset += end as u64 + 1;
                line.truncate(LINE);
                return Ok(Some((offset, line)));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize, level: &str) -> String {
        format!(
            "{{\"timestamp\":\"2026-01-04T12:00:00.000000Z\",\"level\":\"{level}\",\
             \"target\":\"missiond\",\"message\":\"line {number}\",\"count\":{number}}}\n"
        )
    }

    /// A log of three files, oldest lines first.
    fn log(folder: &Path, lines: usize) -> PathBuf {
        let log = folder.join("daemon.log");
        let third = lines.div_ceil(3);
        for (index, name) in ["daemon.log.2", "daemon.log.1", "daemon.log"]
            .iter()
            .enumerate()
        {
            let numbers = index * third..((index + 1) * third).min(lines);
            let text: String = numbers
                .map(|number| line(number, if number % 10 == 0 { "WARN" } else { "INFO" }))
                .collect();
            std::fs::write(folder.join(name), text).unwrap();
        }
        log
    }

    fn messages(read: &Read) -> Vec<String> {
        let lines = read.lines.iter();
        lines.map(|line| line.message.clone()).collect()
    }

    fn all(lines: usize) -> Vec<String> {
        (0..lines).map(|number| format!("line {number}")).collect()
    }

    #[test]
    fn pages_from_the_end_and_onwards_show_every_line_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), 100);
        for limit in [1, 7, 33, 34, 100, 1000] {
            let mut back: Vec<String> = Vec::new();
            let mut from = From::End;
            loop {
                let read = read(&log, from, &Wanted::default(), limit).unwrap();
                back.splice(0..0, messages(&read));
                match read.older {
                    Some(place) => from = From::Before(place),
                    None => break,
                }
            }
            assert_eq!(back, all(100), "{limit}");
            let mut forth = Vec::new();
            let gone = Place { file: 1, offset: 0 };
            let mut place = gone;
            loop {
                let read = read(&log, From::After(place), &Wanted::default(), limit).unwrap();
                if read.lines.is_empty() {
                    break;
                }
                forth.extend(messages(&read));
                place = read.newer;
            }
            assert_eq!(forth, all(100), "{limit}");
        }
    }

    #[test]
    fn lines_are_chosen_by_level_and_words() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), 100);
        let wanted = Wanted {
            level: Some(LogLevel::Warn),
            text: None,
        };
        let warned = read(&log, From::End, &wanted, 3).unwrap();
        assert_eq!(messages(&warned), ["line 70", "line 80", "line 90"]);
        let wanted = Wanted {
            level: None,
            text: Some("ine 42".to_owned()),
        };
        let found = read(&log, From::End, &wanted, 3).unwrap();
        assert_eq!(messages(&found), ["line 42"]);
        assert_eq!(found.older, None);
        assert_eq!(found.lines[0].fields["count"], 42);
        assert!(found.lines[0].at.is_some());
    }

    #[test]
    fn what_comes_while_files_are_set_aside_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), 9);
        let first = read(&log, From::End, &Wanted::default(), 1).unwrap();
        assert_eq!(messages(&first), ["line 8"]);
        // An unfinished line waits until it is whole.
        let more = |text: &str| {
            use std::io::Write;
            let mut file = File::options()
                .append(true)
                .create(true)
                .open(&log)
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let ninth = line(9, "INFO");
        more(&ninth[..20]);
        let next = |place| read(&log, From::After(place), &Wanted::default(), 10).unwrap();
        let second = next(first.newer);
        assert_eq!(messages(&second), [""; 0]);
        assert_eq!(
            messages(&read(&log, From::End, &Wanted::default(), 1).unwrap()),
            ["line 8"]
        );
        more(&ninth[20..]);
        std::fs::rename(&log, folder.path().join("daemon.log.1")).unwrap();
        more(&line(10, "INFO"));
        let third = next(second.newer);
        assert_eq!(messages(&third), ["line 9", "line 10"]);
        assert_eq!(messages(&next(third.newer)), [""; 0]);
    }

    #[test]
    fn lines_that_are_none_of_ours_and_endless_ones_are_shown_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("daemon.log");
        let endless = "x".repeat(3 << 20);
        std::fs::write(&log, format!("before\n{endless}\nafter\n")).unwrap();
        let found = read(&log, From::End, &Wanted::default(), 10).unwrap();
        let heads: Vec<_> = found.lines.iter().map(|line| &line.message[..3]).collect();
        assert_eq!(heads, ["bef", "xxx", "aft"]);
        assert!(found.lines[1].message.len() < 10_000);
        let absent = folder.path().join("none.log");
        let nothing = read(&absent, From::End, &Wanted::default(), 10).unwrap();
        assert_eq!((nothing.lines.len(), nothing.older), (0, None));
    }
}
