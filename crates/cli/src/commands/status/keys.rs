//! The keys of the overview.

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

pub(super) fn key(piece: &[u8]) -> Option<Key> {
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
    use crate::commands::live::KeyReader;

    fn keys(pieces: &[&[u8]]) -> Vec<Key> {
        let mut reader = KeyReader::default();
        let typed = pieces.iter().flat_map(|piece| reader.pieces(piece));
        typed.filter_map(|piece| key(&piece)).collect()
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
