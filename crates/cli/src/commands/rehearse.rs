//! `mission rehearse`: hands the terminal to the rehearsal agent. It asks no
//! daemon, because a slot runs it as it would run any other agent.

use std::path::Path;
use std::process::ExitCode;

use missiond_api::Home;
use missiond_core::{Controller, ErrorCode};
use missiond_rehearsal::{
    Options, RehearsalError, Script, SessionChoice, SessionId, builtin_scripts,
};
use serde_json::json;

use crate::args::RehearseArgs;
use crate::failure::Failure;
use crate::output::Output;

/// Larger files are no scripts.
const MAX_SCRIPT: u64 = 1 << 20;

pub(super) fn run(args: RehearseArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    if args.list {
        list(output);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.show {
        let found = builtin_scripts().iter().find(|script| script.name == name);
        let script = found.ok_or_else(|| no_script(name))?;
        let value = json!({"name": script.name, "text": script.text});
        output.result(&value, |output, _| output.line(script.text.trim_end()));
        return Ok(ExitCode::SUCCESS);
    }
    let argument = args.script.unwrap_or_default();
    let session_dir = match args.session_dir {
        Some(folder) => folder,
        None => Home::from_env()?.data_dir().join("rehearsals"),
    };
    let code = missiond_rehearsal::run(Options {
        controller: if args.acp {
            Controller::Structured
        } else {
            Controller::Terminal
        },
        script: script(&argument)?,
        script_argument: argument,
        session: match args.resume {
            Some(id) => SessionChoice::Resume(id),
            None => SessionChoice::New(args.session_id.unwrap_or_else(SessionId::fresh)),
        },
        session_dir,
        transcript: args.transcript,
        truth: args.truth,
        mcp_config: args.mcp_config,
        speed: args.speed,
        prompt: args.prompt,
        signals: None,
    })
    .map_err(|error| failure(&error))?;
    Ok(ExitCode::from(code))
}

fn list(output: &mut Output) {
    let scripts: Vec<_> = builtin_scripts()
        .iter()
        .map(|script| json!({"name": script.name, "shows": script.shows}))
        .collect();
    output.result(&scripts, |output, _| {
        let row = |script: &missiond_rehearsal::Builtin| {
            vec![script.name.to_owned(), script.shows.to_owned()]
        };
        let rows: Vec<_> = builtin_scripts().iter().map(row).collect();
        output.table(&["script", "what it shows"], &rows);
    });
}

/// A built-in script by its name, any other by its path.
fn script(argument: &str) -> Result<Script, Failure> {
    if let Some(script) = Script::builtin(argument) {
        return Ok(script);
    }
    let path = Path::new(argument);
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => no_script(argument),
        _ => Failure::new(ErrorCode::NotFound, format!("{argument}: {error}")),
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_SCRIPT {
        let message = format!("{argument} is larger than a script can be ({MAX_SCRIPT} bytes)");
        return Err(Failure::new(ErrorCode::TooLarge, message));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    Script::parse(&name, &text).map_err(|error| {
        let message = format!("{argument} is not a valid script:\n{error}");
        Failure::new(ErrorCode::InvalidConfig, message)
    })
}

fn no_script(name: &str) -> Failure {
    let message = format!("there is no script `{name}`, neither built in nor as a file");
    Failure::new(ErrorCode::NotFound, message)
        .hint("`mission rehearse --list` shows what is built in")
}

fn failure(error: &RehearsalError) -> Failure {
    let code = match error {
        RehearsalError::NoTerminal => ErrorCode::InvalidRequest,
        RehearsalError::Session(missiond_rehearsal::SessionError::Unknown { .. }) => {
            ErrorCode::NotFound
        }
        RehearsalError::Session(_) => ErrorCode::Conflict,
        RehearsalError::McpConfig(_) => ErrorCode::InvalidConfig,
        RehearsalError::Mcp(_) => ErrorCode::Unreachable,
        RehearsalError::Record { .. } => ErrorCode::StorageUnavailable,
        RehearsalError::Terminal(_) => ErrorCode::Internal,
    };
    Failure::new(code, error.to_string())
}
