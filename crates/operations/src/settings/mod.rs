//! Changing the configuration through the daemon: its own file, the list of MCP
//! servers and what a repository says of its tasks.
//!
//! Who writes these files otherwise is a person with an editor, so nothing is written
//! over what changed meanwhile, and everything else in the file stays as it is. A
//! change is checked before it is written, told on the timeline and kept in the
//! [`missiond_config::history`], from which it can be taken back.

use std::io;
use std::path::{Path, PathBuf};

use missiond_api::operations::config::{
    ConfigChange, ConfigEffect, ConfigHistory, ConfigHistoryPage, ConfigHistoryParams, ConfigSet,
    ConfigSetParams, ConfigSetResult, ConfigUndo, ConfigUndoParams,
};
use missiond_api::{ApiError, Home};
use missiond_autopilot::board::check_repository_config;
use missiond_config::history::{Change, Entry, History, Subject, rewrite};
use missiond_config::{Config, EditError, shown, value_at};
use missiond_core::{ErrorCode, Event, Timestamp};
use missiond_os::files::Mode;
use missiond_runtime::blocking;
use missiond_toolhub::{ServerEntry, ServerName};
use serde_json::Value;

use crate::call::{Call, Operations};
use crate::reload;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<ConfigSet, _, _>(set);
    operations.add::<ConfigHistory, _, _>(list);
    operations.add::<ConfigUndo, _, _>(undo);
}

/// Who changes the files, one after another.
#[derive(Debug)]
pub struct Settings {
    home: Home,
    /// Held from reading a file until what was changed in it is in the history and in
    /// force, so that changes are numbered in their order.
    changing: tokio::sync::Mutex<()>,
}

impl Settings {
    #[must_use]
    pub fn new(home: &Home) -> Self {
        Self {
            home: home.clone(),
            changing: tokio::sync::Mutex::new(()),
        }
    }

    fn history(&self) -> History {
        History::new(self.home.config_history())
    }
}

/// Why a change is not made.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Conflict(String),
    #[error("there is no change {0}; `mission config history` lists them")]
    Unknown(u64),
    #[error("it cannot be written: {0}")]
    Io(#[from] io::Error),
}

