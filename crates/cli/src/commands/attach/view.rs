//! Frames from the daemon to the terminal, across restarts of the daemon.

use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use missiond_api::operations::compute::{Columns, Rows};
use missiond_api::{AttachParams, Attachment, Client, ClientError, Home, ViewAccess, ViewNews};
use missiond_core::ErrorCode;

use super::{AttachEvent, tty};
use crate::failure::Failure;

/// How long a daemon that is gone is waited for.
const RETURN_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// Where the picture goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Canvas {
    Terminal,
    /// A pipe or a file: no size of its own, nothing to give back.
    Stream,
}

#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) home: Home,
    pub(super) canvas: Canvas,
    pub(super) access: ViewAccess,
    pub(super) leave_by: String,
    pub(super) current: Arc<Current>,
}

/// The attachment in force, for those who send keys and sizes.
#[derive(Debug, Default)]
pub(super) struct Current(Mutex<CurrentState>);

#[derive(Debug, Default)]
struct CurrentState {
    attachment: Option<u64>,
    /// Counts attachments: a daemon that starts again counts from the beginning.
    generation: u64,
}

impl Current {
    /// The attachment and its generation; none while the daemon is away.
    pub(super) fn get(&self) -> Option<(u64, u64)> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some((state.attachment?, state.generation))
    }

    pub(super) fn set(&self, attachment: Option<u64>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.attachment = attachment;
        state.generation += 1;
    }
}

impl Viewer {
    pub(super) fn params(&self, slot: String) -> AttachParams {
        let size = (self.canvas == Canvas::Terminal).then(tty::size);
        AttachParams {
            slot,
            access: self.access,
            columns: size.map(|size| Columns::clamped(size.columns.into())),
            rows: size.map(|size| Rows::clamped(size.rows.into())),
        }
    }

    /// Paints until the slot ends or there is nothing to paint on.
    pub(super) fn run(&self, mut attachment: Attachment, events: &Sender<AttachEvent>) {
        let slot = attachment.attached().slot;
        let mut greeting = Some(format!(
            " {}: {} ",
            attachment.attached().name,
            self.leave_by
        ));
        loop {
            let lost = match self.paint(&mut attachment, &mut greeting) {
                Ok(end) => {
                    let _ = events.send(end);
                    return;
                }
                Err(lost) => lost,
            };
            self.current.set(None);
            match self.return_to(&slot.to_string(), lost) {
                Ok(again) => {
                    self.current.set(Some(again.attached().attachment));
                    attachment = again;
                }
                Err(end) => {
                    let _ = events.send(end);
                    return;
                }
            }
        }
    }

    fn paint(
        &self,
        attachment: &mut Attachment,
        greeting: &mut Option<String>,
    ) -> Result<AttachEvent, ClientError> {
        loop {
            let frame = match attachment.next_news()? {
                ViewNews::Paint(frame) => frame,
                ViewNews::Ended(ended) if ended.goes_on => {
                    return Ok(AttachEvent::Dismissed(ended.outcome));
                }
                ViewNews::Ended(ended) => return Ok(AttachEvent::Ended(ended.outcome)),
            };
            let written = match self.canvas {
                Canvas::Terminal => tty::write(&frame.text),
                Canvas::Stream => stream(&frame.text),
            };
            if written.is_err() {
                return Ok(AttachEvent::TerminalGone);
            }
            if !frame.more {
                if let Some(greeting) = greeting.take() {
                    tty::notice(&greeting);
                }
                attachment.painted(frame.frame)?;
            }
        }
    }

    /// The program goes on without the daemon; so does the view when it is back.
    fn return_to(&self, slot: &str, lost: ClientError) -> Result<Attachment, AttachEvent> {
        if self.canvas == Canvas::Terminal {
            tty::notice(&format!(
                " the daemon is gone, the program goes on: `mission up` elsewhere brings it back ({}) ",
                self.leave_by
            ));
        }
        let deadline = Instant::now() + RETURN_LIMIT;
        let mut last = lost;
        while Instant::now() < deadline {
            let attached = Client::connect(&self.home)
                .and_then(|client| client.attach(&self.params(slot.to_owned())));
            match attached {
                Ok(attachment) => return Ok(attachment),
                Err(ClientError::Api(error))
                    if matches!(error.code, ErrorCode::NotFound | ErrorCode::Conflict) =>
                {
                    return Err(AttachEvent::Ended(error.message));
                }
                Err(error) if error.code() == ErrorCode::VersionMismatch => {
                    return Err(AttachEvent::Failed(error.into()));
                }
                Err(error) => last = error,
            }
            std::thread::sleep(POLL);
        }
        let failure = Failure::from(last);
        let message = format!(
            "the daemon did not come back within {} s ({})",
            RETURN_LIMIT.as_secs(),
            failure.message
        );
        let failure = Failure::new(ErrorCode::Unreachable, message)
            .hint("the program goes on; `mission up` starts the daemon, then attach again");
        Err(AttachEvent::Failed(failure))
    }
}

fn stream(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
