//! `mission config …`

use std::path::Path;
use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::config::{
    ConfigChange, ConfigHistory, ConfigHistoryPage, ConfigHistoryParams, ConfigSet,
    ConfigSetParams, ConfigSetResult, ConfigUndo, ConfigUndoParams,
};
use missiond_api::operations::system::ConfigShow;
use missiond_config::Config;
use missiond_core::{Bounded, ErrorCode, Text};
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
            let keys = missiond_operations::config_keys(&Config::default());
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
            let file = given.unwrap_or(file);
            if !file.exists() {
                let message = format!("{} does not exist", file.display());
                return Err(Failure::new(ErrorCode::NotFound, message)
                    .hint("without a file every key has its default"));
            }
            Config::load(&file)
                .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
            let value = json!({"file": file, "valid": true});
            output.result(&value, |output, _| {
                output.line(format!("{} is valid.", file.display()));
            });
        }
        ConfigCommand::Set {
            key,
            value,
            repository,
        } => {
            let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
            set(key, value, repository.as_deref(), reach, output)?;
        }
        ConfigCommand::Unset { key, repository } => {
            set(key, Value::Null, repository.as_deref(), reach, output)?;
        }
        ConfigCommand::History => {
            let params = ConfigHistoryParams::default();
            let page = reach.client(output)?.call::<ConfigHistory>(&params)?;
            output.result(&page, history);
        }
        ConfigCommand::Undo { change } => {
            let change = i64::try_from(change).unwrap_or(i64::MAX);
            let params = ConfigUndoParams {
                change: parameter("change", Bounded::new(change))?,
            };
            let result = reach.client(output)?.call::<ConfigUndo>(&params)?;
            output.result(&result, changed);
        }
        ConfigCommand::Path => {
            let value = json!({"file": file, "exists": file.exists()});
            output.result(&value, |output, _| output.line(file.display().to_string()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn set(
    key: String,
    value: Value,
    repository: Option<&Path>,
    reach: &Reach,
    output: &mut Output,
) -> Result<(), Failure> {
    let repository = repository.map(folder::absolute).transpose()?;
    let params = ConfigSetParams {
        key: parameter("key", Text::new(key))?,
        value,
        repository: repository.map(|folder| folder.display().to_string()),
    };
    let result = reach.client(output)?.call::<ConfigSet>(&params)?;
    output.result(&result, changed);
    Ok(())
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
