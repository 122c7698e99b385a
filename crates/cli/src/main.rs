//! `mission`: the one binary. It is the command line, and with
//! `mission daemon run` the daemon itself.

mod args;
mod commands;
mod connect;
mod failure;
mod folder;
mod output;
mod process;
mod term;
mod words;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::new(cli.json);
    match commands::run(cli, &mut output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
