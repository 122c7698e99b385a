//! An agent at the end of two pipes, with nothing between.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use missiond_console::failure::Failure;
use missiond_control::{
    AcpVersion, Client, ControlEvent, ControlRequest, Dialect, OpenSession, Options, Output,
    PromptPart, SessionChoice,
};
use missiond_core::{Clock, ErrorCode, SystemClock};

use crate::Mission;

pub(super) struct BareAgent {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    client: Client,
    buffer: Vec<u8>,
}

impl BareAgent {
    /// Started, greeted and with a session.
    pub(super) fn start(
        mission: &Mission,
        folder: &Path,
        script: &[String],
    ) -> Result<Self, Failure> {
        let mut arguments = vec!["rehearse"];
        arguments.extend(script.iter().map(String::as_str));
        arguments.push("--acp");
        let home = folder.join("bare");
        std::fs::create_dir_all(&home)?;
        let mut child = mission
            .command(&home, &arguments)?
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes"));
        };
        let dialect = Dialect::Acp {
            newest: AcpVersion::V1,
        };
        let mut agent = Self {
            child,
            input,
            output,
            client: Client::new(Options::new(dialect)),
            buffer: vec![0; 64 << 10],
        };
        agent.ask(&ControlRequest::Start)?;
        agent.until(|event| matches!(event, ControlEvent::AgentReady(_)))?;
        agent.ask(&ControlRequest::Open(OpenSession {
            cwd: folder.display().to_string(),
            mcp_servers: Vec::new(),
            what: SessionChoice::New,
            meta: None,
        }))?;
        agent.until(|event| matches!(event, ControlEvent::SessionOpened(_)))?;
        Ok(agent)
    }

    /// How long one prompt takes.
    pub(super) fn turn(&mut self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let prompt = vec![PromptPart::Text("go on".to_owned())];
        self.ask(&ControlRequest::Prompt(prompt))?;
        self.until(|event| matches!(event, ControlEvent::TurnEnded { .. }))?;
        Ok(begun.elapsed())
    }

    fn ask(&mut self, request: &ControlRequest) -> Result<(), Failure> {
        let asked = self.client.ask(request, SystemClock.now());
        let Output { lines, .. } = asked.map_err(|refusal| failed(&refusal.to_string()))?;
        self.write(&lines)
    }

    fn write(&mut self, lines: &[String]) -> Result<(), Failure> {
        for line in lines {
            self.input.write_all(format!("{line}\n").as_bytes())?;
        }
        Ok(())
    }

    fn until(&mut self, reached: impl Fn(&ControlEvent) -> bool) -> Result<(), Failure> {
        loop {
            let count = self.output.read(&mut self.buffer)?;
            if count == 0 {
                return Err(failed("it has ended"));
            }
            let now = SystemClock.now();
            let Output { events, lines, .. } = self.client.receive(&self.buffer[..count], now);
            self.write(&lines)?;
            if events.iter().any(&reached) {
                return Ok(());
            }
        }
    }
}

impl Drop for BareAgent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(why: &str) -> Failure {
    Failure::new(ErrorCode::Internal, format!("the agent alone: {why}"))
}
