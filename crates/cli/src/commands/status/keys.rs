//! The keys of the live view.

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

/// The keys in what a terminal sent at once. What is no key of the view is passed over.
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let (key, length) = match rest {
            [0x1b, b'[' | b'O', b'A', ..] => (Some(Key::Up), 3),
            [0x1b, b'[' | b'O', b'B', ..] => (Some(Key::Down), 3),
            [0x1b, b'[' | b'O', b'H', ..] => (Some(Key::First), 3),
            [0x1b, b'[' | b'O', b'F', ..] => (Some(Key::Last), 3),
            [0x1b, b'[', body @ ..] => {
                let end = body.iter().position(|b| (0x40..=0x7e).contains(b));
                (None, end.map_or(rest.len(), |end| end + 3))
            }
            [0x1b, _, ..] => (None, 2),
            _ => (single(first), 1),
        };
        keys.extend(key);
        rest = &rest[length.min(rest.len())..];
    }
    keys
}

fn single(byte: u8) -> Option<Key> {
    Some(match byte {
        b'k' => Key::Up,
        b'j' => Key::Down,
        b'g' => Key::First,
        b'G' => Key::Last,
        b'1'..=b'9' => Key::Option(usize::from(byte - b'0')),
        b'\r' | b'\n' => Key::Open,
        b'o' => Key::Page,
        b'd' => Key::Details,
        b'?' => Key::Help,
        0x1b => Key::Escape,
        b'q' => Key::Quit,
        0x03 | 0x04 => Key::Leave,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_all_their_forms_and_the_rest_is_passed_over() {
        let typed = b"jk\x1b[A\x1bOB\x1b[1;5Cx3\r?\x1b[<0;1;1Mq";
        assert_eq!(
            keys(typed),
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
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys("日本".as_bytes()), []);
    }
}
