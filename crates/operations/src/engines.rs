//! Handler of the list of agent CLIs.

use std::ffi::OsString;

use futures::future::join_all;
use missiond_adapters::{
    adapter, detect, find_program, install_command, known_engines, login_state,
};
use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::engines::{EngineList, EnginePage, EngineSummary, InstalledEngine};
use missiond_core::CliEngine;
use missiond_runtime::blocking;

use crate::call::{Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<EngineList, _, _>(list);
}

async fn list(call: Call, _: NoParams) -> Result<EnginePage, ApiError> {
    // Each takes seconds to say who it is.
    let looks = known_engines()
        .iter()
        .map(|engine| blocking(move || look(engine)));
    Ok(EnginePage {
        engines: join_all(looks).await,
        default: call.daemon.config().autopilot.engine.clone(),
    })
}

/// Looks with the environment an agent would get.
fn look(engine: &CliEngine) -> EngineSummary {
    let environment = missiond_slots::program_environment(&std::collections::BTreeMap::new());
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let installed = find_program(adapter(engine).program(), &path).map(|program| {
        let detected = detect(engine, &path);
        InstalledEngine {
            path: program.display().to_string(),
            trouble: detected.as_ref().err().map(ToString::to_string),
            version: detected.ok().map(|found| found.version),
        }
    });
    let variable = |name: &str| environment.get(name).map(OsString::from);
    EngineSummary {
        engine: engine.clone(),
        installed,
        login: login_state(engine, &variable),
        install: install_command(engine).map(str::to_owned),
    }
}
