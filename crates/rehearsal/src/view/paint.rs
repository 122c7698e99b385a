//! Puts a view onto the terminal.
//!
//! What will not change any more is written once and scrolls into the
//! terminal's history; what lives is drawn anew below it, each time within one
//! synchronized update. After a resize everything kept is written again.

use std::fmt::Write as _;
use std::io;
use std::time::Instant;

use missiond_core::PtyState;

use super::View;
use super::draw::{self, Line, LineStyle};
use crate::terminal::{size, write_out};

const BEGIN_UPDATE: &str = "\x1b[?2026h\x1b[?25l";
const END_UPDATE: &str = "\x1b[?2026l";

#[derive(Debug)]
pub(crate) struct Painter {
    colours: Colours,
    /// Number of blocks written for good, dropped ones included.
    written: usize,
    header_written: bool,
    /// Rows of the living part above the cursor.
    above_cursor: usize,
    title: String,
    progress: &'static str,
    /// The last picture, so that nothing is sent twice.
    living: String,
    forget_screen: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    Used,
    Unused,
}

impl Painter {
    pub(crate) fn new() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colours: if unwanted {
                Colours::Unused
            } else {
                Colours::Used
            },
            written: 0,
            header_written: false,
            above_cursor: 0,
            title: String::new(),
            progress: "",
            living: String::new(),
            forget_screen: false,
        }
    }

    /// The next picture begins on an empty screen.
    pub(crate) fn start_over(&mut self) {
        self.forget_screen = true;
    }

    /// How many blocks were written for good.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    pub(crate) fn paint(&mut self, view: &View, now: Instant) -> io::Result<()> {
        let (width, height) = size();
        let mut lasting = String::new();
        if std::mem::take(&mut self.forget_screen) {
            lasting.push_str("\x1b[H\x1b[2J\x1b[3J");
            self.written = view.dropped;
            self.header_written = false;
            self.above_cursor = 0;
            self.living.clear();
        }
        if !self.header_written {
            self.put(&mut lasting, draw::header(view, width));
            self.header_written = true;
        }
        let mut live = Vec::new();
        for (index, block) in view.blocks.iter().enumerate() {
            let number = view.dropped + index;
            if number < self.written {
                continue;
            }
            let lines = draw::block(block, width);
            if number == self.written && block.is_final() {
                self.put(&mut lasting, lines);
                self.written += 1;
            } else {
                live.extend(lines);
            }
        }
        let bottom = draw::bottom(view, now, width);
        let cursor_above_end = bottom.cursor.map(|(row, column)| {
            let below = bottom.lines.len().saturating_sub(row + 1);
            (below, column)
        });
        live.extend(bottom.lines);
        let hidden = live.len().saturating_sub(height.saturating_sub(1).max(1));
        let living = self.living_part(&live[hidden..], cursor_above_end);
        let signs = self.signs(view, now);
        if lasting.is_empty() && living == self.living {
            return if signs.is_empty() {
                Ok(())
            } else {
                write_out(signs.as_bytes())
            };
        }
        let mut frame = String::from(BEGIN_UPDATE);
        if self.above_cursor > 0 {
            let _ = write!(frame, "\x1b[{}A", self.above_cursor);
        }
        frame.push_str("\r\x1b[J");
        frame.push_str(&lasting);
        frame.push_str(&living);
        frame.push_str(&signs);
        frame.push_str(END_UPDATE);
        self.living = living;
        let below = cursor_above_end.map_or(0, |(below, _)| below);
        self.above_cursor = (live.len() - hidden).saturating_sub(1 + below);
        write_out(frame.as_bytes())
    }

    /// Takes the living part away and leaves the cursor below what lasts.
    pub(crate) fn finish(&mut self, farewell: &[String]) -> io::Result<()> {
        let mut text = String::from(BEGIN_UPDATE);
        if self.above_cursor > 0 {
            let _ = write!(text, "\x1b[{}A", self.above_cursor);
        }
        text.push_str("\r\x1b[J");
        for line in farewell {
            let _ = write!(text, "{line}\r\n");
        }
        text.push_str(END_UPDATE);
        write_out(text.as_bytes())
    }

    fn living_part(&self, lines: &[Line], cursor: Option<(usize, usize)>) -> String {
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                text.push_str("\r\n");
            }
            self.put_line(&mut text, line);
        }
        if let Some((below, column)) = cursor {
            if below > 0 {
                let _ = write!(text, "\x1b[{below}A");
            }
            let _ = write!(text, "\r\x1b[{column}C\x1b[?25h");
        }
        text
    }

    /// Window title and progress, where they changed.
    fn signs(&mut self, view: &View, now: Instant) -> String {
        let state = view.state();
        let (sign, progress) = match state {
            PtyState::Confirming => ('✋', "4;100"),
            PtyState::Error => ('✗', "2;100"),
            _ => match view.activity {
                Some(busy) => (draw::glyph(busy, now), "3;0"),
                None => ('◆', "0;"),
            },
        };
        let title = format!("{sign} rehearsal: {}", view.script);
        let mut signs = String::new();
        if title != self.title {
            let _ = write!(signs, "\x1b]0;{title}\x1b\\");
            self.title = title;
        }
        if progress != self.progress {
            let _ = write!(signs, "\x1b]9;4;{progress}\x1b\\");
            self.progress = progress;
        }
        signs
    }

    fn put(&self, text: &mut String, lines: Vec<Line>) {
        for line in lines {
            self.put_line(text, &line);
            text.push_str("\r\n");
        }
    }

    fn put_line(&self, text: &mut String, line: &Line) {
        let code = match line.style {
            LineStyle::Plain => "",
            LineStyle::Dim => "2",
            LineStyle::Bold => "1",
            LineStyle::Good => "32",
            LineStyle::Bad => "31",
            LineStyle::Accent => "36",
        };
        if code.is_empty() || self.colours == Colours::Unused {
            text.push_str(&line.text);
        } else {
            let _ = write!(text, "\x1b[{code}m{}\x1b[0m", line.text);
        }
    }
}
