//! `mission hook`: what an agent's CLI runs at its events. It hands the event to
//! the daemon, or keeps it for later when the daemon is away.
//!
//! An agent waits for its hooks. So this is over within two seconds whatever
//! happens, never fails, and prints nothing an agent could take for an answer.
//!
//! One that is asked whether a tool may be used (`--judge`) prints the answer of the
//! rules. It waits five seconds for a daemon that is away or slow, which is more than a
//! restart takes; without an answer it refuses, and says so.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use missiond_adapters::{
    HookDialect, HookEvent, HookReport, MAX_HOOK_INPUT, REFUSING_EXIT, ToolUse, ToolUseAnswer,
    ToolUseVerdict,
};
use missiond_api::operations::compute::{ForegroundActivity, SlotForeground, SlotForegroundParams};
use missiond_api::{
    AccessFile, Client, EXECUTION_VARIABLE, Home, HookParams, HookSpool, METHOD_HOOK,
    METHOD_TOOL_USE, Spooled, ToolUseParams,
};
use missiond_core::{AbsolutePath, CliEngine, Text};
use serde_json::value::to_raw_value;

use super::agent_link::{AgentLink, LinkError};
use crate::args::HookArgs;

const LIMIT: Duration = Duration::from_secs(2);
/// What is left of the limit is for keeping the report.
const DAEMON_LIMIT: Duration = Duration::from_millis(1_400);

/// How long the daemon may take to say whether a tool may be used; between two tries to
/// reach it; and the end of it all, which comes before the CLI gives a hook up and uses
/// the tool.
const JUDGED_WITHIN: Duration = Duration::from_secs(5);
const TRY_AGAIN: Duration = Duration::from_millis(100);
const JUDGE_LIMIT: Duration = Duration::from_secs(9);

pub(super) fn run(args: &HookArgs) -> ExitCode {
    let began = Instant::now();
    if let Some(access_file) = args.access_file.as_deref().filter(|_| args.judge) {
        end_after(JUDGE_LIMIT, REFUSING_EXIT.into());
        return match judge(access_file, args.unreported, began + JUDGED_WITHIN) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                let _ = writeln!(io::stderr(), "missiond refuses this use of a tool: {why}");
                ExitCode::from(REFUSING_EXIT)
            }
        };
    }
    end_after(LIMIT, 0);
    let reported = match &args.access_file {
        Some(access_file) => read_event().and_then(|event| report(access_file, event, began)),
        None => report_foreground(&args.engine),
    };
    if let Err(why) = reported {
        let _ = writeln!(io::stderr(), "mission hook: {why}");
    }
    ExitCode::SUCCESS
}

/// Whatever happens.
fn end_after(limit: Duration, code: i32) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        std::process::exit(code);
    });
}

/// Prints whether the tool may be used. Whatever goes wrong before it is known refuses.
fn judge(access_file: &Path, unreported: bool, due: Instant) -> Result<(), String> {
    let access = AccessFile::read(access_file).map_err(|error| error.to_string())?;
    let input = read_input()?;
    let asked = ToolUse::parse(&input).map_err(|error| error.to_string())?;
    let (used, dialect) = asked.ok_or("this hook runs before a tool and at no other event")?;
    let params = ToolUseParams {
        asked: to_raw_value(&used).map_err(|error| error.to_string())?,
    };
    let answer = ask(&access, &params, due)?;
    if answer.verdict != ToolUseVerdict::Deny && !unreported {
        let event = HookReport::parse(&input).map_err(|error| error.to_string());
        let reported = event.and_then(|event| report(access_file, event, Instant::now()));
        if let Err(why) = reported {
            let _ = writeln!(io::stderr(), "mission hook: {why}");
        }
    }
    say(dialect, &answer)
}

/// The answer of the daemon, which may be on its way back.
fn ask(access: &AccessFile, params: &ToolUseParams, due: Instant) -> Result<ToolUseAnswer, String> {
    loop {
        let asked = AgentLink::open(access, due)
            .and_then(|mut link| link.ask_for(METHOD_TOOL_USE, params, due));
        match asked {
            Ok(answer) => return Ok(answer),
            Err(LinkError::Refused(error)) => return Err(error.message),
            Err(LinkError::Away(error)) if Instant::now() + TRY_AGAIN >= due => {
                return Err(format!(
                    "its rules could not be asked within {} s, because the daemon is away or \
                     too slow ({error}); try again when it is back",
                    JUDGED_WITHIN.as_secs()
                ));
            }
            Err(LinkError::Away(_)) => std::thread::sleep(TRY_AGAIN),
        }
    }
}

fn say(dialect: HookDialect, answer: &ToolUseAnswer) -> Result<(), String> {
    let Some(line) = dialect.answer(answer) else {
        return Ok(());
    };
    let said = writeln!(io::stdout(), "{line}");
    said.map_err(|error| format!("the answer cannot be printed: {error}"))
}

fn report(access_file: &Path, event: Option<HookReport>, began: Instant) -> Result<(), String> {
    let access = AccessFile::read(access_file).map_err(|error| error.to_string())?;
    let Some(report) = event else {
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
    HookReport::parse(&read_input()?).map_err(|error| error.to_string())
}

fn read_input() -> Result<Vec<u8>, String> {
    let mut input = Vec::new();
    io::stdin()
        .take(MAX_HOOK_INPUT as u64 + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    Ok(input)
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
