//! Pictures as SVG: rectangles for backgrounds, text that can be selected and
//! searched, and no script, style sheet or reference to anything outside.
//!
//! Nobody knows which font a viewer has. So letters are placed run by run, and
//! each run is told how long it is.

use std::fmt::Write;

use alacritty_terminal::vte::ansi::Rgb;

use super::mask::{BASELINE, CELL_HEIGHT, CELL_WIDTH};
use super::picture::{Glyph, GlyphColours, Picture, Underline};

const FONT_SIZE: usize = 15;
const FONTS: &str = "ui-monospace,SF Mono,Menlo,Consolas,DejaVu Sans Mono,monospace";

pub(super) fn render(picture: &Picture) -> String {
    let width = CELL_WIDTH * usize::from(picture.size.columns);
    let height = CELL_HEIGHT * usize::from(picture.size.rows);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' \
         viewBox='0 0 {width} {height}' font-family='{FONTS}' font-size='{FONT_SIZE}'>\n\
         <g shape-rendering='crispEdges'>\n"
    );
    for row in 0..picture.rows.len() {
        backgrounds(&mut svg, picture, row);
    }
    svg.push_str("</g>\n");
    for row in 0..picture.rows.len() {
        texts(&mut svg, picture, row);
        decorations(&mut svg, picture, row);
    }
    svg.push_str("</svg>\n");
    svg
}

fn backgrounds(svg: &mut String, picture: &Picture, row: usize) {
    let mut open: Option<(usize, usize, Rgb)> = None;
    for (column, glyph, GlyphColours { paper, .. }) in picture.coloured_glyphs(row) {
        let end = column + usize::from(glyph.columns);
        open = match open {
            Some((start, _, same)) if same == paper => Some((start, end, same)),
            other => {
                rectangle(svg, row, other);
                Some((column, end, paper))
            }
        };
    }
    rectangle(svg, row, open);
}

fn rectangle(svg: &mut String, row: usize, columns: Option<(usize, usize, Rgb)>) {
    if let Some((start, end, paper)) = columns {
        let (x, y) = (start * CELL_WIDTH, row * CELL_HEIGHT);
        let (width, height) = ((end - start) * CELL_WIDTH, CELL_HEIGHT);
        let _ = writeln!(
            svg,
            "<rect x='{x}' y='{y}' width='{width}' height='{height}' fill='{}'/>",
            hex(paper)
        );
    }
}

/// Characters that are drawn as one text.
#[derive(PartialEq)]
struct TextStyle {
    ink: Rgb,
    bold: bool,
    italic: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every monospaced font has these, all of one width.
    Ascii,
    Lines,
    /// May come from another font, so each stands alone.
    Other(usize),
}

struct Run {
    start: usize,
    end: usize,
    text: String,
    style: TextStyle,
}

fn texts(svg: &mut String, picture: &Picture, row: usize) {
    let mut open: Option<Run> = None;
    for (column, glyph, colours) in picture.coloured_glyphs(row) {
        if glyph.hidden || glyph.character == ' ' && glyph.marks.is_empty() {
            text(svg, row, open.take());
            continue;
        }
        let style = TextStyle {
            ink: colours.ink,
            bold: glyph.bold,
            italic: glyph.italic,
            kind: kind_of(glyph, column),
        };
        let mut run = match open.take() {
            Some(run) if run.style == style => run,
            other => {
                text(svg, row, other);
                Run {
                    start: column,
                    end: column,
                    text: String::new(),
                    style,
                }
            }
        };
        run.end = column + usize::from(glyph.columns);
        escape(&mut run.text, glyph);
        open = Some(run);
    }
    text(svg, row, open);
}

fn kind_of(glyph: &Glyph, column: usize) -> Kind {
    match glyph.character {
        _ if !glyph.marks.is_empty() => Kind::Other(column),
        '!'..='~' => Kind::Ascii,
        '\u{2500}'..='\u{259f}' => Kind::Lines,
        _ => Kind::Other(column),
    }
}

fn text(svg: &mut String, row: usize, run: Option<Run>) {
    let Some(run) = run else {
        return;
    };
    let (x, y) = (run.start * CELL_WIDTH, row * CELL_HEIGHT + BASELINE + 1);
    let length = (run.end - run.start) * CELL_WIDTH;
    let weight = if run.style.bold {
        " font-weight='bold'"
    } else {
        ""
    };
    let style = if run.style.italic {
        " font-style='italic'"
    } else {
        ""
    };
    // Letters of one font need only be spaced; others may have to be fitted.
    let adjust = match run.style.kind {
        Kind::Ascii => "",
        Kind::Lines | Kind::Other(_) => " lengthAdjust='spacingAndGlyphs'",
    };
    let _ = writeln!(
        svg,
        "<text x='{x}' y='{y}' textLength='{length}'{adjust} fill='{}'{weight}{style}>{}</text>",
        hex(run.style.ink),
        run.text
    );
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

fn decorations(svg: &mut String, picture: &Picture, row: usize) {
    for (column, glyph, colours) in picture.coloured_glyphs(row) {
        if glyph.hidden {
            continue;
        }
        let (x, width) = (column * CELL_WIDTH, usize::from(glyph.columns) * CELL_WIDTH);
        let mut line = |below_baseline: isize, dashes: &str, ink: Rgb| {
            let y = (row * CELL_HEIGHT + BASELINE) as isize + below_baseline;
            let _ = writeln!(
                svg,
                "<path d='M{x} {y}.5h{width}' stroke='{}'{dashes}/>",
                hex(ink)
            );
        };
        let ink = glyph.underline_paint.map_or(colours.ink, |paint| paint.rgb);
        match glyph.underline {
            None => {}
            Some(Underline::Single) => line(2, "", ink),
            Some(Underline::Double) => {
                line(1, "", ink);
                line(3, "", ink);
            }
            Some(Underline::Dotted) => line(2, " stroke-dasharray='1 1'", ink),
            Some(Underline::Dashed) => line(2, " stroke-dasharray='4 2'", ink),
            Some(Underline::Curly) => curl(svg, x, row, glyph.columns, ink),
        }
        if glyph.strike {
            let y = row * CELL_HEIGHT + BASELINE - 4;
            let _ = writeln!(
                svg,
                "<path d='M{x} {y}.5h{width}' stroke='{}'/>",
                hex(colours.ink)
            );
        }
    }
}

/// One wave per column.
fn curl(svg: &mut String, x: usize, row: usize, columns: u16, ink: Rgb) {
    let y = row * CELL_HEIGHT + BASELINE + 2;
    let half = CELL_WIDTH as f32 / 2.0;
    let quarter = half / 2.0;
    let wave = format!("q{quarter} -2 {half} 0q{quarter} 2 {half} 0");
    let waves = wave.repeat(columns.into());
    let _ = writeln!(
        svg,
        "<path d='M{x} {y}.5{waves}' fill='none' stroke='{}'/>",
        hex(ink)
    );
}

fn hex(colour: Rgb) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b)
}
