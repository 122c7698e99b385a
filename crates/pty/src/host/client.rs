//! The daemon's side: starting a host, and speaking with one.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::frame::{BadFrame, Frame, FromHost, ToHost};
use super::peer::HOST_COMMAND;
use super::process::{HostRecord, LaunchSpec, Order};
use super::start::Startup;

/// A host that has not reported by then is taken to hang.
const START_LIMIT: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program could not be started: a sentence of the host.
    #[error("{0}")]
    Refused(String),
    #[error("the terminal host could not be started: {0}")]
    Host(#[from] io::Error),
    #[error("the terminal host did not report within {} s", START_LIMIT.as_secs())]
    Silent,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the terminal host cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("the terminal host spoke nonsense: {0}")]
    Frame(#[from] BadFrame),
    #[error("process {0} listens where the terminal host should, and is not spoken to")]
    Impostor(u32),
}

/// Starts a host with `executable pty-host` and returns when its program runs.
/// The child is the host; someone must wait for it when it ends.
pub async fn launch(
    executable: &Path,
    spec: &LaunchSpec,
) -> Result<(HostRecord, Child), LaunchError> {
    let order = serde_json::to_vec(&Order::new(spec)).map_err(io::Error::from)?;
    let mut child = Command::new(executable)
        .arg(HOST_COMMAND)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let report = tokio::time::timeout(START_LIMIT, async {
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&order).await?;
        }
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await?;
        }
        Ok::<_, io::Error>(line)
    })
    .await;
    let Ok(line) = report else {
        let _ = child.kill().await;
        return Err(LaunchError::Silent);
    };
    match serde_json::from_str(&line?) {
        Ok(Startup::Started(record)) => Ok((*record, child)),
        Ok(Startup::Failed(why)) => {
            let _ = child.wait().await;
            Err(LaunchError::Refused(why))
        }
        Err(_) => {
            let status = child.wait().await?;
            let ended = format!("it ended before it reported ({status})");
            Err(LaunchError::Host(io::Error::other(ended)))
        }
    }
}

/// A connection to a host.
#[derive(Debug)]
pub struct HostConnection {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    buffer: Vec<u8>,
}

impl HostConnection {
    /// Connects to the host on record, and to no other, and asks for the output of its
    /// program from this byte on.
    pub async fn connect(
        record: &HostRecord,
        socket: &Path,
        resume_from: u64,
    ) -> Result<Self, HostError> {
        let stream = UnixStream::connect(socket).await?;
        record.listens_at(&stream).map_err(HostError::Impostor)?;
        let (reader, writer) = stream.into_split();
        let mut connection = Self {
            reader,
            writer,
            buffer: Vec::new(),
        };
        let hello = ToHost::Hello {
            resume_from,
            generation: record.generation,
        };
        connection.send(&hello).await?;
        Ok(connection)
    }

    /// What the host says next; `None` when it is gone. Safe to cancel.
    pub async fn next(&mut self) -> Result<Option<FromHost>, HostError> {
        loop {
            if let Some(frame) = FromHost::decode(&mut self.buffer)? {
                return Ok(Some(frame));
            }
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    pub async fn send(&mut self, frame: &ToHost) -> Result<(), HostError> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        Ok(self.writer.write_all(&bytes).await?)
    }
}
