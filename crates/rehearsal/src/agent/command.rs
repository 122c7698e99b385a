//! Running a command: its lines as they come, and no process left behind.

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// A longer line is cut into pieces.
const MAX_LINE: u64 = 8 << 10;
const LINES_AHEAD: usize = 256;

/// A command in a process group of its own, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Option<Pid>,
    lines: mpsc::Receiver<String>,
}

impl Running {
    pub(super) fn start(argv: &[String], cwd: &Path) -> Result<Self, String> {
        let (program, arguments) = argv.split_first().ok_or("there is no program to run")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let (sender, lines) = mpsc::channel(LINES_AHEAD);
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(read_lines(stdout, sender.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(read_lines(stderr, sender));
        }
        Ok(Self {
            child,
            group,
            lines,
        })
    }

    /// The next line of either output; none when both are closed.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    pub(super) async fn wait(&mut self) -> Result<ExitStatus, String> {
        let ended = self.child.wait().await.map_err(|error| error.to_string());
        self.group = None;
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn read_lines(output: impl AsyncRead + Unpin, lines: mpsc::Sender<String>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut output).take(MAX_LINE);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']).to_owned();
                if lines.send(text).await.is_err() {
                    return;
                }
            }
        }
    }
}
