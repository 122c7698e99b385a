//! Texts of others, short and flat enough to be quoted.
//!
//! What must also be safe for a terminal, a page or a prompt is made so by whoever
//! writes there.

/// Whether a character makes a reader see another text than there is: it acts on a
/// terminal, turns the order of letters round, or hides letters in ones that are not
/// drawn. Joiners and the marks of emoji, which belong to what people write, do not.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// The first `limit` characters, marked where there were more. Deceptive characters
/// are blanks, so that nothing quoted can look like a line of its own.
#[must_use]
pub fn excerpt(text: &str, limit: usize) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if is_deceptive(c) { ' ' } else { c })
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
        assert_eq!(excerpt("a\u{202e}b\u{e0041}", 20), "a b ");
        assert_eq!(excerpt("👩\u{200d}🔬", 20), "👩\u{200d}🔬");
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
