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
