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
    /// Text that was typed or pasted.
    Text,
    /// Text that begins with a slash: at the beginning of a line, a command.
    Slash,
    /// Any other key: it moves, deletes or chooses, and adds no text.
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
            _ => Some(Self::of_text(after_control_keys(bytes))),
        }
    }

    fn of_text(text: &[u8]) -> Self {
        match text.first() {
            None => Self::Other,
            Some(b'/') => Self::Slash,
            Some(_) => Self::Text,
        }
    }
}

/// What is left of a write behind the keys that add no text. A paste begins with a
/// sequence of its own, which is passed over as well.
fn after_control_keys(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [0x1b, b'[', sequence @ ..] => {
                let end = sequence.iter().position(|byte| matches!(byte, b'@'..=b'~'));
                end.map_or(&sequence[..0], |end| &sequence[end + 1..])
            }
            [0x1b, b'O', _, rest @ ..] | [0x1b, _, rest @ ..] => rest,
            [0..=0x1f | 0x7f, rest @ ..] => rest,
            _ => return bytes,
        };
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
    /// What was typed since the last Enter.
    draft: Draft,
    /// Enter was pressed on a text, and the program has not reacted yet.
    pub(crate) unanswered: Option<Duration>,
}

/// What stands in the prompt, as far as it was typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Draft {
    #[default]
    Empty,
    Text,
    /// Commands are answered by the program itself: many print or open something
    /// and are no work.
    Command,
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
            Key::Other => {}
            Key::Text if self.draft == Draft::Empty => self.draft = Draft::Text,
            Key::Slash if self.draft == Draft::Empty => self.draft = Draft::Command,
            Key::Text | Key::Slash => {}
            Key::Escape => {
                self.escape = Some(at);
                self.unanswered = None;
            }
            Key::Interrupt => {
                self.draft = Draft::Empty;
                self.unanswered = None;
            }
            Key::Enter => {
                self.enter = Some(at);
                if self.draft == Draft::Text && prompt == Prompt::Waiting {
                    self.unanswered = Some(at);
                }
                self.draft = Draft::Empty;
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
        for (typed, key) in [
            ("\x1b[Acommit", Key::Text),
            ("\x1bP", Key::Other),
            ("\x1b]", Key::Other),
            ("\x1b[A\x1b[12;1R", Key::Other),
        ] {
            assert_eq!(Key::of_input(typed.as_bytes()), Some(key), "{typed:?}");
        }
    }

    #[test]
    fn text_is_told_from_keys_and_from_commands() {
        for (input, key) in [
            ("fix it", Key::Text),
            ("ä", Key::Text),
            ("\x1b[200~fix\rit\x1b[201~", Key::Text),
            ("/", Key::Slash),
            ("/compact", Key::Slash),
            ("\x1b[200~/compact\x1b[201~", Key::Slash),
            ("\x15/compact", Key::Slash),
            ("\x1b[B", Key::Other),
            ("\x1bOB\x1bOB", Key::Other),
            ("\x1b[117;5u", Key::Other),
            ("\x15", Key::Other),
            ("\x7f", Key::Other),
            ("\t", Key::Other),
        ] {
            assert_eq!(Key::of_input(input.as_bytes()), Some(key), "{input:?}");
        }
    }

    #[test]
    fn enter_counts_when_it_is_pressed_and_not_when_it_is_pasted() {
        let kinds = ["\r", "\x1b[13u", "hello\r", "h", "\x1b[A", "\x1b", "\x03"]
            .map(|input| Key::of_input(input.as_bytes()));
        let expected = [
            Key::Enter,
            Key::Enter,
            Key::Text,
            Key::Text,
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
        keys.record(Key::Enter, Prompt::Waiting, second);
        assert_eq!(keys.unanswered, None, "an arrow types nothing");
        keys.record(Key::Slash, Prompt::Waiting, second);
        keys.record(Key::Text, Prompt::Waiting, second);
        keys.record(Key::Enter, Prompt::Waiting, second);
        assert_eq!(keys.unanswered, None, "a command is the program's own");
        keys.record(Key::Text, Prompt::Waiting, second);
        keys.record(Key::Enter, Prompt::Elsewhere, second * 2);
        assert_eq!(keys.unanswered, None, "a dialog took it");
        keys.record(Key::Text, Prompt::Waiting, second * 3);
        keys.record(Key::Enter, Prompt::Waiting, second * 4);
        assert_eq!(keys.unanswered, Some(second * 4));
        keys.record(Key::Escape, Prompt::Waiting, second * 5);
        assert_eq!(keys.unanswered, None, "it was taken back");
    }
}
