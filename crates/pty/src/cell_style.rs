//! How the emulator draws a cell and reads a keyboard, as the sequences that
//! bring another terminal to do the same.

use std::fmt::Write;

use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

/// Colours and emphasis of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellStyle {
    flags: Flags,
    foreground: Color,
    background: Color,
    underline: Option<Color>,
}

impl Default for CellStyle {
    fn default() -> Self {
        Self::of(&Cell::default())
    }
}

impl CellStyle {
    pub(crate) fn of(cell: &Cell) -> Self {
        let layout = Flags::WRAPLINE
            | Flags::WIDE_CHAR
            | Flags::WIDE_CHAR_SPACER
            | Flags::LEADING_WIDE_CHAR_SPACER;
        Self {
            flags: cell.flags - layout,
            foreground: cell.fg,
            background: cell.bg,
            underline: cell.underline_color(),
        }
    }

    pub(crate) fn has_background(self) -> bool {
        self.background != Self::default().background
    }

    /// What makes a terminal draw like this, however it drew before.
    pub(crate) fn write(self, out: &mut String) {
        out.push_str("\x1b[0");
        for (flag, code) in [
            (Flags::BOLD, "1"),
            (Flags::DIM, "2"),
            (Flags::ITALIC, "3"),
            (Flags::UNDERLINE, "4"),
            (Flags::DOUBLE_UNDERLINE, "4:2"),
            (Flags::UNDERCURL, "4:3"),
            (Flags::DOTTED_UNDERLINE, "4:4"),
            (Flags::DASHED_UNDERLINE, "4:5"),
            (Flags::INVERSE, "7"),
            (Flags::HIDDEN, "8"),
            (Flags::STRIKEOUT, "9"),
        ] {
            if self.flags.contains(flag) {
                let _ = write!(out, ";{code}");
            }
        }
        write_colour(self.foreground, 30, out);
        write_colour(self.background, 40, out);
        // With colons: who does not know it passes over all of it.
        let _ = match self.underline {
            Some(Color::Spec(rgb)) => write!(out, ";58:2::{}:{}:{}", rgb.r, rgb.g, rgb.b),
            Some(Color::Indexed(index)) => write!(out, ";58:5:{index}"),
            Some(Color::Named(name)) if (name as usize) < 16 => {
                write!(out, ";58:5:{}", name as usize)
            }
            Some(Color::Named(_)) | None => Ok(()),
        };
        out.push('m');
    }
}

/// Flags of the keyboard protocol of kitty.
pub(crate) fn keyboard_flags(mode: TermMode) -> u32 {
    let flags = [
        TermMode::DISAMBIGUATE_ESC_CODES,
        TermMode::REPORT_EVENT_TYPES,
        TermMode::REPORT_ALTERNATE_KEYS,
        TermMode::REPORT_ALL_KEYS_AS_ESC,
        TermMode::REPORT_ASSOCIATED_TEXT,
    ];
    let bit = |(bit, flag): (usize, &TermMode)| u32::from(mode.contains(*flag)) << bit;
    flags.iter().enumerate().map(bit).sum()
}

/// `base` is 30 for the foreground and 40 for the background.
fn write_colour(colour: Color, base: usize, out: &mut String) {
    let _ = match colour {
        Color::Named(name) => match name as usize {
            index @ 0..8 => write!(out, ";{}", base + index),
            index @ 8..16 => write!(out, ";{}", base + 60 + index - 8),
            _ => match dimmed(name) {
                Some(index) => write!(out, ";{}", base + index),
                None => Ok(()),
            },
        },
        Color::Indexed(index) => write!(out, ";{};5;{index}", base + 8),
        Color::Spec(rgb) => write!(out, ";{};2;{};{};{}", base + 8, rgb.r, rgb.g, rgb.b),
    };
}

fn dimmed(name: NamedColor) -> Option<usize> {
    let first = NamedColor::DimBlack as usize;
    let index = (name as usize).checked_sub(first)?;
    (index < 8).then_some(index)
}
