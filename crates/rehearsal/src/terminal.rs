//! The terminal the agent runs in: raw mode that always ends, its size, and
//! what comes from it as events.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::keys::{Key, KeyParser};

/// Bytes that follow an Escape within this time belong to it.
const ESCAPE_WAIT: Duration = Duration::from_millis(40);
const USUAL_SIZE: (usize, usize) = (80, 24);

/// What happens outside the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Key(Key),
    Resized,
    /// A signal that asks the program to end, by its number.
    Ended(u8),
}

/// The terminal in raw mode; given back when this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    pub(crate) fn enter() -> io::Result<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Drain, &raw)?;
        let terminal = Self { before };
        // Bracketed paste on.
        write_out(b"\x1b[?2004h")?;
        Ok(terminal)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // Paste off, cursor shown, progress and title cleared.
        let _ = write_out(b"\x1b[?2026l\x1b[?2004l\x1b[?25h\x1b]9;4;0;\x1b\\\x1b]0;\x1b\\");
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Columns and rows.
pub(crate) fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => USUAL_SIZE,
    }
}

pub(crate) fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Keys are read on a thread of their own, which ends with the process: nothing
/// can wake a read of a terminal. They are read past the standard library's
/// buffer, because a poll does not see what waits in there.
pub(crate) fn events() -> io::Result<mpsc::Receiver<Event>> {
    let (sender, receiver) = mpsc::channel(256);
    for (kind, event) in [
        (SignalKind::window_change(), Event::Resized),
        (SignalKind::interrupt(), Event::Key(Key::Interrupt)),
        (SignalKind::terminate(), Event::Ended(15)),
        (SignalKind::hangup(), Event::Ended(1)),
    ] {
        let mut signals = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if sender.send(event.clone()).await.is_err() {
                    return;
                }
            }
        });
    }
    std::thread::spawn(move || read_keys(&sender));
    Ok(receiver)
}

fn read_keys(sender: &mpsc::Sender<Event>) {
    let mut parser = KeyParser::default();
    let mut keys = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        if parser.is_waiting() && !more_to_read() {
            parser.give_up_waiting(&mut keys);
        } else {
            match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
                Ok(0) => {
                    let _ = sender.blocking_send(Event::Ended(1));
                    return;
                }
                Ok(count) => parser.feed(&bytes[..count], &mut keys),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    let _ = sender.blocking_send(Event::Ended(1));
                    return;
                }
            }
        }
        for key in keys.drain(..) {
            if sender.blocking_send(Event::Key(key)).is_err() {
                return;
            }
        }
    }
}

fn more_to_read() -> bool {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec::try_from(ESCAPE_WAIT).ok();
    poll(&mut watched, wait.as_ref()).is_ok_and(|ready| ready > 0)
}
