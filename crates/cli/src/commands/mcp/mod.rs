//! `mission mcp`: other people's MCP servers, through the daemon when one runs or may be
//! started, and without it otherwise. Both ways give the same results.

mod direct;
pub(super) mod list;
mod serve;
mod show;

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;

use missiond_api::operations::tools::{
    McpPin, McpPinParams, McpPromptGet, McpPromptGetParams, McpPromptList, McpPromptListParams,
    McpServerAction, McpServerControl, McpServerControlParams, McpServerControlResult,
    McpServerList, McpServerListParams, McpToolCall, McpToolCallParams, McpToolList,
    McpToolListParams,
};
use missiond_api::{Client, ClientError, MAX_FRAME};
use missiond_core::{Bounded, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::args::{McpArgs, McpCommand};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::{Output, Progress};
use direct::{Direct, Request};

pub(super) fn run(args: McpArgs, reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let way = ServerRoute {
        choice: match (args.daemon, args.no_daemon) {
            (true, _) => Choice::Daemon,
            (_, true) => Choice::Direct,
            _ => Choice::Whichever,
        },
        reach,
    };
    match args.command {
        McpCommand::CallTool {
            tool,
            arguments,
            timeout,
        } => call_tool(&way, tool, &arguments, timeout, output),
        McpCommand::Serve(args) => serve::run(args, way.choice, reach, output),
        McpCommand::ListServers => {
            let listed = way.ask::<McpServerList>(McpServerListParams::default(), "", output)?;
            output.result(&listed, |output, listed| {
                show::servers(output, &listed.servers);
            });
            Ok(ExitCode::SUCCESS)
        }
        McpCommand::ListTools { server, schema } => {
            let params = McpToolListParams {
                server,
                schemas: schema,
            };
            let listed = way.ask::<McpToolList>(params, "asking the servers", output)?;
            output.result(&listed, show::tools);
            Ok(show::failures(output, &listed.failures))
        }
        McpCommand::ListPrompts { server } => {
            let params = McpPromptListParams { server };
            let listed = way.ask::<McpPromptList>(params, "asking the servers", output)?;
            output.result(&listed, show::prompts);
            Ok(show::failures(output, &listed.failures))
        }
        McpCommand::GetPrompt { prompt, arguments } => {
            let params = McpPromptGetParams {
                prompt,
                arguments: json_argument(&arguments)?,
            };
            let got = way.ask::<McpPromptGet>(params, "asking the server", output)?;
            output.result(&got, |output, got| show::messages(output, &got.result));
            Ok(ExitCode::SUCCESS)
        }
        McpCommand::Pin { server, tool } => {
            let params = McpPinParams { server, tool };
            let pinned = way.ask::<McpPin>(params, "asking the server", output)?;
            output.result(&pinned, |output, pinned| match pinned.accepted.as_slice() {
                [] => output.line("nothing was held; its tools are pinned as they are"),
                tools => output.line(format!("accepted {}", tools.join(", "))),
            });
            Ok(ExitCode::SUCCESS)
        }
        McpCommand::Health {
            server,
            restart,
            stop,
        } => {
            let action = match (restart, stop) {
                (true, _) => McpServerAction::Restart,
                (_, true) => McpServerAction::Stop,
                _ => McpServerAction::Ping,
            };
            health(&way, server, action, output)
        }
        McpCommand::Add(args) => list::add(args, &reach.home, output),
        McpCommand::Remove { server } => list::remove(&server, &reach.home, output),
        McpCommand::Enable { server } => list::switch(
            &server,
            missiond_toolhub::Switch::Enabled,
            &reach.home,
            output,
        ),
        McpCommand::Disable { server } => list::switch(
            &server,
            missiond_toolhub::Switch::Disabled,
            &reach.home,
            output,
        ),
        McpCommand::Import {
            clients,
            project,
            dry_run,
        } => list::import(&clients, project, dry_run, &reach.home, output),
    }
}

/// Ends with 1 if the tool says that it failed.
fn call_tool(
    way: &ServerRoute<'_>,
    tool: String,
    arguments: &str,
    timeout_secs: Option<u64>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let params = McpToolCallParams {
        tool,
        arguments: json_argument::<BTreeMap<String, Value>>(arguments)?,
        timeout_ms: timeout_secs.map(|seconds| {
            let millis = seconds.saturating_mul(1000);
            Bounded::clamped(i64::try_from(millis).unwrap_or(i64::MAX))
        }),
    };
    let called = way.ask::<McpToolCall>(params, "calling the tool", output)?;
    output.result(&called, |output, called| {
        show::content(output, &called.result);
    });
    Ok(if called.is_error {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Asks one server, or each that may run. Ends with 1 if one is not well.
fn health(
    way: &ServerRoute<'_>,
    server: Option<String>,
    action: McpServerAction,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let control = |server: String| McpServerControlParams { server, action };
    if let Some(server) = server {
        let answered = way.ask::<McpServerControl>(control(server), "asking the server", output)?;
        output.result(&answered, show::health);
        return Ok(ExitCode::SUCCESS);
    }
    let listed = way.ask::<McpServerList>(McpServerListParams::default(), "", output)?;
    let enabled = listed
        .servers
        .into_iter()
        .filter(|server| server.state != missiond_api::operations::tools::McpServerState::Disabled);
    let mut code = ExitCode::SUCCESS;
    for server in enabled {
        match way.ask::<McpServerControl>(
            control(server.name.clone()),
            "asking the servers",
            output,
        ) {
            Ok(answered) => output.result::<McpServerControlResult>(&answered, show::health),
            Err(failure) => {
                code = ExitCode::FAILURE;
                let value = json!({"server": {"name": server.name}, "error": failure.message});
                output.result(&value, |output, _| output.line(&failure.message));
            }
        }
    }
    Ok(code)
}

/// How the servers are reached.
struct ServerRoute<'a> {
    choice: Choice,
    reach: &'a Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Daemon,
    Direct,
    /// The daemon when one runs or may be started.
    Whichever,
}

impl ServerRoute<'_> {
    fn ask<O: Request>(
        &self,
        params: O::Params,
        doing: &str,
        output: &mut Output,
    ) -> Result<O::Result, Failure> {
        let client = match self.choice {
            Choice::Daemon => Some(self.reach.started_client(output)?),
            Choice::Direct => None,
            Choice::Whichever => match Client::connect(&self.reach.home) {
                Ok(client) => Some(client),
                Err(ClientError::NotRunning { .. }) if self.reach.starts_by_itself() => {
                    Some(self.reach.client(output)?)
                }
                Err(ClientError::NotRunning { .. }) => None,
                // One that runs and does not answer is a trouble of its own, and
                // no reason to start every server a second time.
                Err(error) => return Err(error.into()),
            },
        };
        let _progress = (!doing.is_empty()).then(|| Progress::start(output, doing));
        match client {
            Some(mut client) => Ok(client.call::<O>(&params)?),
            None => Direct::new(&self.reach.home)?.ask::<O>(params),
        }
    }
}

/// JSON from the command line, or from standard input.
fn json_argument<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    let mut read = String::new();
    let text = if text == "-" {
        std::io::stdin()
            .take(MAX_FRAME as u64)
            .read_to_string(&mut read)?;
        read.as_str()
    } else {
        text
    };
    serde_json::from_str(text).map_err(|error| {
        Failure::new(
            ErrorCode::InvalidParams,
            format!("the arguments are not a JSON object: {error}"),
        )
    })
}
