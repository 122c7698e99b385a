//! `mission slot attach`: the person's terminal as a terminal of the slot.
//!
//! Four threads bring news to one loop, which alone decides when it is over:
//! what is typed, signals, the view, and (for its own waiting) the typist. On
//! every way out the terminal is given back first.

pub(super) mod keys;
pub(super) mod tty;
mod typist;
mod view;

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use missiond_api::{Attached, Client, ViewAccess};
use missiond_core::{ErrorCode, SlotId};
use serde::Serialize;

use super::signals::{self, Heard};
use crate::args::AttachArgs;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
pub(crate) use keys::DetachKey;
use keys::{KeyFilter, Then};
use tty::Keyboard;
use typist::Typist;
use view::{Canvas, Viewer};

/// How long the first notice stays.
const NOTICE: Duration = Duration::from_secs(2);

/// What the loop is told.
#[derive(Debug)]
enum AttachEvent {
    Typed(Vec<u8>),
    Resized,
    Signal(i32),
    /// The slot is closed; how it ended.
    Ended(String),
    /// There is nothing to type to any more, and why; the slot goes on.
    Dismissed(String),
    TerminalGone,
    Failed(Failure),
}

/// Why it was over.
enum End {
    Detached,
    Dismissed(String),
    Ended(String),
    Signal(i32),
    TerminalGone,
}

#[derive(Debug, Serialize)]
struct Report {
    slot: SlotId,
    name: String,
    /// The person left; the program runs.
    detached: bool,
    /// How the program ended, if it did; or why there was nothing to type to.
    outcome: Option<String>,
}

pub(super) fn attach(
    args: AttachArgs,
    client: Client,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let access = if args.read_only {
        ViewAccess::ReadOnly
    } else {
        ViewAccess::Write
    };
    let (canvas, keyboard) = canvas_and_keyboard(access)?;
    let leave_by = match access {
        ViewAccess::Write => format!("{} detaches", args.detach_key),
        ViewAccess::ReadOnly => format!("read-only, {} or Ctrl-C leaves", args.detach_key),
    };
    let viewer = Viewer {
        home: reach.home.clone(),
        canvas,
        access,
        leave_by,
        current: Arc::default(),
    };
    let attachment = client.attach(&viewer.params(args.slot))?;
    let attached = attachment.attached().clone();
    // Before the first key is read: none is lost, however early it was typed.
    viewer.current.set(Some(attached.attachment));
    let typist = Typist::start(
        reach.home.clone(),
        attached.slot,
        Arc::clone(&viewer.current),
    );

    let (events, happened) = channel();
    let mut taken = None;
    match canvas {
        Canvas::Terminal => {
            let told = events.clone();
            signals::watch(move |heard| {
                let news = match heard {
                    Heard::Resized => AttachEvent::Resized,
                    Heard::Ending(number) => AttachEvent::Signal(number),
                };
                told.send(news).is_ok()
            })?;
            taken = Some(tty::acquire(keyboard)?);
            if keyboard == Keyboard::Raw {
                read_keys(events.clone());
            }
        }
        Canvas::Stream => output.exit_when_reader_closes(),
    }
    std::thread::spawn(move || {
        let painting = std::panic::AssertUnwindSafe(|| viewer.run(attachment, &events));
        if std::panic::catch_unwind(painting).is_err() {
            let message = "the view failed: this is a defect of missiond";
            let failed = Failure::new(ErrorCode::Internal, message);
            let _ = events.send(AttachEvent::Failed(failed));
        }
    });
    let filter = KeyFilter::new(args.detach_key);
    let end = follow(&happened, filter, access, canvas, &typist);
    drop(taken);
    typist.finish();
    Ok(report(end?, &attached, output))
}

