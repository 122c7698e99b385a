//! `mission sandbox`: a program behind the wall, without a daemon. What the wall is, is
//! decided in `missiond-sandbox`; here is decided what a person may ask of it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use missiond_api::Home;
use missiond_config::{Config, SandboxNetwork};
use missiond_core::ErrorCode;
use missiond_os::environment::own_text;
use missiond_os::programs::{find_program, is_executable};
use missiond_sandbox::{Nesting, Network, Place, Probed, Profile, probe};

use crate::args::{NetworkArg, SandboxCommand, SandboxProbeArgs, SandboxRunArgs};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::Style;

use super::startable::{Finding, Verdict};

pub(super) fn run(command: SandboxCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        SandboxCommand::Run(args) => start(&args),
        SandboxCommand::Probe(args) => try_all(&args, output),
    }
}

/// Becomes the program: its end is this command's end.
fn start(args: &SandboxRunArgs) -> Result<ExitCode, Failure> {
    let [program, arguments @ ..] = args.command.as_slice() else {
        return Err(Failure::new(
            ErrorCode::InvalidParams,
            "it names no program",
        ));
    };
    let folder = std::env::current_dir()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = Path::new(program);
    let found = if program.components().count() > 1 {
        Some(folder.join(program)).filter(|program| is_executable(program))
    } else {
        find_program(program, &path)
    };
    let Some(found) = found else {
        let sentence = format!("there is no program `{}`", program.display());
        return Err(Failure::new(ErrorCode::NotFound, sentence));
    };
    let mut place = Place::new(args.profile, &folder);
    place.network = match (&args.proxy, args.network) {
        (Some(socket), _) => Network::Proxy(existing(socket)?),
        (None, NetworkArg::Host) => Network::Host,
        (None, NetworkArg::None) => Network::None,
    };
    for path in &args.read {
        place.readable.push(existing(path)?);
    }
    for path in &args.write {
        place.writable.push(existing(path)?);
    }
    if args.nesting {
        place.nesting = Nesting::Allowed;
    }
    if let Some(memory) = args.memory {
        place.limits.memory_mb = memory;
    }
    if let Some(processes) = args.processes {
        place.limits.processes = processes;
    }
    if let Some(scratch) = args.scratch {
        place.limits.private_mb = scratch;
    }
    if let Some(longest) = args.longest_file {
        place.limits.file_mb = longest;
    }
    place.hidden = Home::from_env()?.own_folders();
    let mut command = match place.wall(&found, &own_text().collect())? {
        None => Command::new(&found),
        Some(wall) => {
            let walled = wall.command(&found)?;
            let mut command = Command::new(walled.program);
            command.args(walled.arguments);
            command.env(walled.variable.0, walled.variable.1);
            command
        }
    };
    Err(command.args(arguments).exec().into())
}

fn existing(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| {
        let sentence = format!("{} cannot be shown inside: {error}", path.display());
        Failure::new(ErrorCode::NotFound, sentence)
    })
}

/// The walls of this machine for `mission doctor`, each tried from inside.
pub(super) fn finding(config: &Config) -> Finding {
    let probed = match tempfile::tempdir() {
        Ok(folder) => probe(Profile::Guarded, folder.path(), &own_text().collect()),
        Err(error) => vec![Probed {
            wall: "sandbox",
            holds: false,
            detail: format!("not tried, for want of a folder: {error}"),
        }],
    };
    let all = probed.iter().all(|one| one.holds);
    let lines = probed.iter().map(|one| {
        let holds = if one.holds { "holds" } else { "does not hold" };
        format!("{} {holds}: {}", one.wall, one.detail)
    });
    let mut lines: Vec<_> = lines.collect();
    if !all {
        lines.push(
            "what is to run behind a wall is refused until it holds; `mission config set \
             sandbox.checks open` runs checks without one"
                .to_owned(),
        );
    }
    let sandbox = &config.sandbox;
    lines.push(format!(
        "checks {}, setup {}, agents of tasks {}, other agents {}, MCP servers {}",
        sandbox.checks, sandbox.setup, sandbox.agents, sandbox.runs, sandbox.tool_servers
    ));
    lines.push(match sandbox.network {
        SandboxNetwork::Host => "the network behind walls is the machine's".to_owned(),
        SandboxNetwork::None => "there is no network behind walls".to_owned(),
        SandboxNetwork::Proxy if sandbox.proxy.is_empty() => {
            "the way out of walls is the daemon's proxy, by the policy".to_owned()
        }
        SandboxNetwork::Proxy => format!("the way out of walls is {}", sandbox.proxy),
    });
    Finding {
        check: "sandbox",
        verdict: if all { Verdict::Ok } else { Verdict::Failed },
        detail: lines.join("\n"),
    }
}

fn try_all(args: &SandboxProbeArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let folder = tempfile::tempdir()?;
    let probed = probe(args.profile, folder.path(), &own_text().collect());
    let all = probed.iter().all(|one| one.holds);
    output.result(&probed, |output, probed| {
        for Probed {
            wall,
            holds,
            detail,
        } in probed
        {
            let mark = if *holds {
                output.paint.apply(Style::Green, "ok  ")
            } else {
                output.paint.apply(Style::Red, "FAIL")
            };
            output.line(format!("{mark}  {wall:<16}{detail}"));
        }
    });
    Ok(if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
