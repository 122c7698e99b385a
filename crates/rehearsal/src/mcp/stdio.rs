//! A server that is a child process: one JSON message a line.

use std::collections::BTreeMap;
use std::process::Stdio as Pipe;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{MAX_MESSAGE, answer_to, notification, refusal, request_message};

#[derive(Debug)]
pub(super) struct Stdio {
    /// Ends with this.
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Stdio {
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        // What it says on standard error would be drawn over our screen.
        let mut child = Command::new(command)
            .args(args)
            .envs(env)
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{command}: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{command} has no standard input or output"));
        };
        Ok(Self {
            _child: child,
            input,
            output: BufReader::new(output),
            next: 1,
        })
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next;
        self.next += 1;
        self.send(&request_message(id, method, &params)).await?;
        loop {
            let message = self.receive().await?;
            if let Some(answer) = answer_to(id, &message) {
                return answer;
            }
            if let Some(refusal) = refusal(&message) {
                self.send(&refusal).await?;
            }
        }
    }

    pub(super) async fn notify(&mut self, method: &str) -> Result<(), String> {
        self.send(&notification(method)).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .map_err(|error| format!("it does not listen: {error}"))
    }

    async fn receive(&mut self) -> Result<Value, String> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.output).take(MAX_MESSAGE as u64);
        bounded
            .read_until(b'\n', &mut line)
            .await
            .map_err(|error| error.to_string())?;
        match line.last() {
            None => Err("it has ended".to_owned()),
            Some(b'\n') => {
                serde_json::from_slice(&line).map_err(|error| format!("not JSON: {error}"))
            }
            Some(_) if line.len() == MAX_MESSAGE => {
                Err(format!("a message is longer than {MAX_MESSAGE} bytes"))
            }
            Some(_) => Err("it ended in the middle of a message".to_owned()),
        }
    }
}
