//! Signals on their way inwards, and the end of the program on its way outwards.
//!
//! What a terminal sends (Ctrl-C, a change of size) goes to the whole group, in which the
//! program is, so it is not handed on where there is a terminal. What somebody sends to
//! the stage outside is.

use std::process::{Child, ExitCode, ExitStatus};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use std::os::unix::process::ExitStatusExt;

use crate::command::REFUSED;
use crate::stages::pid_of;

const SENT: [i32; 4] = [SIGHUP, SIGTERM, SIGUSR1, SIGUSR2];
const TYPED: [i32; 3] = [SIGINT, SIGQUIT, SIGWINCH];

/// Signals that came to this process since it was made. It takes no thread.
#[derive(Debug)]
pub(crate) struct Forwarded {
    signals: Signals,
    has_terminal: bool,
}

impl Forwarded {
    pub(crate) fn register(has_terminal: bool) -> Result<Self, String> {
        let signals = SENT.into_iter().chain(TYPED).chain([SIGCHLD]);
        let signals =
            Signals::new(signals).map_err(|error| format!("signals cannot be caught: {error}"))?;
        Ok(Self {
            signals,
            has_terminal,
        })
    }

    /// Waits for the end of the stage inside.
    pub(crate) fn wait(&mut self, child: &mut Child) -> Result<ExitStatus, String> {
        let pid = pid_of(child);
        loop {
            let ended = child.try_wait();
            match ended.map_err(|error| format!("its end cannot be learned: {error}"))? {
                Some(status) => return Ok(status),
                None => self.hand_on(pid),
            }
        }
    }

    fn hand_on(&mut self, pid: Pid) {
        for number in self.signals.wait() {
            let is_meant =
                SENT.contains(&number) || (TYPED.contains(&number) && !self.has_terminal);
            if is_meant && let Ok(signal) = Signal::try_from(number) {
                let _ = kill(pid, signal);
            }
        }
    }
}

/// The same inside, where whatever loses its parent is ours to collect.
pub(crate) fn forward_and_reap(
    mut forwarded: Forwarded,
    child: &Child,
) -> Result<ExitStatus, String> {
    let program = pid_of(child);
    loop {
        loop {
            match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                    return Ok(ExitStatus::from_raw(code << 8));
                }
                Ok(WaitStatus::Signaled(pid, signal, dumped)) if pid == program => {
                    let dumped = if dumped { 0x80 } else { 0 };
                    return Ok(ExitStatus::from_raw(signal as i32 | dumped));
                }
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(format!("its end cannot be learned: {error}")),
            }
        }
        forwarded.hand_on(program);
    }
}

/// Ends this process as another ended: with its code, or by its signal.
pub(crate) fn end_as(ended: ExitStatus) -> ExitCode {
    if let Some(signal) = ended
        .signal()
        .and_then(|signal| Signal::try_from(signal).ok())
    {
        // One dump of the program is enough.
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
        let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
    }
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(REFUSED))
}
