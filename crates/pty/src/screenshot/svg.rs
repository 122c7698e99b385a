//! Pictures as SVG: rectangles for backgrounds, text that can be selected and
//! searched, and no script, style sheet or reference to anything outside.

use std::fmt::Write;

use alacritty_terminal::vte::ansi::Rgb;

use super::mask::{CELL_HEIGHT, CELL_WIDTH};
use super::picture::Picture;
use super::svg_row::{FONT_SIZE, FONTS, decorations, runs, stretches};

pub(super) fn render(picture: &Picture) -> String {
    let width = CELL_WIDTH * usize::from(picture.size.columns);
    let height = CELL_HEIGHT * usize::from(picture.size.rows);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' \
         viewBox='0 0 {width} {height}' font-family='{FONTS}' font-size='{FONT_SIZE}'>\n\
         <g shape-rendering='crispEdges'>\n"
    );
    for row in 0..picture.rows.len() {
        let papers = picture.coloured_glyphs(row);
        for stretch in stretches(papers.map(|(column, glyph, both)| (column, glyph, both.paper))) {
            let (place, paper) = (stretch.place(row), hex(stretch.colour));
            let _ = writeln!(svg, "<rect {place} fill='{paper}'/>");
        }
    }
    svg.push_str("</g>\n");
    for row in 0..picture.rows.len() {
        let inks = picture.coloured_glyphs(row);
        for run in runs(inks.map(|(column, glyph, both)| (column, glyph, both.ink))) {
            let (how, ink) = (run.attributes(row), hex(*run.colour()));
            let _ = writeln!(svg, "<text {how} fill='{ink}'>{}</text>", run.text);
        }
        let glyphs = picture.coloured_glyphs(row);
        for (column, glyph, both) in glyphs.filter(|(_, glyph, _)| glyph.is_decorated()) {
            let stroke = |colour: Rgb| format!("stroke='{}'", hex(colour));
            let under = glyph.underline_paint.map_or(both.ink, |paint| paint.rgb);
            let place = (row, column);
            decorations(&mut svg, place, glyph, &stroke(under), &stroke(both.ink));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

pub(super) fn hex(colour: Rgb) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b)
}
