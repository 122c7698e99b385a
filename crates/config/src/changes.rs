//! Changing the files of the configuration, by the daemon or, when none runs, by the
//! command line.
//!
//! Who writes these files otherwise is a person with an editor, so nothing is written
//! over what changed meanwhile, and everything else in the file stays as it is. A
//! change is checked before it is written and kept in the [`history`](crate::history),
//! from which it can be taken back. One lock stands before all of it, so that changes
//! are numbered in their order whichever process makes them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use missiond_api::Home;
use missiond_core::{ErrorCode, Timestamp};
use missiond_os::files::{Mode, create_private_dir, open_private_lock};
use serde_json::Value;

use crate::edit::written;
use crate::history::{Change, Entry, History, Subject, Texts, rewrite};
use crate::{Config, EditError, shown, value_at};

/// Why a change is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Conflict(String),
    #[error("there is no change {0}; `mission config history` lists them")]
    Unknown(u64),
    #[error("no daemon runs, and only a running one changes {}", .0.display())]
    NeedsDaemon(PathBuf),
    #[error("it cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl ChangeError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(_) => ErrorCode::InvalidConfig,
            Self::Conflict(_) => ErrorCode::Conflict,
            Self::Unknown(_) => ErrorCode::NotFound,
            Self::NeedsDaemon(_) => ErrorCode::Unreachable,
            Self::Io(_) => ErrorCode::StorageUnavailable,
        }
    }
}

