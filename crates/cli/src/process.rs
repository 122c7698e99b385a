//! Starting and stopping the daemon's process from outside.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use missiond_api::operations::system::{ControlAction, DaemonControl, DaemonControlParams};
use missiond_api::{Client, ClientError, Home};
use missiond_core::ErrorCode;
use missiond_daemon::{Instance, PidRecord};
use missiond_os::files;
use missiond_os::programs::own_program;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A daemon that has not answered by then is taken to hang.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Longer than the daemon's own limit for closing.
const STOP_LIMIT: Duration = Duration::from_secs(12);

/// For a daemon that is to be killed unless it answers.
const LAST_CHANCE: Duration = Duration::from_secs(3);

const POLL: Duration = Duration::from_millis(5);

/// The one line a detached daemon writes to the process that started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Startup {
    Ready {
        pid: u32,
    },
    /// Another daemon holds the lock.
    AlreadyRunning {
        message: String,
    },
    Failed {
        code: ErrorCode,
        message: String,
        /// How a person gets out of it.
        way_out: Option<String>,
    },
}

/// Whether `start` had anything to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Now { pid: u32 },
    Already { pid: u32 },
}

/// The process of a daemon that left its PID file behind and is gone.
pub(crate) fn died(home: &Home) -> Option<u32> {
    let record = PidRecord::read(home)?;
    (!record.is_alive()).then_some(record.pid)
}

/// What becomes of a daemon that has not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overdue {
    /// It may have much to do, and answers later.
    Leave,
    Kill,
}

/// Starts a daemon and returns when it answers, or says why it does not.
pub(crate) fn start(home: &Home) -> Result<Started, Failure> {
    start_program(home, &own_program()?, START_LIMIT, Overdue::Leave)
}

/// As [`start`], with this program.
pub(crate) fn start_program(
    home: &Home,
    program: &Path,
    limit: Duration,
    overdue: Overdue,
) -> Result<Started, Failure> {
    if let Ok(client) = Client::connect(home) {
        return Ok(Started::Already {
            pid: client.welcome().pid,
        });
    }
    let deadline = Instant::now() + STOP_LIMIT;
    loop {
        let refusal = match spawn_detached(program, limit, overdue)? {
            Startup::Ready { pid } => return Ok(Started::Now { pid }),
            Startup::AlreadyRunning { message } => message,
            Startup::Failed {
                code,
                message,
                way_out,
            } => {
                let message = format!("the daemon did not start: {message}");
                return Err(Failure {
                    hint: way_out,
                    ..Failure::new(code, message)
                });
            }
        };
        // Another start was faster, and its daemon is as good as ours. Or one is
        // closing: then it is our turn when it is gone.
        while Instance::is_held(home)? {
            if let Ok(client) = Client::connect(home) {
                return Ok(Started::Already {
                    pid: client.welcome().pid,
                });
            }
            if Instant::now() > deadline {
                let message = format!("{refusal}, but it does not answer");
                return Err(Failure::new(ErrorCode::Conflict, message)
                    .hint("`mission daemon stop --force` ends it"));
            }
            std::thread::sleep(POLL);
        }
    }
}

fn spawn_detached(program: &Path, limit: Duration, overdue: Overdue) -> Result<Startup, Failure> {
    let mut child = Command::new(program)
        .args(["daemon", "run", "--detached"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        if let Some(stdout) = stdout {
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let _ = sender.send(line);
    });
    match receiver.recv_timeout(limit) {
        Ok(line) if !line.is_empty() => serde_json::from_str(&line).map_err(|error| {
            Failure::new(
                ErrorCode::Internal,
                format!("the daemon said `{line}`: {error}"),
            )
        }),
        Ok(_) => {
            let status = child.wait()?;
            let message = format!("the daemon ended before it answered ({status})");
            Err(Failure::new(ErrorCode::Internal, message).hint("`mission daemon logs` shows why"))
        }
        Err(_) => {
            if overdue == Overdue::Kill {
                let _ = child.kill();
                let _ = child.wait();
            }
            let message = format!("no answer within {} s", limit.as_secs());
            Err(Failure::new(ErrorCode::Timeout, message).hint("`mission daemon logs` shows why"))
        }
    }
}

/// How hard to push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    Ask,
    /// Kill it when it does not go.
    Kill,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Now {
        /// Programs in slots, which go on.
        slots_running: u64,
    },
    WasNot,
}

