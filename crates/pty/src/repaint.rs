//! What draws a terminal's present state on a new one.
//!
//! The rows with their history, the cursor, the modes a program has set and
//! what it says about itself, as the bytes a program would write for them. The
//! emulator does not tell everything: scroll region, tab stops, and the primary
//! screen behind an alternate one are left as on a new terminal.

use std::fmt::Write;

use alacritty_terminal::Term;
use alacritty_terminal::grid::{Dimensions, Row};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use missiond_semantic::{Progress, Screen};

use crate::cell_style::{CellStyle, keyboard_flags};

/// Modes that are off on a new terminal, with what switches them on.
const SET: [(TermMode, &str); 12] = [
    (TermMode::APP_CURSOR, "\x1b[?1h"),
    (TermMode::APP_KEYPAD, "\x1b="),
    (TermMode::MOUSE_REPORT_CLICK, "\x1b[?1000h"),
    (TermMode::MOUSE_DRAG, "\x1b[?1002h"),
    (TermMode::MOUSE_MOTION, "\x1b[?1003h"),
    (TermMode::FOCUS_IN_OUT, "\x1b[?1004h"),
    (TermMode::UTF8_MOUSE, "\x1b[?1005h"),
    (TermMode::SGR_MOUSE, "\x1b[?1006h"),
    (TermMode::BRACKETED_PASTE, "\x1b[?2004h"),
    (TermMode::LINE_FEED_NEW_LINE, "\x1b[20h"),
    (TermMode::INSERT, "\x1b[4h"),
    (TermMode::ORIGIN, "\x1b[?6h"),
];

/// Modes that are on on a new terminal, with what switches them off.
const RESET: [(TermMode, &str); 3] = [
    (TermMode::SHOW_CURSOR, "\x1b[?25l"),
    (TermMode::LINE_WRAP, "\x1b[?7l"),
    (TermMode::ALTERNATE_SCROLL, "\x1b[?1007l"),
];

pub(crate) fn repaint<T>(term: &Term<T>, screen: &Screen) -> String {
    let mut out = String::new();
    if term.mode().contains(TermMode::ALT_SCREEN) {
        out.push_str("\x1b[?1049h");
    }
    write_rows(term, &mut out);
    for (mode, on) in SET {
        if term.mode().contains(mode) {
            out.push_str(on);
        }
    }
    for (mode, off) in RESET {
        if !term.mode().contains(mode) {
            out.push_str(off);
        }
    }
    let keyboard = keyboard_flags(*term.mode());
    if keyboard != 0 {
        let _ = write!(out, "\x1b[>{keyboard}u");
    }
    write_cursor(term, &mut out);
    write_program_state(screen, &mut out);
    out
}

fn write_rows<T>(term: &Term<T>, out: &mut String) {
    let grid = term.grid();
    let mut style = CellStyle::default();
    let mut continued = false;
    let last = i32::try_from(grid.screen_lines()).unwrap_or(1) - 1;
    for line in grid.topmost_line().0..=last {
        let row = &grid[Line(line)];
        let columns = grid.columns();
        let wrapped = row[Column(columns - 1)].flags.contains(Flags::WRAPLINE);
        let painted = |column: &usize| !is_blank(&row[Column(*column)]);
        let end = if wrapped {
            columns
        } else {
            (0..columns).rev().find(painted).map_or(0, |last| last + 1)
        };
        // A row wraps when the first character of the next one is drawn.
        let end = end.max(usize::from(continued));
        for column in 0..end {
            if is_leading_without_wide(term, line, column) {
                set_style(&mut style, CellStyle::of(&row[Column(column)]), out);
                if wrapped && line < last {
                    // Another wide character leaves it free, and is taken away.
                    out.push('\u{3000}');
                    set_style(&mut style, CellStyle::default(), out);
                    out.push_str("\r\x1b[K");
                } else {
                    out.push(' ');
                }
                continue;
            }
            write_cell(&row[Column(column)], &mut style, out);
            if continued && column == 0 && style.has_background() {
                // A row that came by scrolling took the colour at hand.
                set_style(&mut style, CellStyle::default(), out);
                out.push_str("\x1b[K");
            }
            if is_half(row, column) {
                // The place of the other half, counted from one.
                set_style(&mut style, CellStyle::default(), out);
                let _ = write!(out, "\x1b[{}G\x1b[X", column + 2);
            }
        }
        continued = wrapped;
        if line < last && !wrapped {
            set_style(&mut style, CellStyle::default(), out);
            out.push_str("\r\n");
        }
    }
    set_style(&mut style, CellStyle::default(), out);
}

