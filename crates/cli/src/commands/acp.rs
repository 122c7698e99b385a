//! `mission acp`: the daemon's agents as the agent of the editor that starts this.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use missiond_acp::{Connect, Log, Server, Settings};
use missiond_adapters::install_command;
use missiond_api::{Client, ClientError, Home};
use missiond_config::Config;

use super::slot::variables;
use crate::args::AcpArgs;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::process;

pub(super) fn run(args: AcpArgs, reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    // A daemon that cannot start is said at once, on the editor's log.
    drop(reach.client(output)?);
    let config = Config::load(&reach.home.config_file()).unwrap_or_default();
    let engine = args.engine.unwrap_or(config.autopilot.engine);
    let settings = Settings {
        hint: install_command(&engine).map(|install| format!("`{install}` installs it")),
        engine,
        args: args.args,
        model: args.model,
        permission: args.permission.into(),
        env: variables(&args.env)?,
        trust_folder: args.trust,
        context: !args.no_context,
    };
    let connect = connect(reach.home.clone(), reach.starts_by_itself());
    let log: Log = Box::new(|said| {
        let _ = writeln!(io::stderr(), "mission acp: {said}");
    });
    let mut server = Server::new(Box::new(io::stdout()), connect, settings, log);
    server.serve(io::stdin().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Connects for each session; starts the daemon when it is gone and may be started.
fn connect(home: Home, starts: bool) -> Connect {
    // Several sessions that miss the daemon start it once.
    let starting = Mutex::new(());
    Arc::new(move || match Client::connect(&home) {
        Err(ClientError::NotRunning { .. }) if starts => {
            let _one = starting.lock();
            process::start(&home).map_err(|failure| failure.message)?;
            Client::connect(&home).map_err(|error| error.to_string())
        }
        other => other.map_err(|error| error.to_string()),
    })
}
