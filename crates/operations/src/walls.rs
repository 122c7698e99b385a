//! The wall around what is started by a call: never thinner than that around the caller,
//! and nowhere the caller cannot work itself. An agent that could have a program started
//! outside would have no wall.

use std::path::Path;

use missiond_api::ApiError;
use missiond_core::ErrorCode;
use missiond_pty::host::HostRecord;
use missiond_sandbox::{Place, Profile};

use crate::call::Call;

/// The wall around an agent that is started to work in `folder`.
pub(super) fn of_agent(call: &Call, folder: &Path) -> Result<Profile, ApiError> {
    let configured = call.daemon.config().sandbox.runs;
    Ok(configured.max(own(call, Some(folder))?))
}

/// The wall around a program that is started in `folder`; none where there is to be none.
pub(super) fn of_program(call: &Call, folder: Option<&Path>) -> Result<Option<Place>, ApiError> {
    let profile = own(call, folder)?;
    let Some(folder) = folder.filter(|_| profile != Profile::Open) else {
        return Ok(None);
    };
    let hidden = call.daemon.home.own_folders();
    let mut place = call.daemon.config().sandbox.place(profile, folder, hidden);
    if let Some(slot) = call.principal.slot() {
        let shared = call.daemon.executions.share_way_out(slot, &mut place);
        shared.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    }
    Ok(Some(place))
}

/// The wall around whoever calls.
fn own(call: &Call, folder: Option<&Path>) -> Result<Profile, ApiError> {
    let slot = call
        .principal
        .slot()
        .and_then(|slot| call.daemon.slots.find(&slot.to_string()));
    let Some(HostRecord {
        sandbox: Some(profile),
        cwd,
        ..
    }) = slot.map(|open| open.record)
    else {
        return Ok(Profile::Open);
    };
    let folder = folder.and_then(|folder| folder.canonicalize().ok());
    let inside = cwd
        .canonicalize()
        .is_ok_and(|own| folder.is_some_and(|one| one.starts_with(own)));
    if profile == Profile::Open || inside {
        return Ok(profile);
    }
    Err(ApiError::new(
        ErrorCode::Forbidden,
        format!(
            "an agent behind a wall cannot have anything started outside it: say a folder in {}",
            cwd.display()
        ),
    ))
}
