//! `mission hook`: what an agent's CLI runs at its events. It hands the event to
//! the daemon, or keeps it for later when the daemon is away.
//!
//! An agent waits for its hooks. So this is over within two seconds whatever
//! happens, never fails, and prints nothing an agent could take for an answer.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use missiond_adapters::{HookEvent, HookReport, MAX_HOOK_INPUT};
use missiond_api::operations::compute::{ForegroundActivity, SlotForeground, SlotForegroundParams};
use missiond_api::{
    AccessFile, Client, EXECUTION_VARIABLE, Home, HookParams, HookSpool, METHOD_HOOK, Spooled,
};
use missiond_core::{AbsolutePath, CliEngine, Text};
use serde_json::value::to_raw_value;

use super::agent_link::{AgentLink, LinkError};
use crate::args::HookArgs;

const LIMIT: Duration = Duration::from_secs(2);
/// What is left of the limit is for keeping the report.
const DAEMON_LIMIT: Duration = Duration::from_millis(1_400);

pub(super) fn run(args: &HookArgs) -> ExitCode {
    let began = Instant::now();
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        std::process::exit(0);
    });
    let reported = match &args.access_file {
        Some(access_file) => report(access_file, began),
        None => report_foreground(&args.engine),
    };
    if let Err(why) = reported {
        let _ = writeln!(io::stderr(), "mission hook: {why}");
    }
    ExitCode::SUCCESS
}

fn report(access_file: &Path, began: Instant) -> Result<(), String> {
    let access = AccessFile::read(access_file).map_err(|error| error.to_string())?;
    let Some(report) = read_event()? else {
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

fn read_event() -> Result<Option<HookReport>, String> {
    let mut input = Vec::new();
    io::stdin()
        .take(MAX_HOOK_INPUT as u64 + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    HookReport::parse(&input).map_err(|error| error.to_string())
}

/// Tells what the person's own session does. Without a daemon there is nobody to
/// tell, and an agent that is owned tells through its own access.
fn report_foreground(engine: &CliEngine) -> Result<(), String> {
    let Some(report) = read_event()? else {
        return Ok(());
    };
    if std::env::var_os(EXECUTION_VARIABLE).is_some() {
        return Ok(());
    }
    let home = Home::from_env().map_err(|error| error.to_string())?;
    let Ok(mut client) = Client::connect(&home) else {
        return Ok(());
    };
    let cwd = std::env::current_dir().map_err(|error| error.to_string())?;
    let cwd = AbsolutePath::new(cwd.display().to_string()).map_err(|error| error.to_string())?;
    let params = SlotForegroundParams {
        engine: engine.clone(),
        cwd,
        conversation: report.conversation.and_then(|id| Text::new(id).ok()),
        does: match report.event {
            HookEvent::ConversationStarted | HookEvent::TurnEnded => ForegroundActivity::Idle,
            HookEvent::Prompted | HookEvent::ToolEnded { .. } | HookEvent::SubagentEnded => {
                ForegroundActivity::Thinking
            }
            HookEvent::ToolStarting { .. } => ForegroundActivity::UsesTool,
            HookEvent::Waiting { .. } => ForegroundActivity::Asks,
            HookEvent::ConversationEnded { .. } => ForegroundActivity::Left,
        },
    };
    let told = client.call::<SlotForeground>(&params);
    told.map(drop).map_err(|error| error.to_string())
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
