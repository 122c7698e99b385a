//! The stages where no wall can be built: each run is refused.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use crate::command::{ENTER, PLAN, REFUSED};
use crate::wall::Wall;

/// Refuses, if these are the arguments of a stage. They are without the program's name.
#[must_use]
pub fn take_part(arguments: &[OsString]) -> Option<ExitCode> {
    let is_stage = arguments.len() > 2 && arguments[0] == ENTER[0] && arguments[1] == ENTER[1];
    is_stage.then(|| {
        let plan = std::env::var(PLAN).ok();
        let wall = plan.and_then(|plan| serde_json::from_str::<Wall>(&plan).ok());
        let mark = wall.map(|wall| wall.refusal_mark).unwrap_or_default();
        let why = "the sandbox needs Linux: run it there, or with the profile `open`";
        let _ = writeln!(std::io::stderr(), "{mark}no sandbox: {why}");
        ExitCode::from(REFUSED)
    })
}
