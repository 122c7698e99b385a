//! Breaking text into rows of a width, as a terminal counts it.

use unicode_width::UnicodeWidthChar;

const TAB: usize = 4;

/// Rows of at most `width` columns, broken at blanks where there are any. What
/// comes from files and programs cannot move the cursor: control characters
/// are left out.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        wrap_line(&printable(line), width, &mut rows);
    }
    rows
}

/// One row of at most `width` columns, the rest shown as three dots.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text = printable(text);
    if columns(&text) <= width {
        return text;
    }
    let mut row = String::new();
    for character in text.chars() {
        if columns(&row) + columns_of(character) + 1 > width {
            break;
        }
        row.push(character);
    }
    row.push('…');
    row
}

pub(super) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(character: char) -> usize {
    character.width().unwrap_or(0)
}

fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for character in line.chars() {
        match character {
            '\t' => text.extend(std::iter::repeat_n(' ', TAB)),
            character if character.is_control() => {}
            character => text.push(character),
        }
    }
    text
}

fn wrap_line(line: &str, width: usize, rows: &mut Vec<String>) {
    let mut row = String::new();
    let mut used = 0;
    // Where the row can be broken: just after its last blank.
    let mut break_at = None;
    for character in line.chars() {
        let wide = columns_of(character);
        if used + wide > width {
            let rest = match break_at.take() {
                Some(at) if character != ' ' => row.split_off(at),
                _ => String::new(),
            };
            rows.push(std::mem::replace(&mut row, rest).trim_end().to_owned());
            used = columns(&row);
            if character == ' ' {
                continue;
            }
        }
        row.push(character);
        used += wide;
        if character == ' ' {
            break_at = Some(row.len());
        }
    }
    rows.push(row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_broken_at_blanks_and_never_wider_than_asked() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("to be or not", 5), ["to be", "or", "not"]);
    }

    #[test]
    fn nothing_that_moves_the_cursor_gets_through() {
        assert_eq!(wrap("a\x1b[2Jb\tc\r", 20), ["a[2Jb    c"]);
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
