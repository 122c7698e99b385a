//! The demo on the board that is there, for the page; `mission demo` plays the same
//! tasks with a home of their own.

use std::collections::BTreeMap;

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::board::BoardAddParams;
use missiond_api::operations::demo::{DemoStart, DemoStarted};
use missiond_core::{TaskNumber, TaskRef};
use missiond_rehearsal::sample::{Stage, TASKS, fresh_folder};
use missiond_runtime::blocking;

use crate::call::{Call, Operations};
use crate::{autopilot, board};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<DemoStart, _, _>(start);
}

async fn start(call: Call, _: NoParams) -> Result<DemoStarted, ApiError> {
    let demos = call.daemon.home.data_dir().join("demos");
    let built = blocking(move || Stage::build(&fresh_folder(&demos)?)).await;
    let stage = built.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    let mut numbers: BTreeMap<&str, TaskNumber> = BTreeMap::new();
    let mut tasks = Vec::with_capacity(TASKS.len());
    for task in &TASKS {
        let after = task.after.iter().filter_map(|name| numbers.get(name));
        let params = BoardAddParams {
            task: stage.draft(task, None),
            depends_on: after.copied().map(TaskRef::Number).collect(),
            ..BoardAddParams::default()
        };
        let added = board::add(call.clone(), params).await?.task;
        numbers.insert(task.name, added.number);
        tasks.push((&added).into());
    }
    Ok(DemoStarted {
        repository: stage.repository.display().to_string(),
        tasks,
        autopilot: autopilot::show(call, NoParams {}).await?.mode,
    })
}
