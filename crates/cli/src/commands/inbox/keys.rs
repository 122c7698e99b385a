//! The keys of the inbox: those of the list, and those of an answer that is being typed.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    First,
    Last,
    /// Scrolls what is shown of the question.
    Later,
    Earlier,
    Allow,
    AllowHour,
    Deny,
    /// An option by its number, from 1.
    Option(usize),
    Write,
    Dismiss,
    Help,
    Quit,
    Leave,
    Letters(String),
    Rub,
    Send,
    Cancel,
}

pub(super) fn key(piece: &[u8], is_typing: bool) -> Option<Key> {
    if let [0x03 | 0x04] = piece {
        return Some(Key::Leave);
    }
    if is_typing {
        return Some(match piece {
            b"\r" | b"\n" => Key::Send,
            b"\x1b" => Key::Cancel,
            b"\x7f" | b"\x08" => Key::Rub,
            [0x1b, ..] => return None,
            text => {
                let text = std::str::from_utf8(text).ok()?;
                let text: String = text.chars().filter(|c| !c.is_control()).collect();
                Key::Letters(text)
            }
        });
    }
    Some(match piece {
        b"k" | b"\x1b[A" | b"\x1bOA" => Key::Up,
        b"j" | b"\x1b[B" | b"\x1bOB" => Key::Down,
        b"g" | b"\x1b[H" | b"\x1bOH" => Key::First,
        b"G" | b"\x1b[F" | b"\x1bOF" => Key::Last,
        b" " | b"\x1b[6~" => Key::Later,
        b"b" | b"\x1b[5~" => Key::Earlier,
        b"a" => Key::Allow,
        b"h" => Key::AllowHour,
        b"d" => Key::Deny,
        b"e" | b"\r" | b"\n" => Key::Write,
        b"x" => Key::Dismiss,
        [digit @ b'1'..=b'9'] => Key::Option(usize::from(digit - b'0')),
        b"?" => Key::Help,
        b"q" => Key::Quit,
        _ => return None,
    })
}