/// Asks the daemon to stop and returns when it is gone.
pub(crate) fn stop(home: &Home, force: Force) -> Result<Stopped, Failure> {
    let mut slots_running = 0;
    let mut patience = STOP_LIMIT;
    match Client::connect_within(home, LAST_CHANCE) {
        Ok(mut client) => {
            let params = DaemonControlParams {
                action: ControlAction::Stop,
            };
            match client.call::<DaemonControl>(&params) {
                Ok(result) => slots_running = result.slots_running,
                Err(ClientError::Closed) => {}
                Err(error) if force == Force::Ask => return Err(error.into()),
                Err(_) => {}
            }
        }
        // It lives but does not speak, not even to decline.
        Err(ClientError::Silent { .. }) => {
            signal(home, Signal::Terminate);
            if force == Force::Kill {
                patience = LAST_CHANCE;
            }
        }
        Err(_) if !Instance::is_held(home)? => return Ok(Stopped::WasNot),
        // It holds the lock and does not listen: it starts, or it is stopping
        // already, and a signal would cut short what it still has to finish.
        Err(_) if exited_within(home, STOP_LIMIT)? => {
            return Ok(Stopped::Now { slots_running });
        }
        Err(_) => signal(home, Signal::Terminate),
    }
    if exited_within(home, patience)? {
        return Ok(Stopped::Now { slots_running });
    }
    if force == Force::Kill {
        signal(home, Signal::Kill);
        if exited_within(home, Duration::from_secs(5))? {
            return Ok(Stopped::Now { slots_running });
        }
    }
    let message = format!("the daemon is still there after {} s", STOP_LIMIT.as_secs());
    Err(Failure::new(ErrorCode::Timeout, message).hint("`mission daemon stop --force` kills it"))
}

/// While it is held no daemon can start in this home.
#[derive(Debug)]
pub(crate) struct Standstill {
    _lock: Option<File>,
}

/// Stops the daemon, if one runs, and keeps others from starting.
pub(crate) fn stop_and_hold(home: &Home, force: Force) -> Result<(Stopped, Standstill), Failure> {
    /// Somebody may start one between the stop and the lock, but not again and again.
    const ATTEMPTS: usize = 5;
    let mut first = None;
    for _ in 0..ATTEMPTS {
        let stopped = stop(home, force)?;
        if first.is_none() || first == Some(Stopped::WasNot) {
            first = Some(stopped);
        }
        if !home.run_dir().exists() {
            return Ok((Stopped::WasNot, Standstill { _lock: None }));
        }
        let lock = files::open_private_lock(&home.lock_file())?;
        if lock.try_lock().is_ok() {
            let stopped = first.unwrap_or(Stopped::WasNot);
            return Ok((stopped, Standstill { _lock: Some(lock) }));
        }
    }
    let message = "the daemon is started again and again by something else";
    Err(Failure::new(ErrorCode::Conflict, message))
}

fn exited_within(home: &Home, limit: Duration) -> Result<bool, Failure> {
    let deadline = Instant::now() + limit;
    while Instance::is_held(home)? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
    Ok(true)
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

/// To the recorded process, if it is still that process.
fn signal(home: &Home, signal: Signal) {
    if let Some(record) = PidRecord::read(home)
        && record.is_alive()
        && let Some(pid) = i32::try_from(record.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
    {
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        let _ = rustix::process::kill_process(pid, signal);
    }
}
