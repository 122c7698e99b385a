//! Structural hashes of screen regions.
//!
//! A fingerprint says "this is that screen again" for screens whose words are
//! fixed: trust questions, login pickers, warnings. It is taken over words
//! alone, so width, wrapping, frames and colours do not change it, and numbers
//! and paths are reduced to their kind.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::region::is_frame;
use crate::screen::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    #[must_use]
    pub fn of(rows: &[Row]) -> Self {
        let mut hash = Fnv::default();
        for row in rows {
            for word in row.text.split(|c: char| c.is_whitespace() || is_frame(c)) {
                hash_word(&mut hash, word);
            }
        }
        Self(hash.0)
    }
}

/// Letters of a word as they are, digits as one mark, a path as one mark. Words
/// are not separated in the hash: a narrow screen may break one in two.
fn hash_word(hash: &mut Fnv, word: &str) {
    if word.contains('/') && word.len() > 1 {
        return;
    }
    let mut in_number = false;
    for c in word.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                hash.write("#");
            }
            in_number = true;
        } else {
            in_number = false;
            if c.is_alphabetic() {
                let mut buffer = [0; 4];
                hash.write(c.encode_utf8(&mut buffer));
            }
        }
    }
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a fingerprint: 16 hexadecimal digits, as `mission semantic explain` prints them"
)]
pub struct InvalidFingerprint(String);

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = digits.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        value
            .map(Self)
            .ok_or_else(|| InvalidFingerprint(text.to_owned()))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Screen, Size};

    fn of(columns: u16, lines: &[&str]) -> Fingerprint {
        let screen = Screen::from_lines(Size { columns, rows: 20 }, lines.iter().copied());
        Fingerprint::of(&screen.rows)
    }

    #[test]
    fn width_frames_numbers_and_paths_do_not_change_it() {
        let wide = of(
            80,
            &[
                "│ Do you trust the files in this folder?  /home/a/b │",
                "❯ 1. Yes, proceed",
            ],
        );
        let narrow = of(
            20,
            &[
                "Do you trust the",
                "files in this fol",
                "der?",
                "/tmp/x",
                "> 12. Yes,",
                "proceed",
            ],
        );
        assert_eq!(wide, narrow);
        assert_ne!(
            wide,
            of(
                80,
                &[
                    "Do you trust the files in that folder?",
                    "❯ 1. Yes, proceed"
                ]
            )
        );
        assert_eq!(wide.to_string().parse(), Ok(wide));
    }
}
