//! Shows a terminal on another one: what to write there so that it looks like
//! this one.
//!
//! The other terminal is painted from the emulator's cells, never from the
//! program's bytes. So whatever the program writes, only printable text, colours
//! and a known set of modes come through; the other terminal may have any size;
//! and it may be late: what it is sent leads from what it shows to what is true,
//! however much happened in between.

mod modes;
mod pen;

use std::fmt::Write;

use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use missiond_semantic::Size;

use crate::terminal::{Terminal, clamp};
use modes::Modes;
use pen::Pen;

/// Whether the other terminal sends keys to the program. If it does, the modes
/// that decide how keys, mouse and pastes are sent are set there too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    Sent,
    /// The mouse stays the person's, to mark and copy.
    NotSent,
}

/// The size of the other terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// As large as what is shown.
    Same,
    /// Of its own size: what does not fit is left out, and the part that is
    /// shown follows the cursor; what is left over stays empty.
    Of(Size),
}

/// Knows what one other terminal shows.
#[derive(Debug)]
pub struct Painter {
    view: View,
    keys: Keys,
    shown: Option<Snapshot>,
    /// The row and column of the shown terminal at the top left of the view.
    corner: (usize, usize),
}

#[derive(Debug, Clone, PartialEq)]
struct Snapshot {
    size: Size,
    /// Row by row.
    cells: Vec<Cell>,
    cursor: Option<(usize, usize)>,
    title: String,
    modes: Modes,
    bells: u64,
}

impl Painter {
    #[must_use]
    pub fn new(view: View, keys: Keys) -> Self {
        Self {
            view,
            keys,
            shown: None,
            corner: (0, 0),
        }
    }

    /// The other terminal has changed its size, or shows something else: the
    /// next painting is a whole one.
    pub fn start_over(&mut self, view: View) {
        self.view = view;
        self.shown = None;
    }

    /// What to write to the other terminal; empty when it shows the truth.
    ///
    /// A whole painting clears the screen and sets every mode, so it is right
    /// whatever was there before.
    pub fn paint(&mut self, terminal: &Terminal) -> String {
        let next = self.snapshot(terminal);
        let mut out = String::new();
        match &self.shown {
            Some(shown) if shown.size == next.size => {
                if *shown == next {
                    return out;
                }
                next.modes.change(Some(&shown.modes), &mut out);
                paint_title(Some(&shown.title), &next.title, &mut out);
                paint_cells(&shown.cells, &next, &mut out);
                if next.bells > shown.bells {
                    out.push('\x07');
                }
            }
            _ => {
                next.modes.change(None, &mut out);
                paint_title(None, &next.title, &mut out);
                out.push_str("\x1b[0m\x1b]8;;\x1b\\\x1b[2J");
                let empty = vec![Cell::default(); next.cells.len()];
                paint_cells(&empty, &next, &mut out);
            }
        }
        // Drawn without being seen half done, by those terminals that can.
        out.insert_str(0, "\x1b[?2026h\x1b[?25l");
        if let Some((row, column)) = next.cursor {
            go_to(row, column, &mut out);
            out.push_str("\x1b[?25h");
        }
        out.push_str("\x1b[?2026l");
        self.shown = Some(next);
        out
    }

    fn snapshot(&mut self, terminal: &Terminal) -> Snapshot {
        let whole = terminal.size();
        let size = match self.view {
            View::Same => whole,
            View::Of(size) => clamp(size),
        };
        let point = terminal.cells().cursor.point;
        let cursor = (usize::try_from(point.line.0).unwrap_or(0), point.column.0);
        let rows = usize::from(size.rows);
        let columns = usize::from(size.columns);
        let (top, left) = (
            scroll_into_view(self.corner.0, cursor.0, rows, whole.rows.into()),
            scroll_into_view(self.corner.1, cursor.1, columns, whole.columns.into()),
        );
        self.corner = (top, left);
        let mut cells = Vec::with_capacity(rows * columns);
        for row in top..top + rows {
            let exists = row < usize::from(whole.rows);
            let Some(line) = i32::try_from(row).ok().filter(|_| exists) else {
                cells.resize(cells.len() + columns, Cell::default());
                continue;
            };
            let end = usize::from(whole.columns).min(left + columns);
            let row = &terminal.cells()[Line(line)][Column(left)..Column(end)];
            let begin = cells.len();
            cells.extend(row.iter().map(visible_cell));
            blank_half_cells(&mut cells[begin..]);
            cells.resize(begin + columns, Cell::default());
        }
        let cursor = terminal
            .shows_cursor()
            .then(|| (cursor.0 - top, cursor.1 - left));
        Snapshot {
            size,
            cells,
            cursor,
            title: pen::plain(terminal.title()),
            modes: Modes::of(terminal, self.keys),
            bells: terminal.bells(),
        }
    }
}