fn write_cell(cell: &Cell, style: &mut CellStyle, out: &mut String) {
    let spacer = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
    if cell.flags.intersects(spacer) {
        return;
    }
    set_style(style, CellStyle::of(cell), out);
    out.push(if cell.c == '\t' { ' ' } else { cell.c });
    out.extend(cell.zerowidth().into_iter().flatten());
}

fn set_style(style: &mut CellStyle, to: CellStyle, out: &mut String) {
    if *style != to {
        *style = to;
        to.write(out);
    }
}

/// A place left free for a wide character that then began the next row, and is
/// no longer there.
fn is_leading_without_wide<T>(term: &Term<T>, line: i32, column: usize) -> bool {
    let grid = term.grid();
    let leads = grid[Line(line)][Column(column)]
        .flags
        .contains(Flags::LEADING_WIDE_CHAR_SPACER);
    let last = i32::try_from(grid.screen_lines()).unwrap_or(1) - 1;
    leads
        && (line == last
            || !grid[Line(line + 1)][Column(0)]
                .flags
                .contains(Flags::WIDE_CHAR))
}

/// A wide character whose second half was erased.
fn is_half(row: &Row<Cell>, column: usize) -> bool {
    let has = |column: usize, flag| row[Column(column)].flags.contains(flag);
    has(column, Flags::WIDE_CHAR)
        && column + 1 < row.len()
        && !has(column + 1, Flags::WIDE_CHAR_SPACER)
}

fn is_blank(cell: &Cell) -> bool {
    matches!(cell.c, ' ' | '\t')
        && CellStyle::of(cell) == CellStyle::default()
        && cell.zerowidth().is_none()
}

fn write_cursor<T>(term: &Term<T>, out: &mut String) {
    let cursor = &term.grid().cursor;
    let (row, column) = (cursor.point.line.0 + 1, cursor.point.column.0 + 1);
    let _ = write!(out, "\x1b[{row};{column}H");
    if cursor.input_needs_wrap {
        // A wide character that has no room and may not wrap changes no cell, but
        // has the next one wrap.
        out.push_str("\x1b[?7l\u{3000}");
        if term.mode().contains(TermMode::LINE_WRAP) {
            out.push_str("\x1b[?7h");
        }
    }
    set_style(
        &mut CellStyle::default(),
        CellStyle::of(&cursor.template),
        out,
    );
}

/// Titles and what else a program says beside its picture.
fn write_program_state(screen: &Screen, out: &mut String) {
    if !screen.title.is_empty() {
        let _ = write!(out, "\x1b]2;{}\x07", screen.title);
    }
    if let Some(progress) = screen.progress {
        let field = match progress {
            Progress::None => "0".to_owned(),
            Progress::Percent(percent) => format!("1;{percent}"),
            Progress::Error => "2".to_owned(),
            Progress::Busy => "3".to_owned(),
            Progress::Paused => "4".to_owned(),
        };
        let _ = write!(out, "\x1b]9;4;{field}\x07");
    }
    if let Some(status) = &screen.status {
        let _ = write!(out, "\x1b]7501;state={}", status.state);
        for (name, value) in [("kind", &status.kind), ("app", &status.app)] {
            if let Some(value) = value {
                let _ = write!(out, ":{name}={value}");
            }
        }
        out.push('\x07');
    }
}
