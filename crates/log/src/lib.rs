//! The daemon's log: written to files of limited size, and read again by whoever asks.

mod lines;
pub mod reader;
mod writer;

use std::path::{Path, PathBuf};

pub use writer::{Logging, RotatingFile};

/// The most files a log can be told to keep.
const MOST_FILES: u32 = 100;

/// Where the files of a log are, the newest first; those that were set aside without a
/// gap.
pub fn files(log: &Path) -> impl DoubleEndedIterator<Item = PathBuf> {
    let there = |file: &PathBuf| file.is_file();
    let aside: Vec<_> = names(log).skip(1).take_while(there).collect();
    Some(log.to_owned()).filter(there).into_iter().chain(aside)
}

/// What the files of a log may be called, the newest first.
fn names(log: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(log.to_owned()).chain((1..MOST_FILES).map(|place| aside(log, place)))
}

/// The name of a file that was set aside, by how many are newer.
fn aside(log: &Path, place: u32) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(format!(".{place}"));
    PathBuf::from(name)
}
