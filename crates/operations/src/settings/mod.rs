//! Changing the configuration through the daemon: its own file, the list of MCP
//! servers and what a repository says of its tasks.
//!
//! How a file is changed is in [`missiond_config::changes`]. Here it is asked for,
//! put in force and told on the timeline.

use std::path::{Path, PathBuf};

use missiond_api::operations::config::{
    ConfigChange, ConfigEffect, ConfigHistory, ConfigHistoryPage, ConfigHistoryParams, ConfigSet,
    ConfigSetParams, ConfigSetResult, ConfigUndo, ConfigUndoParams,
};
use missiond_api::{ApiError, Home};
use missiond_autopilot::board::check_repository_config;
use missiond_config::changes::{ChangeError, Changes, Writer};
use missiond_config::history::{Entry, History, Subject};
use missiond_core::{Clock, ErrorCode, Event, TraceContext};
use missiond_runtime::blocking;
use missiond_timeline::Timeline;
use missiond_toolhub::{ServerEntry, ServerName};

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

    /// Records on the timeline what was changed while no daemon ran.
    pub async fn publish_pending(&self, timeline: &Timeline, clock: &dyn Clock) {
        let _changing = self.changing.lock().await;
        let (history, home, now) = (self.history(), self.home.clone(), clock.now());
        let published = async {
            let mut entries = blocking(move || history.load()).await?;
            entries.retain(|entry| entry.change.unpublished);
            if entries.is_empty() {
                return Ok(());
            }
            let mut numbers = Vec::new();
            for entry in &entries {
                let recorded = record(timeline, TraceContext::root(), &change_of(entry)).await;
                numbers.extend(recorded.then_some(entry.number));
            }
            let mark = move || Changes::lock(&home, now, WRITER)?.mark_published(&numbers);
            blocking(mark).await
        };
        if let Err(error) = published.await {
            tracing::warn!(%error, "changes made without a daemon not marked as published");
        }
    }
}

/// The daemon, which knows all that may stand in these files.
const WRITER: Writer = Writer::Daemon(check);

fn check(
    home: &Home,
    subject: &Subject,
    file: &Path,
    text: Option<&str>,
) -> Result<(), ChangeError> {
    match (subject, text) {
        (Subject::Servers, text) => {
            // Written over, it would no longer show that others could change it.
            missiond_toolhub::check_file(file).map_err(of_servers)?;
            let list = missiond_toolhub::ServerList::with_toml(home.config_dir(), text);
            list.map_err(of_servers)?;
        }
        (Subject::Repository(_), Some(text)) => {
            let checked = check_repository_config(file, text);
            checked.map_err(|error| ChangeError::Refused(error.to_string()))?;
        }
        (Subject::Config | Subject::Repository(_), _) => {}
    }
    Ok(())
}

fn of_servers(error: missiond_toolhub::ConfigError) -> ChangeError {
    match error {
        missiond_toolhub::ConfigError::Exists { .. } => ChangeError::Conflict(error.to_string()),
        error => ChangeError::Refused(error.to_string()),
    }
}

fn of_change(error: &ChangeError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

async fn set(call: Call, params: ConfigSetParams) -> Result<ConfigSetResult, ApiError> {
    let subject = match params.repository {
        None => Subject::Config,
        Some(repository) => Subject::Repository(repository_of(&repository)?),
    };
    let key = params.key.into_string();
    let value = Some(params.value).filter(|value| !value.is_null());
    change(&call, move |changes| {
        changes.set(&subject, &key, value.as_ref())
    })
    .await
}

async fn list(call: Call, params: ConfigHistoryParams) -> Result<ConfigHistoryPage, ApiError> {
    let history = call.daemon.settings.history();
    let entries = blocking(move || history.load()).await;
    let entries = entries.map_err(|error| of_change(&error.into()))?;
    let newest = entries.iter().rev().take(params.limit.to_usize());
    Ok(ConfigHistoryPage {
        changes: newest.map(change_of).collect(),
    })
}

async fn undo(call: Call, params: ConfigUndoParams) -> Result<ConfigSetResult, ApiError> {
    let number = params.change.to_u64();
    change(&call, move |changes| changes.undo(number)).await
}

/// Adds a server to the list, or takes one out.
pub(super) async fn change_servers(
    call: &Call,
    name: ServerName,
    entry: Option<ServerEntry>,
) -> Result<ConfigChange, ApiError> {
    let folder = call.daemon.home.config_dir().to_owned();
    let work = move |changes: &Changes| {
        let path = ["servers".to_owned(), name.to_string()];
        changes.change(&Subject::Servers, &path, None, |_, text| {
            let edited = match &entry {
                Some(entry) => missiond_toolhub::with_server(&folder, text, &name, entry),
                None => missiond_toolhub::without_server(&folder, text, &name),
            };
            edited.map(Some).map_err(of_servers)
        })
    };
    let changed = change(call, work).await?.change;
    changed.ok_or_else(|| ApiError::internal("the list of servers did not change"))
}

/// Makes a change, one after another, and puts it in force.
async fn change(
    call: &Call,
    work: impl FnOnce(&Changes) -> Result<Option<Entry>, ChangeError> + Send + 'static,
) -> Result<ConfigSetResult, ApiError> {
    let settings = &call.daemon.settings;
    let _changing = settings.changing.lock().await;
    let (home, now) = (settings.home.clone(), call.daemon.clock.now());
    let changed = blocking(move || work(&Changes::lock(&home, now, WRITER)?)).await;
    finish(call, changed.map_err(|error| of_change(&error))?).await
}

/// Puts what was changed in force and tells the timeline.
async fn finish(call: &Call, changed: Option<Entry>) -> Result<ConfigSetResult, ApiError> {
    let Some(entry) = changed else {
        return Ok(unchanged());
    };
    let change = change_of(&entry);
    record(&call.daemon.timeline, call.trace, &change).await;
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
    let now = sentence(&change);
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

/// What is said when a file says already what was asked for.
#[must_use]
pub fn unchanged() -> ConfigSetResult {
    ConfigSetResult {
        change: None,
        effect: ConfigEffect::Unchanged,
        message: "Nothing changed: the file says so already.".to_owned(),
    }
}

/// What a change did, without the full stop.
#[must_use]
pub fn sentence(change: &ConfigChange) -> String {
    match &change.new {
        Some(new) => format!("`{}` is {new} now", change.key),
        None => format!("`{}` is not in the file any more", change.key),
    }
}

/// Whether it is on the timeline now.
async fn record(timeline: &Timeline, trace: TraceContext, change: &ConfigChange) -> bool {
    let event = Event::ConfigChanged {
        change: change.change,
        key: change.key.clone(),
        repository: change.repository.clone(),
        old: change.old.clone(),
        new: change.new.clone(),
        undoes: change.undoes,
    };
    let recorded = timeline.record(event, trace).await;
    if let Err(error) = &recorded {
        tracing::warn!(%error, "configuration change not recorded on timeline");
    }
    recorded.is_ok()
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

/// A change on record, as it is shown.
#[must_use]
pub fn change_of(entry: &Entry) -> ConfigChange {
    let change = &entry.change;
    ConfigChange {
        change: entry.number,
        at: entry.at,
        key: change.path.join("."),
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
