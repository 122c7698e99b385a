//! Frames as one SVG.
//!
//! Each row that was ever shown stands in the document once for each place it was
//! shown at. Rows that come and go together are a group, and a rule of the style sheet
//! says when a group is seen. Without that rule, as for a person who wants no motion
//! or in a program that plays none, the last frame is seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use super::film::{Film, RowId};
use super::theme::{self, AnimationTheme};
use super::{AnimationError, MAX_SVG};
use crate::screenshot::mask::{CELL_HEIGHT, CELL_WIDTH};
use crate::screenshot::picture::{Hue, Picture, Tint};
use crate::screenshot::svg_row::{FONT_SIZE, FONTS, decorations, runs, stretches};

/// Around the screen.
const MARGIN: usize = 14;

/// What a row shows, as if it were the first.
pub(super) fn draw_row(picture: &Picture, row: usize) -> String {
    let mut svg = String::new();
    let papers = picture.tinted_glyphs(row);
    for stretch in stretches(papers.map(|(column, glyph, both)| (column, glyph, both.paper))) {
        // That of the whole picture.
        if stretch.colour != Tint::of(Hue::Background) {
            let (place, paper) = (stretch.place(0), theme::attribute(stretch.colour));
            let _ = writeln!(svg, "<rect {place} {paper}/>");
        }
    }
    let inks = picture.tinted_glyphs(row);
    for run in runs(inks.map(|(column, glyph, both)| (column, glyph, both.ink))) {
        let (how, ink) = (run.attributes(0), theme::attribute(*run.colour()));
        let _ = writeln!(svg, "<text {how} {ink}>{}</text>", run.text);
    }
    let glyphs = picture.tinted_glyphs(row);
    for (column, glyph, both) in glyphs.filter(|(_, glyph, _)| glyph.is_decorated()) {
        let under = glyph
            .underline_paint
            .map_or(both.ink, |paint| Tint::of(paint.hue(Hue::Foreground)));
        let (under, through) = (theme::attribute(under), theme::attribute(both.ink));
        decorations(&mut svg, (0, column), glyph, &under, &through);
    }
    svg
}

/// Frames in a row in which something is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    from: usize,
    until: usize,
}

/// A drawn row at a place on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    line: usize,
    row: RowId,
}

pub(super) fn write(film: &Film, theme: AnimationTheme) -> Result<String, AnimationError> {
    let frames = film.frames().len();
    let groups = groups(film);
    let shared = shared_rows(&groups);
    let (mut rules, mut drawing) = (String::new(), definitions(film, &shared));
    for (number, (spans, rows)) in groups.iter().enumerate() {
        let is_always = matches!(&spans[..], [Span { from: 0, until }] if *until == frames);
        if is_always {
            drawing.push_str("<g>\n");
        } else {
            let is_last = spans.last().is_some_and(|span| span.until == frames);
            let end = if is_last { " e" } else { "" };
            let _ = writeln!(drawing, "<g class='k k{number}{end}'>");
            keyframes(&mut rules, number, spans, film);
        }
        for Placed { line, row } in rows {
            let y = line * CELL_HEIGHT;
            let _ = if shared.contains(row) {
                writeln!(drawing, "<use href='#r{}' y='{y}'/>", row.number())
            } else {
                let drawn = film.drawn(*row);
                writeln!(drawing, "<g transform='translate(0 {y})'>\n{drawn}</g>")
            };
        }
        drawing.push_str("</g>\n");
        if drawing.len() + rules.len() > MAX_SVG {
            return Err(AnimationError::TooLarge);
        }
    }
    Ok(document(film, theme, &rules, &drawing))
}

