//! `mission config …`
//!
//! A running daemon is asked, so that a change is in force at once. When none runs,
//! none is started: the wrong value may be the reason that none does. Then the file is
//! changed here, by the same code.

use std::path::Path;
use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::config::{
    ConfigChange, ConfigEffect, ConfigHistory, ConfigHistoryPage, ConfigHistoryParams, ConfigSet,
    ConfigSetParams, ConfigSetResult, ConfigUndo, ConfigUndoParams,
};
use missiond_api::operations::system::{ConfigKey, ConfigShow};
use missiond_api::{Client, ClientError, Home};
use missiond_config::changes::{self, ChangeError, Changes, Writer};
use missiond_config::history::{Entry, History, Subject};
use missiond_config::{Config, ConfigError};
use missiond_core::{Bounded, Clock, ErrorCode, Limit, MAX_EXACT, SystemClock, Text, nearest_name};
use missiond_daemon::Instance;
use missiond_operations::config_keys;
use missiond_operations::settings::{change_of, sentence, unchanged};
use serde_json::{Value, json};

use crate::args::ConfigCommand;
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::folder;
use crate::output::Output;
use crate::term::{Style, moment, printable};

pub(super) fn run(
    command: ConfigCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let file = reach.home.config_file();
    match command {
        ConfigCommand::Show => {
            let report = reach.client(output)?.call::<ConfigShow>(&NoParams {})?;
            output.result(&report, |output, report| {
                let origin = if report.file_exists {
                    ""
                } else {
                    " (does not exist: all defaults)"
                };
                output.line(format!("# {}{origin}", report.file));
                if let Some(error) = &report.file_error {
                    let wrong = format!("# The file is invalid and not in force: {error}");
                    let wrong = output.paint.apply(Style::Red, &wrong);
                    output.line(wrong);
                }
                for key in &report.keys {
                    let line = format!("{} = {}", key.key, key.value);
                    let line = if key.value == key.default {
                        output.paint.apply(Style::Dim, &line)
                    } else {
                        line
                    };
                    output.line(line);
                }
            });
        }
        ConfigCommand::Keys => {
            let keys = config_keys(&Config::default());
            output.result(&keys, |output, keys| {
                for key in keys {
                    let name = output.paint.apply(Style::Bold, &key.key);
                    let when = if key.reloads {
                        ""
                    } else {
                        "  (needs a restart)"
                    };
                    output.line(format!("{name} = {}{when}", key.default));
                    output.line(format!("    {}", key.description));
                }
            });
        }
        ConfigCommand::Check { file: given } => {
            if given.is_none() && !file.exists() {
                let value = json!({"file": file, "valid": true, "exists": false});
                output.result(&value, |output, _| {
                    let file = file.display();
                    output.line(format!("There is no {file}: every key has its default."));
                });
                return Ok(ExitCode::SUCCESS);
            }
            let own = given.is_none();
            let file = given.unwrap_or(file);
            if !file.exists() {
                let message = format!("{} does not exist", file.display());
                return Err(Failure::new(ErrorCode::NotFound, message)
                    .hint("without a file every key has its default"));
            }
            Config::load(&file).map_err(|error| {
                if own {
                    refused(&reach.home, &error)
                } else {
                    Failure::new(ErrorCode::InvalidConfig, error.to_string())
                }
            })?;
            let value = json!({"file": file, "valid": true});
            output.result(&value, |output, _| {
                output.line(format!("{} is valid.", file.display()));
            });
        }
        ConfigCommand::Get { key } => {
            let key = get(&key, reach)?;
            output.result(&key, |output, key| {
                output.line(match &key.data {
                    Value::String(text) => printable(text),
                    _ => printable(&key.value),
                });
            });
        }
        ConfigCommand::Set {
            key,
            value,
            repository,
        } => {
            let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
            let result = set(key, value, repository.as_deref(), reach)?;
            output.result(&result, changed);
        }
        ConfigCommand::Unset { key, repository } => {
            let result = set(key, Value::Null, repository.as_deref(), reach)?;
            output.result(&result, changed);
        }
        ConfigCommand::History => {
            let limit = Limit::default();
            let page = match daemon(reach)? {
                Some(mut client) => client.call::<ConfigHistory>(&ConfigHistoryParams { limit })?,
                None => {
                    let entries = History::new(reach.home.config_history()).load()?;
                    let newest = entries.iter().rev().take(limit.to_usize());
                    ConfigHistoryPage {
                        changes: newest.map(change_of).collect(),
                    }
                }
            };
            output.result(&page, history);
        }
        ConfigCommand::Undo { change } => {
            let result = undo(change, reach)?;
            output.result(&result, changed);
        }
        ConfigCommand::Path => {
            let value = json!({"file": file, "exists": file.exists()});
            output.result(&value, |output, _| output.line(file.display().to_string()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The daemon, if one runs.
fn daemon(reach: &Reach) -> Result<Option<Client>, Failure> {
    match reach.running() {
        Ok(client) => Ok(Some(client)),
        Err(ClientError::NotRunning { .. }) if Instance::is_held(&reach.home)? => {
            // Between reading its configuration and listening it hears of no change.
            let message = "a daemon is starting or stopping; try again in a moment";
            Err(Failure::new(ErrorCode::Conflict, message))
        }
        Err(ClientError::NotRunning { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn get(name: &str, reach: &Reach) -> Result<ConfigKey, Failure> {
    let mut keys = match daemon(reach)? {
        Some(mut client) => client.call::<ConfigShow>(&NoParams {})?.keys,
        None => {
            let config = Config::load(&reach.home.config_file());
            config_keys(&config.map_err(|error| refused(&reach.home, &error))?)
        }
    };
    if let Some(found) = keys.iter().position(|key| key.key == name) {
        return Ok(keys.swap_remove(found));
    }
    let failure = Failure::new(ErrorCode::NotFound, format!("unknown key `{name}`"));
    let nearest = nearest_name(name, keys.iter().map(|key| key.key.as_str()));
    Err(failure.hint(match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`mission config keys` lists those that exist".to_owned(),
    }))
}

pub(super) fn set(
    key: String,
    value: Value,
    repository: Option<&Path>,
    reach: &Reach,
) -> Result<ConfigSetResult, Failure> {
    let repository = repository.map(folder::absolute).transpose()?;
    if let Some(mut client) = daemon(reach)? {
        let params = ConfigSetParams {
            key: parameter("key", Text::new(key))?,
            value,
            repository: repository.map(|folder| folder.display().to_string()),
        };
        return Ok(client.call::<ConfigSet>(&params)?);
    }
    let subject = repository.map_or(Subject::Config, Subject::Repository);
    let value = Some(value).filter(|value| !value.is_null());
    without_daemon(&reach.home, |changes| {
        changes.set(&subject, &key, value.as_ref())
    })
}

/// Takes back the change of this number, or the newest that stands. Without a daemon
/// that is one of its own configuration, since no other can be taken back.
fn undo(change: Option<u64>, reach: &Reach) -> Result<ConfigSetResult, Failure> {
    let none = || {
        Failure::new(ErrorCode::NotFound, "there is no change to take back")
            .hint("`mission config history` lists what was changed")
    };
    let Some(mut client) = daemon(reach)? else {
        let last = || History::new(reach.home.config_history()).last_of_config();
        let number = match change {
            Some(number) => number,
            None => last()?.ok_or_else(none)?.number,
        };
        return without_daemon(&reach.home, |changes| changes.undo(number));
    };
    let number = match change {
        Some(number) => number,
        None => {
            let limit = parameter("limit", Limit::new(200))?;
            let page = client.call::<ConfigHistory>(&ConfigHistoryParams { limit })?;
            let stands = |change: &&ConfigChange| !change.undone && change.undoes.is_none();
            page.changes.iter().find(stands).ok_or_else(none)?.change
        }
    };
    let number: Bounded<1, MAX_EXACT> = {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        parameter("change", Bounded::new(number))?
    };
    Ok(client.call::<ConfigUndo>(&ConfigUndoParams { change: number })?)
}

/// Changes the file in this process.
fn without_daemon(
    home: &Home,
    change: impl FnOnce(&Changes) -> Result<Option<Entry>, ChangeError>,
) -> Result<ConfigSetResult, Failure> {
    let made = Changes::lock(home, SystemClock.now(), Writer::CommandLine)
        .map_err(ChangeError::from)
        .and_then(|changes| change(&changes));
    let entry = made.map_err(|error| {
        let failure = Failure::new(error.code(), error.to_string());
        match error {
            ChangeError::NeedsDaemon(_) => failure.hint("`mission up` starts it"),
            _ => failure,
        }
    })?;
    let Some(entry) = entry else {
        return Ok(unchanged());
    };
    let change = change_of(&entry);
    Ok(ConfigSetResult {
        effect: ConfigEffect::Restart,
        message: format!(
            "{}. No daemon runs: it takes effect when one starts.",
            sentence(&change)
        ),
        change: Some(change),
    })
}

fn refused(home: &Home, error: &ConfigError) -> Failure {
    Failure {
        hint: way_out(home, error),
        ..Failure::new(ErrorCode::InvalidConfig, error.to_string())
    }
}

/// How a person gets out of a configuration that is refused.
pub(crate) fn way_out(home: &Home, error: &ConfigError) -> Option<String> {
    changes::way_out(home, error.key()?)
}

fn changed(output: &mut Output, result: &ConfigSetResult) {
    output.line(printable(&result.message));
    if let Some(change) = &result.change {
        let number = change.change;
        let hint = format!("Take it back with: mission config undo {number}");
        output.line(output.paint.apply(Style::Dim, &hint));
    }
}

fn history(output: &mut Output, page: &ConfigHistoryPage) {
    if page.changes.is_empty() {
        output.line("Nothing was changed yet. Set a key with: mission config set KEY VALUE");
        return;
    }
    let value = |value: &Option<String>| {
        let value = value.as_deref().unwrap_or("not set");
        printable(&value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let row = |change: &ConfigChange| {
        let note = match (change.undone, change.undoes) {
            (true, _) => "undone".to_owned(),
            (false, Some(undone)) => format!("undoes {undone}"),
            (false, None) => String::new(),
        };
        vec![
            change.change.to_string(),
            moment(change.at),
            printable(&change.key),
            value(&change.old),
            value(&change.new),
            note,
        ]
    };
    let rows: Vec<_> = page.changes.iter().map(row).collect();
    output.table(&["CHANGE", "AT", "KEY", "OLD", "NEW", ""], &rows);
}
