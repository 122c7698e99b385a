//! What is typed, cut into keys.

use crate::commands::attach::keys::{Sequence, sequence};

/// Reads keys, also those that come in two pieces. What is no key of the view is
/// passed over, and so is what was pasted: its digits are no answers.
#[derive(Debug, Default)]
pub(in crate::commands) struct KeyReader {
    /// The beginning of a sequence whose end has not come.
    held: Vec<u8>,
    pasting: bool,
}

impl KeyReader {
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
