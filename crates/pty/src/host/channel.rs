//! How a host is connected with its program: by a terminal, or by pipes that carry the
//! lines of a protocol.

use std::io;

use missiond_semantic::Size;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    #[default]
    Terminal,
    /// Lines on standard input and output. A line to the program is whole and on record
    /// before any of it is written.
    Pipes,
}

/// Where the program's output comes from.
pub(super) enum OutputEnd {
    Terminal(pty_process::OwnedReadPty),
    Pipe(ChildStdout),
}

impl OutputEnd {
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Terminal(terminal) => terminal.read(buffer).await,
            Self::Pipe(pipe) => pipe.read(buffer).await,
        }
    }
}

/// Where its input goes.
pub(super) enum InputEnd {
    Terminal(pty_process::OwnedWritePty),
    Pipe(ChildStdin),
}

impl InputEnd {
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Terminal(terminal) => terminal.write(bytes).await,
            Self::Pipe(pipe) => pipe.write(bytes).await,
        }
    }

    pub(super) fn channel(&self) -> Channel {
        match self {
            Self::Terminal(_) => Channel::Terminal,
            Self::Pipe(_) => Channel::Pipes,
        }
    }

    /// Gives the terminal a size; a sentence if there is none to give it to.
    pub(super) fn resize(&self, size: Size) -> Result<(), String> {
        match self {
            Self::Terminal(terminal) => terminal
                .resize(pty_process::Size::new(size.rows, size.columns))
                .map_err(|error| error.to_string()),
            Self::Pipe(_) => Err("the program has no terminal".to_owned()),
        }
    }
}

/// What a program says beside its protocol; a terminal has no such place.
pub(super) async fn read_errors(
    errors: Option<&mut ChildStderr>,
    buffer: &mut [u8],
) -> io::Result<usize> {
    match errors {
        Some(errors) => errors.read(buffer).await,
        None => std::future::pending().await,
    }
}

/// Lines to a program, whole and in order: half a line that a daemon left behind when
/// it died is nobody's.
#[derive(Debug, Default)]
pub(super) struct IncomingLines {
    begun: Vec<u8>,
    /// Whole lines that were taken, since the program began.
    taken: u64,
}

impl IncomingLines {
    /// The whole lines there are with these bytes, and how many. None if what waits
    /// would be longer than any line may be.
    pub(super) fn push(&mut self, bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
        if self.begun.len() + bytes.len() > limit {
            self.forget_half();
            return None;
        }
        self.begun.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.begun).map_or(0, |end| end + 1);
        let rest = self.begun.split_off(whole);
        let lines = std::mem::replace(&mut self.begun, rest);
        self.taken += memchr::memchr_iter(b'\n', &lines).count() as u64;
        Some(lines)
    }

    pub(super) fn forget_half(&mut self) {
        self.begun.clear();
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_whatever_pieces_they_come_in() {
        let mut lines = IncomingLines::default();
        assert_eq!(lines.push(b"{\"a\"", 100).unwrap(), b"");
        assert_eq!(lines.push(b":1}\n{}\n{", 100).unwrap(), b"{\"a\":1}\n{}\n");
        assert_eq!(lines.taken(), 2);
        // The daemon died; what the next one says begins a line.
        lines.forget_half();
        assert_eq!(lines.push(b"[]\n", 100).unwrap(), b"[]\n");
        assert_eq!(lines.taken(), 3);
        assert_eq!(lines.push(&[b'x'; 101], 100), None);
        assert_eq!(lines.push(b"y\n", 100).unwrap(), b"y\n");
    }
}
