//! Markers on a screen. A terminal program draws them behind a bullet, indents
//! them and breaks them at its width, some at spaces and some anywhere.

use super::envelope::decode;
use super::{Expected, ObjectScan, ParsedMarker, after_ornament, is_edge, object_end};
use crate::catalogue::{DiagnosticCode, limits};

/// Rows one marker may cover.
const ROWS: usize = 400;
/// Breaks whose reading is tried both ways when the likely reading is wrong.
const TRIED_BREAKS: usize = 8;

/// Every marker that is complete on these rows, top to bottom. A marker whose
/// end is not there yet is left for the next time. The same screen may be given
/// again and again: event ids make a signal count once.
#[must_use]
pub fn find_in_rows<S: AsRef<str>>(rows: &[S], expected: &Expected) -> Vec<ParsedMarker> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let Some(first) = after_ornament(rows[at].as_ref()) else {
            at += 1;
            continue;
        };
        let row = rows[at].as_ref();
        let indent = row[..row.len() - first.len()].chars().count();
        let (pieces, used) = gather(first, &rows[at + 1..], indent);
        at += used;
        found.extend(read(&pieces, expected));
    }
    found
}

/// One row of a marker, without the frame around it.
struct Piece<'a> {
    text: &'a str,
    /// Columns of the row as drawn, to its last visible character.
    width: usize,
}

/// The edges of a box a program draws around text.
const EDGES: &[char] = &['│', '┃', '║', '▌', '▐'];

/// The rows that belong to the marker, as far as its JSON needs them, and how
/// many rows that are. Joining them later adds or leaves out spaces only, which
/// never decides where the JSON ends.
fn gather<'a, S: AsRef<str>>(
    first: &'a str,
    below: &'a [S],
    indent: usize,
) -> (Vec<Piece<'a>>, usize) {
    let blank = |char: char| char.is_whitespace() || EDGES.contains(&char);
    let first = first.trim_end_matches(blank);
    let mut scan = ObjectScan::default();
    let mut pieces = vec![Piece {
        text: &first[super::PREFIX.len()..],
        width: indent + first.chars().count(),
    }];
    let mut bytes = first.len();
    let mut closed = scan.end_in(pieces[0].text).is_some();
    for row in below.iter().take(ROWS).map(S::as_ref) {
        let text = row.trim_matches(blank);
        let over = closed || bytes > 2 * limits::SIGNAL_BYTES;
        if over || text.is_empty() || after_ornament(row).is_some() {
            break;
        }
        bytes += text.len();
        closed = scan.end_in(text).is_some();
        pieces.push(Piece {
            text,
            width: row.trim_end_matches(blank).chars().count(),
        });
    }
    let used = pieces.len();
    (pieces, used)
}

fn joined(pieces: &[Piece<'_>], space: impl Fn(usize) -> bool) -> String {
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 && space(index - 1) {
            out.push(' ');
        }
        out.push_str(piece.text);
    }
    out
}

fn read(pieces: &[Piece<'_>], expected: &Expected) -> Option<ParsedMarker> {
    let breaks = pieces.len() - 1;
    let widest = pieces[..breaks]
        .iter()
        .map(|piece| piece.width)
        .max()
        .unwrap_or(0);
    // A row that ends short of the others was broken at a space that is gone, or
    // after a hyphen; one that is full was broken wherever it ended.
    let likely: Vec<bool> = pieces[..breaks]
        .iter()
        .map(|piece| piece.width < widest && !piece.text.ends_with('-'))
        .collect();
    let attempt = |space: &dyn Fn(usize) -> bool| {
        let text = joined(pieces, space);
        let end = object_end(&text)?;
        if is_edge(&text[end..]) {
            Some(decode(&text[..end], expected))
        } else {
            let what = "a marker with other text on its line";
            Some(ParsedMarker::refused(
                DiagnosticCode::Malformed,
                what,
                &text,
            ))
        }
    };
    let first = attempt(&|index| likely[index])?;
    if matches!(first, ParsedMarker::Signal { .. }) {
        return Some(first);
    }
    let tried = breaks.min(TRIED_BREAKS);
    (0..1u32 << tried)
        .map(|choice| {
            attempt(&|index| {
                if index < tried {
                    choice >> index & 1 == 1
                } else {
                    likely[index]
                }
            })
        })
        .find(|other| matches!(other, Some(ParsedMarker::Signal { .. })))
        .unwrap_or(Some(first))
}