fn document(film: &Film, theme: AnimationTheme, rules: &str, drawing: &str) -> String {
    let size = film.size();
    let width = CELL_WIDTH * usize::from(size.columns) + 2 * MARGIN;
    let height = CELL_HEIGHT * usize::from(size.rows) + 2 * MARGIN;
    let (inner_width, inner_height) = (width - 1, height - 1);
    let colours = theme::rules(theme, drawing);
    let length = film.length().as_secs_f64();
    // The last rule outweighs those that name an animation each.
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' \
         viewBox='0 0 {width} {height}' font-family='{FONTS}' font-size='{FONT_SIZE}'>\n\
         <style>\n\
         text,rect{{fill:currentColor}}path{{fill:none;stroke:currentColor}}\n\
         {colours}\n\
         .k{{visibility:hidden;animation:{length}s step-end infinite}}.e{{visibility:visible}}\n\
         {rules}\
         @media(prefers-reduced-motion:reduce){{.k{{animation:none!important}}}}\n\
         </style>\n\
         <rect class='b' x='.5' y='.5' width='{inner_width}' height='{inner_height}' rx='8' \
         stroke='#888' stroke-opacity='.5'/>\n\
         <g transform='translate({MARGIN} {MARGIN})'>\n{drawing}</g>\n</svg>\n"
    )
}

/// The rows of all frames; those that are seen in the same frames are together.
fn groups(film: &Film) -> BTreeMap<Vec<Span>, Vec<Placed>> {
    let mut seen: BTreeMap<Placed, Vec<Span>> = BTreeMap::new();
    for (frame, shown) in film.frames().iter().enumerate() {
        for (line, &row) in shown.rows.iter().enumerate() {
            if row == RowId::BLANK {
                continue;
            }
            let spans = seen.entry(Placed { line, row }).or_default();
            match spans.last_mut() {
                Some(span) if span.until == frame => span.until += 1,
                _ => spans.push(Span {
                    from: frame,
                    until: frame + 1,
                }),
            }
        }
    }
    let mut groups: BTreeMap<Vec<Span>, Vec<Placed>> = BTreeMap::new();
    for (placed, spans) in seen {
        groups.entry(spans).or_default().push(placed);
    }
    groups
}

/// The rows that are shown at several places, as on a screen that scrolls.
fn shared_rows(groups: &BTreeMap<Vec<Span>, Vec<Placed>>) -> BTreeSet<RowId> {
    let (mut once, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for Placed { row, .. } in groups.values().flatten() {
        if !once.insert(*row) {
            shared.insert(*row);
        }
    }
    shared
}

fn definitions(film: &Film, shared: &BTreeSet<RowId>) -> String {
    if shared.is_empty() {
        return String::new();
    }
    let mut written = "<defs>\n".to_owned();
    for row in shared {
        let (number, drawn) = (row.number(), film.drawn(*row));
        let _ = writeln!(written, "<g id='r{number}'>\n{drawn}</g>");
    }
    written.push_str("</defs>\n");
    written
}

/// When a group is seen.
fn keyframes(rules: &mut String, number: usize, spans: &[Span], film: &Film) {
    let share = |frame: usize| {
        let at = film.frames().get(frame).map_or(Duration::ZERO, |f| f.at);
        percent(at.as_secs_f64() / film.length().as_secs_f64())
    };
    let _ = write!(
        rules,
        ".k{number}{{animation-name:k{number}}}@keyframes k{number}{{"
    );
    if spans.first().is_some_and(|span| span.from > 0) {
        rules.push_str("0%{visibility:hidden}");
    }
    for span in spans {
        let _ = write!(rules, "{}%{{visibility:visible}}", share(span.from));
        if span.until < film.frames().len() {
            let _ = write!(rules, "{}%{{visibility:hidden}}", share(span.until));
        }
    }
    // What is seen at the end stays until the next round.
    let end = if spans
        .last()
        .is_some_and(|span| span.until == film.frames().len())
    {
        "visible"
    } else {
        "hidden"
    };
    let _ = writeln!(rules, "to{{visibility:{end}}}}}");
}

/// Four digits tell the shortest frames of the longest picture apart.
fn percent(share: f64) -> String {
    let written = format!("{:.4}", share * 100.0);
    written
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}
