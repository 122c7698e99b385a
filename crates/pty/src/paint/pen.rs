//! Characters with their colours, emphasis and links.

use std::fmt::Write;

use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink};
use missiond_core::is_deceptive;

use crate::cell_style::CellStyle;

const LONGEST_LINK: usize = 2048;

/// Links that open a page or a letter. Others start programs of the person's own
/// machine, or read its files, at a click on words that the agent chose.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// How the other terminal writes at the moment.
#[derive(Debug, Default)]
pub(super) struct Pen {
    style: CellStyle,
    link: Option<Hyperlink>,
}

/// How far a drawn character moves the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advance {
    Sure(usize),
    /// Terminals disagree on the width of this one.
    Unsure,
}

impl Pen {
    pub(super) fn draw(&mut self, cell: &Cell, out: &mut String) -> Advance {
        self.set_link(cell.hyperlink().filter(is_safe), out);
        let style = CellStyle::of(cell);
        if style != self.style {
            self.style = style;
            style.write(out);
        }
        out.push(cell.c);
        let marks = cell.zerowidth().unwrap_or_default();
        out.extend(marks.iter().filter(|mark| !is_deceptive(**mark)));
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
    pub(super) fn reset(&mut self, out: &mut String) {
        self.set_link(None, out);
        if self.style != CellStyle::default() {
            self.style = CellStyle::default();
            out.push_str("\x1b[0m");
        }
    }

    fn set_link(&mut self, link: Option<Hyperlink>, out: &mut String) {
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
    text.chars().filter(|c| !is_deceptive(*c)).collect()
}

fn is_safe(link: &Hyperlink) -> bool {
    let graphic = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
    let short = link.uri().len() <= LONGEST_LINK && link.id().len() <= 256;
    let scheme = link.uri().split_once(':').map_or("", |(scheme, _)| scheme);
    let opens_a_page = SCHEMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    short
        && opens_a_page
        && graphic(link.uri())
        && graphic(link.id())
        && !link.id().contains([':', ';'])
}
