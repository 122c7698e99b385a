//! A table on a terminal: columns as wide as what is in them, where there is room, and
//! else cells of several lines.

use unicode_width::UnicodeWidthStr;

use crate::terminal::{Colours, Look, Span, paint, spans_width, words, wrap};

/// Between two columns.
const GAP: usize = 2;
/// A column is made no narrower than this by others.
const NARROWEST: usize = 8;

/// The lines of a table; the first row is its head.
pub(crate) fn lines(rows: &[Vec<Vec<Span>>], room: usize, colours: Colours) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths = widths(rows, columns, room);
    let mut lines = Vec::new();
    let mut head = rows.first();
    // A table of facts has an empty head.
    if head.is_some_and(|cells| cells.iter().all(Vec::is_empty)) {
        head = None;
    }
    if let Some(cells) = head {
        let strong = |spans: &Vec<Span>| -> Vec<Span> {
            let text = spans.iter().map(|span| span.text.as_str()).collect();
            vec![Span {
                text,
                look: Look::Strong,
            }]
        };
        let cells: Vec<_> = cells.iter().map(strong).collect();
        row(&cells, &widths, colours, &mut lines);
        let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
        lines.push(paint(colours, Look::Faint, &rules.join(&" ".repeat(GAP))));
    }
    for cells in rows.iter().skip(1) {
        row(cells, &widths, colours, &mut lines);
    }
    lines
}

fn row(cells: &[Vec<Span>], widths: &[usize], colours: Colours, lines: &mut Vec<String>) {
    let wrapped: Vec<_> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let cell = cells.get(column).map_or(&[][..], Vec::as_slice);
            // Measured without colours, which take no room.
            let plain = wrap(cell, *width, Colours::Off);
            (plain, wrap(cell, *width, colours))
        })
        .collect();
    let height = wrapped.iter().map(|(plain, _)| plain.len()).max();
    for place in 0..height.unwrap_or(0) {
        let mut line = String::new();
        for ((plain, painted), width) in wrapped.iter().zip(widths) {
            let used = plain.get(place).map_or(0, |text| text.width());
            line.push_str(painted.get(place).map_or("", String::as_str));
            line.push_str(&" ".repeat(width.saturating_sub(used) + GAP));
        }
        lines.push(line.trim_end().to_owned());
    }
}

/// Takes from the widest columns until all fit, but never less than a word needs.
fn widths(rows: &[Vec<Vec<Span>>], columns: usize, room: usize) -> Vec<usize> {
    let over = |column: usize, measure: fn(&[Span]) -> usize| {
        let cells = rows.iter().filter_map(move |row| row.get(column));
        cells.map(|cell| measure(cell)).max().unwrap_or(0)
    };
    let longest_word = |cell: &[Span]| -> usize {
        let words = words(cell);
        words
            .iter()
            .map(|word| spans_width(word))
            .max()
            .unwrap_or(0)
    };
    let mut widths: Vec<_> = (0..columns)
        .map(|column| over(column, spans_width))
        .collect();
    let least: Vec<_> = (0..columns)
        .map(|column| over(column, longest_word).min(room * 2 / 5).max(NARROWEST))
        .collect();
    let gaps = GAP * columns.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let shrinkable = widths.iter_mut().zip(&least);
        let shrinkable = shrinkable.filter(|(width, least)| **width > **least);
        match shrinkable.map(|(width, _)| width).max() {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    widths
}
