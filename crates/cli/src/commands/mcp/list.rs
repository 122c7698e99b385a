//! Changes of the list of servers. They are made in the file a person keeps; a
//! running daemon sees them with the next request.

use std::path::PathBuf;
use std::process::ExitCode;

use missiond_api::Home;
use missiond_core::ErrorCode;
use missiond_toolhub::{
    ConfigError, ConfigRoots, HubError, ImportClient, ServerEntry, ServerName, Switch,
};
use serde_json::json;

use crate::args::{ImportFrom, McpAddArgs};
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn add(args: McpAddArgs, home: &Home, output: &mut Output) -> Result<ExitCode, Failure> {
    let name = ServerName::new(&args.name).map_err(refused)?;
    let mut argv = args.command.into_iter();
    let entry = ServerEntry {
        command: argv.next(),
        args: argv.collect(),
        env: args.env.into_iter().collect(),
        pass_env: args.pass_env,
        cwd: args.cwd,
        url: args.url,
        headers: args.headers.into_iter().collect(),
        timeout_secs: args.timeout,
        idle_secs: args.idle,
        ..ServerEntry::default()
    };
    let file = missiond_toolhub::add(home.config_dir(), &name, &entry).map_err(refused)?;
    print_outcome(output, "added", &name, &file);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn remove(name: &str, home: &Home, output: &mut Output) -> Result<ExitCode, Failure> {
    let name = ServerName::new(name).map_err(refused)?;
    let file = missiond_toolhub::remove(home.config_dir(), &name).map_err(refused)?;
    let hub = super::direct::standalone_hub(home)?;
    hub.forget(&name)
        .map_err(|error| Failure::new(error.code(), error.to_string()))?;
    print_outcome(output, "removed", &name, &file);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn switch(
    name: &str,
    to: Switch,
    home: &Home,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let name = ServerName::new(name).map_err(refused)?;
    let file = missiond_toolhub::switch(home.config_dir(), &name, to).map_err(refused)?;
    let done = match to {
        Switch::Enabled => "enabled",
        Switch::Disabled => "disabled",
    };
    print_outcome(output, done, &name, &file);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn import(
    clients: &[ImportFrom],
    project: Option<PathBuf>,
    dry_run: bool,
    home: &Home,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let places = places(project)?;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for client in ImportClient::ALL {
        if !clients.is_empty() && !clients.iter().any(|chosen| of_arg(*chosen) == client) {
            continue;
        }
        let found = missiond_toolhub::find(client, &places)
            .map_err(|why| Failure::new(ErrorCode::InvalidConfig, why))?;
        for server in found {
            let target = match &server.entry {
                Ok(entry) => target(entry),
                Err(_) => String::new(),
            };
            let outcome = match server.entry {
                Err(why) => format!("cannot: {why}"),
                Ok(_) if dry_run => "would be added".to_owned(),
                Ok(entry) => match ServerName::new(&server.name)
                    .and_then(|name| missiond_toolhub::add(home.config_dir(), &name, &entry))
                {
                    Ok(_) => "added".to_owned(),
                    Err(ConfigError::Exists { .. }) => "is there already".to_owned(),
                    Err(error) => return Err(refused(error)),
                },
            };
            values.push(json!({
                "server": server.name, "client": client.name(), "file": server.file,
                "target": target, "outcome": outcome,
            }));
            rows.push(vec![server.name, client.name().to_owned(), outcome, target]);
        }
    }
    output.result(&values, |output, _| {
        if rows.is_empty() {
            output.line("no client on this machine has MCP servers");
        } else {
            output.table(&["server", "of", "outcome", "what is run"], &rows);
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn target(entry: &ServerEntry) -> String {
    let program = entry.command.iter().chain(&entry.args);
    let parts: Vec<_> = program.chain(&entry.url).map(String::as_str).collect();
    parts.join(" ")
}

pub(in crate::commands) fn places(project: Option<PathBuf>) -> Result<ConfigRoots, Failure> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = folder("HOME")
        .ok_or_else(|| Failure::new(ErrorCode::InvalidConfig, "no home folder: set HOME"))?;
    let project = match project {
        Some(project) => project.canonicalize()?,
        None => std::env::current_dir()?,
    };
    Ok(ConfigRoots {
        config: folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
        home,
        project,
    })
}

pub(in crate::commands) fn of_arg(client: ImportFrom) -> ImportClient {
    match client {
        ImportFrom::Claude => ImportClient::ClaudeCode,
        ImportFrom::Gemini => ImportClient::Gemini,
        ImportFrom::Codex => ImportClient::Codex,
        ImportFrom::Opencode => ImportClient::OpenCode,
        ImportFrom::Cursor => ImportClient::Cursor,
        ImportFrom::Vscode => ImportClient::VsCode,
    }
}

fn print_outcome(output: &mut Output, done: &str, name: &ServerName, file: &std::path::Path) {
    let value = json!({ "server": name, "file": file, "outcome": done });
    output.result(&value, |output, _| {
        output.line(format!("{done} {name} ({})", file.display()));
    });
}

fn refused(error: ConfigError) -> Failure {
    let error = HubError::from(error);
    Failure::new(error.code(), error.to_string())
}
