//! What the person types, and the one key that is not for the program.

use std::fmt;
use std::str::FromStr;

/// A control key that leaves the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DetachKey(char);

#[derive(Debug, thiserror::Error)]
pub(crate) enum DetachKeyError {
    #[error("write it as `ctrl-` and a letter, or one of `]`, `\\`, `^`, `_`")]
    Form,
    #[error("Ctrl-{0} is what {1} sends")]
    OtherKey(char, &'static str),
}

impl FromStr for DetachKey {
    type Err = DetachKeyError;

    fn from_str(text: &str) -> Result<Self, DetachKeyError> {
        let lower = text.to_ascii_lowercase();
        let key = lower.strip_prefix("ctrl-").or(lower.strip_prefix('^'));
        let mut letters = key.ok_or(DetachKeyError::Form)?.chars();
        let (Some(key), None) = (letters.next(), letters.next()) else {
            return Err(DetachKeyError::Form);
        };
        let other = match key {
            'h' => "Backspace",
            'i' => "Tab",
            'j' | 'm' => "Enter",
            '[' => "Escape",
            'a'..='z' | ']' | '\\' | '^' | '_' => return Ok(Self(key)),
            _ => return Err(DetachKeyError::Form),
        };
        Err(DetachKeyError::OtherKey(key.to_ascii_uppercase(), other))
    }
}

impl fmt::Display for DetachKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctrl-{}", self.0.to_ascii_uppercase())
    }
}

impl DetachKey {
    fn byte(self) -> u8 {
        // Every key that is let in has a place among the control characters.
        self.0.to_ascii_uppercase() as u8 & 0x1f
    }

    /// Whether a sequence is this key, as terminals send it that tell more
    /// about keys: `CSI code ; modifiers u` and `CSI 27 ; modifiers ; code ~`.
    fn is_sequence(self, sequence: &[u8]) -> bool {
        let Some((last, body)) = sequence.split_last() else {
            return false;
        };
        let body = body.strip_prefix(b"\x1b[").unwrap_or_default();
        let Ok(body) = std::str::from_utf8(body) else {
            return false;
        };
        let fields: Vec<&str> = body.split(';').collect();
        let (codes, modifiers) = match (last, &fields[..]) {
            (b'u', [codes, modifiers, ..]) => (*codes, *modifiers),
            (b'~', ["27", modifiers, code]) => (*code, *modifiers),
            _ => return false,
        };
        let (modifiers, event) = modifiers.split_once(':').unwrap_or((modifiers, "1"));
        let released = event == "3";
        let held = modifiers.parse::<u32>().unwrap_or(1).saturating_sub(1);
        // Shift and the locks do not matter.
        let control = held & !(1 | 64 | 128) == 4;
        let wanted = u32::from(self.0);
        let named = codes
            .split(':')
            .filter_map(|code| code.parse::<u32>().ok())
            .any(|code| code == wanted);
        control && named && !released
    }
}

/// What was typed: for the program, and whether the person leaves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) bytes: Vec<u8>,
    pub(super) then: Then,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Detach,
}

/// Finds the detach key, also where it comes in two pieces, and not in a paste.
#[derive(Debug)]
pub(super) struct KeyFilter {
    key: DetachKey,
    /// The beginning of a sequence whose end has not come.
    held: Vec<u8>,
    pasting: bool,
}

impl KeyFilter {
    pub(super) fn new(key: DetachKey) -> Self {
        Self {
            key,
            held: Vec::new(),
            pasting: false,
        }
    }

    pub(super) fn feed(&mut self, input: &[u8]) -> Typed {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(input);
        let mut bytes = Vec::with_capacity(all.len());
        let mut rest = &all[..];
        while let Some(&first) = rest.first() {
            let length = match sequence(rest) {
                Sequence::Whole(length) => length,
                Sequence::Begun => {
                    self.held = rest.to_vec();
                    break;
                }
                Sequence::None => 1,
            };
            let (piece, later) = rest.split_at(length);
            match piece {
                b"\x1b[200~" => self.pasting = true,
                b"\x1b[201~" => self.pasting = false,
                _ if self.pasting => {}
                _ if first == self.key.byte() || self.key.is_sequence(piece) => {
                    let then = Then::Detach;
                    return Typed { bytes, then };
                }
                _ => {}
            }
            bytes.extend_from_slice(piece);
            rest = later;
        }
        let then = Then::GoOn;
        Typed { bytes, then }
    }
}

