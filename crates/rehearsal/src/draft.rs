//! The text being typed into the prompt box.

use crate::keys::Key;

/// Longer prompts are cut; nobody types that much.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    text: String,
    /// Where the next character goes, in bytes.
    cursor: usize,
}

impl Draft {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = text.len();
    }

    pub(crate) fn take(&mut self) -> String {
        std::mem::take(self).text
    }

    /// Whether the key was one that edits.
    pub(crate) fn edit(&mut self, key: &Key) -> bool {
        match key {
            Key::Text(character) => self.insert(&character.to_string()),
            Key::Paste(text) => self.insert(text),
            Key::NewLine => self.insert("\n"),
            Key::Backspace => {
                let start = self.before();
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            Key::Delete => self.text.replace_range(self.cursor..self.after(), ""),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => {
                let rest = &self.text[self.cursor..];
                self.cursor += rest.find('\n').unwrap_or(rest.len());
            }
            Key::KillLine => {
                let start = self.line_start();
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            _ => return false,
        }
        true
    }

    fn insert(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX_BYTES {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn before(&self) -> usize {
        let last = self.text[..self.cursor].chars().next_back();
        self.cursor - last.map_or(0, char::len_utf8)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].chars().next();
        self.cursor + next.map_or(0, char::len_utf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_moving_and_deleting() {
        let mut draft = Draft::default();
        let keys = [
            Key::Paste("one\nzwei".to_owned()),
            Key::Left,
            Key::Backspace,
            Key::Text('é'),
            Key::Home,
            Key::Text('>'),
            Key::End,
            Key::NewLine,
            Key::Text('x'),
            Key::KillLine,
        ];
        for key in &keys {
            assert!(draft.edit(key), "{key:?}");
        }
        assert_eq!(draft.text(), "one\n>zwéi\n");
        assert!(!draft.edit(&Key::Enter));
        draft.edit(&Key::Backspace);
        assert_eq!(draft.take(), "one\n>zwéi");
        assert!(draft.is_empty());
    }
}
