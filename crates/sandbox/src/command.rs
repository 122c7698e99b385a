//! The command that runs a program behind a wall.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use missiond_os::programs::own_program;

use crate::wall::Wall;

/// The variable that holds the plan. Only the stages have it.
pub(crate) const PLAN: &str = "MISSION_WALL";

/// The command words of the first stage.
pub(crate) const ENTER: [&str; 2] = ["sandbox", "enter"];

/// What a run ends with when there was no wall.
pub(crate) const REFUSED: u8 = 125;

/// A program, its arguments, and one variable to be set beside its environment. It keeps
/// the standard streams, the group and the terminal it is started with, and ends as the
/// program does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalledCommand {
    pub program: PathBuf,
    /// Those of the program stand behind them.
    pub arguments: Vec<OsString>,
    pub variable: (&'static str, String),
}

impl Wall {
    /// How `program`, which must be seen inside, is run behind this wall.
    pub fn command(&self, program: &Path) -> io::Result<WalledCommand> {
        let plan = serde_json::to_string(self).map_err(io::Error::from)?;
        let mut arguments: Vec<OsString> = ENTER.map(OsString::from).into();
        arguments.push(program.into());
        Ok(WalledCommand {
            program: own_program()?,
            arguments,
            variable: (PLAN, plan),
        })
    }
}

/// The sentence of a refusal, in what a command of this wall wrote: without the wall
/// nothing was run. The program cannot write it, because it does not know the mark.
#[must_use]
pub fn refusal<'a>(wall: &Wall, output: &'a str) -> Option<&'a str> {
    let (_, sentence) = output.split_once(wall.refusal_mark.as_str())?;
    sentence.lines().next()
}
