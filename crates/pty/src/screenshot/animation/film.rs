//! The frames of a recording: when each begins and which rows it shows.
//!
//! Rows are drawn once and kept by number, so that a screen that changes in one row
//! costs one row.

use std::collections::HashMap;
use std::io::BufRead;
use std::time::Duration;

use missiond_semantic::Size;

use super::document::draw_row;
use super::{
    AnimationError, AnimationOptions, MAX_CELLS, MAX_FRAMES, MAX_LENGTH, MAX_OUTPUT, MAX_SVG,
};
use crate::cast::{CastReader, EventKind};
use crate::screenshot::picture::Picture;
use crate::terminal::Terminal;

/// What is on the screen for a shorter time is not seen; it becomes part of the frame
/// that follows.
pub(super) const SHORTEST_FRAME: Duration = Duration::from_millis(60);
/// How long the last frame stays before the next round.
pub(super) const END_PAUSE: Duration = Duration::from_secs(5);

/// How much faster than it was recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    pub const RECORDED: Self = Self(1.0);

    /// From a tenth to a hundred times.
    #[must_use]
    pub fn new(times: f64) -> Option<Self> {
        (0.1..=100.0).contains(&times).then_some(Self(times))
    }
}

/// A drawn row; 0 is one on which nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowId(usize);

impl RowId {
    pub(super) const BLANK: Self = Self(0);

    pub(super) fn number(self) -> usize {
        self.0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) at: Duration,
    pub(super) rows: Vec<RowId>,
}

#[derive(Debug)]
pub(super) struct Film {
    size: Size,
    frames: Vec<Frame>,
    /// What each row draws, by its number.
    rows: Vec<String>,
    numbers: HashMap<String, RowId>,
    bytes: usize,
}

impl Film {
    pub(super) fn read<R: BufRead>(
        cast: CastReader<R>,
        options: &AnimationOptions,
    ) -> Result<Self, AnimationError> {
        let mut film = Self {
            size: Size {
                columns: 1,
                rows: 1,
            },
            frames: Vec::new(),
            rows: vec![String::new()],
            numbers: HashMap::from([(String::new(), RowId::BLANK)]),
            bytes: 0,
        };
        let mut terminal = Terminal::new(cast.header().size());
        let mut clock = Clock::new(options);
        let (mut begun, mut latest, mut output) = (Duration::ZERO, Duration::ZERO, 0);
        for event in cast {
            let event = event?;
            if !matches!(event.kind, EventKind::Output(_) | EventKind::Resize(_)) {
                continue;
            }
            latest = event.at;
            let now = clock.played(event.at);
            if now > MAX_LENGTH {
                return Err(AnimationError::TooLong);
            }
            if now - begun >= SHORTEST_FRAME {
                terminal.advance_to(event.at);
                film.add(begun, &terminal.picture()?)?;
                begun = now;
            }
            match event.kind {
                EventKind::Output(data) => {
                    output += data.len();
                    if output > MAX_OUTPUT {
                        return Err(AnimationError::TooMuchOutput);
                    }
                    terminal.feed(data.as_bytes(), event.at);
                }
                EventKind::Resize(size) => terminal.resize(size, event.at),
                EventKind::Input(_) | EventKind::Marker(_) => {}
            }
            // Nobody types the answers into anything.
            terminal.take_replies();
            terminal.take_signals();
        }
        terminal.finish(latest);
        film.add(begun, &terminal.picture()?)?;
        Ok(film)
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// At least one; each begins later than the one before it and differs from it.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub(super) fn length(&self) -> Duration {
        let last = self.frames.last().map_or(Duration::ZERO, |frame| frame.at);
        last + END_PAUSE
    }

    pub(super) fn drawn(&self, row: RowId) -> &str {
        self.rows.get(row.0).map_or("", String::as_str)
    }

    fn add(&mut self, at: Duration, picture: &Picture) -> Result<(), AnimationError> {
        let Size { columns, rows } = picture.size;
        if columns > MAX_CELLS.columns || rows > MAX_CELLS.rows {
            return Err(AnimationError::TooManyCells(picture.size));
        }
        self.size.columns = self.size.columns.max(columns);
        self.size.rows = self.size.rows.max(rows);
        let mut shown = Vec::with_capacity(rows.into());
        for row in 0..picture.rows.len() {
            shown.push(self.number(draw_row(picture, row))?);
        }
        while shown.last() == Some(&RowId::BLANK) {
            shown.pop();
        }
        if self.frames.last().is_some_and(|last| last.rows == shown) {
            return Ok(());
        }
        if self.frames.len() == MAX_FRAMES {
            return Err(AnimationError::TooManyFrames);
        }
        self.frames.push(Frame { at, rows: shown });
        Ok(())
    }

    fn number(&mut self, drawn: String) -> Result<RowId, AnimationError> {
        if let Some(&known) = self.numbers.get(&drawn) {
            return Ok(known);
        }
        self.bytes += drawn.len();
        if self.bytes > MAX_SVG {
            return Err(AnimationError::TooLarge);
        }
        let number = RowId(self.rows.len());
        self.rows.push(drawn.clone());
        self.numbers.insert(drawn, number);
        Ok(number)
    }
}

/// Turns the time of a recording into that of its picture.
struct Clock {
    speed: f64,
    longest_pause: Duration,
    recorded: Duration,
    played: Duration,
}

impl Clock {
    fn new(options: &AnimationOptions) -> Self {
        Self {
            speed: options.speed.0,
            longest_pause: options.longest_pause,
            recorded: Duration::ZERO,
            played: Duration::ZERO,
        }
    }

    fn played(&mut self, at: Duration) -> Duration {
        let pause = at.saturating_sub(self.recorded).min(self.longest_pause);
        self.recorded = at;
        // A speed is at least a tenth, and the reader ends a recording at ten years: no
        // overflow.
        self.played += pause.div_f64(self.speed);
        self.played
    }
}
