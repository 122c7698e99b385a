//! Every developer command: `cargo xtask up`, `cargo xtask test` and the rest.
//!
//! The commands install what they need by the system's package manager when
//! that is allowed, and otherwise say in one sentence what is missing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod clis;
mod fuzz;
mod licences;
mod mcp_servers;
mod node;
mod packages;
mod run;
mod tests;
mod up;
mod web;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask up               build mission and start it
cargo xtask test [FILTER]    check and test everything
  --skip-postgres            without the tests that need a PostgreSQL server
  --skip-clis                without the tests that run the real agent CLIs
  --skip-mcp-servers         without the tests that run other people's MCP servers
  --skip-web                 without building the web board and its tests in a browser
  --quick                    tests only: no formatting, lints or licences
cargo xtask web              build the web board into web/dist, which the program embeds
cargo xtask bench web        measure the web board in the browser
cargo xtask clis             install the agent CLIs the tests run, into target/clis
cargo xtask mcp-servers      install the MCP servers the tests run, into target/mcp-servers
cargo xtask fuzz [TARGET]    fuzz the parsers
  --seconds N                for each target (60)
cargo xtask licences         check the licences of all dependencies
";

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() {
        String::new()
    } else {
        arguments.remove(0)
    };
    let result = match command.as_str() {
        "up" => up::up(&arguments),
        "test" => tests::test(&arguments),
        "web" => web::build(),
        "bench" => match arguments.first().map(String::as_str) {
            Some("web") => web::bench(),
            _ => Err(
                "`cargo xtask bench web` measures the web board; `mission bench` the rest"
                    .to_owned(),
            ),
        },
        "clis" => clis::install(),
        "mcp-servers" => mcp_servers::install(),
        "fuzz" => fuzz::fuzz(&arguments),
        "licences" => licences::check().map(|count| println!("{count} packages, all allowed")),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no `cargo xtask {other}`\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
