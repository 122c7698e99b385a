//! Characters to words: quotes, escapes, substitutions and here-documents.

use super::parse::{Parser, check_depth};
use super::tree::{Command, Piece, Rest, Word};
use super::{Unclear, is_plain};

pub(super) struct Scanner {
    chars: Vec<char>,
    at: usize,
    depth: u32,
    /// Here-documents whose text begins after this line: where the scanner continues
    /// once the line ends.
    after_line: Option<usize>,
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

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn next(&mut self) -> Option<char> {
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

    pub(super) fn take_assign_name(&mut self) -> Result<Option<(String, bool)>, Unclear> {
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
        if self.chars.get(end) == Some(&'+') {
            end += 1;
            partial = true;
        }
        if self.chars.get(end) != Some(&'=') {
            return Ok(None);
        }
        self.at = end + 1;
        Ok(Some((name, partial)))
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

    fn until(&mut self, end: char) -> Result<String, Unclear> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == end => return Ok(text),
                Some(c) => text.push(c),
                None => return Err(Unclear::Open),
            }
        }
    }

    fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Unclear> {
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

    /// What begins with `$` or a backtick.
    fn dollar(&mut self, quoted: bool, pieces: &mut Vec<Piece>) -> Result<(), Unclear> {
        if self.take("`") {
            let mut inner = String::new();
            loop {
                match self.next() {
                    Some('`') => break,
                    Some('\\') => match self.next() {
                        Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                        Some('"') if quoted => inner.push('"'),
                        Some(c) => inner.extend(['\\', c]),
                        None => return Err(Unclear::Open),
                    },
                    Some(c) => inner.push(c),
                    None => return Err(Unclear::Open),
                }
            }
            let script = super::parse::parse_at(&inner, self.depth + 1)?;
            pieces.push(Piece::Output { script, quoted });
            return Ok(());
        }
        self.at += 1;
        match self.peek() {
            Some('\'') if !quoted => {
                self.at += 1;
                let text = self.ansi_c()?;
                pieces.push(Piece::Quoted(text));
            }
            Some('"') if !quoted => {
                self.at += 1;
                self.double_quoted(pieces)?;
            }
            Some('(') if self.peek_at(1) == Some('(') => {
                let begin = self.at;
                self.at += 2;
                match self.until_double_paren() {
                    Ok(inner) => {
                        let word = self.expression(&inner)?;
                        pieces.push(Piece::Number(word.pieces));
                    }
                    Err(_) => {
                        self.at = begin + 1;
                        let script = self.script_to_paren()?;
                        pieces.push(Piece::Output { script, quoted });
                    }
                }
            }
            Some('(') => {
                self.at += 1;
                let script = self.script_to_paren()?;
                pieces.push(Piece::Output { script, quoted });
            }
            Some('[') => return Err(Unclear::Unusual),
            Some('{') => {
                self.at += 1;
                let piece = self.braced(quoted)?;
                pieces.push(piece);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self
                    .peek()
                    .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                {
                    name.push(c);
                    self.at += 1;
                }
                // Another shell reads `$name[1]` and `$name:h` differently.
                if self.peek() == Some('[') {
                    return Err(Unclear::Unusual);
                }
                let rest = None;
                pieces.push(Piece::Variable { name, rest, quoted });
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 1;
                pieces.push(Piece::Variable {
                    name: c.to_string(),
                    rest: None,
                    quoted,
                });
            }
            _ => pieces.push(Piece::Quoted("$".to_owned())),
        }
        Ok(())
    }

    /// `${…}` after the brace.
    fn braced(&mut self, quoted: bool) -> Result<Piece, Unclear> {
        let length = self.peek() == Some('#') && self.peek_at(1) != Some('}');
        if length {
            self.at += 1;
        }
        let mut name = String::new();
        if let Some(c) = self.peek().filter(|c| "@*#?-$!".contains(*c)) {
            name.push(c);
            self.at += 1;
        } else {
            while let Some(c) = self
                .peek()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            {
                name.push(c);
                self.at += 1;
            }
        }
        let named_by_another = name == "!" && self.peek() != Some('}');
        if name.is_empty() || named_by_another {
            return Err(Unclear::Unusual);
        }
        let mut operator = String::new();
        if length {
            operator.push_str("length");
        }
        if self.peek() == Some('[') {
            let index = self.until(']')?;
            if index.chars().any(|c| "$`".contains(c)) {
                return Err(Unclear::Unusual);
            }
            operator.push_str("[]");
        }
        while let Some(c) = self.peek().filter(|c| ":-=+?#%/^,@!".contains(*c)) {
            operator.push(c);
            self.at += 1;
            if operator.len() > 12 {
                return Err(Unclear::Unusual);
            }
        }
        let mut word = Word::default();
        let mut bare = String::new();
        loop {
            match self.peek() {
                None => return Err(Unclear::Open),
                Some('}') => {
                    self.at += 1;
                    break;
                }
                Some('\\') => {
                    self.at += 1;
                    let escaped = self.next().ok_or(Unclear::Open)?;
                    flush(&mut bare, &mut word.pieces);
                    word.pieces.push(Piece::Quoted(escaped.to_string()));
                }
                Some('\'') if !quoted => {
                    self.at += 1;
                    flush(&mut bare, &mut word.pieces);
                    word.pieces.push(Piece::Quoted(self.until('\'')?));
                }
                Some('"') => {
                    self.at += 1;
                    flush(&mut bare, &mut word.pieces);
                    self.double_quoted(&mut word.pieces)?;
                }
                Some('$' | '`') => {
                    flush(&mut bare, &mut word.pieces);
                    self.enter()?;
                    self.dollar(quoted, &mut word.pieces)?;
                    self.leave();
                }
                Some(c) => {
                    bare.push(c);
                    self.at += 1;
                }
            }
        }
        flush(&mut bare, &mut word.pieces);
        let rest = if operator.is_empty() && word.pieces.is_empty() {
            None
        } else {
            Some(Rest { operator, word })
        };
        Ok(Piece::Variable { name, rest, quoted })
    }

    /// `$'…'` after its quote.
    fn ansi_c(&mut self) -> Result<String, Unclear> {
        let mut text = String::new();
        loop {
            let c = self.next().ok_or(Unclear::Open)?;
            if c == '\'' {
                return Ok(text);
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            let escape = self.next().ok_or(Unclear::Open)?;
            let made = match escape {
                'n' => '\n',
                't' => '\t',
                '\\' | '\'' | '"' | '?' => escape,
                'x' => self.digits(16, 2)?,
                'u' => self.digits(16, 4)?,
                'U' => self.digits(16, 8)?,
                '0'..='7' => {
                    self.at -= 1;
                    self.digits(8, 3)?
                }
                _ => return Err(Unclear::Invisible),
            };
            if !is_plain(made) {
                return Err(Unclear::Invisible);
            }
            text.push(made);
        }
    }

    fn digits(&mut self, radix: u32, most: usize) -> Result<char, Unclear> {
        let mut value = 0;
        let mut read = 0;
        while let Some(digit) = self
            .peek()
            .and_then(|c| c.to_digit(radix))
            .filter(|_| read < most)
        {
            value = value * radix + digit;
            self.at += 1;
            read += 1;
        }
        let made = char::from_u32(value).filter(|_| read > 0);
        made.filter(|c| c.is_ascii() || most > 3)
            .ok_or(Unclear::Unusual)
    }

    /// A script up to the `)` that closes it, which is consumed.
    fn script_to_paren(&mut self) -> Result<Vec<Command>, Unclear> {
        check_depth(self.depth + 1)?;
        let chars = std::mem::take(&mut self.chars);
        let mut inner = Parser {
            scan: Self {
                chars,
                at: self.at,
                depth: self.depth + 1,
                after_line: None,
            },
        };
        let list = inner.list(&[]);
        let closed = inner.scan.take(")");
        let pending = inner.scan.after_line.is_some();
        self.at = inner.scan.at;
        self.chars = inner.scan.chars;
        let list = list?;
        if !closed {
            return Err(Unclear::Open);
        }
        if pending {
            return Err(Unclear::Unusual);
        }
        Ok(list)
    }

    /// The text up to `))`, which is consumed.
    pub(super) fn until_double_paren(&mut self) -> Result<String, Unclear> {
        let mut open = 0_u32;
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(Unclear::Open),
                Some(')') if open == 0 => {
                    return if self.take(")") {
                        Ok(text)
                    } else {
                        Err(Unclear::Syntax)
                    };
                }
                Some(c) => {
                    match c {
                        '(' => open += 1,
                        ')' => open -= 1,
                        _ => {}
                    }
                    text.push(c);
                }
            }
        }
    }

    /// What is substituted within arithmetic.
    pub(super) fn expression(&self, text: &str) -> Result<Word, Unclear> {
        // An index is evaluated once more, with what a variable holds.
        if text.contains(['[', '\'', '\\']) {
            return Err(Unclear::Unusual);
        }
        let mut inner = Self::new(text, self.depth + 1)?;
        let mut word = Word {
            written: text.to_owned(),
            pieces: Vec::new(),
        };
        while let Some(c) = inner.peek() {
            if c == '$' || c == '`' {
                inner.dollar(true, &mut word.pieces)?;
            } else {
                inner.at += 1;
            }
        }
        Ok(word)
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

fn flush(bare: &mut String, pieces: &mut Vec<Piece>) {
    if !bare.is_empty() {
        pieces.push(Piece::Bare(std::mem::take(bare)));
    }
}
