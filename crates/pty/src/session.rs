//! A terminal and its reader: bytes in, readings out.
//!
//! Decides when a screen is worth reading: at the end of a frame. A program that
//! marks its frames (synchronized updates) says when that is. One that does not
//! draws a frame in several writes, so the screen is read when output pauses, or
//! at the latest after a short time of steady output; a screen nobody wrote to
//! is never read again. All times come from the caller.

use std::sync::Arc;
use std::time::Duration;

use missiond_semantic::{
    Explanation, InstantReading, Key, Manifest, Reader, Reading, Screen, Size,
};

use crate::terminal::{OutputFilter, Terminal};

/// Output that pauses this long has finished its frame.
const FRAME_PAUSE: Duration = Duration::from_millis(12);
/// Steady output is read this often.
const FRAME_LIMIT: Duration = Duration::from_millis(48);
/// Frames that follow each other faster are read together.
const FRAME_GAP: Duration = Duration::from_millis(16);

#[derive(Debug)]
pub struct Session {
    terminal: Terminal,
    reader: Reader,
    frame: Option<Frame>,
    /// When the screen was last read.
    read: Option<Duration>,
    now: Duration,
}

/// Output that has not been read yet.
#[derive(Debug, Clone, Copy)]
struct Frame {
    first: Duration,
    last: Duration,
    /// When the program marked it as complete.
    complete: Option<Duration>,
}

impl Frame {
    fn due(self, read: Option<Duration>) -> Duration {
        let settled = (self.last + FRAME_PAUSE).min(self.first + FRAME_LIMIT);
        let apart = read.map_or(Duration::ZERO, |read| read + FRAME_GAP);
        match self.complete {
            Some(complete) => settled.min(complete.max(apart)),
            None => settled,
        }
    }
}

/// A reading and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedReading {
    pub at: Duration,
    /// Bytes of output it rests on.
    pub offset: u64,
    pub reading: Reading,
}

impl Session {
    #[must_use]
    pub fn new(size: Size, manifest: Arc<Manifest>) -> Self {
        Self {
            terminal: Terminal::new(size),
            reader: Reader::new(manifest),
            frame: None,
            read: None,
            now: Duration::ZERO,
        }
    }

    /// The same session, taking in less.
    #[must_use]
    pub fn with_output_filter(self, filter: OutputFilter) -> Self {
        Self {
            terminal: self.terminal.with_output_filter(filter),
            ..self
        }
    }

    /// Takes output written at `at`, after whatever fell due before it.
    pub fn feed(&mut self, bytes: &[u8], at: Duration, changes: &mut Vec<TimedReading>) {
        self.advance_to(at, changes);
        let ended = self.terminal.updates_ended();
        self.terminal.feed(bytes, at);
        self.mark_drawn(at);
        if let Some(frame) = &mut self.frame
            && self.terminal.updates_ended() != ended
        {
            frame.complete = Some(at);
        }
    }

    /// Something was sent to the program at `at`. What the screen means may
    /// depend on it, so the screen is read again.
    pub fn sent(&mut self, bytes: &[u8], at: Duration, changes: &mut Vec<TimedReading>) {
        let Some(key) = Key::of_input(bytes) else {
            return;
        };
        self.advance_to(at, changes);
        self.reader.sent(key, at);
        self.mark_drawn(at);
    }

    pub fn resize(&mut self, size: Size, at: Duration, changes: &mut Vec<TimedReading>) {
        self.advance_to(at, changes);
        self.terminal.resize(size, at);
        self.mark_drawn(at);
    }

    /// Goes on with another manifest; the screen stays and is read with it.
    pub fn reload(
        &mut self,
        manifest: Arc<Manifest>,
        at: Duration,
        changes: &mut Vec<TimedReading>,
    ) {
        self.advance_to(at, changes);
        self.reader.reload(manifest);
        self.mark_drawn(at);
    }

    /// Lets time pass up to, not including, `at`.
    pub fn advance_to(&mut self, at: Duration, changes: &mut Vec<TimedReading>) {
        while let Some(due) = self.deadline().filter(|due| *due < at) {
            self.run_due(due, changes);
        }
        self.now = self.now.max(at);
    }

    /// When something will happen without further output.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let frame = self.frame.map(|frame| frame.due(self.read));
        [frame, self.terminal.deadline(), self.reader.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// No more output will come: reads what is left.
    pub fn finish(&mut self, changes: &mut Vec<TimedReading>) {
        let at = self.now;
        self.terminal.finish(at);
        self.read(at, changes);
    }

    /// The process has ended at `at`.
    pub fn exited(&mut self, at: Duration, changes: &mut Vec<TimedReading>) {
        self.advance_to(at, changes);
        self.finish(changes);
        let offset = self.terminal.offset();
        if let Some(reading) = self.reader.exited(at) {
            changes.push(TimedReading {
                at,
                offset,
                reading: reading.clone(),
            });
        }
    }

    pub fn terminal(&mut self) -> &mut Terminal {
        &mut self.terminal
    }

    pub fn screen(&mut self) -> &Screen {
        self.terminal.screen()
    }

    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What the screen says by itself, read or not.
    pub fn read_instant(&mut self, at: Duration) -> InstantReading {
        self.reader.read_instant(self.terminal.screen(), at)
    }

    /// The last line of the program's work, without what draws the screen.
    pub fn work_line(&mut self) -> Option<String> {
        self.reader.work_line(self.terminal.screen())
    }

    /// Whether everything written so far has been read.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.frame.is_none() && self.terminal.deadline().is_none()
    }

    pub fn explain(&mut self, at: Duration) -> Explanation {
        self.reader.explain(self.terminal.screen(), at)
    }

    fn mark_drawn(&mut self, at: Duration) {
        let begun = self
            .frame
            .map_or((at, None), |frame| (frame.first, frame.complete));
        self.frame = Some(Frame {
            first: begun.0,
            last: at,
            complete: begun.1,
        });
    }

    fn run_due(&mut self, at: Duration, changes: &mut Vec<TimedReading>) {
        self.now = self.now.max(at);
        if self.terminal.deadline().is_some_and(|due| due <= at) {
            self.terminal.advance_to(at);
            self.mark_drawn(at);
        }
        let frame_due = self.frame.is_some_and(|frame| frame.due(self.read) <= at);
        let reader_due = self.reader.deadline().is_some_and(|due| due <= at);
        if frame_due || reader_due {
            self.read(at, changes);
        }
    }

    fn read(&mut self, at: Duration, changes: &mut Vec<TimedReading>) {
        self.frame = None;
        self.read = Some(at);
        let offset = self.terminal.offset();
        if let Some(reading) = self.reader.observe(self.terminal.screen(), at) {
            changes.push(TimedReading {
                at,
                offset,
                reading: reading.clone(),
            });
        }
    }
}
