//! The wall around what is started by a call: never thinner than that around the caller,
//! and nowhere the caller cannot work itself. An agent that could have a program started
//! outside would have no wall.

use std::path::{Path, PathBuf};

use missiond_api::ApiError;
use missiond_core::ErrorCode;
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

/// Whether whoever calls may be told what stands in a folder. Behind a wall there is the
/// own work alone, and the daemon is no way round it.
pub(super) fn may_look(call: &Call, folder: &Path) -> Result<(), ApiError> {
    match around(call) {
        Some((profile, own)) if profile != Profile::Open && !holds(&own, folder) => {
            Err(ApiError::new(
                ErrorCode::Forbidden,
                format!(
                    "an agent behind a wall is told nothing of other folders than its own, {}",
                    own.display()
                ),
            ))
        }
        _ => Ok(()),
    }
}

/// The wall around whoever calls.
fn own(call: &Call, folder: Option<&Path>) -> Result<Profile, ApiError> {
    let Some((profile, own)) = around(call) else {
        return Ok(Profile::Open);
    };
    if profile == Profile::Open || folder.is_some_and(|folder| holds(&own, folder)) {
        return Ok(profile);
    }
    Err(ApiError::new(
        ErrorCode::Forbidden,
        format!(
            "an agent behind a wall cannot have anything started outside it: say a folder in {}",
            own.display()
        ),
    ))
}

/// The wall around whoever calls, and where they work; none of who is in no slot.
fn around(call: &Call) -> Option<(Profile, PathBuf)> {
    let slot = call.principal.slot()?;
    let record = call.daemon.slots.find(&slot.to_string())?.record;
    Some((record.sandbox?, record.cwd))
}

fn holds(own: &Path, folder: &Path) -> bool {
    let own = own.canonicalize();
    own.is_ok_and(|own| {
        folder
            .canonicalize()
            .is_ok_and(|folder| folder.starts_with(own))
    })
}
