//! Keeps combining marks within bounds.
//!
//! The emulator adds every mark to the cell before the cursor and never lets one
//! go, so a program that writes nothing else would take all memory. A screen
//! shows the first few marks of a cell; taking away the others changes nothing
//! that can be seen, so when it happens does not matter either.

use alacritty_terminal::Term;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Cell;

/// Marks of a cell that are shown. The longest emoji sequences have nine.
pub(crate) const MAX_MARKS: usize = 16;

/// Bytes that may hold marks between two looks at the cells: what they can add
/// is twice as much, and a look takes a hundredth of the time they took.
const SWEEP: usize = 1 << 20;

/// Counts what was fed since the cells were last looked at.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    unseen: usize,
}

impl Marks {
    /// Takes note of bytes the emulator has read.
    pub(crate) fn bound<T>(&mut self, term: &mut Term<T>, fed: &[u8]) {
        // Marks are not ASCII, and most output is.
        if fed.is_ascii() {
            return;
        }
        self.unseen += fed.len();
        if self.unseen >= SWEEP {
            self.unseen = 0;
            sweep(term);
        }
    }
}

/// Looks at every cell, also of rows that have left the screen.
fn sweep<T>(term: &mut Term<T>) {
    let columns = term.columns();
    let (top, bottom) = (term.topmost_line(), term.bottommost_line());
    let grid = term.grid_mut();
    for line in top.0..=bottom.0 {
        let row = &mut grid[Line(line)];
        for column in 0..columns {
            let cell = &mut row[Column(column)];
            if cell
                .zerowidth()
                .is_some_and(|marks| marks.len() > MAX_MARKS)
            {
                shorten(cell);
            }
        }
    }
}

fn shorten(cell: &mut Cell) {
    let kept: Vec<char> = cell
        .zerowidth()
        .into_iter()
        .flatten()
        .copied()
        .take(MAX_MARKS)
        .collect();
    let (link, underline) = (cell.hyperlink(), cell.underline_color());
    cell.extra = None;
    cell.set_hyperlink(link);
    cell.set_underline_color(underline);
    for mark in kept {
        cell.push_zerowidth(mark);
    }
}