impl From<EditError> for ChangeError {
    fn from(error: EditError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Whether a file of servers or of a repository may become this text. Those who read
/// such files stand above this crate.
pub type Check = fn(&Home, &Subject, &Path, Option<&str>) -> Result<(), ChangeError>;

/// Who changes the files.
#[derive(Debug, Clone, Copy)]
pub enum Writer {
    /// It tells the timeline of what it changes.
    Daemon(Check),
    /// It changes the daemon's own configuration only, and leaves the timeline to the
    /// next daemon.
    CommandLine,
}

/// The files and their history, held by one writer.
#[derive(Debug)]
pub struct Changes {
    home: Home,
    now: Timestamp,
    writer: Writer,
    /// Let go when this is dropped.
    _lock: File,
}

impl Changes {
    /// Waits until nobody else changes anything.
    pub fn lock(home: &Home, now: Timestamp, writer: Writer) -> io::Result<Self> {
        let history = home.config_history();
        create_private_dir(home.data_dir())?;
        let lock = open_private_lock(&history.with_extension("lock"))?;
        lock.lock()?;
        Ok(Self {
            home: home.clone(),
            now,
            writer,
            _lock: lock,
        })
    }

    /// Gives a key another value, or takes it out of the file. Nothing when the file
    /// says that already.
    pub fn set(
        &self,
        subject: &Subject,
        key: &str,
        value: Option<&Value>,
    ) -> Result<Option<Entry>, ChangeError> {
        let path: Vec<_> = match subject {
            Subject::Repository(_) => vec![key.to_owned()],
            _ => key.split('.').map(str::to_owned).collect(),
        };
        self.change(subject, &path, None, |file, text| {
            let changed = edited(subject, file, text, &path, value)?;
            // To take a key out of a file that is not there makes none.
            Ok(Some(changed).filter(|changed| text.is_some() || !changed.is_empty()))
        })
    }

    /// Takes a change back.
    pub fn undo(&self, number: u64) -> Result<Option<Entry>, ChangeError> {
        let mut entries = self.history().load()?.into_iter();
        let entry = entries.find(|entry| entry.number == number);
        let entry = entry.ok_or(ChangeError::Unknown(number))?;
        if entry.undone {
            let message = format!("change {number} was undone already");
            return Err(ChangeError::Conflict(message));
        }
        let Change { subject, path, .. } = &entry.change;
        self.change(subject, path, Some(number), |_, text| {
            taken_back(&entry, text)
        })
    }

    /// The one way into a file: what `edit` makes of it is checked as it is checked
    /// when the file is read, written, and put on record. Nothing when the file is as
    /// it was.
    pub fn change(
        &self,
        subject: &Subject,
        path: &[String],
        undoes: Option<u64>,
        mut edit: impl FnMut(&Path, Option<&str>) -> Result<Option<String>, ChangeError>,
    ) -> Result<Option<Entry>, ChangeError> {
        let file = file_of(&self.home, subject);
        let (before, after) = rewrite(&file, mode_of(subject), |before| {
            let after = edit(&file, before)?;
            if after.as_deref() != before {
                self.check(subject, &file, after.as_deref())?;
            }
            Ok::<_, ChangeError>(after)
        })?;
        if before == after {
            return Ok(None);
        }
        let texts = (before.as_deref(), after.as_deref());
        Ok(Some(self.record(subject, file, path, texts, undoes)?))
    }

    /// Marks what is on the timeline.
    pub fn mark_published(&self, numbers: &[u64]) -> io::Result<()> {
        self.history().mark_published(numbers)
    }

    fn history(&self) -> History {
        History::new(self.home.config_history())
    }

    fn check(&self, subject: &Subject, file: &Path, text: Option<&str>) -> Result<(), ChangeError> {
        match (subject, self.writer) {
            (Subject::Config, _) => match text.map(|text| Config::parse(file, text)) {
                Some(Err(error)) => Err(ChangeError::Refused(error.to_string())),
                _ => Ok(()),
            },
            (_, Writer::Daemon(check)) => check(&self.home, subject, file, text),
            (_, Writer::CommandLine) => Err(ChangeError::NeedsDaemon(file.to_owned())),
        }
    }

    fn record(
        &self,
        subject: &Subject,
        file: PathBuf,
        path: &[String],
        texts: Texts<'_>,
        undoes: Option<u64>,
    ) -> io::Result<Entry> {
        let at = |text: Option<&str>| value_at(text.unwrap_or_default(), &parts(path));
        let (old_value, new_value) = (at(texts.0), at(texts.1));
        let show = |value: &Option<Value>| {
            let value = value.as_ref()?;
            Some(match subject {
                Subject::Servers => target_of(value),
                Subject::Repository(_) => written(value),
                Subject::Config => shown(&path.join("."), value),
            })
        };
        let change = Change {
            old: show(&old_value),
            new: show(&new_value),
            subject: subject.clone(),
            file,
            path: path.to_vec(),
            old_value,
            new_value,
            undoes,
            unpublished: matches!(self.writer, Writer::CommandLine),
        };
        self.history().add(change, texts, self.now)
    }
}

/// How a person gets rid of a value with which no daemon starts, without one; nothing
/// when it does not stand in the file.
#[must_use]
pub fn way_out(home: &Home, key: &str) -> Option<String> {
    let file = home.config_file();
    let text = std::fs::read_to_string(&file).ok()?;
    let path: Vec<_> = key.split('.').collect();
    let value = value_at(&text, &path)?;
    let last = History::new(home.config_history()).last_of_config().ok()?;
    let made_it = |entry: &Entry| {
        entry.change.path == path && entry.change.new_value.as_ref() == Some(&value)
    };
    let undo = match last.filter(made_it) {
        Some(last) => format!(
            "`mission config undo {}` takes the change back, ",
            last.number
        ),
        None => String::new(),
    };
    Some(format!(
        "`{key}` stands in {}: {undo}`mission config unset {key}` takes it out",
        file.display()
    ))
}

/// The text without a change: as it was, or with the value that the key had when
/// something else changed since.
fn taken_back(entry: &Entry, text: Option<&str>) -> Result<Option<String>, ChangeError> {
    if let Some(before) = entry.exact(text) {
        return Ok(before);
    }
    let Change {
        subject,
        file,
        path,
        old_value,
        new_value,
        ..
    } = &entry.change;
    if value_at(text.unwrap_or_default(), &parts(path)) != *new_value {
        let message = format!(
            "`{}` was changed again since; set it to what you want instead",
            path.join(".")
        );
        return Err(ChangeError::Conflict(message));
    }
    edited(subject, file, text, path, old_value.as_ref()).map(Some)
}

/// A text with another value.
fn edited(
    subject: &Subject,
    file: &Path,
    text: Option<&str>,
    path: &[String],
    value: Option<&Value>,
) -> Result<String, ChangeError> {
    let text = text.unwrap_or_default();
    let key = path.join(".");
    if *subject == Subject::Config {
        return Ok(crate::set(file, text, &key, value)?);
    }
    let refused = |why: String| ChangeError::Refused(format!("`{key}` {why}"));
    crate::change(text, &parts(path), value).map_err(refused)
}

fn parts(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

fn file_of(home: &Home, subject: &Subject) -> PathBuf {
    match subject {
        Subject::Config => home.config_file(),
        Subject::Servers => home.config_dir().join("mcp.toml"),
        Subject::Repository(repository) => repository.join(".mission/config.toml"),
    }
}

/// What a repository says is for everyone who works in it.
fn mode_of(subject: &Subject) -> Mode {
    match subject {
        Subject::Repository(_) => Mode::Kept,
        _ => Mode::Private,
    }
}

/// What a server is, without its variables and headers.
fn target_of(server: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let args = server["args"].as_array().into_iter().flatten().map(text);
    match &server["url"] {
        Value::String(url) => url.clone(),
        _ => std::iter::once(text(&server["command"]))
            .chain(args)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(home: &Home) -> Changes {
        let now = Timestamp::from_micros(1_000);
        Changes::lock(home, now, Writer::CommandLine).unwrap()
    }

    #[test]
    fn writers_in_many_places_lose_nothing_and_number_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        std::thread::scope(|scope| {
            for section in ["ipc.max_connections", "ipc.max_in_flight", "timeline.queue"] {
                let home = &home;
                scope.spawn(move || {
                    for value in 2..=10 {
                        let set =
                            changes(home).set(&Subject::Config, section, Some(&json!(value * 100)));
                        set.unwrap().unwrap();
                    }
                });
            }
        });
        let entries = History::new(home.config_history()).load().unwrap();
        let numbers: Vec<_> = entries.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, (1..=27).collect::<Vec<_>>());
        let config = Config::load(&home.config_file()).unwrap();
        let kept = (
            config.ipc.max_connections,
            config.ipc.max_in_flight,
            config.timeline.queue,
        );
        assert_eq!(kept, (1000, 1000, 1000));
    }

    #[test]
    fn without_a_daemon_files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        let subject = Subject::Repository(folder.path().join("project"));
        let refused = changes(&home)
            .set(&subject, "finish", Some(&json!("branch")))
            .unwrap_err();
        assert!(matches!(refused, ChangeError::NeedsDaemon(_)), "{refused}");
        assert!(!folder.path().join("project").exists());
    }

    #[test]
    fn the_way_out_names_what_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        assert_eq!(way_out(&home, "http.listen"), None);
        let listen = json!("127.0.0.1:9");
        changes(&home)
            .set(&Subject::Config, "http.listen", Some(&listen))
            .unwrap();
        let out = way_out(&home, "http.listen").unwrap();
        assert!(out.contains("`mission config undo 1`"), "{out}");
        changes(&home)
            .set(&Subject::Config, "log.level", Some(&json!("debug")))
            .unwrap();
        let out = way_out(&home, "http.listen").unwrap();
        assert!(!out.contains("config undo"), "the last is another: {out}");
        assert!(out.contains("`mission config unset http.listen`"), "{out}");
    }
}
