//! Characters with their colours, emphasis and links.

use std::fmt::Write;

use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

const LONGEST_LINK: usize = 2048;

/// How the other terminal writes at the moment.
#[derive(Debug, Default)]
pub(super) struct Pen {
    look: Look,
    link: Option<Hyperlink>,
}

/// How far a drawn character moves the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advance {
    Sure(usize),
    /// Terminals disagree on the width of this one.
    Unsure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    flags: Flags,
    foreground: Color,
    background: Color,
    underline: Option<Color>,
}

impl Default for Look {
    fn default() -> Self {
        Self::of(&Cell::default())
    }
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let drawn = Flags::BOLD
            | Flags::DIM
            | Flags::ITALIC
            | Flags::INVERSE
            | Flags::STRIKEOUT
            | Flags::ALL_UNDERLINES;
        Self {
            flags: cell.flags & drawn,
            foreground: cell.fg,
            background: cell.bg,
            underline: cell.underline_color(),
        }
    }
}

impl Pen {
    pub(super) fn draw(&mut self, cell: &Cell, out: &mut String) -> Advance {
        self.take_link(cell.hyperlink().filter(is_safe), out);
        let look = Look::of(cell);
        if look != self.look {
            self.look = look;
            write_look(look, out);
        }
        out.push(cell.c);
        let marks = cell.zerowidth().unwrap_or_default();
        out.extend(marks.iter().filter(|mark| !mark.is_control()));
        let wide = cell.flags.contains(Flags::WIDE_CHAR);
        match cell.c {
            // Arrows, symbols and dingbats may be drawn as pictures two columns
            // wide; lines and blocks are one everywhere.
            '\u{2500}'..='\u{259f}' => Advance::Sure(1),
            '\u{2190}'..='\u{2bff}' => Advance::Unsure,
            _ if wide || !marks.is_empty() => Advance::Unsure,
            _ => Advance::Sure(1),
        }
    }

    /// Plain again.
    pub(super) fn put_down(&mut self, out: &mut String) {
        self.take_link(None, out);
        if self.look != Look::default() {
            self.look = Look::default();
            out.push_str("\x1b[0m");
        }
    }

    fn take_link(&mut self, link: Option<Hyperlink>, out: &mut String) {
        if link == self.link {
            return;
        }
        let _ = match &link {
            Some(link) => write!(out, "\x1b]8;id={};{}\x1b\\", link.id(), link.uri()),
            None => write!(out, "\x1b]8;;\x1b\\"),
        };
        self.link = link;
    }
}

/// A text without anything a terminal would act on.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn is_safe(link: &Hyperlink) -> bool {
    let graphic = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    let short = link.uri().len() <= LONGEST_LINK && link.id().len() <= 256;
    short && graphic(link.uri()) && graphic(link.id()) && !link.id().contains([':', ';'])
}

fn write_look(look: Look, out: &mut String) {
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
        (Flags::STRIKEOUT, "9"),
    ] {
        if look.flags.contains(flag) {
            let _ = write!(out, ";{code}");
        }
    }
    write_colour(look.foreground, 30, out);
    write_colour(look.background, 40, out);
    // With colons: who does not know it passes over all of it.
    let _ = match look.underline {
        Some(Color::Spec(rgb)) => write!(out, ";58:2::{}:{}:{}", rgb.r, rgb.g, rgb.b),
        Some(Color::Indexed(index)) => write!(out, ";58:5:{index}"),
        Some(Color::Named(name)) if (name as usize) < 16 => {
            write!(out, ";58:5:{}", name as usize)
        }
        Some(Color::Named(_)) | None => Ok(()),
    };
    out.push('m');
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
