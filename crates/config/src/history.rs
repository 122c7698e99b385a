//! What was changed in the files of the configuration through missiond, so that it
//! can be taken back.
//!
//! A change is kept as the piece of text that it replaced. As long as the file is what
//! the change left, taking it back gives the file before byte for byte. The record is
//! a private file of the data folder: what it keeps may be secret.

use std::io;
use std::path::{Path, PathBuf};

use missiond_core::Timestamp;
use missiond_os::files::{Mode, remove_synced, replace_edited, replace_private};
use missiond_os::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Changes that are kept; the oldest go first.
const KEPT: usize = 200;

/// How often a file that somebody else changes at the same moment is read again.
const TRIES: usize = 5;

/// What a file of the configuration is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Config,
    Servers,
    Repository(PathBuf),
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub subject: Subject,
    pub file: PathBuf,
    pub path: Vec<String>,
    /// As people are shown them.
    pub old: Option<String>,
    pub new: Option<String>,
    /// As they stood in the file.
    pub old_value: Option<Value>,
    pub new_value: Option<Value>,
    pub undoes: Option<u64>,
    /// It was made while no daemon ran, and the timeline does not know of it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpublished: bool,
}

/// A file before and after a change; nothing where there was none.
pub type Texts<'a> = (Option<&'a str>, Option<&'a str>);

/// A change on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub number: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub change: Change,
    pub undone: bool,
    /// There was no file before.
    created: bool,
    splice: Splice,
    /// The fingerprint of the file after it.
    after: String,
}

/// The piece of a text in which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Splice {
    start: usize,
    removed: String,
    inserted: String,
}

impl Splice {
    fn between(before: &str, after: &str) -> Self {
        let matching = |(a, b): &(char, char)| a == b;
        let start: usize = before
            .chars()
            .zip(after.chars())
            .take_while(matching)
            .map(|(c, _)| c.len_utf8())
            .sum();
        let end: usize = before[start..]
            .chars()
            .rev()
            .zip(after[start..].chars().rev())
            .take_while(matching)
            .map(|(c, _)| c.len_utf8())
            .sum();
        Self {
            start,
            removed: before[start..before.len() - end].to_owned(),
            inserted: after[start..after.len() - end].to_owned(),
        }
    }

    /// The text before, made of the text after.
    fn undo(&self, after: &str) -> Option<String> {
        let end = self.start + self.inserted.len();
        (after.get(self.start..end)? == self.inserted)
            .then(|| format!("{}{}{}", &after[..self.start], self.removed, &after[end..]))
    }
}

impl Entry {
    /// What the file was before this change, if it still is what the change left:
    /// nothing inside when there was no file.
    pub fn exact(&self, now: Option<&str>) -> Option<Option<String>> {
        let now = now.unwrap_or_default();
        if fingerprint(now) != self.after {
            return None;
        }
        let before = self.splice.undo(now)?;
        Some((!self.created).then_some(before))
    }
}

fn fingerprint(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes()))
}

