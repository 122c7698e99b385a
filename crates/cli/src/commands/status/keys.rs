//! The keys of the live view.

use crate::commands::attach::keys::{Sequence, sequence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    First,
    Last,
    /// An option by its number, from 1.
    Option(usize),
    Open,
    Page,
    Details,
    Help,
    Escape,
    Quit,
    /// Out, and nothing counts as seen.
    Leave,
}

/// Reads keys, also those that come in two pieces. What is no key of the view is
/// passed over, and so is what was pasted: its digits are no answers.
#[derive(Debug, Default)]
pub(in crate::commands) struct KeyReader {
    /// The beginning of a sequence whose end has not come.
    held: Vec<u8>,
    pasting: bool,
}

impl KeyReader {
    pub(super) fn read(&mut self, input: &[u8]) -> Vec<Key> {
        let pieces = self.pieces(input);
        pieces.iter().filter_map(|piece| key(piece)).collect()
    }

    /// What was typed, a key a piece, whatever view it is for. Nothing of a paste is in it,
    /// but for the Ctrl-C that gets out of one that never ends.
    pub(in crate::commands) fn pieces(&mut self, input: &[u8]) -> Vec<Vec<u8>> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(input);
        let mut keys = Vec::new();
        let mut rest = &all[..];
        while !rest.is_empty() {
            let length = match (sequence(rest), rest) {
                (Sequence::Whole(length), _) => length,
                // Also when only its beginning has come: what follows would be keys.
                (Sequence::Begun, _) | (Sequence::None, b"\x1b[") => {
                    self.held = rest.to_vec();
                    break;
                }
                // One that breaks off, with its parameters.
                (Sequence::None, [0x1b, b'[', body @ ..]) => {
                    let parameters = body.iter().take_while(|b| (0x20..=0x3f).contains(*b));
                    2 + parameters.count()
                }
                // A key of the keypad's mode, and Alt with a key.
                (Sequence::None, [0x1b, b'O', _, ..]) => 3,
                (Sequence::None, [0x1b, _, ..]) => 2,
                // A letter is one piece, however many bytes it has.
                (Sequence::None, [first, ..]) => length_of(*first).min(rest.len()),
                (Sequence::None, []) => 1,
            };
            let (piece, later) = rest.split_at(length);
            match piece {
                b"\x1b[200~" => self.pasting = true,
                b"\x1b[201~" => self.pasting = false,
                // Whoever wants out gets out, also when the end of a paste never came.
                [0x03] if self.pasting => {
                    self.pasting = false;
                    keys.push(piece.to_vec());
                }
                _ if self.pasting => {}
                _ => keys.push(piece.to_vec()),
            }
            rest = later;
        }
        keys
    }
}

/// How many bytes a letter has that begins with this one.
const fn length_of(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

fn key(piece: &[u8]) -> Option<Key> {
    Some(match piece {
        b"k" | b"\x1b[A" | b"\x1bOA" => Key::Up,
        b"j" | b"\x1b[B" | b"\x1bOB" => Key::Down,
        b"g" | b"\x1b[H" | b"\x1bOH" => Key::First,
        b"G" | b"\x1b[F" | b"\x1bOF" => Key::Last,
        [digit @ b'1'..=b'9'] => Key::Option(usize::from(digit - b'0')),
        b"\r" | b"\n" => Key::Open,
        b"o" => Key::Page,
        b"d" => Key::Details,
        b"?" => Key::Help,
        b"\x1b" => Key::Escape,
        b"q" => Key::Quit,
        [0x03 | 0x04] => Key::Leave,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pieces: &[&[u8]]) -> Vec<Key> {
        let mut reader = KeyReader::default();
        let read = pieces.iter().flat_map(|piece| reader.read(piece));
        read.collect()
    }

    #[test]
    fn keys_are_read_in_all_their_forms_and_the_rest_is_passed_over() {
        let typed = b"jk\x1b[A\x1bOB\x1b[1;5Cx3\r?\x1b[<0;1;1Mq";
        assert_eq!(
            keys(&[typed]),
            [
                Key::Down,
                Key::Up,
                Key::Up,
                Key::Down,
                Key::Option(3),
                Key::Open,
                Key::Help,
                Key::Quit
            ]
        );
        assert_eq!(keys(&[b"\x1b"]), [Key::Escape]);
        assert_eq!(keys(&["日本".as_bytes()]), []);
    }

    #[test]
    fn a_sequence_in_two_pieces_answers_nothing() {
        assert_eq!(keys(&[b"\x1b[<0;1", b"2;3Mj"]), [Key::Down]);
        assert_eq!(keys(&[b"\x1b[1", b";5Cj"]), [Key::Down]);
        assert_eq!(keys(&[b"\x1b[", b"1;5Cj"]), [Key::Down]);
        assert_eq!(keys(&[b"\x1b[1", b"\x03"]), [Key::Leave]);
    }

    #[test]
    fn what_is_pasted_answers_nothing() {
        assert_eq!(keys(&[b"\x1b[200~1q\n\x1b[20", b"1~j"]), [Key::Down]);
        assert_eq!(keys(&[b"\x1b[", b"200~1\x1b[201~j"]), [Key::Down]);
    }

    #[test]
    fn a_paste_that_never_ends_is_left_with_ctrl_c() {
        assert_eq!(
            keys(&[b"\x1b[200~1", b"\x03", b"j"]),
            [Key::Leave, Key::Down]
        );
    }
}
