//! The commands. Each asks the daemon and shows the answer; none decides.

#[cfg(unix)]
mod attach;
mod bench;
mod call;
mod config;
mod daemon;
mod doctor;
mod incident;
mod logs;
mod picture;
#[cfg(unix)]
mod rehearse;
mod semantic;
mod service;
mod shell;
mod slot;
mod status;
mod timeline;

use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;

#[cfg(unix)]
pub(crate) use attach::DetachKey;

pub(crate) fn run(cli: Cli, output: &mut Output) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Completions { shell } => return shell::completions(shell, output),
        Command::Man => return shell::man(output),
        Command::Semantic(command) => return semantic::run(&command, output),
        #[cfg(unix)]
        Command::Rehearse(args) => return rehearse::run(args, output),
        #[cfg(unix)]
        Command::PtyHost => {
            missiond_pty::host::run()?;
            return Ok(ExitCode::SUCCESS);
        }
        #[cfg(unix)]
        Command::BenchWriter(mode) => {
            bench::write_output(&mode)?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let reach = Reach::from_args(&cli)?;
    match cli.command {
        Command::Up => status::up(&reach, output),
        Command::Down => daemon::stop(&reach, crate::process::Force::Ask, output),
        Command::Status => status::status(&reach, output),
        Command::Doctor => doctor::doctor(&reach, output),
        Command::Daemon(command) => daemon::run(command, &reach, output),
        Command::Timeline(command) => timeline::run(command, &reach, output),
        Command::Incident(command) => incident::run(&command, &reach, output),
        Command::Config(command) => config::run(command, &reach, output),
        Command::Slot(command) => slot::run(command, &reach, output),
        Command::Call(args) => call::call(args, &reach, output),
        Command::Bench(command) => bench::run(&command, output),
        #[cfg(unix)]
        Command::Rehearse(_) => Ok(ExitCode::SUCCESS),
        Command::Completions { .. }
        | Command::Man
        | Command::Semantic(_)
        | Command::PtyHost
        | Command::BenchWriter(_) => Ok(ExitCode::SUCCESS),
    }
}
