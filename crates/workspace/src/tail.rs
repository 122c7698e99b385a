//! The end of an output of any length, as text.

use std::collections::VecDeque;

/// Keeps the last bytes of what it is given, in bounded memory.
#[derive(Debug)]
pub(crate) struct Tail {
    limit: usize,
    kept: VecDeque<u8>,
    total: u64,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: VecDeque::new(),
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let excess = (self.kept.len() + bytes.len()).saturating_sub(self.limit);
        self.kept.drain(..excess);
        self.kept.extend(bytes);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// At most `limit` bytes of valid UTF-8. What is no text becomes replacement
    /// characters, and so do zero bytes, which no database takes as text.
    pub(crate) fn text(mut self) -> String {
        let cut = self.total > self.kept.len() as u64;
        let bytes = self.kept.make_contiguous();
        let mut start = 0;
        if cut {
            // The rest of a character whose beginning is gone.
            let rest = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            start = bytes.iter().take(3).take_while(rest).count();
        }
        let text = String::from_utf8_lossy(&bytes[start..]).replace('\0', "\u{fffd}");
        let from = text.ceil_char_boundary(text.len().saturating_sub(self.limit));
        text[from..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, pieces: &[&[u8]]) -> String {
        let mut tail = Tail::new(limit);
        for piece in pieces {
            tail.push(piece);
        }
        tail.text()
    }

    #[test]
    fn the_end_is_kept_as_valid_text_within_the_limit() {
        let cases: [(usize, &[&[u8]], &str); 8] = [
            (8, &[b"short"], "short"),
            (4, &[b"ab", b"cd", b"ef"], "cdef"),
            (4, &[b"0123456789"], "6789"),
            (0, &[b"anything"], ""),
            // The cut falls into the two bytes of the first letter.
            (3, &["äö".as_bytes()], "ö"),
            (6, &["日本語".as_bytes()], "本語"),
            // A replacement is longer than what it replaces.
            (4, &[b"a\xffb"], "\u{fffd}b"),
            (8, &[b"a\0b"], "a\u{fffd}b"),
        ];
        for (limit, pieces, expected) in cases {
            let text = tail(limit, pieces);
            assert_eq!(text, expected, "{pieces:?}");
            assert!(text.len() <= limit);
        }
    }
}
