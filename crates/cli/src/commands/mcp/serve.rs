//! `mission mcp serve`: the daemon as the MCP server of the agent that starts this.

use std::process::ExitCode;

use missiond_api::{CommanderHelloParams, EXECUTION_VARIABLE, PROTOCOL_VERSION};
use missiond_core::ErrorCode;

use super::Choice;
use crate::args::McpServeArgs;
use crate::commands::bridge;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::process;

pub(super) fn run(
    args: McpServeArgs,
    choice: Choice,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if choice == Choice::Direct {
        return Err(Failure::new(
            ErrorCode::InvalidParams,
            "what is served is the daemon: leave out --no-daemon",
        ));
    }
    // An agent that starts this waits two seconds for a first answer.
    drop(reach.client(output)?);
    let hello = CommanderHelloParams {
        protocol: PROTOCOL_VERSION,
        client: args.client,
        toolsets: args.toolsets,
        hub: args.hub,
        cwd: own_session(),
    };
    let home = reach.home.clone();
    let revive: Box<dyn Fn() -> Result<(), Failure>> =
        Box::new(move || process::start(&home).map(drop));
    let revive = reach.starts_by_itself().then_some(revive);
    bridge::command(reach.home.socket(), hello, revive)
}

/// Where the session works that started this, if it is not one of ours.
fn own_session() -> Option<String> {
    if std::env::var_os(EXECUTION_VARIABLE).is_some() {
        return None;
    }
    let cwd = std::env::current_dir().ok()?;
    cwd.to_str().map(str::to_owned)
}