impl From<EditError> for ChangeError {
    fn from(error: EditError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<missiond_toolhub::ConfigError> for ChangeError {
    fn from(error: missiond_toolhub::ConfigError) -> Self {
        match error {
            missiond_toolhub::ConfigError::Exists { .. } => Self::Conflict(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<ChangeError> for ApiError {
    fn from(error: ChangeError) -> Self {
        let code = match &error {
            ChangeError::Refused(_) => ErrorCode::InvalidConfig,
            ChangeError::Conflict(_) => ErrorCode::Conflict,
            ChangeError::Unknown(_) => ErrorCode::NotFound,
            ChangeError::Io(_) => ErrorCode::StorageUnavailable,
        };
        Self::new(code, error.to_string())
    }
}

async fn set(call: Call, params: ConfigSetParams) -> Result<ConfigSetResult, ApiError> {
    let subject = match params.repository {
        None => Subject::Config,
        Some(repository) => Subject::Repository(repository_of(&repository)?),
    };
    let key = params.key.into_string();
    let path = match &subject {
        Subject::Repository(_) => vec![key],
        _ => key.split('.').map(str::to_owned).collect(),
    };
    let value = Some(params.value).filter(|value| !value.is_null());
    let work = move |files: &Files| {
        files.change(&subject, &path, None, |file, text| {
            let changed = edited(&subject, file, text, &path, value.as_ref())?;
            // To take a key out of a file that is not there makes none.
            Ok(Some(changed).filter(|changed| text.is_some() || !changed.is_empty()))
        })
    };
    change(&call, work).await
}

async fn list(call: Call, params: ConfigHistoryParams) -> Result<ConfigHistoryPage, ApiError> {
    let history = call.daemon.settings.history();
    let entries = blocking(move || history.load()).await;
    let entries = entries.map_err(ChangeError::from)?;
    let newest = entries.iter().rev().take(params.limit.to_usize());
    Ok(ConfigHistoryPage {
        changes: newest.map(change_of).collect(),
    })
}

async fn undo(call: Call, params: ConfigUndoParams) -> Result<ConfigSetResult, ApiError> {
    let number = params.change.to_u64();
    let history = call.daemon.settings.history();
    let work = move |files: &Files| {
        let mut entries = history.load()?.into_iter();
        let entry = entries.find(|entry| entry.number == number);
        let entry = entry.ok_or(ChangeError::Unknown(number))?;
        if entry.undone {
            let message = format!("change {number} was undone already");
            return Err(ChangeError::Conflict(message));
        }
        let Change { subject, path, .. } = &entry.change;
        files.change(subject, path, Some(number), |_, text| {
            taken_back(&entry, text)
        })
    };
    change(&call, work).await
}

/// Adds a server to the list, or takes one out.
pub(super) async fn change_servers(
    call: &Call,
    name: ServerName,
    entry: Option<ServerEntry>,
) -> Result<ConfigChange, ApiError> {
    let work = move |files: &Files| {
        let folder = files.home.config_dir();
        let path = ["servers".to_owned(), name.to_string()];
        files.change(&Subject::Servers, &path, None, |_, text| {
            let edited = match &entry {
                Some(entry) => missiond_toolhub::with_server(folder, text, &name, entry),
                None => missiond_toolhub::without_server(folder, text, &name),
            };
            Ok(Some(edited?))
        })
    };
    let changed = change(call, work).await?.change;
    changed.ok_or_else(|| ApiError::internal("the list of servers did not change"))
}

/// Makes a change, one after another, and puts it in force.
async fn change(
    call: &Call,
    work: impl FnOnce(&Files) -> Result<Option<Entry>, ChangeError> + Send + 'static,
) -> Result<ConfigSetResult, ApiError> {
    let settings = &call.daemon.settings;
    let _changing = settings.changing.lock().await;
    let files = Files {
        home: settings.home.clone(),
        now: call.daemon.clock.now(),
    };
    let changed = blocking(move || work(&files)).await?;
    finish(call, changed).await
}

/// The files that are changed, at one moment.
struct Files {
    home: Home,
    now: Timestamp,
}

impl Files {
    /// The one way into a file: what `edit` makes of it is checked as it is checked
    /// when the file is read, written, and put on record. Nothing when the file is as
    /// it was.
    fn change(
        &self,
        subject: &Subject,
        path: &[String],
        undoes: Option<u64>,
        mut edit: impl FnMut(&Path, Option<&str>) -> Result<Option<String>, ChangeError>,
    ) -> Result<Option<Entry>, ChangeError> {
        let file = file_of(&self.home, subject);
        let texts = rewrite(&file, mode_of(subject), |before| {
            let after = edit(&file, before)?;
            if after.as_deref() != before {
                self.check(subject, &file, after.as_deref())?;
            }
            Ok::<_, ChangeError>(after)
        })?;
        self.record(subject, path, texts, undoes)
    }

    fn check(&self, subject: &Subject, file: &Path, text: Option<&str>) -> Result<(), ChangeError> {
        let refused = |why: &dyn std::fmt::Display| ChangeError::Refused(why.to_string());
        match (subject, text) {
            (Subject::Servers, text) => {
                // Written over, it would no longer show that others could change it.
                missiond_toolhub::check_file(file)?;
                missiond_toolhub::ServerList::with_toml(self.home.config_dir(), text)?;
            }
            (_, None) => {}
            (Subject::Config, Some(text)) => {
                Config::parse(file, text).map_err(|error| refused(&error))?;
            }
            (Subject::Repository(_), Some(text)) => {
                check_repository_config(file, text).map_err(|error| refused(&error))?;
            }
        }
        Ok(())
    }

    fn record(
        &self,
        subject: &Subject,
        path: &[String],
        (before, after): (Option<String>, Option<String>),
        undoes: Option<u64>,
    ) -> Result<Option<Entry>, ChangeError> {
        if before == after {
            return Ok(None);
        }
        let parts: Vec<_> = path.iter().map(String::as_str).collect();
        let at = |text: &Option<String>| value_at(text.as_deref().unwrap_or_default(), &parts);
        let (old_value, new_value) = (at(&before), at(&after));
        let show = |value: &Option<Value>| {
            let value = value.as_ref()?;
            Some(match subject {
                Subject::Servers => target_of(value),
                _ => shown(&key_of(path), value),
            })
        };
        let change = Change {
            old: show(&old_value),
            new: show(&new_value),
            subject: subject.clone(),
            file: file_of(&self.home, subject),
            path: path.to_vec(),
            old_value,
            new_value,
            undoes,
        };
        let history = History::new(self.home.config_history());
        let texts = (before.as_deref(), after.as_deref());
        Ok(Some(history.add(change, texts, self.now)?))
    }
}

/// The text without a change: as it was, or with the value that the key had when
/// something else changed since.
fn taken_back(entry: &Entry, text: Option<&str>) -> Result<Option<String>, ChangeError> {
    if let Some(before) = entry.exact(text) {
        return Ok(before);
    }
    let Change { path, .. } = &entry.change;
    let text = text.unwrap_or_default();
    let parts: Vec<_> = path.iter().map(String::as_str).collect();
    if value_at(text, &parts) != entry.change.new_value {
        let message = format!(
            "`{}` was changed again since; set it to what you want instead",
            key_of(path)
        );
        return Err(ChangeError::Conflict(message));
    }
    let Change {
        subject,
        file,
        old_value,
        ..
    } = &entry.change;
    edited(subject, file, Some(text), path, old_value.as_ref()).map(Some)
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
    let key = key_of(path);
    if *subject == Subject::Config {
        return Ok(missiond_config::set(file, text, &key, value)?);
    }
    let parts: Vec<_> = path.iter().map(String::as_str).collect();
    let refused = |why: String| ChangeError::Refused(format!("`{key}` {why}"));
    missiond_config::change(text, &parts, value).map_err(refused)
}

/// Puts what was changed in force and tells the timeline.
async fn finish(call: &Call, changed: Option<Entry>) -> Result<ConfigSetResult, ApiError> {
    let Some(entry) = changed else {
        return Ok(ConfigSetResult {
            change: None,
            effect: ConfigEffect::Unchanged,
            message: "Nothing changed: the file says so already.".to_owned(),
        });
    };
    let change = change_of(&entry);
    tell(call, &change).await;
    let effect = if entry.change.subject == Subject::Config {
        let reloaded = reload::reload_config(&call.daemon, call.trace).await;
        let reloaded =
            reloaded.map_err(|error| ApiError::new(ErrorCode::InvalidConfig, error.to_string()))?;
        if reloaded.needs_restart.contains(&change.key) {
            ConfigEffect::Restart
        } else {
            ConfigEffect::Applied
        }
    } else {
        ConfigEffect::Applied
    };
    let now = match &change.new {
        Some(new) => format!("`{}` is {new} now", change.key),
        None => format!("`{}` is not in the file any more", change.key),
    };
    let message = match effect {
        ConfigEffect::Restart => format!("{now}; it takes effect after a restart."),
        _ => format!("{now}."),
    };
    Ok(ConfigSetResult {
        change: Some(change),
        effect,
        message,
    })
}

async fn tell(call: &Call, change: &ConfigChange) {
    let event = Event::ConfigChanged {
        change: change.change,
        key: change.key.clone(),
        repository: change.repository.clone(),
        old: change.old.clone(),
        new: change.new.clone(),
        undoes: change.undoes,
    };
    if let Err(error) = call.daemon.timeline.record(event, call.trace).await {
        tracing::warn!(%error, "configuration change not recorded on timeline");
    }
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

fn repository_of(given: &str) -> Result<PathBuf, ApiError> {
    let path = PathBuf::from(given);
    if !path.is_absolute() || !path.join(".git").exists() {
        let message =
            format!("`{given}` is not the folder of a git repository; give its whole path");
        return Err(ApiError::invalid_params(message));
    }
    Ok(path)
}

fn key_of(path: &[String]) -> String {
    path.join(".")
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

fn change_of(entry: &Entry) -> ConfigChange {
    let change = &entry.change;
    ConfigChange {
        change: entry.number,
        at: entry.at,
        key: key_of(&change.path),
        repository: match &change.subject {
            Subject::Repository(repository) => Some(repository.display().to_string()),
            _ => None,
        },
        file: change.file.display().to_string(),
        old: change.old.clone(),
        new: change.new.clone(),
        undoes: change.undoes,
        undone: entry.undone,
    }
}
