//! `mission config …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::system::ConfigShow;
use missiond_config::Config;
use missiond_core::ErrorCode;
use serde_json::json;

use crate::args::ConfigCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::Style;

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
        ConfigCommand::Path => {
            let value = json!({"file": file, "exists": file.exists()});
            output.result(&value, |output, _| output.line(file.display().to_string()));
        }
    }
    Ok(ExitCode::SUCCESS)
}
