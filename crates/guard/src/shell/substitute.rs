//! What begins with `$` or a backtick within a word: variables, scripts, arithmetic and
//! `$'…'`.

use super::parse::{Parser, check_depth, parse_at};
use super::scan::{Scanner, flush};
use super::tree::{Command, Piece, Rest, Word};
use super::{Unclear, is_plain};

impl Scanner {
    /// What begins with `$` or a backtick.
    pub(super) fn dollar(&mut self, quoted: bool, pieces: &mut Vec<Piece>) -> Result<(), Unclear> {
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
            let script = parse_at(&inner, self.depth + 1)?;
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
            operator = format!("[{index}]");
        }
        const OPERATORS: [&str; 24] = [
            ":-", ":=", ":?", ":+", "##", "#", "%%", "%", "//", "/#", "/%", "/", "^^", "^", ",,",
            ",", "@", "-", "=", "?", "+", "!", ":", "~",
        ];
        if let Some(known) = OPERATORS.iter().find(|known| self.looking_at(known)) {
            operator.push_str(known);
            self.take(known);
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
    pub(super) fn script_to_paren(&mut self) -> Result<Vec<Command>, Unclear> {
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
        let mut plain = String::new();
        while let Some(c) = inner.peek() {
            if c == '$' || c == '`' {
                word.pieces.push(Piece::Quoted(std::mem::take(&mut plain)));
                inner.dollar(true, &mut word.pieces)?;
            } else {
                plain.push(c);
                inner.at += 1;
            }
        }
        word.pieces.push(Piece::Quoted(plain));
        Ok(word)
    }
}
