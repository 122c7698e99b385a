//! Pictures as lines of characters, plain or with SGR sequences.
//!
//! The ANSI form contains no control sequence but colours and looks, so it can
//! be printed anywhere; fed to a terminal of the same size it gives the same
//! picture.

use std::fmt::Write;

use super::picture::{Glyph, Paint, Picture, Source, Underline};

/// The characters, without spaces at the ends of lines or empty lines at the
/// end. What the terminal hides is hidden here too.
pub(super) fn plain(picture: &Picture) -> String {
    let mut text = String::new();
    for row in &picture.rows {
        for glyph in row {
            if glyph.hidden {
                text.extend(std::iter::repeat_n(' ', glyph.columns.into()));
            } else {
                text.push(glyph.character);
                text.push_str(&glyph.marks);
            }
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text.truncate(text.trim_end_matches('\n').len());
    text.push('\n');
    text
}

/// One line per row; a line ends where only blanks in default colours follow.
pub(super) fn ansi(picture: &Picture) -> String {
    let mut text = String::new();
    let used = picture.rows.iter().rposition(|row| used_of(row) > 0);
    for (index, row) in picture.rows.iter().enumerate() {
        if used.is_none_or(|last| index > last) {
            break;
        }
        if index > 0 {
            // With its carriage return, because a raw terminal needs it.
            text.push_str("\r\n");
        }
        let mut looks = String::new();
        for glyph in &row[..used_of(row)] {
            let wanted = sgr(glyph);
            if wanted != looks {
                let _ = write!(text, "\x1b[0{wanted}m");
                looks = wanted;
            }
            text.push(glyph.character);
            text.push_str(&glyph.marks);
        }
        if !looks.is_empty() {
            text.push_str("\x1b[0m");
        }
    }
    text
}

fn used_of(row: &[Glyph]) -> usize {
    let says_something =
        |glyph: &Glyph| glyph.character != ' ' || !glyph.marks.is_empty() || !sgr(glyph).is_empty();
    row.iter()
        .rposition(says_something)
        .map_or(0, |last| last + 1)
}

/// The parameters after the reset, each with its semicolon.
fn sgr(glyph: &Glyph) -> String {
    let mut codes = String::new();
    for (is, code) in [
        (glyph.bold, ";1"),
        (glyph.dim, ";2"),
        (glyph.italic, ";3"),
        (glyph.inverse, ";7"),
        (glyph.hidden, ";8"),
        (glyph.strike, ";9"),
    ] {
        if is {
            codes.push_str(code);
        }
    }
    codes.push_str(match glyph.underline {
        None => "",
        Some(Underline::Single) => ";4",
        Some(Underline::Double) => ";4:2",
        Some(Underline::Curly) => ";4:3",
        Some(Underline::Dotted) => ";4:4",
        Some(Underline::Dashed) => ";4:5",
    });
    push_colour(&mut codes, glyph.foreground, 30);
    push_colour(&mut codes, glyph.background, 40);
    // With colons: a terminal that does not know it passes over all of it.
    let _ = match glyph.underline_paint.map(|paint| (paint.source, paint.rgb)) {
        None | Some((Source::Default, _)) => Ok(()),
        Some((Source::Palette(index), _)) => write!(codes, ";58:5:{index}"),
        Some((Source::Exact, rgb)) => write!(codes, ";58:2::{}:{}:{}", rgb.r, rgb.g, rgb.b),
    };
    codes
}

/// `base` is 30 for the foreground, 40 for the background.
fn push_colour(codes: &mut String, paint: Paint, base: u8) {
    match paint.source {
        Source::Palette(index @ 0..8) => _ = write!(codes, ";{}", base + index),
        Source::Palette(index @ 8..16) => _ = write!(codes, ";{}", base + 52 + index),
        _ => push_long_colour(codes, paint, base + 8),
    }
}

fn push_long_colour(codes: &mut String, paint: Paint, code: u8) {
    let rgb = paint.rgb;
    let _ = match paint.source {
        Source::Default => Ok(()),
        Source::Palette(index) => write!(codes, ";{code};5;{index}"),
        Source::Exact => write!(codes, ";{code};2;{};{};{}", rgb.r, rgb.g, rgb.b),
    };
}
