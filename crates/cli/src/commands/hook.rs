//! `mission hook`: what an agent's CLI runs at its events. It hands the event to
//! the daemon, or keeps it for later when the daemon is away.
//!
//! An agent waits for its hooks. So this is over within two seconds whatever
//! happens, never fails, and prints nothing an agent could take for an answer.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use missiond_adapters::{HookReport, MAX_HOOK_INPUT};
use missiond_api::{AccessFile, HookParams, HookSpool, METHOD_HOOK, Spooled};
use serde_json::value::to_raw_value;

use super::agent_link::{AgentLink, LinkError};

const LIMIT: Duration = Duration::from_secs(2);
/// What is left of the limit is for keeping the report.
const DAEMON_LIMIT: Duration = Duration::from_millis(1_400);

pub(super) fn run(access_file: &Path) -> ExitCode {
    let began = Instant::now();
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        std::process::exit(0);
    });
    if let Err(why) = report(access_file, began) {
        let _ = writeln!(io::stderr(), "mission hook: {why}");
    }
    ExitCode::SUCCESS
}

fn report(access_file: &Path, began: Instant) -> Result<(), String> {
    let access = AccessFile::read(access_file).map_err(|error| error.to_string())?;
    let mut input = Vec::new();
    io::stdin()
        .take(MAX_HOOK_INPUT as u64 + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    let Some(report) = HookReport::parse(&input).map_err(|error| error.to_string())? else {
        return Ok(());
    };
    let spool = HookSpool::in_folder(access_file.parent().unwrap_or(Path::new(".")));
    let unnumbered = |error: io::Error| format!("the event cannot be numbered: {error}");
    let hook = HookParams {
        sequence: spool.number().map_err(unnumbered)?,
        report: to_raw_value(&report).map_err(|error| error.to_string())?,
    };
    match hand_over(&access, &spool, &hook, began + DAEMON_LIMIT) {
        Ok(()) => Ok(()),
        Err(LinkError::Refused(error)) => Err(error.message),
        Err(LinkError::Away(_)) => match spool.keep(&hook) {
            Ok(Spooled::Kept) => Ok(()),
            Ok(Spooled::Full) => Err("the daemon is away and too much waits for it".to_owned()),
            Err(error) => Err(format!("the event cannot be kept: {error}")),
        },
    }
}

/// What waited goes first.
fn hand_over(
    access: &AccessFile,
    spool: &HookSpool,
    hook: &HookParams,
    due: Instant,
) -> Result<(), LinkError> {
    let mut link = AgentLink::open(access, due)?;
    spool.hand_over(|waited| link.ask(METHOD_HOOK, &waited, due))?;
    link.ask(METHOD_HOOK, hook, due)
}
