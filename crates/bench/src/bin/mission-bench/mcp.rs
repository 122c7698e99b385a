//! What a tool call costs: by a server on its own, through the daemon that keeps
//! it, by a fresh process through the daemon, and with no daemon at all. And what
//! our own list of tools costs whoever reads it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::tools::{McpToolCall, McpToolCallParams};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;
use missiond_toolhub::{ServerEntry, ServerName};
use serde_json::{Value, json};

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, micros, millis, percentile, tokens};

/// Calls in one turn, before the other way has its turn.
const TURN: u32 = 100;

/// Where `cargo xtask mcp-servers` puts it.
const INSTALLED: &str = "target/mcp-servers/node_modules/.bin/mcp-server-everything";

pub(super) fn run(
    calls: u32,
    rounds: u32,
    command: &[String],
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "calling an MCP server");
    let command = command_or_installed(command)?;
    let mut report = Report::new("mcp");
    let daemon = TemporaryDaemon::new(mission)?;
    let entry = ServerEntry {
        command: command.first().cloned(),
        args: command[1..].to_vec(),
        ..ServerEntry::default()
    };
    let listed = ServerName::new("everything")
        .and_then(|name| missiond_toolhub::add(daemon.home().config_dir(), &name, &entry));
    listed.map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
    let arguments = "{\"message\": \"hi\"}";
    let by_process = |way: &str| -> Result<Vec<Duration>, Failure> {
        let mut took = Vec::new();
        for _ in 0..rounds {
            let began = Instant::now();
            daemon.run(&["mcp", way, "call-tool", "everything__echo", arguments])?;
            took.push(began.elapsed());
        }
        Ok(took)
    };
    let mut direct = by_process("--no-daemon")?;
    daemon.run(&["daemon", "start"])?;
    let mut client = Client::connect(&daemon.home())?;
    let mut alone = Alone::start(&command)?;
    // Once around before counting: the server is started, caches are warm.
    for _ in 0..TURN {
        through_daemon(&mut client)?;
        alone.call()?;
    }
    let (mut kept, mut server) = (Vec::new(), Vec::new());
    for _ in 0..calls.div_ceil(TURN) {
        for _ in 0..TURN {
            kept.push(through_daemon(&mut client)?);
        }
        for _ in 0..TURN {
            server.push(alone.call()?);
        }
    }
    drop(alone);
    let mut fresh = by_process("--daemon")?;

    let p50 = |times: &mut [Duration]| percentile(times, 0.50);
    let (direct, fresh) = (p50(&mut direct), p50(&mut fresh));
    let (kept_p50, server_p50) = (p50(&mut kept), p50(&mut server));
    report.condition("server", command.join(" "));
    report.condition("calls", kept.len());
    report.condition("processes", rounds);
    report.metric("direct_p50_ms", millis(direct));
    report.metric("daemon_cli_p50_ms", millis(fresh));
    report.metric("daemon_kept_p50_ms", millis(kept_p50));
    report.metric("daemon_kept_p99_ms", millis(percentile(&mut kept, 0.99)));
    report.metric("server_alone_p50_ms", millis(server_p50));
    report.metric("server_alone_p99_ms", millis(percentile(&mut server, 0.99)));
    report.metric(
        "bridge_overhead_p50_us",
        micros(kept_p50) - micros(server_p50),
    );
    report.metric(
        "kept_times_faster_than_direct",
        direct.as_secs_f64() / kept_p50.as_secs_f64(),
    );
    report.metric(
        "cli_times_faster_than_direct",
        direct.as_secs_f64() / fresh.as_secs_f64(),
    );
    for (metric, tools) in [
        ("tokens_default", tokens::shown_by_default()),
        ("tokens_all", tokens::all()),
    ] {
        let counted = tokens::count(&tokens::read_by_a_model(&tools));
        report.metric(metric, counted as f64);
    }
    Ok(report)
}

fn command_or_installed(command: &[String]) -> Result<Vec<String>, Failure> {
    if !command.is_empty() {
        return Ok(command.to_vec());
    }
    let installed = PathBuf::from(INSTALLED).canonicalize().map_err(|_| {
        Failure::new(
            ErrorCode::NotFound,
            format!("there is no {INSTALLED}: `cargo xtask mcp-servers` installs it"),
        )
        .hint("or name a server that has the tool `echo`: `mission bench mcp -- PROGRAM …`")
    })?;
    Ok(vec![installed.display().to_string()])
}

fn through_daemon(client: &mut Client) -> Result<Duration, Failure> {
    let params = McpToolCallParams {
        tool: "everything__echo".to_owned(),
        arguments: [("message".to_owned(), json!("hi"))].into_iter().collect(),
        timeout_ms: None,
    };
    let began = Instant::now();
    let called = client.call::<McpToolCall>(&params)?;
    let took = began.elapsed();
    if called.is_error {
        return Err(Failure::new(ErrorCode::Upstream, called.result.to_string()));
    }
    Ok(took)
}

/// The server by itself, spoken to with nothing between.
struct Alone {
    child: Child,
    reader: BufReader<std::process::ChildStdout>,
    id: u64,
}

impl Alone {
    fn start(command: &[String]) -> Result<Self, Failure> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take();
        let stdout = stdout.ok_or_else(|| Failure::new(ErrorCode::Internal, "it has no output"))?;
        let mut alone = Self {
            child,
            reader: BufReader::new(stdout),
            id: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        alone.ask("initialize", &hello)?;
        alone.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(alone)
    }

    fn call(&mut self) -> Result<Duration, Failure> {
        let params = json!({"name": "echo", "arguments": {"message": "hi"}});
        let began = Instant::now();
        self.ask("tools/call", &params)?;
        Ok(began.elapsed())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(Failure::new(ErrorCode::Upstream, "the server ended"));
            }
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == self.id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut();
        let stdin = stdin.ok_or_else(|| Failure::new(ErrorCode::Internal, "it has no input"))?;
        Ok(stdin.write_all(format!("{message}\n").as_bytes())?)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
