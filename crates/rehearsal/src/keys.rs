//! From the bytes of a terminal to keys.
//!
//! Knows what common terminals send without extended keyboard modes, which are
//! not asked for. Pasted text (bracketed paste) is one key, so that a newline in
//! it is never Enter.

/// Pasted text beyond this is dropped.
const MAX_PASTE: usize = 1 << 20;
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Text(char),
    Paste(String),
    Enter,
    /// Enter that makes a new line: Ctrl-J, or Enter with Alt.
    NewLine,
    Backspace,
    Delete,
    Escape,
    Tab,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    Interrupt,
    EndOfInput,
    KillLine,
}

#[derive(Debug, Default)]
pub(crate) struct KeyParser {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl KeyParser {
    pub(crate) fn feed(&mut self, bytes: &[u8], keys: &mut Vec<Key>) {
        self.pending.extend_from_slice(bytes);
        loop {
            let parsed = match &mut self.paste {
                Some(paste) => parse_paste(paste, &self.pending),
                None => parse_key(&self.pending),
            };
            match parsed {
                ParsedKey::Nothing => return,
                ParsedKey::Bytes(count) => drop(self.pending.drain(..count)),
                ParsedKey::Key(count, key) => {
                    self.pending.drain(..count);
                    keys.push(key);
                }
                ParsedKey::PasteBegins(count) => {
                    self.pending.drain(..count);
                    self.paste = Some(Vec::new());
                }
                ParsedKey::PasteEnds(count) => {
                    self.pending.drain(..count);
                    let text = self.paste.take().unwrap_or_default();
                    let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
                    keys.push(Key::Paste(text.replace('\r', "\n")));
                }
            }
        }
    }

    /// A lone Escape looks like the beginning of another key.
    pub(crate) fn is_waiting(&self) -> bool {
        self.paste.is_none() && self.pending.first() == Some(&0x1b)
    }

    /// Nothing followed: what is pending was Escape, and whatever came with it.
    pub(crate) fn give_up_waiting(&mut self, keys: &mut Vec<Key>) {
        if self.is_waiting() {
            let rest = self.pending.split_off(1);
            self.pending.clear();
            keys.push(Key::Escape);
            self.feed(&rest, keys);
        }
    }
}

enum ParsedKey {
    Nothing,
    /// Bytes that mean nothing here.
    Bytes(usize),
    Key(usize, Key),
    PasteBegins(usize),
    PasteEnds(usize),
}

fn parse_paste(paste: &mut Vec<u8>, pending: &[u8]) -> ParsedKey {
    let end = pending
        .windows(PASTE_END.len())
        .position(|window| window == PASTE_END);
    // The end may be cut in two: its first bytes stay.
    let text = match end {
        Some(at) => at,
        None => pending.len().saturating_sub(PASTE_END.len() - 1),
    };
    let room = MAX_PASTE.saturating_sub(paste.len());
    paste.extend_from_slice(&pending[..text.min(room)]);
    match end {
        Some(at) => ParsedKey::PasteEnds(at + PASTE_END.len()),
        None if text > 0 => ParsedKey::Bytes(text),
        None => ParsedKey::Nothing,
    }
}

fn parse_key(pending: &[u8]) -> ParsedKey {
    let Some(&first) = pending.first() else {
        return ParsedKey::Nothing;
    };
    let key = match first {
        0x1b => return parse_escape(pending),
        b'\r' => Key::Enter,
        b'\n' => Key::NewLine,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        0x01 => Key::Home,
        0x03 => Key::Interrupt,
        0x04 => Key::EndOfInput,
        0x05 => Key::End,
        0x15 => Key::KillLine,
        0x00..0x20 => return ParsedKey::Bytes(1),
        _ => return parse_character(pending),
    };
    ParsedKey::Key(1, key)
}

fn parse_character(pending: &[u8]) -> ParsedKey {
    let length = match pending[0] {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return ParsedKey::Bytes(1),
    };
    let Some(bytes) = pending.get(..length) else {
        return ParsedKey::Nothing;
    };
    match std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.chars().next())
    {
        Some(character) => ParsedKey::Key(length, Key::Text(character)),
        None => ParsedKey::Bytes(1),
    }
}

fn parse_escape(pending: &[u8]) -> ParsedKey {
    if pending.starts_with(PASTE_START) {
        return ParsedKey::PasteBegins(PASTE_START.len());
    }
    match pending.get(1) {
        None => ParsedKey::Nothing,
        Some(b'\r') => ParsedKey::Key(2, Key::NewLine),
        Some(b'[') => {
            let last = pending[2..]
                .iter()
                .position(|byte| (0x40..0x7f).contains(byte));
            let Some(last) = last.map(|at| at + 2) else {
                return ParsedKey::Nothing;
            };
            match key_of_sequence(&pending[2..=last]) {
                Some(key) => ParsedKey::Key(last + 1, key),
                None => ParsedKey::Bytes(last + 1),
            }
        }
        Some(b'O') => match pending.get(2) {
            None => ParsedKey::Nothing,
            Some(byte) => match key_of_sequence(&[*byte]) {
                Some(key) => ParsedKey::Key(3, key),
                None => ParsedKey::Bytes(3),
            },
        },
        // Two quick Escapes are two keys; Alt with a letter is the letter.
        Some(_) => ParsedKey::Key(1, Key::Escape),
    }
}

fn key_of_sequence(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed whole and byte by byte: the same keys.
    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut whole = Vec::new();
        let mut parser = KeyParser::default();
        parser.feed(bytes, &mut whole);
        parser.give_up_waiting(&mut whole);
        let mut single = Vec::new();
        let mut parser = KeyParser::default();
        for byte in bytes {
            parser.feed(&[*byte], &mut single);
        }
        parser.give_up_waiting(&mut single);
        assert_eq!(whole, single);
        whole
    }

    #[test]
    fn keys_of_a_common_terminal() {
        assert_eq!(
            keys("aé漢\r\x7f\x1b[A\x1bOB\x1b[3~\x03\x1b\r".as_bytes()),
            [
                Key::Text('a'),
                Key::Text('é'),
                Key::Text('漢'),
                Key::Enter,
                Key::Backspace,
                Key::Up,
                Key::Down,
                Key::Delete,
                Key::Interrupt,
                Key::NewLine,
            ]
        );
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        // Reports nobody asked for, such as focus or a mouse, are passed over.
        assert_eq!(keys(b"\x1b[I\x1b[<0;1;2Mx"), [Key::Text('x')]);
    }

    #[test]
    fn a_paste_is_one_key_whatever_is_in_it() {
        assert_eq!(
            keys(b"\x1b[200~one\r\ntwo \x1b[A\x03\x1b[201~\r"),
            [Key::Paste("one\ntwo \x1b[A\x03".to_owned()), Key::Enter]
        );
    }
}
