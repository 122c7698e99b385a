//! Characters to words: blanks, quotes, escapes, redirections and here-documents.

use super::parse::check_depth;
use super::tree::{Piece, Word};
use super::{Unclear, is_plain};

pub(super) struct Scanner {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: u32,
    /// Here-documents whose text begins after this line: where the scanner continues
    /// once the line ends.
    pub(super) after_line: Option<usize>,
}

/// Characters that end a word outside of quotes.
fn ends_word(c: char) -> bool {
    " \t\n;&|<>()".contains(c)
}

pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Scanner {
    pub(super) fn new(text: &str, depth: u32) -> Result<Self, Unclear> {
        check_depth(depth)?;
        if !text.chars().all(is_plain) {
            return Err(Unclear::Invisible);
        }
        // A line that goes on: bash forgets both characters; within single quotes it
        // keeps them, so that what is quoted is left to the quote.
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            after_line: None,
        })
    }

    pub(super) fn enter(&mut self) -> Result<(), Unclear> {
        self.depth += 1;
        check_depth(self.depth)
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.chars.len()
    }

    pub(super) fn at_line_end(&self) -> bool {
        matches!(self.peek(), None | Some('\n'))
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(index, c)| self.peek_at(index) == Some(c))
    }

    /// Whether the word that begins here is this one.
    pub(super) fn looking_at_whole(&self, word: &str) -> bool {
        self.looking_at(word) && self.peek_at(word.chars().count()).is_none_or(ends_word)
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// The bare characters up to the end of the word, for reserved words.
    pub(super) fn peek_name(&self) -> String {
        let rest = self.chars[self.at.min(self.chars.len())..].iter();
        rest.take_while(|c| !ends_word(**c)).collect()
    }

    /// Blanks, continued lines and a comment.
    pub(super) fn skip_blanks(&mut self) {
        let begin = self.at;
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') if self.at == 0 || self.at > begin || self.begins_word() => {
                    while !self.at_line_end() {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn begins_word(&self) -> bool {
        self.at == 0 || ends_word(self.chars[self.at - 1])
    }

    pub(super) fn skip_blank_lines(&mut self) -> Result<(), Unclear> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.at += 1;
            if let Some(after) = self.after_line.take() {
                self.at = after;
            }
        }
    }

    pub(super) fn take_assign_name(&mut self) -> Result<Option<(String, bool, bool)>, Unclear> {
        let mut end = self.at;
        while self
            .chars
            .get(end)
            .is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            end += 1;
        }
        let name: String = self.chars[self.at..end].iter().collect();
        if !is_name(&name) {
            return Ok(None);
        }
        let mut partial = false;
        if self.chars.get(end) == Some(&'[') {
            // What is no element of an array is read differently by different shells.
            let close = self.chars[end..].iter().position(|c| *c == ']');
            let close = close.ok_or(Unclear::Unusual)?;
            let index = &self.chars[end..end + close];
            if !matches!(self.chars.get(end + close + 1), Some('=' | '+')) {
                return Err(Unclear::Unusual);
            }
            // An index is arithmetic, which runs what it substitutes.
            if index.iter().any(|c| "$`\\'\"".contains(*c)) {
                return Err(Unclear::Unusual);
            }
            end += close + 1;
            partial = true;
        }
        let appends = self.chars.get(end) == Some(&'+') && !partial;
        if self.chars.get(end) == Some(&'+') {
            end += 1;
            partial = true;
        }
        if self.chars.get(end) != Some(&'=') {
            return Ok(None);
        }
        self.at = end + 1;
        Ok(Some((name, partial, appends)))
    }

    /// A redirection's operator with the descriptor before it.
    pub(super) fn take_redirect(&mut self) -> Result<Option<String>, Unclear> {
        let begin = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == begin && self.peek() == Some('{') {
            let rest = self.peek_name();
            let braced = rest.find('}').map(|end| &rest[1..end]);
            let follows = self.peek_at(rest.chars().count());
            if braced.is_some_and(is_name)
                && rest.ends_with('}')
                && matches!(follows, Some('<' | '>'))
            {
                self.at += rest.chars().count();
            }
        }
        let operators = [
            "<<<", "<<-", "<<", "<>", "<&", "&>>", "&>", ">>", ">|", ">&", "<", ">",
        ];
        for operator in operators {
            let process = matches!(operator, "<" | ">") && self.peek_at(1) == Some('(');
            if self.looking_at(operator) && !process {
                if operator.starts_with('&') && self.at != begin {
                    break;
                }
                self.take(operator);
                return Ok(Some(operator.to_owned()));
            }
        }
        self.at = begin;
        Ok(None)
    }

    /// The next word; none where an operator or the end stands.
    pub(super) fn word(&mut self) -> Result<Option<Word>, Unclear> {
        let begin = self.at;
        let mut pieces = Vec::new();
        let mut bare = String::new();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    flush(&mut bare, &mut pieces);
                    self.at += 2;
                    pieces.push(Piece::Process(self.script_to_paren()?));
                }
                _ if ends_word(c) => break,
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(escaped) => {
                            flush(&mut bare, &mut pieces);
                            pieces.push(Piece::Quoted(escaped.to_string()));
                        }
                        None => return Err(Unclear::Open),
                    }
                }
                '\'' => {
                    flush(&mut bare, &mut pieces);
                    self.at += 1;
                    pieces.push(Piece::Quoted(self.until('\'')?));
                }
                '"' => {
                    flush(&mut bare, &mut pieces);
                    self.at += 1;
                    self.double_quoted(&mut pieces)?;
                }
                '$' | '`' => {
                    flush(&mut bare, &mut pieces);
                    self.dollar(false, &mut pieces)?;
                }
                _ => {
                    bare.push(c);
                    self.at += 1;
                }
            }
        }
        flush(&mut bare, &mut pieces);
        if self.at == begin {
            return Ok(None);
        }
        // Braces are expanded before the names of variables are read: `$x{a,b}` is
        // `$xa $xb`.
        let braces =
            |piece: &Piece| matches!(piece, Piece::Bare(text) if text.contains(['{', ',']));
        let names = |piece: &Piece| {
            matches!(
                piece,
                Piece::Variable {
                    rest: None,
                    quoted: false,
                    ..
                }
            )
        };
        if pieces.iter().any(names)
            && pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Bare(text) if text.contains('{')))
            && pieces.iter().any(braces)
        {
            return Err(Unclear::Unusual);
        }
        let written: String = self.chars[begin..self.at].iter().collect();
        // What another shell expands to the path of a program.
        if written.starts_with('=') && written.len() > 1 {
            return Err(Unclear::Unusual);
        }
        Ok(Some(Word { written, pieces }))
    }

    pub(super) fn until(&mut self, end: char) -> Result<String, Unclear> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == end => return Ok(text),
                Some(c) => text.push(c),
                None => return Err(Unclear::Open),
            }
        }
    }

    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Unclear> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(Unclear::Open),
                Some('"') => {
                    self.at += 1;
                    // Also an empty one makes a word.
                    pieces.push(Piece::Quoted(text));
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c @ ('"' | '\\' | '$' | '`')) => text.push(c),
                        Some(c) => text.extend(['\\', c]),
                        None => return Err(Unclear::Open),
                    }
                }
                Some('$' | '`') => {
                    if !text.is_empty() {
                        pieces.push(Piece::Quoted(std::mem::take(&mut text)));
                    }
                    self.dollar(true, pieces)?;
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// The text of a here-document whose operator was just read. It stands below the
    /// line; the scanner continues after it when the line ends.
    pub(super) fn heredoc(&mut self, strip_tabs: bool) -> Result<Word, Unclear> {
        self.skip_blanks();
        let delimiter = self.word()?.ok_or(Unclear::Syntax)?;
        let end = delimiter.literal().ok_or(Unclear::Unusual)?;
        let plain = delimiter
            .pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Bare(_)));
        let mut at = match self.after_line {
            Some(at) => at,
            None => {
                let rest = self.chars[self.at..].iter();
                let line = rest.clone().position(|c| *c == '\n').ok_or(Unclear::Open)?;
                // A quote that goes over the line's end would hide where the text begins.
                let tail: String = self.chars[self.at..self.at + line].iter().collect();
                if !tail.matches('\'').count().is_multiple_of(2)
                    || !tail.matches('"').count().is_multiple_of(2)
                    || tail.contains("$(")
                    || tail.contains('`')
                    || tail.ends_with('\\')
                {
                    return Err(Unclear::Unusual);
                }
                self.at + line + 1
            }
        };
        let mut text = String::new();
        loop {
            if at >= self.chars.len() {
                return Err(Unclear::Open);
            }
            let rest = &self.chars[at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            at = (at + length + 1).min(self.chars.len());
            let line = if strip_tabs {
                line.trim_start_matches('\t')
            } else {
                &line
            };
            if line == end {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        self.after_line = Some(at);
        let mut word = Word {
            written: format!("<<{}", delimiter.written),
            pieces: Vec::new(),
        };
        if plain {
            let mut inner = Self::new(&text, self.depth + 1)?;
            let mut literal = String::new();
            while let Some(c) = inner.peek() {
                match c {
                    '\\' => {
                        inner.at += 1;
                        match inner.next() {
                            Some('\n') => {}
                            Some(c @ ('$' | '`' | '\\')) => literal.push(c),
                            Some(c) => literal.extend(['\\', c]),
                            None => return Err(Unclear::Open),
                        }
                    }
                    '$' | '`' => {
                        word.pieces
                            .push(Piece::Quoted(std::mem::take(&mut literal)));
                        inner.dollar(true, &mut word.pieces)?;
                    }
                    c => {
                        literal.push(c);
                        inner.at += 1;
                    }
                }
            }
            word.pieces.push(Piece::Quoted(literal));
        } else {
            word.pieces.push(Piece::Quoted(text));
        }
        Ok(word)
    }
}

pub(super) fn flush(bare: &mut String, pieces: &mut Vec<Piece>) {
    if !bare.is_empty() {
        pieces.push(Piece::Bare(std::mem::take(bare)));
    }
}