/// The text of a file; nothing when there is none.
pub fn read(file: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Changes a file as `edit` says, unless somebody else changed it meanwhile: then
/// their text is edited. What it was and what it is.
pub fn rewrite<E: From<io::Error>>(
    file: &Path,
    mode: Mode,
    mut edit: impl FnMut(Option<&str>) -> Result<Option<String>, E>,
) -> Result<(Option<String>, Option<String>), E> {
    for _ in 0..TRIES {
        let before = read(file)?;
        let after = edit(before.as_deref())?;
        if before == after {
            return Ok((before, after));
        }
        if read(file)? != before {
            continue;
        }
        match &after {
            Some(text) => replace_edited(file, text.as_bytes(), mode)?,
            None => remove_synced(file)?,
        }
        return Ok((before, after));
    }
    let message = format!(
        "{} is being changed by somebody else; try again",
        file.display()
    );
    Err(io::Error::other(message).into())
}

/// The record of changes.
#[derive(Debug)]
pub struct History {
    file: PathBuf,
}

impl History {
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Oldest first. A line that cannot be read is none of ours.
    pub fn load(&self) -> io::Result<Vec<Entry>> {
        let text = read(&self.file)?.unwrap_or_default();
        let entries = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(entries.collect())
    }

    /// Adds a change with the text before and after it, and marks the one it takes back.
    pub fn add(
        &self,
        change: Change,
        (before, after): Texts<'_>,
        now: Timestamp,
    ) -> io::Result<Entry> {
        let mut entries = self.load()?;
        let number = entries.last().map_or(1, |last| last.number + 1);
        let after = after.unwrap_or_default();
        let entry = Entry {
            number,
            at: now,
            change,
            undone: false,
            created: before.is_none(),
            splice: Splice::between(before.unwrap_or_default(), after),
            after: fingerprint(after),
        };
        for earlier in &mut entries {
            earlier.undone |= Some(earlier.number) == entry.change.undoes;
        }
        entries.push(entry.clone());
        self.write(&entries)?;
        Ok(entry)
    }

    /// The newest change of the daemon's own configuration that stands; to take
    /// something back is none.
    pub fn last_of_config(&self) -> io::Result<Option<Entry>> {
        let stands = |entry: &Entry| {
            let Change {
                subject, undoes, ..
            } = &entry.change;
            *subject == Subject::Config && undoes.is_none() && !entry.undone
        };
        Ok(self.load()?.into_iter().rfind(stands))
    }

    /// Marks what is on the timeline.
    pub fn mark_published(&self, numbers: &[u64]) -> io::Result<()> {
        let mut entries = self.load()?;
        for entry in &mut entries {
            entry.change.unpublished &= !numbers.contains(&entry.number);
        }
        self.write(&entries)
    }

    fn write(&self, entries: &[Entry]) -> io::Result<()> {
        let first = entries.len().saturating_sub(KEPT);
        let mut text = String::new();
        for entry in &entries[first..] {
            text.push_str(&serde_json::to_string(entry)?);
            text.push('\n');
        }
        replace_private(&self.file, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_is_what_differs_and_leads_back() {
        for (before, after) in [
            ("", "a = 1\n"),
            ("a = 1\nb = 2\n", "a = 1\nb = 3\n"),
            ("x = \"ä\"\n", "x = \"ö\"\n"),
            ("aaa", "aa"),
            ("aa", "aaaa"),
            ("gone", ""),
        ] {
            let splice = Splice::between(before, after);
            assert_eq!(splice.undo(after).as_deref(), Some(before));
        }
        let small = Splice::between("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nc = 3\n");
        assert_eq!(
            (small.removed.as_str(), small.inserted.as_str()),
            ("2", "5")
        );
        assert_eq!(small.undo("something else"), None);
    }

    #[test]
    fn what_somebody_writes_meanwhile_is_edited_and_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "mine = 1\n").unwrap();
        let mut looked = 0;
        let (before, after) = rewrite::<io::Error>(&file, Mode::Private, |text| {
            looked += 1;
            if looked == 1 {
                std::fs::write(&file, "mine = 2\n").unwrap();
            }
            Ok(Some(format!("{}added = 1\n", text.unwrap_or_default())))
        })
        .unwrap();
        assert_eq!(before.as_deref(), Some("mine = 2\n"));
        assert_eq!(after.as_deref(), Some("mine = 2\nadded = 1\n"));
        assert_eq!(looked, 2);
        let refused = rewrite::<io::Error>(&file, Mode::Private, |text| {
            let text = text.unwrap_or_default();
            std::fs::write(&file, format!("{text}#\n")).unwrap();
            Ok(Some("lost".to_owned()))
        });
        assert!(refused.unwrap_err().to_string().contains("somebody else"));
        assert!(
            std::fs::read_to_string(&file)
                .unwrap()
                .starts_with("mine = 2")
        );
    }
}