/// What stands at the beginning of what was typed.
pub(in crate::commands) enum Sequence {
    None,
    /// So many bytes.
    Whole(usize),
    Begun,
}

/// Whether a control sequence stands at the beginning. One that has no
/// parameter yet may be the person's Alt-[, so it is not waited for.
pub(in crate::commands) fn sequence(bytes: &[u8]) -> Sequence {
    const LONGEST: usize = 64;
    let Some(body) = bytes.strip_prefix(b"\x1b[") else {
        return Sequence::None;
    };
    let end = body.iter().position(|b| !(0x20..=0x3f).contains(b));
    match end {
        Some(end) if (0x40..=0x7e).contains(&body[end]) => Sequence::Whole(end + 3),
        None if (1..LONGEST).contains(&body.len()) => Sequence::Begun,
        _ => Sequence::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter() -> KeyFilter {
        KeyFilter::new("ctrl-]".parse().unwrap())
    }

    fn typed(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut filter = filter();
        let mut all = Vec::new();
        for piece in pieces {
            let typed = filter.feed(piece);
            all.extend(typed.bytes);
            if typed.then == Then::Detach {
                return (all, true);
            }
        }
        (all, false)
    }

    #[test]
    fn everything_but_the_detach_key_goes_to_the_program() {
        let keys = b"\x03\x04\x1a\x1b\x1b[A\x1bOP\x1b[<0;5;5M\x1b[99;5u\xc3\xa4\x1b[1;5D\x00\x1c";
        assert_eq!(typed(&[keys]), (keys.to_vec(), false));
    }

    #[test]
    fn the_detach_key_is_known_in_every_form_and_in_pieces() {
        for key in [
            &b"\x1d"[..],
            b"\x1b[93;5u",
            b"\x1b[93;69u",
            b"\x1b[93:125;6:1u",
            b"\x1b[57::93;5u",
            b"\x1b[27;5;93~",
        ] {
            let line = [b"ab", key, b"cd"].concat();
            assert_eq!(typed(&[&line]), (b"ab".to_vec(), true), "{key:?}");
        }
        assert_eq!(typed(&[b"ab\x1b[9", b"3;5u"]), (b"ab".to_vec(), true));
        let others = b"\x1b[93;5:3u\x1b[93u\x1b[93;3u\x1b[27;5;99~";
        assert_eq!(typed(&[others]), (others.to_vec(), false));
    }

    #[test]
    fn a_paste_may_hold_the_detach_key() {
        let paste = b"\x1b[200~x\x1dy\x1b[201~";
        assert_eq!(typed(&[paste]), (paste.to_vec(), false));
        assert_eq!(typed(&[&paste[..4], &paste[4..]]), (paste.to_vec(), false));
        assert!(typed(&[paste, b"\x1d"]).1);
    }

    #[test]
    fn a_lone_escape_is_not_held_back() {
        assert_eq!(typed(&[b"\x1b"]), (b"\x1b".to_vec(), false));
        assert_eq!(typed(&[b"\x1b["]), (b"\x1b[".to_vec(), false));
    }

    #[test]
    fn detach_keys_are_read_and_shown() {
        let key = |text: &str| text.parse::<DetachKey>();
        assert_eq!(key("Ctrl-Q").unwrap().to_string(), "Ctrl-Q");
        assert_eq!(key("^\\").unwrap().byte(), 0x1c);
        assert_eq!(key("ctrl-]").unwrap().byte(), 0x1d);
        for wrong in ["x", "ctrl-", "ctrl-ab", "ctrl-1", "ctrl-m", "alt-x", ""] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
    }
}
