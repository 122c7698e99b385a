//! Reading one file: only a regular one, within the limits, as text.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

use crate::limits::Limits;

/// By this a file is known to be the same without reading it: its size, when it
/// was last written and, where the system says so, when its entry last changed,
/// which nothing can set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
}

/// A file that was written this shortly before it was read may be written again
/// with the same times.
const UNSETTLED: Duration = Duration::from_secs(2);

impl Stamp {
    /// Never that of a file: what has it is read again.
    pub const UNKNOWN: Self = Self {
        size: u64::MAX >> 1,
        modified_ns: i64::MIN,
        changed_ns: i64::MIN,
    };

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified_ns: nanoseconds(metadata.modified().unwrap_or(UNIX_EPOCH)),
            changed_ns: changed(metadata),
        }
    }

    /// This stamp, if it can be relied on by someone who read the file at `now`.
    pub(crate) fn settled(self, now: SystemTime) -> Self {
        let newest = self.modified_ns.max(self.changed_ns);
        let settled_by = newest.saturating_add(UNSETTLED.as_nanos() as i64);
        if settled_by < nanoseconds(now) {
            self
        } else {
            Self::UNKNOWN
        }
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn changed(metadata: &Metadata) -> i64 {
    let seconds = metadata.ctime().saturating_mul(1_000_000_000);
    seconds.saturating_add(metadata.ctime_nsec())
}

/// Why a file is not in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    TooLarge,
    Minified,
    Binary,
    NotUtf8,
    Unreadable,
    TooSlow,
    NotAFile,
}

impl Skip {
    const ALL: [Self; 7] = [
        Self::TooLarge,
        Self::Minified,
        Self::Binary,
        Self::NotUtf8,
        Self::Unreadable,
        Self::TooSlow,
        Self::NotAFile,
    ];

    /// A word for tables and programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Minified => "minified",
            Self::Binary => "binary",
            Self::NotUtf8 => "not_utf8",
            Self::Unreadable => "unreadable",
            Self::TooSlow => "too_slow",
            Self::NotAFile => "not_a_file",
        }
    }

    /// What a person is told.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "larger than the limit of 1 MB",
            Self::Minified => "its lines are too long to be written by hand",
            Self::Binary => "it holds NUL bytes",
            Self::NotUtf8 => "it is not UTF-8",
            Self::Unreadable => "it cannot be read",
            Self::TooSlow => "parsing it took longer than 2 s",
            Self::NotAFile => "it is not a regular file",
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Skip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|skip| skip.as_str() == text);
        found.ok_or_else(|| format!("no reason to skip a file is called `{text}`"))
    }
}

/// The text of a file of the map as it is now.
pub fn read_source(root: &Path, path: &str) -> Result<String, Skip> {
    read(&root.join(path), &Limits::default()).1
}

/// The stamp of the file that was opened, and its text or why there is none.
pub(crate) fn read(path: &Path, limits: &Limits) -> (Stamp, Result<String, Skip>) {
    let now = SystemTime::now();
    let Ok(mut file) = open(path) else {
        return (Stamp::UNKNOWN, Err(Skip::Unreadable));
    };
    let Ok(metadata) = file.metadata() else {
        return (Stamp::UNKNOWN, Err(Skip::Unreadable));
    };
    let stamp = Stamp::of(&metadata).settled(now);
    if !metadata.is_file() {
        return (stamp, Err(Skip::NotAFile));
    }
    if metadata.len() > limits.file_bytes {
        return (stamp, Err(Skip::TooLarge));
    }
    (stamp, text(&mut file, limits))
}

/// A link put in the place of the file is not followed, and a pipe is not waited
/// for.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn text(file: &mut File, limits: &Limits) -> Result<String, Skip> {
    let mut bytes = Vec::new();
    // It may grow while it is read.
    let read = file.take(limits.file_bytes + 1).read_to_end(&mut bytes);
    read.map_err(|_| Skip::Unreadable)?;
    if bytes.len() as u64 > limits.file_bytes {
        return Err(Skip::TooLarge);
    }
    if bytes.contains(&0) {
        return Err(Skip::Binary);
    }
    let text = String::from_utf8(bytes).map_err(|_| Skip::NotUtf8)?;
    let (mut longest, mut lines) = (0, 0);
    for line in text.lines() {
        longest = longest.max(line.len());
        lines += 1;
    }
    let mean = text.len() / lines.max(1);
    if longest > limits.line_bytes || (mean > limits.mean_line_bytes && text.len() > 4096) {
        return Err(Skip::Minified);
    }
    Ok(text)
}
