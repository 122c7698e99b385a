//! Texts of others, short and flat enough to be quoted.
//!
//! What must also be safe for a terminal, a page or a prompt is made so by whoever
//! writes there.

/// The first `limit` characters, marked where there were more. Control characters
/// are blanks, so that nothing quoted can look like a line of its own.
#[must_use]
pub fn excerpt(text: &str, limit: usize) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(limit)
        .collect();
    if text.chars().nth(limit).is_some() {
        shown.push('…');
    }
    shown
}

/// The words of a text with one blank between them.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_and_says_that_it_was_cut() {
        assert_eq!(excerpt("a\r\nb\u{1b}[2J", 20), "a  b [2J");
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("äöüß", 3), "äöü…");
        assert_eq!(excerpt("", 0), "");
    }

    #[test]
    fn lines_become_one_line() {
        assert_eq!(one_line("  two\r\n\n  lines\tof it "), "two lines of it");
        assert_eq!(one_line(" \n "), "");
    }
}
