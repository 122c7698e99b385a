//! The input of a server's program.
//!
//! Whoever has something to say writes it himself, as long as the pipe takes it
//! at once; so a call costs no hop to a task that writes. What the pipe does not
//! take waits here in the order it came, and a task hands it on when there is
//! room.

use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

/// Bytes that may wait for a server that does not read. One message is taken
/// however long it is: its size was bounded where it came from.
const MOST_WAITING: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Outlet {
    state: Mutex<State>,
    /// Something waits that did not wait before.
    behind: Notify,
    /// Less waits than did, or nothing ever will.
    room: Notify,
}

#[derive(Debug)]
struct State {
    /// Absent once it was closed.
    pipe: Option<Arc<pipe::Sender>>,
    waiting: Vec<u8>,
}

/// What came of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// It is on its way, after all that was said before.
    Queued,
    /// Too much waits already; nothing of it was taken.
    Full,
    /// The server does not read any more; nothing of it was taken.
    Closed,
}

impl Outlet {
    pub(crate) fn new(stdin: ChildStdin) -> io::Result<Arc<Self>> {
        Self::from_fd(stdin.into_owned_fd()?)
    }

    fn from_fd(input: std::os::fd::OwnedFd) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            state: Mutex::new(State {
                pipe: Some(Arc::new(pipe::Sender::from_owned_fd(input)?)),
                waiting: Vec::new(),
            }),
            behind: Notify::new(),
            room: Notify::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Says a line. Never waits.
    pub(crate) fn try_send(&self, mut line: String) -> SendOutcome {
        line.push('\n');
        self.try_send_line(line.as_bytes())
    }

    fn try_send_line(&self, line: &[u8]) -> SendOutcome {
        let mut state = self.state();
        let State { pipe, waiting } = &mut *state;
        let Some(pipe) = pipe else {
            return SendOutcome::Closed;
        };
        if !waiting.is_empty() {
            if waiting.len() + line.len() > MOST_WAITING {
                return SendOutcome::Full;
            }
            waiting.extend_from_slice(line);
            return SendOutcome::Queued;
        }
        let written = match pipe.try_write(line) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return SendOutcome::Closed,
        };
        if written < line.len() {
            waiting.extend_from_slice(&line[written..]);
            self.behind.notify_one();
        }
        SendOutcome::Queued
    }

    /// As [`Self::try_send`], and waits while too much waits.
    pub(crate) async fn send(&self, mut line: String) -> SendOutcome {
        line.push('\n');
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Asked for before it is looked: room made in between is not missed.
            room.as_mut().enable();
            match self.try_send_line(line.as_bytes()) {
                SendOutcome::Full => room.await,
                outcome => return outcome,
            }
        }
    }

    /// Hands on what waits, until the server reads no more or the outlet is
    /// closed.
    pub(crate) async fn run_writer(self: Arc<Self>) {
        loop {
            self.behind.notified().await;
            while let Some(pipe) = self.writable() {
                if pipe.writable().await.is_err() || !self.write(&pipe) {
                    self.close();
                    return;
                }
            }
        }
    }

    /// The pipe, if something waits for it.
    fn writable(&self) -> Option<Arc<pipe::Sender>> {
        let state = self.state();
        state.pipe.clone().filter(|_| !state.waiting.is_empty())
    }

    /// Writes what the pipe takes; whether it takes anything still.
    fn write(&self, pipe: &pipe::Sender) -> bool {
        let mut state = self.state();
        match pipe.try_write(&state.waiting) {
            Ok(written) => {
                state.waiting.drain(..written);
                if state.waiting.is_empty() {
                    state.waiting.shrink_to(64 * 1024);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        drop(state);
        self.room.notify_waiters();
        true
    }

    /// Closes the input, as soon as whoever hands on lets go of it too: that is
    /// how a server is told to end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.pipe = None;
        state.waiting = Vec::new();
        drop(state);
        self.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    /// An outlet and the end it is read at.
    fn pair() -> (Arc<Outlet>, std::io::PipeReader) {
        let (reader, writer) = std::io::pipe().unwrap();
        (Outlet::from_fd(writer.into()).unwrap(), reader)
    }

    fn line(number: usize, length: usize) -> String {
        format!("{number} {}", "x".repeat(length))
    }

    #[tokio::test]
    async fn lines_arrive_whole_and_in_order_however_slowly_they_are_read() {
        let (outlet, mut reader) = pair();
        let writer = tokio::spawn(Arc::clone(&outlet).run_writer());
        let reading = tokio::task::spawn_blocking(move || {
            let mut text = Vec::new();
            let mut piece = [0; 4096];
            loop {
                match reader.read(&mut piece).unwrap() {
                    0 => return text,
                    read => text.extend_from_slice(&piece[..read]),
                }
            }
        });
        // More than a pipe and the waiting room hold together.
        let lines: Vec<_> = (0..400).map(|number| line(number, 10_000)).collect();
        for line in &lines {
            assert_eq!(outlet.send(line.clone()).await, SendOutcome::Queued);
        }
        while outlet.writable().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        writer.abort();
        let _ = writer.await;
        outlet.close();
        let text = String::from_utf8(reading.await.unwrap()).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        assert_eq!(outlet.try_send("late".to_owned()), SendOutcome::Closed);
    }

    #[tokio::test]
    async fn who_says_too_much_to_a_server_that_does_not_read_is_told() {
        let (outlet, reader) = pair();
        let writer = tokio::spawn(Arc::clone(&outlet).run_writer());
        let long = line(0, 100_000);
        let mut taken = 0;
        while outlet.try_send(long.clone()) == SendOutcome::Queued {
            taken += 1;
            assert!(taken < 100, "it takes without end");
        }
        assert_eq!(outlet.try_send(long.clone()), SendOutcome::Full);
        // It ends: whoever waits for room is told that none will come.
        let waiting = tokio::spawn({
            let outlet = Arc::clone(&outlet);
            async move { outlet.send(long).await }
        });
        tokio::task::yield_now().await;
        drop(reader);
        assert_eq!(waiting.await.unwrap(), SendOutcome::Closed);
        writer.await.unwrap();
    }
}
