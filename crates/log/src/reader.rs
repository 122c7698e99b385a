//! Reading the daemon's log: from its end backwards, or onwards from a place.
//!
//! A place is a file and a byte in it. Files are set aside under other names when
//! they are full, so a file is known by its inode, which moves with it. What is
//! read is bounded twice: by what is returned and by what is looked at.

use std::io;
use std::path::Path;
use std::str::FromStr;

use missiond_core::{LogLevel, LogLine, Timestamp};
use serde_json::{Map, Value};

use crate::lines::{Backwards, Onwards, Opened, open};

/// A byte of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPosition {
    file: u64,
    offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no position in the log: pass one that a page named")]
pub struct InvalidLogPosition(String);

impl std::fmt::Display for LogPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for LogPosition {
    type Err = InvalidLogPosition;

    fn from_str(text: &str) -> Result<Self, InvalidLogPosition> {
        text.split_once(':')
            .and_then(|(file, offset)| {
                Some(Self {
                    file: file.parse().ok()?,
                    offset: offset.parse().ok()?,
                })
            })
            .ok_or_else(|| InvalidLogPosition(text.chars().take(64).collect()))
    }
}

/// Which lines are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    pub level: Option<LogLevel>,
    /// In lower case.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    End,
    Before(LogPosition),
    After(LogPosition),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Oldest first.
    pub lines: Vec<LogLine>,
    /// What is older begins before this; none when there is nothing older.
    pub older: Option<LogPosition>,
    /// What is newer begins here.
    pub newer: LogPosition,
}

/// Bytes looked at for one page.
const LOOKED_AT: u64 = 24 << 20;
/// Bytes of the lines of one page.
const RETURNED: usize = 600_000;
const MESSAGE_CHARS: usize = 8_000;

pub fn read(log: &Path, from: From, wanted: &LogFilter, limit: usize) -> io::Result<Read> {
    let files = open(log)?;
    match from {
        From::End => backwards(&files, None, wanted, limit),
        From::Before(place) => backwards(&files, Some(place), wanted, limit),
        From::After(place) => onwards(&files, place, wanted, limit),
    }
}

fn backwards(
    files: &[Opened],
    before: Option<LogPosition>,
    wanted: &LogFilter,
    limit: usize,
) -> io::Result<Read> {
    let newest = files
        .first()
        .map_or(LogPosition { file: 0, offset: 0 }, |file| LogPosition {
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
            let place = LogPosition {
                file: file.inode,
                offset,
            };
            budget = budget.saturating_sub(line.len() as u64 + 1);
            let full = !page.push_if_wanted(place, &line, wanted) || page.is_full() || budget == 0;
            if full {
                // The line itself is looked at again only if it did not fit.
                let last = index + 1 == files.len() && offset == 0;
                older = (!last || page.refused).then_some(if page.refused {
                    LogPosition {
                        offset: offset + line.len() as u64 + 1,
                        ..place
                    }
                } else {
                    place
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

fn onwards(
    files: &[Opened],
    after: LogPosition,
    wanted: &LogFilter,
    limit: usize,
) -> io::Result<Read> {
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
            let place = LogPosition {
                file: file.inode,
                offset,
            };
            if !page.push_if_wanted(place, &line, wanted) {
                break 'files;
            }
            newer = LogPosition {
                offset: lines.offset,
                ..place
            };
            budget = budget.saturating_sub(line.len() as u64 + 1);
            if page.is_full() || budget == 0 {
                break 'files;
            }
        }
        newer = LogPosition {
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
    fn push_if_wanted(&mut self, place: LogPosition, line: &[u8], wanted: &LogFilter) -> bool {
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

impl LogFilter {
    /// The line as it is shown, if it is wanted.
    fn line(&self, place: LogPosition, line: &[u8]) -> Option<LogLine> {
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
            Some(text) if !contains_text(&line, text) => None,
            _ => Some(line),
        }
    }
}

fn contains_text(line: &LogLine, text: &str) -> bool {
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
fn parse(place: LogPosition, line: &[u8]) -> LogLine {
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
