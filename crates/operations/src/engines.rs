//! Handler of the list of agent CLIs.

use std::ffi::OsString;

use futures::future::join_all;
use missiond_adapters::{Drive, detect, find_program, install_command, known_engines, login_state};
use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::engines::{
    EngineControl, EngineList, EnginePage, EngineSummary, InstalledEngine,
};
use missiond_config::EnginesConfig;
use missiond_core::CliEngine;
use missiond_executions::adapter_of;
use missiond_runtime::blocking;

use crate::call::{Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<EngineList, _, _>(list);
}

async fn list(call: Call, _: NoParams) -> Result<EnginePage, ApiError> {
    let config = call.daemon.config();
    let added = config.engines.added.iter().map(|added| added.name.clone());
    // Each takes seconds to say who it is.
    let looks = known_engines().iter().cloned().chain(added).map(|engine| {
        let engines = config.engines.clone();
        blocking(move || look(&engine, &engines))
    });
    Ok(EnginePage {
        engines: join_all(looks).await,
        default: config.autopilot.engine.clone(),
    })
}

/// Looks with the environment an agent would get.
fn look(engine: &CliEngine, engines: &EnginesConfig) -> EngineSummary {
    let environment = missiond_slots::program_environment(&std::collections::BTreeMap::new());
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let adapter = adapter_of(engine, engines);
    // What was added may do anything when it is asked for its version.
    let is_added = engines.added(engine).is_some();
    let installed = find_program(adapter.program(), &path).map(|program| {
        let detected = (!is_added).then(|| detect(engine, &path)).transpose();
        InstalledEngine {
            path: program.display().to_string(),
            trouble: detected.as_ref().err().map(ToString::to_string),
            version: detected.ok().flatten().map(|found| found.version),
        }
    });
    let variable = |name: &str| environment.get(name).map(OsString::from);
    let drive = Drive::of(&*adapter, engines.controller(engine), &path);
    EngineSummary {
        engine: engine.clone(),
        installed,
        login: login_state(engine, &variable),
        install: install_command(engine).map(str::to_owned),
        control: EngineControl {
            by: drive.by,
            why: drive.why,
            offered: Drive::offered(&*adapter),
        },
    }
}