/// Where a window of `length` out of `whole` begins so that `at` is in it: as
/// little moved as possible, and never beyond the end.
fn scroll_into_view(begin: usize, at: usize, length: usize, whole: usize) -> usize {
    let begin = begin.min(whole.saturating_sub(length));
    if at < begin {
        at
    } else if at >= begin + length {
        at + 1 - length
    } else {
        begin
    }
}

/// The cell with what can be seen of it.
fn visible_cell(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    cell.flags
        .remove(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER);
    if cell.flags.contains(Flags::HIDDEN) || cell.c.is_control() {
        cell.flags.remove(Flags::HIDDEN);
        cell.clear_wide();
    }
    cell
}

/// Half a wide character becomes a blank: the other half is outside the view,
/// or the program has overwritten it.
fn blank_half_cells(row: &mut [Cell]) {
    let mut after_wide = false;
    for column in 0..row.len() {
        let next_is_spacer = row
            .get(column + 1)
            .is_some_and(|next| next.flags.contains(Flags::WIDE_CHAR_SPACER));
        let cell = &mut row[column];
        if cell.flags.contains(Flags::WIDE_CHAR) && !next_is_spacer {
            cell.clear_wide();
        }
        if cell.flags.contains(Flags::WIDE_CHAR_SPACER) && !after_wide {
            cell.flags.remove(Flags::WIDE_CHAR_SPACER);
            cell.clear_wide();
        }
        after_wide = cell.flags.contains(Flags::WIDE_CHAR);
    }
}

fn paint_title(before: Option<&str>, title: &str, out: &mut String) {
    if before != Some(title) {
        let _ = write!(out, "\x1b]2;{title}\x1b\\");
    }
}

fn paint_cells(before: &[Cell], next: &Snapshot, out: &mut String) {
    let columns = usize::from(next.size.columns);
    let mut pen = Pen::default();
    let rows = before
        .chunks_exact(columns)
        .zip(next.cells.chunks_exact(columns));
    for (row, (before, cells)) in rows.enumerate() {
        if before != cells {
            paint_row(row, before, cells, &mut pen, out);
        }
    }
    pen.reset(out);
}

fn paint_row(row: usize, before: &[Cell], cells: &[Cell], pen: &mut Pen, out: &mut String) {
    let blank = Cell::default();
    let used = cells.iter().rposition(|cell| *cell != blank);
    let used = used.map_or(0, |last| last + 1);
    // Where the other terminal's cursor is known to be.
    let mut at = None;
    for (column, cell) in cells.iter().enumerate().take(used) {
        let spacer = cell.flags.contains(Flags::WIDE_CHAR_SPACER);
        if spacer || !changed(column, before, cells) {
            continue;
        }
        if at != Some(column) {
            go_to(row, column, out);
        }
        at = match pen.draw(cell, out) {
            pen::Advance::Sure(width) => Some(column + width),
            pen::Advance::Unsure => None,
        };
    }
    let rest = (used..cells.len()).find(|&column| before[column] != blank);
    if let Some(column) = rest {
        if at != Some(column) {
            go_to(row, column, out);
        }
        pen.reset(out);
        out.push_str("\x1b[K");
    }
}

/// Whether the cell, or the other half of its character, is another.
fn changed(column: usize, before: &[Cell], cells: &[Cell]) -> bool {
    let half = |column: usize| {
        let (before, cell) = (&before[column], &cells[column]);
        before != cell
    };
    let wide = cells[column].flags.contains(Flags::WIDE_CHAR);
    half(column) || (wide && column + 1 < cells.len() && half(column + 1))
}

fn go_to(row: usize, column: usize, out: &mut String) {
    let _ = write!(out, "\x1b[{};{}H", row + 1, column + 1);
}

#[cfg(test)]
mod tests;
