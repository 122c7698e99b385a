//! One pass over a folder: what is new, changed and gone since the last one.
//!
//! A file whose stamp is known is not opened; one whose stamp changed is read,
//! and if its content did not change nothing but the stamp is told. So a pass
//! after a checkout or an edit costs one look at every file and the parsing of
//! those that differ. Nothing is watched in between: whoever asks a question has
//! a pass made first.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;

use ignore::WalkBuilder;
use missiond_secrets::Detector;

use crate::error::CodeError;
use crate::extract::extract;
use crate::language::Language;
use crate::limits::Limits;
use crate::source::{self, Skip, Stamp};
use crate::symbol::{ContentHash, FileFacts, FileRecord};

/// Files told at once.
const BATCH: usize = 64;

/// What is known of a file before the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    pub stamp: Stamp,
    /// None for one that was skipped.
    pub hash: Option<ContentHash>,
}

/// What a pass found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// New, or with another content.
    Changed(Box<FileRecord>),
    /// The same content under another stamp.
    Touched { path: String, stamp: Stamp },
    /// Not there any more, or ignored now.
    Gone { path: String },
}

/// How far a pass is; readable while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files with a known language that were seen.
    pub seen: AtomicU32,
    /// Files that have to be read.
    pub to_read: AtomicU32,
    pub read: AtomicU32,
    /// Files beyond the limit.
    pub beyond: AtomicU32,
    stop: AtomicBool,
}

impl Progress {
    /// Makes the pass end soon, with [`CodeError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Looks at everything below `root` and tells `each` what is new, in batches.
/// Blocks, and uses as many threads as the limits say. What is told is complete
/// only if the pass returns without an error and `each` never breaks off.
pub fn scan(
    root: &Path,
    known: &HashMap<String, KnownFile>,
    limits: &Limits,
    progress: &Progress,
    each: &mut dyn FnMut(Vec<FileChange>) -> ControlFlow<()>,
) -> Result<(), CodeError> {
    let stopped = || CodeError::Stopped(root.to_owned());
    root.read_dir().map_err(|source| CodeError::NoFolder {
        path: root.to_owned(),
        source,
    })?;
    let listed = list(root, known, limits, progress)?;
    let gone: Vec<_> = known
        .keys()
        .filter(|path| !listed.all.contains(path.as_str()))
        .map(|path| FileChange::Gone { path: path.clone() })
        .collect();
    for batch in gone.chunks(BATCH) {
        if each(batch.to_vec()).is_break() {
            return Err(stopped());
        }
    }
    let to_read = u32::try_from(listed.to_read.len()).unwrap_or(u32::MAX);
    progress.to_read.store(to_read, Ordering::Relaxed);
    if listed.to_read.is_empty() {
        return Ok(());
    }
    let threads = limits.threads.clamp(1, listed.to_read.len());
    // Small: what was parsed waits here only until it is kept.
    let (changes, received) = mpsc::sync_channel::<FileChange>(BATCH);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let changes = changes.clone();
            scope.spawn(|| {
                let changes = changes;
                while let Some(path) = listed.to_read.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let change = read(root, path, known.get(path), limits);
                    progress.read.fetch_add(1, Ordering::Relaxed);
                    if progress.stopped() || changes.send(change).is_err() {
                        return;
                    }
                }
            });
        }
        drop(changes);
        let mut batch = Vec::new();
        for change in received {
            batch.push(change);
            if batch.len() >= BATCH && each(std::mem::take(&mut batch)).is_break() {
                progress.stop();
                return Err(stopped());
            }
        }
        if !batch.is_empty() && each(batch).is_break() {
            return Err(stopped());
        }
        if progress.stopped() {
            return Err(stopped());
        }
        Ok(())
    })
}

struct FileListing {
    all: std::collections::HashSet<String>,
    to_read: Vec<String>,
}

fn list(
    root: &Path,
    known: &HashMap<String, KnownFile>,
    limits: &Limits,
    progress: &Progress,
) -> Result<FileListing, CodeError> {
    let mut listed = FileListing {
        all: std::collections::HashSet::new(),
        to_read: Vec::new(),
    };
    // Links are not followed, so there is no way round in a circle or outside.
    let walk = WalkBuilder::new(root)
        .follow_links(false)
        .require_git(false)
        .parents(false)
        .build();
    for entry in walk.filter_map(Result::ok) {
        if progress.stopped() {
            return Err(CodeError::Stopped(root.to_owned()));
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(path) = below(root, entry.path()) else {
            continue;
        };
        if Language::of_path(&path).is_none() {
            continue;
        }
        if listed.all.len() >= limits.files {
            progress.beyond.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        progress.seen.fetch_add(1, Ordering::Relaxed);
        let stamp = entry.metadata().map(|metadata| Stamp::of(&metadata));
        let same = match (stamp, known.get(&path)) {
            (Ok(stamp), Some(known)) => stamp == known.stamp,
            _ => false,
        };
        if !same {
            listed.to_read.push(path.clone());
        }
        listed.all.insert(path);
    }
    // Neighbours in a row, whatever order the walk had.
    listed.to_read.sort_unstable();
    Ok(listed)
}

/// The path below the root with `/` between its parts; none if it is no text.
fn below(root: &Path, path: &Path) -> Option<String> {
    let path = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<_>> = path.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// What is stored of a file is made of this: each byte of a secret is a `*`, so that every
/// place and every line is where it was.
fn without_secrets(text: String) -> String {
    let found = Detector::current().scan(text.as_bytes());
    if found.is_empty() {
        return text;
    }
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for found in found {
        let start = text.floor_char_boundary(found.start).max(at);
        let end = text.ceil_char_boundary(found.end).max(start);
        masked.push_str(&text[at..start]);
        let bytes = text[start..end].bytes();
        masked.extend(bytes.map(|byte| if byte == b'\n' { '\n' } else { '*' }));
        at = end;
    }
    masked.push_str(&text[at..]);
    masked
}

fn read(root: &Path, path: &str, known: Option<&KnownFile>, limits: &Limits) -> FileChange {
    let (stamp, text) = source::read(&root.join(path), limits);
    let facts = text.and_then(|text| {
        let hash = ContentHash::of(text.as_bytes());
        if known.is_some_and(|known| known.hash == Some(hash)) {
            return Ok(None);
        }
        let language = Language::of_path(path).ok_or(Skip::NotAFile)?;
        let found = extract(path, &without_secrets(text), language, limits)?;
        Ok(Some(FileFacts::Read {
            language,
            hash,
            lines: found.lines,
            symbols: found.symbols,
            references: found.references,
        }))
    });
    let path = path.to_owned();
    match facts {
        Ok(None) => FileChange::Touched { path, stamp },
        Ok(Some(facts)) => FileChange::Changed(Box::new(FileRecord { path, stamp, facts })),
        Err(skip) => FileChange::Changed(Box::new(FileRecord {
            path,
            stamp,
            facts: FileFacts::Skipped(skip),
        })),
    }
}

#[cfg(test)]
mod tests;
