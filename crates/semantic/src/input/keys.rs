//! From a text to the keys that carry it.
//!
//! A program that asked for bracketed paste gets one; a command of the agent is
//! typed, because a pasted one is only text to it. Control characters are left
//! out: one of them could end the paste and type the rest as keys.

use super::NewlineKey;
use crate::dialog::DialogLayout;

/// What the program asked its terminal for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    pub bracketed_paste: bool,
    /// Arrow keys are sent in their application form.
    pub application_cursor: bool,
}

/// What to write, one write after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keystrokes(pub(super) Vec<Vec<u8>>);

/// Line breaks that cannot be typed without sending the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoNewlineKey;

/// What to do with line breaks when there is neither a paste nor a key for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LooseBreaks {
    Refuse,
    /// Each one is an Enter.
    PressEnter,
}

pub(super) const ENTER: &[u8] = b"\r";
pub(super) const ESCAPE: &[u8] = b"\x1b";

/// The text with what cannot be typed left out; line breaks are `\n`.
pub(super) fn typeable(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let typeable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    unified.chars().filter(typeable).collect()
}

/// Whether a text is a command to the agent program itself, such as `/clear`.
#[must_use]
pub fn is_command(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let word = rest.split_whitespace().next().unwrap_or_default();
    rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && !word.contains('/')
        && !text.contains('\n')
}

/// `text` must be [`typeable`].
pub(super) fn keystrokes(
    text: &str,
    modes: Modes,
    newline: Option<NewlineKey>,
    breaks: LooseBreaks,
) -> Result<Keystrokes, NoNewlineKey> {
    if text.is_empty() {
        return Ok(Keystrokes(Vec::new()));
    }
    if is_command(text) {
        let name = text.find(char::is_whitespace).unwrap_or(text.len());
        let mut writes: Vec<_> = text[..name]
            .chars()
            .map(|c| String::from(c).into_bytes())
            .collect();
        if name < text.len() {
            writes.push(text.as_bytes()[name..].to_vec());
        }
        return Ok(Keystrokes(writes));
    }
    if modes.bracketed_paste {
        // Terminals paste line breaks as carriage returns.
        let body = text.replace('\n', "\r");
        return Ok(Keystrokes(vec![
            format!("\x1b[200~{body}\x1b[201~").into_bytes(),
        ]));
    }
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let mut writes = vec![first.as_bytes().to_vec()];
    for line in lines {
        let key = match (newline, breaks) {
            (Some(key), _) => key.bytes(),
            (None, LooseBreaks::PressEnter) => ENTER,
            (None, LooseBreaks::Refuse) => return Err(NoNewlineKey),
        };
        writes.push(key.to_vec());
        writes.push(line.as_bytes().to_vec());
    }
    writes.retain(|write| !write.is_empty());
    Ok(Keystrokes(writes))
}

/// The arrow that moves the mark of a dialog by one option.
pub(super) fn arrow(layout: DialogLayout, toward: Toward, modes: Modes) -> Vec<u8> {
    let letter = match (layout, toward) {
        (DialogLayout::List | DialogLayout::Letters, Toward::Earlier) => b'A',
        (DialogLayout::List | DialogLayout::Letters, Toward::Later) => b'B',
        (DialogLayout::Buttons, Toward::Later) => b'C',
        (DialogLayout::Buttons, Toward::Earlier) => b'D',
    };
    let introducer = if modes.application_cursor { b'O' } else { b'[' };
    vec![0x1b, introducer, letter]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    Earlier,
    Later,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASTE: Modes = Modes {
        bracketed_paste: true,
        application_cursor: false,
    };
    const PLAIN: Modes = Modes {
        bracketed_paste: false,
        application_cursor: false,
    };

    fn writes(text: &str, modes: Modes, newline: Option<NewlineKey>) -> Vec<Vec<u8>> {
        keystrokes(&typeable(text), modes, newline, LooseBreaks::Refuse)
            .unwrap()
            .0
    }

    #[test]
    fn a_pasted_text_cannot_end_its_paste() {
        assert_eq!(
            writes("one\ntwo\x1b[201~\x03rm -rf\r\n\tend", PASTE, None),
            [b"\x1b[200~one\rtwo[201~rm -rf\r\tend\x1b[201~"]
        );
        assert_eq!(writes("", PASTE, None), [b""; 0]);
    }

    #[test]
    fn a_command_is_typed_letter_by_letter_and_a_path_is_not_a_command() {
        assert_eq!(
            writes("/add it all", PASTE, None),
            [
                b"/".to_vec(),
                b"a".to_vec(),
                b"d".to_vec(),
                b"d".to_vec(),
                b" it all".to_vec()
            ]
        );
        for text in [
            "/etc/hosts is odd",
            "/",
            "/2",
            "/clear\nand more",
            "not /clear",
        ] {
            assert!(!is_command(text), "{text}");
        }
    }

    #[test]
    fn line_breaks_need_a_paste_or_a_key() {
        assert_eq!(
            writes("a\n\nb", PLAIN, Some(NewlineKey::BackslashEnter)),
            [&b"a"[..], b"\\\r", b"\\\r", b"b"]
        );
        assert_eq!(
            keystrokes("a\nb", PLAIN, None, LooseBreaks::Refuse),
            Err(NoNewlineKey)
        );
        let loose = keystrokes("a\nb", PLAIN, None, LooseBreaks::PressEnter).unwrap();
        assert_eq!(loose.0, [&b"a"[..], b"\r", b"b"]);
    }
}