/// Where to paint and how to read keys, or why there is nowhere.
fn canvas_and_keyboard(access: ViewAccess) -> Result<(Canvas, Keyboard), Failure> {
    let refused = |what: &str| {
        Err(Failure::new(
            ErrorCode::InvalidParams,
            format!("{what} is not a terminal, and attaching needs one"),
        )
        .hint("`--read-only` only watches, also into a pipe; `mission slot send` types"))
    };
    match (access, tty::stdin_is_terminal(), tty::stdout_is_terminal()) {
        (_, true, true) => Ok((Canvas::Terminal, Keyboard::Raw)),
        (ViewAccess::ReadOnly, false, true) => Ok((Canvas::Terminal, Keyboard::AsItIs)),
        (ViewAccess::ReadOnly, _, false) => Ok((Canvas::Stream, Keyboard::AsItIs)),
        (ViewAccess::Write, false, _) => refused("standard input"),
        (ViewAccess::Write, true, false) => refused("standard output"),
    }
}

fn follow(
    happened: &Receiver<AttachEvent>,
    mut filter: KeyFilter,
    access: ViewAccess,
    canvas: Canvas,
    typist: &Typist,
) -> Result<End, Failure> {
    let mut notice_until = (canvas == Canvas::Terminal).then(|| Instant::now() + NOTICE);
    loop {
        let news = match notice_until {
            Some(until) => happened.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => happened.recv().map_err(RecvTimeoutError::from),
        };
        match news {
            Err(RecvTimeoutError::Timeout) => {
                notice_until = None;
                typist.size(tty::size());
            }
            // The view ends with a word, so this is its thread's end.
            Err(RecvTimeoutError::Disconnected) => return Ok(End::TerminalGone),
            Ok(AttachEvent::Typed(bytes)) => {
                let leaves = access == ViewAccess::ReadOnly && bytes.contains(&0x03);
                let typed = filter.feed(&bytes);
                if access == ViewAccess::Write
                    && !typed.bytes.is_empty()
                    && !typist.keys(typed.bytes)
                {
                    let _ = tty::write("\x07");
                }
                if leaves || typed.then == Then::Detach {
                    return Ok(End::Detached);
                }
            }
            Ok(AttachEvent::Resized) => typist.size(tty::size()),
            Ok(AttachEvent::Signal(number)) => return Ok(End::Signal(number)),
            Ok(AttachEvent::Ended(outcome)) => return Ok(End::Ended(outcome)),
            Ok(AttachEvent::Dismissed(why)) => return Ok(End::Dismissed(why)),
            Ok(AttachEvent::TerminalGone) => return Ok(End::TerminalGone),
            Ok(AttachEvent::Failed(failure)) => return Err(failure),
        }
    }
}

fn report(end: End, attached: &Attached, output: &mut Output) -> ExitCode {
    let (detached, outcome) = match end {
        End::Signal(number) => return ExitCode::from(128 + u8::try_from(number).unwrap_or(0)),
        // Nobody is left to be told.
        End::TerminalGone => return ExitCode::SUCCESS,
        End::Detached => (true, None),
        End::Dismissed(why) => (true, Some(why)),
        End::Ended(outcome) => (false, Some(outcome)),
    };
    let report = Report {
        slot: attached.slot,
        name: attached.name.clone(),
        detached,
        outcome,
    };
    output.result(&report, |output, report| {
        let Report { name, slot, .. } = report;
        match &report.outcome {
            Some(why) if report.detached => {
                output.line(format!(
                    "Detached from {name}: {why}. Back to it: mission slot attach {name}"
                ));
            }
            Some(outcome) => {
                output.line(format!("{name} has ended: {outcome}."));
                output.line(format!("Its last screen: mission slot read {slot}"));
            }
            None => output.line(format!(
                "Detached. {name} goes on; back to it: mission slot attach {name}"
            )),
        }
    });
    ExitCode::SUCCESS
}

fn read_keys(events: Sender<AttachEvent>) {
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin();
        let mut buffer = [0; 4096];
        loop {
            let news = match stdin.read(&mut buffer) {
                Ok(0) => AttachEvent::TerminalGone,
                Ok(count) => AttachEvent::Typed(buffer[..count].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => AttachEvent::TerminalGone,
            };
            let over = matches!(news, AttachEvent::TerminalGone);
            if events.send(news).is_err() || over {
                return;
            }
        }
    });
}
