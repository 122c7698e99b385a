//! What was sent to the program, as evidence: whoever pressed Enter knows that
//! the program has something to do before its screen says so.
//!
//! Only the kind of a key and its time are kept, never the text. Answers the
//! terminal gave to the program's queries are no keys.

use std::time::Duration;

/// A kind of key that readings depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Enter,
    Escape,
    /// Ctrl-C, which also clears what was typed.
    Interrupt,
    /// Anything else that was typed or pasted.
    Other,
}

impl Key {
    pub(crate) const NAMES: [(&'static str, KeyTest); 3] = [
        ("any", KeyTest::Any),
        ("enter", KeyTest::Enter),
        ("escape", KeyTest::Escape),
    ];

    /// The key a write to the program stands for, if it is one. Programs take
    /// text and Enter in one write for a paste, so that is no Enter.
    #[must_use]
    pub fn of_input(bytes: &[u8]) -> Option<Self> {
        match bytes {
            b"" => None,
            b"\r" | b"\n" | b"\x1b[13u" | b"\x1b[13;1u" | b"\x1bOM" => Some(Self::Enter),
            b"\x1b" | b"\x1b[27u" | b"\x1b[27;1u" => Some(Self::Escape),
            b"\x03" | b"\x1b[99;5u" => Some(Self::Interrupt),
            _ if is_report(bytes) => None,
            _ => Some(Self::Other),
        }
    }
}

/// Answers to queries and reports of focus, as a terminal sends them: the whole write
/// is one, and nothing that somebody typed is in it.
fn is_report(bytes: &[u8]) -> bool {
    let parameter = |byte: &u8| matches!(byte, b' '..=b'?');
    match bytes {
        [0x1b, b']' | b'P' | b'_', text @ ..] => {
            text.ends_with(b"\x07") || text.ends_with(b"\x1b\\")
        }
        // A press of a mouse in the old form: three bytes of any kind.
        [0x1b, b'[', b'I' | b'O'] | [0x1b, b'[', b'M', _, _, _] => true,
        [0x1b, b'[', body @ ..] => match body.split_last() {
            Some((last, parameters)) if parameters.iter().all(parameter) => match last {
                b'R' | b'c' | b'n' | b'y' | b't' | b'M' | b'm' => true,
                b'u' => parameters.first() == Some(&b'?'),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Which keys a condition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyTest {
    Any,
    Enter,
    Escape,
}

/// When keys were sent last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeysSent {
    any: Option<Duration>,
    enter: Option<Duration>,
    escape: Option<Duration>,
    /// Something was typed since the last Enter.
    typed: bool,
    /// Enter was pressed on a text, and the program has not reacted yet.
    pub(crate) unanswered: Option<Duration>,
}

/// Whether a prompt waited for text when a key was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    Waiting,
    Elsewhere,
}

impl KeysSent {
    pub(crate) fn record(&mut self, key: Key, prompt: Prompt, at: Duration) {
        self.any = Some(at);
        match key {
            Key::Other => self.typed = true,
            Key::Escape => {
                self.escape = Some(at);
                self.unanswered = None;
            }
            Key::Interrupt => {
                self.typed = false;
                self.unanswered = None;
            }
            Key::Enter => {
                self.enter = Some(at);
                if self.typed && prompt == Prompt::Waiting {
                    self.unanswered = Some(at);
                }
                self.typed = false;
            }
        }
    }

    pub(crate) fn last(&self, test: KeyTest) -> Option<Duration> {
        match test {
            KeyTest::Any => self.any,
            KeyTest::Enter => self.enter,
            KeyTest::Escape => self.escape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_terminal_are_no_keys() {
        for report in [
            "\x1b[?62;22c",
            "\x1b[12;1R",
            "\x1b[?2026;2$y",
            "\x1b[?997;1n",
            "\x1b[?7u",
            "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
            "\x1bP>|term(1.0)\x1b\\",
            "\x1b[I",
            "\x1b[<0;12;7M",
            "\x1b[M #!",
        ] {
            assert_eq!(Key::of_input(report.as_bytes()), None, "{report:?}");
        }
        // Keys, and words behind a key.
        for typed in ["\x1b[Acommit", "\x1bP", "\x1b]", "\x1b[A\x1b[12;1R"] {
            assert_eq!(
                Key::of_input(typed.as_bytes()),
                Some(Key::Other),
                "{typed:?}"
            );
        }
    }

    #[test]
    fn enter_counts_when_it_is_pressed_and_not_when_it_is_pasted() {
        let kinds = ["\r", "\x1b[13u", "hello\r", "h", "\x1b[A", "\x1b", "\x03"]
            .map(|input| Key::of_input(input.as_bytes()));
        let expected = [
            Key::Enter,
            Key::Enter,
            Key::Other,
            Key::Other,
            Key::Other,
            Key::Escape,
            Key::Interrupt,
        ];
        assert_eq!(kinds, expected.map(Some));
    }

    #[test]
    fn a_text_is_unanswered_after_enter_at_a_prompt_alone() {
        let second = Duration::from_secs(1);
        let mut keys = KeysSent::default();
        keys.record(Key::Enter, Prompt::Waiting, second);
        assert_eq!(keys.unanswered, None, "nothing was typed");
        keys.record(Key::Other, Prompt::Waiting, second);
        keys.record(Key::Enter, Prompt::Elsewhere, second * 2);
        assert_eq!(keys.unanswered, None, "a dialog took it");
        keys.record(Key::Other, Prompt::Waiting, second * 3);
        keys.record(Key::Enter, Prompt::Waiting, second * 4);
        assert_eq!(keys.unanswered, Some(second * 4));
        keys.record(Key::Escape, Prompt::Waiting, second * 5);
        assert_eq!(keys.unanswered, None, "it was taken back");
    }
}
