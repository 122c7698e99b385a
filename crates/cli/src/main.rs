//! `mission`: the one binary. It is the command line, and with
//! `mission daemon run` the daemon itself.

mod args;
mod commands;
mod connect;
mod folder;
mod packaged;
mod process;

use std::process::ExitCode;

use missiond_console::{failure, output, term};

use output::Output;

fn main() -> ExitCode {
    // Before a thread is made and the command line is read: a stage has no time for either.
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = missiond_sandbox::take_part(&arguments) {
        return code;
    }
    let cli = args::parse();
    let mut output = Output::new(cli.json);
    match commands::run(cli, &mut output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
