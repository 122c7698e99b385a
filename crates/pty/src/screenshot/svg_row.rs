//! One row of a terminal as pieces of SVG: the stretches of one background, the texts
//! and the lines under and through letters. Which colours these have, and how a colour
//! is written, is left to who draws them.
//!
//! Nobody knows which font a viewer has. So letters are placed run by run, and each run
//! is told how long it is.

use std::fmt::Write;

use super::mask::{BASELINE, CELL_HEIGHT, CELL_WIDTH};
use super::picture::{Glyph, Underline};

pub(super) const FONT_SIZE: usize = 15;
pub(super) const FONTS: &str = "ui-monospace,SF Mono,Menlo,Consolas,DejaVu Sans Mono,monospace";

/// Columns of one colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch<C> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) colour: C,
}

impl<C> Stretch<C> {
    /// The attributes that say where a rectangle is.
    pub(super) fn place(&self, row: usize) -> String {
        let (x, y) = (self.start * CELL_WIDTH, row * CELL_HEIGHT);
        let width = (self.end - self.start) * CELL_WIDTH;
        format!("x='{x}' y='{y}' width='{width}' height='{CELL_HEIGHT}'")
    }
}

/// The backgrounds of a row, from left to right.
pub(super) fn stretches<'a, C: PartialEq>(
    glyphs: impl Iterator<Item = (usize, &'a Glyph, C)>,
) -> Vec<Stretch<C>> {
    let mut found: Vec<Stretch<C>> = Vec::new();
    for (column, glyph, colour) in glyphs {
        let end = column + usize::from(glyph.columns);
        match found.last_mut() {
            Some(open) if open.colour == colour => open.end = end,
            _ => found.push(Stretch {
                start: column,
                end,
                colour,
            }),
        }
    }
    found
}

/// Characters that are drawn as one text, escaped.
pub(super) struct Run<C> {
    start: usize,
    end: usize,
    style: TextStyle<C>,
    pub(super) text: String,
}

#[derive(PartialEq)]
struct TextStyle<C> {
    colour: C,
    bold: bool,
    italic: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every monospaced font has these, all of one width.
    Letters,
    Lines,
    /// May come from another font, so each stands alone.
    Other(usize),
}

impl<C> Run<C> {
    pub(super) fn colour(&self) -> &C {
        &self.style.colour
    }

    /// All attributes but its colour.
    pub(super) fn attributes(&self, row: usize) -> String {
        let (x, y) = (self.start * CELL_WIDTH, row * CELL_HEIGHT + BASELINE + 1);
        let length = (self.end - self.start) * CELL_WIDTH;
        // Letters of one font need only be spaced; others may have to be fitted.
        let adjust = match self.style.kind {
            Kind::Letters => "",
            Kind::Lines | Kind::Other(_) => " lengthAdjust='spacingAndGlyphs'",
        };
        let weight = if self.style.bold {
            " font-weight='bold'"
        } else {
            ""
        };
        let slant = if self.style.italic {
            " font-style='italic'"
        } else {
            ""
        };
        format!("x='{x}' y='{y}' textLength='{length}'{adjust}{weight}{slant}")
    }

    /// Whether a character at this column goes on with it. One space between words is
    /// part of a text; SVG makes one of several, so these end it.
    fn continues(&self, column: usize, style: &TextStyle<C>) -> bool
    where
        C: PartialEq,
    {
        let gap = column - self.end;
        self.style == *style && (gap == 0 || gap == 1 && style.kind == Kind::Letters)
    }
}

/// The texts of a row, from left to right.
pub(super) fn runs<'a, C: PartialEq>(
    glyphs: impl Iterator<Item = (usize, &'a Glyph, C)>,
) -> Vec<Run<C>> {
    let mut found: Vec<Run<C>> = Vec::new();
    for (column, glyph, colour) in glyphs {
        if glyph.hidden || glyph.character == ' ' && glyph.marks.is_empty() {
            continue;
        }
        let style = TextStyle {
            colour,
            bold: glyph.bold,
            italic: glyph.italic,
            kind: kind_of(glyph, column),
        };
        let end = column + usize::from(glyph.columns);
        match found.last_mut() {
            Some(run) if run.continues(column, &style) => {
                if column > run.end {
                    run.text.push(' ');
                }
                run.end = end;
                escape(&mut run.text, glyph);
            }
            _ => {
                let mut text = String::new();
                escape(&mut text, glyph);
                found.push(Run {
                    start: column,
                    end,
                    style,
                    text,
                });
            }
        }
    }
    found
}

fn kind_of(glyph: &Glyph, column: usize) -> Kind {
    match glyph.character {
        _ if !glyph.marks.is_empty() || glyph.columns != 1 => Kind::Other(column),
        '!'..='~' | 'À'..='ÿ' | '‘' | '’' | '“' | '”' | '–' | '—' | '…' => {
            Kind::Letters
        }
        '\u{2500}'..='\u{259f}' => Kind::Lines,
        _ => Kind::Other(column),
    }
}

fn escape(text: &mut String, glyph: &Glyph) {
    for character in std::iter::once(glyph.character).chain(glyph.marks.chars()) {
        match character {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            // Not allowed in XML, not even escaped.
            '\u{fffe}' | '\u{ffff}' => text.push(char::REPLACEMENT_CHARACTER),
            character if character.is_control() => text.push(char::REPLACEMENT_CHARACTER),
            character => text.push(character),
        }
    }
}

/// The lines under a glyph and through it. `under` and `through` are the attributes
/// that say their colours.
pub(super) fn decorations(
    svg: &mut String,
    (row, column): (usize, usize),
    glyph: &Glyph,
    under: &str,
    through: &str,
) {
    let (x, width) = (column * CELL_WIDTH, usize::from(glyph.columns) * CELL_WIDTH);
    let mut line = |below_baseline: isize, dashes: &str, colour: &str| {
        let y = (row * CELL_HEIGHT + BASELINE) as isize + below_baseline;
        let _ = writeln!(svg, "<path d='M{x} {y}.5h{width}' {colour}{dashes}/>");
    };
    match glyph.underline {
        None => {}
        Some(Underline::Single) => line(2, "", under),
        Some(Underline::Double) => {
            line(1, "", under);
            line(3, "", under);
        }
        Some(Underline::Dotted) => line(2, " stroke-dasharray='1 1'", under),
        Some(Underline::Dashed) => line(2, " stroke-dasharray='4 2'", under),
        Some(Underline::Curly) => curl(svg, x, row, glyph.columns, under),
    }
    if glyph.strike {
        let y = row * CELL_HEIGHT + BASELINE - 4;
        let _ = writeln!(svg, "<path d='M{x} {y}.5h{width}' {through}/>");
    }
}

/// One wave per column.
fn curl(svg: &mut String, x: usize, row: usize, columns: u16, colour: &str) {
    let y = row * CELL_HEIGHT + BASELINE + 2;
    let half = CELL_WIDTH as f32 / 2.0;
    let quarter = half / 2.0;
    let wave = format!("q{quarter} -2 {half} 0q{quarter} 2 {half} 0");
    let waves = wave.repeat(columns.into());
    let _ = writeln!(svg, "<path d='M{x} {y}.5{waves}' fill='none' {colour}/>");
}
