//! The person's terminal while it shows a slot: taken once, given back on every
//! way out.
//!
//! It is put on its alternate screen, so what was there before comes back, and
//! into raw mode, so every key is the program's. A process has one terminal,
//! hence one place here that knows its state; a panic anywhere can give it back.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, Once, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use missiond_semantic::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, OptionalActions, Termios};

/// A terminal that takes nothing for this long is left as it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// Alternate screen; title kept for later; the wheel kept for later and not as
/// arrow keys; a keyboard protocol of its own; no automatic wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[22;0t\x1b[?1007s\x1b[?1007l\x1b[>0u\x1b[?7l\x1b[0m\x1b[2J";

/// Every mode a program in a slot can have set here is unset.
const LEAVE: &str = "\x1b[?2026l\x1b]8;;\x1b\\\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\
    \x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[=0;1u\x1b[<u\x1b[0 q\x1b[?7h\x1b[?25h\
    \x1b[?1007r\x1b[23;0t\x1b[2J\x1b[?1049l";

/// The modes of the terminal before.
static MODES: OnceLock<Termios> = OnceLock::new();
/// Where to paint; empty before the terminal is taken and after it was given
/// back.
static SCREEN: Mutex<Option<File>> = Mutex::new(None);

/// The terminal is taken until this is dropped.
#[derive(Debug)]
pub(in crate::commands) struct AcquiredTerminal(());

/// Whether the keys are taken too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Keyboard {
    Raw,
    AsItIs,
}

pub(in crate::commands) fn acquire(keyboard: Keyboard) -> io::Result<AcquiredTerminal> {
    let taken = AcquiredTerminal(());
    give_back_on_panic();
    if keyboard == Keyboard::Raw {
        let stdin = io::stdin();
        let modes = termios::tcgetattr(&stdin)?;
        let mut raw = modes.clone();
        raw.make_raw();
        let _ = MODES.set(modes);
        termios::tcsetattr(&stdin, OptionalActions::Now, &raw)?;
    }
    let mut screen = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    screen.write_all(ENTER.as_bytes())?;
    *lock() = Some(screen);
    Ok(taken)
}

/// Once for the process: the terminal may be taken and given back many times.
fn give_back_on_panic() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

impl Drop for AcquiredTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Writes to the taken terminal; after it was given back, nothing.
pub(in crate::commands) fn write(text: &str) -> io::Result<()> {
    match &mut *lock() {
        Some(screen) => screen.write_all(text.as_bytes()),
        None => Ok(()),
    }
}

/// A sentence on the last row. The next whole painting takes it away.
pub(super) fn notice(text: &str) {
    let Size { columns, rows } = size();
    let text: String = text.chars().take(columns.into()).collect();
    let _ = write(&format!("\x1b7\x1b[{rows};1H\x1b[0;7m{text}\x1b[0m\x1b8"));
}

/// Writes the rows of a picture that have changed since it was drawn last, as one update.
pub(in crate::commands) fn draw(picture: Vec<String>, drawn: &mut Vec<String>) -> io::Result<()> {
    let whole = drawn.is_empty();
    let mut frame = String::new();
    for (at, row) in picture.iter().enumerate() {
        if whole || drawn.get(at) != Some(row) {
            // Cleared before: behind a full row, clearing would take its last character.
            frame.push_str(&format!("\x1b[{};1H\x1b[0m\x1b[K{row}\x1b[0m", at + 1));
        }
    }
    if frame.is_empty() {
        return Ok(());
    }
    // Pastes are told apart from keys.
    let clear = if whole {
        "\x1b[2J\x1b[?25l\x1b[?2004h"
    } else {
        ""
    };
    write(&format!("\x1b[?2026h{clear}{frame}\x1b[?2026l"))?;
    *drawn = picture;
    Ok(())
}

/// The size of the person's terminal.
pub(in crate::commands) fn size() -> Size {
    let found = termios::tcgetwinsize(io::stdout()).ok();
    let found = found.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (columns, rows) = found.map_or((80, 24), |size| (size.ws_col, size.ws_row));
    Size {
        columns: columns.clamp(2, 1000),
        rows: rows.clamp(1, 1000),
    }
}

pub(in crate::commands) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

pub(in crate::commands) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Puts everything back, once.
fn give_back() {
    // First and without waiting for anyone: a terminal without echo is the
    // worst to be left with.
    if let Some(modes) = MODES.get() {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, modes);
    }
    let deadline = Instant::now() + PATIENCE;
    let screen = loop {
        match SCREEN.try_lock() {
            Ok(mut screen) => break screen.take(),
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner().take(),
            // Someone is painting.
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return,
        }
    };
    if let Some(mut screen) = screen
        && is_writable(&screen)
    {
        let _ = screen.write_all(LEAVE.as_bytes());
    }
}

fn is_writable(screen: &File) -> bool {
    let mut watched = [PollFd::new(screen, PollFlags::OUT)];
    let limit = Timespec::try_from(PATIENCE).ok();
    poll(&mut watched, limit.as_ref()).is_ok() && watched[0].revents().contains(PollFlags::OUT)
}

fn lock() -> std::sync::MutexGuard<'static, Option<File>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}
