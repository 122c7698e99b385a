//! Masks a stream of bytes and keeps their number, so that every offset into what was
//! recorded still holds: each byte of a secret becomes `*`.
//!
//! A terminal's output is read as its screen shows it: colours are nothing, moved cursors are
//! blanks or new rows, and a row that is full goes on in the next. What is held back is only
//! what may be the value of a secret and is not decided yet, a few kilobytes at most; all
//! else goes out as it comes.

use std::collections::VecDeque;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};

use crate::detector::{Detector, Finding, Scan};
use crate::view::BACK;

/// What is read at once.
const PIECE: usize = 8 * 1024;
/// What is held back at most; a decision is not waited for any longer.
const MOST_HELD: usize = 16 * 1024;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// How near to the right edge a row counts as full: programs keep a border.
const BORDER: usize = 4;

/// A masker of one stream.
#[derive(Debug)]
pub struct StreamMask {
    detector: Arc<Detector>,
    scan: Scan,
    /// What the stream says, without escapes; with what came before as far as decisions
    /// look back.
    text: Vec<u8>,
    /// What was not given out yet.
    held: Vec<u8>,
    /// Which bytes of `text` are which of `held`; those not in any are neither.
    pieces: VecDeque<Piece>,
    /// How much of `text` was given out.
    given: usize,
    reading: Reading,
    parameters: Parameters,
    columns: Option<usize>,
    column: usize,
    /// The end of a full row and what blank follows, while it is open whether the row
    /// goes on.
    turn: Option<Vec<u8>>,
}

/// Bytes that are the same in the text and in what is held.
#[derive(Debug, Clone, Copy)]
struct Piece {
    text: usize,
    held: usize,
    length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Ground,
    Escape,
    Sequence,
    /// The text of a title, a link or the like.
    String,
    StringEscape,
    /// One byte more belongs to the escape.
    Charset,
}

#[derive(Debug, Clone, Copy, Default)]
struct Parameters {
    values: [usize; 2],
    at: usize,
}

impl Default for StreamMask {
    fn default() -> Self {
        Self::new(Detector::current())
    }
}

impl StreamMask {
    #[must_use]
    pub fn new(detector: Arc<Detector>) -> Self {
        Self {
            scan: Scan::new(&detector),
            detector,
            text: Vec::new(),
            held: Vec::new(),
            pieces: VecDeque::new(),
            given: 0,
            reading: Reading::Ground,
            parameters: Parameters::default(),
            columns: None,
            column: 0,
            turn: None,
        }
    }

    /// The stream of a terminal so wide: rows that are full go on in the next.
    #[must_use]
    pub fn with_columns(mut self, columns: usize) -> Self {
        self.set_columns(columns);
        self
    }

    pub fn set_columns(&mut self, columns: usize) {
        self.columns = (columns > 2 * BORDER).then_some(columns);
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes bytes in and appends to `out` what is decided, with secrets masked.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.chunks(PIECE) {
            self.read(piece);
            let waits = self.held.len() > MOST_HELD;
            self.scan.advance(&self.detector, &self.text, waits);
            self.give(out, false);
        }
    }

    /// Appends what was held back: the stream has ended.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_turn(false);
        self.scan.advance(&self.detector, &self.text, true);
        self.give(out, true);
    }

    fn give(&mut self, out: &mut Vec<u8>, all: bool) {
        let mut settled = if all {
            self.text.len()
        } else {
            self.scan.settled(&self.detector, &self.text)
        };
        if !all {
            let known = self.detector.known();
            if !known.is_empty() {
                settled = settled.min(self.text.len() - known.begins_at_end(&self.text));
            }
        }
        let settled = settled.max(self.given);
        for index in 0..self.scan.findings.len() {
            let finding = self.scan.findings[index];
            let (from, to) = (finding.secret.max(self.given), finding.end.min(settled));
            if from < to {
                self.cover(from, to);
            }
        }
        let until = if settled == self.text.len() {
            self.held.len()
        } else {
            self.held_at(settled)
        };
        out.extend_from_slice(&self.held[..until]);
        self.held.drain(..until);
        self.given = settled;
        while self
            .pieces
            .front()
            .is_some_and(|piece| piece.text + piece.length <= settled)
        {
            self.pieces.pop_front();
        }
        for piece in &mut self.pieces {
            let cut = until.saturating_sub(piece.held);
            piece.text += cut;
            piece.length -= cut;
            piece.held = piece.held + cut - until;
        }
        self.forget();
    }

    /// Where in what is held the byte of the text is.
    fn held_at(&self, text: usize) -> usize {
        self.pieces
            .iter()
            .find(|piece| piece.text + piece.length > text)
            .map_or(self.held.len(), |piece| {
                piece.held + text.saturating_sub(piece.text)
            })
    }

    fn cover(&mut self, from: usize, to: usize) {
        for piece in &self.pieces {
            let start = from.max(piece.text);
            let end = to.min(piece.text + piece.length);
            if piece.text >= to {
                break;
            }
            if start < end {
                let held = piece.held + start - piece.text;
                for byte in &mut self.held[held..held + (end - start)] {
                    if *byte > b' ' && *byte != 0x7f {
                        *byte = b'*';
                    }
                }
            }
        }
    }

    /// Lets go of the text that no decision looks back to.
    fn forget(&mut self) {
        let Some(bytes) = self
            .given
            .checked_sub(BACK + 1)
            .filter(|&bytes| bytes >= PIECE)
        else {
            return;
        };
        self.text.drain(..bytes);
        self.given -= bytes;
        for piece in &mut self.pieces {
            piece.text -= bytes;
        }
        self.scan.forget(bytes);
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let length = match self.reading {
                Reading::Ground => self.ground(rest),
                Reading::Escape => self.escape(rest),
                Reading::Sequence => self.sequence(rest),
                Reading::String => self.string(rest),
                Reading::StringEscape => {
                    self.reading = Reading::Ground;
                    self.say(b"\n");
                    if rest[0] == b'\\' {
                        1
                    } else {
                        self.reading = Reading::Escape;
                        0
                    }
                }
                Reading::Charset => {
                    self.reading = Reading::Ground;
                    1
                }
            };
            self.held.extend_from_slice(&bytes[at..at + length]);
            at += length;
        }
    }

    /// Text up to the next escape; how much of it was taken.
    fn ground(&mut self, bytes: &[u8]) -> usize {
        if self.turn.is_some() {
            return self.in_turn(bytes);
        }
        if bytes[0] == ESCAPE {
            self.reading = Reading::Escape;
            return 1;
        }
        let Some(columns) = self.columns else {
            let end = memchr(ESCAPE, bytes).unwrap_or(bytes.len());
            self.text(&bytes[..end]);
            return end;
        };
        let end = memchr3(ESCAPE, b'\n', b'\r', bytes).unwrap_or(bytes.len());
        if end > 0 {
            let shown = &bytes[..end];
            self.column += shown.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
            self.text(shown);
            return end;
        }
        let full = self.column.is_multiple_of(columns) && self.column > 0
            || self.column + BORDER >= columns;
        if full && self.text.last().is_some_and(|&byte| of_token(byte)) {
            self.turn = Some(Vec::new());
            return self.in_turn(bytes);
        }
        self.column = 0;
        self.text(&bytes[..1]);
        1
    }

    /// Between a full row and what follows it.
    fn in_turn(&mut self, bytes: &[u8]) -> usize {
        let byte = bytes[0];
        let Some(turn) = &mut self.turn else { return 0 };
        match byte {
            b'\r' | b'\n' | b' ' if turn.len() < 24 => {
                turn.push(byte);
                1
            }
            ESCAPE => {
                self.reading = Reading::Escape;
                1
            }
            _ => {
                self.end_turn(of_token(byte));
                0
            }
        }
    }

    /// The row goes on in the next one, or it does not.
    fn end_turn(&mut self, goes_on: bool) {
        let Some(turn) = self.turn.take() else { return };
        self.column = turn.iter().rev().take_while(|&&byte| byte == b' ').count();
        if !goes_on {
            self.say(&turn);
        }
    }

    fn escape(&mut self, bytes: &[u8]) -> usize {
        self.reading = match bytes[0] {
            b'[' => {
                self.parameters = Parameters::default();
                Reading::Sequence
            }
            b']' | b'P' | b'X' | b'^' | b'_' => {
                self.end_turn(false);
                self.say(b"\n");
                Reading::String
            }
            b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ' => Reading::Charset,
            b'D' | b'E' | b'M' | b'c' => {
                self.moved(None);
                Reading::Ground
            }
            ESCAPE => Reading::Escape,
            _ => Reading::Ground,
        };
        1
    }

    fn sequence(&mut self, bytes: &[u8]) -> usize {
        let byte = bytes[0];
        match byte {
            b'0'..=b'9' => {
                if let Some(value) = self.parameters.values.get_mut(self.parameters.at) {
                    *value = (*value * 10 + usize::from(byte - b'0')).min(10_000);
                }
            }
            b';' => self.parameters.at += 1,
            0x40..=0x7e => {
                self.reading = Reading::Ground;
                let [first, second] = self.parameters.values;
                match byte {
                    b'C' | b'a' => {
                        self.column += first.max(1);
                        match &mut self.turn {
                            Some(turn) => turn.push(b' '),
                            None => self.say(b" "),
                        }
                    }
                    b'H' | b'f' => self.moved(Some(second.max(1) - 1)),
                    b'G' | b'`' => self.moved(Some(first.max(1) - 1)),
                    b'A' | b'B' | b'E' | b'F' | b'd' | b'e' => self.moved(None),
                    _ => {}
                }
            }
            ESCAPE => self.reading = Reading::Escape,
            _ => {}
        }
        1
    }

    /// The cursor went elsewhere: a new row, or where a full one goes on.
    fn moved(&mut self, column: Option<usize>) {
        match &mut self.turn {
            Some(turn) => turn.push(b'\n'),
            None => {
                let full = self
                    .columns
                    .is_some_and(|columns| self.column + BORDER >= columns);
                if full && self.text.last().is_some_and(|&byte| of_token(byte)) {
                    self.turn = Some(vec![b'\n']);
                } else {
                    self.say(b"\n");
                }
            }
        }
        self.column = column.unwrap_or(self.column);
    }

    fn string(&mut self, bytes: &[u8]) -> usize {
        match memchr2(BELL, ESCAPE, bytes) {
            Some(0) => {
                self.reading = if bytes[0] == BELL {
                    Reading::Ground
                } else {
                    Reading::StringEscape
                };
                if bytes[0] == BELL {
                    self.say(b"\n");
                }
                1
            }
            end => {
                let end = end.unwrap_or(bytes.len());
                self.text(&bytes[..end]);
                end
            }
        }
    }

    /// Bytes that are held and say something.
    fn text(&mut self, bytes: &[u8]) {
        let (text, held) = (self.text.len(), self.held.len());
        self.text.extend_from_slice(bytes);
        match self.pieces.back_mut() {
            Some(last) if last.text + last.length == text && last.held + last.length == held => {
                last.length += bytes.len();
            }
            _ => self.pieces.push_back(Piece {
                text,
                held,
                length: bytes.len(),
            }),
        }
    }

    /// What escapes mean, which is held as they are.
    fn say(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }
}

/// What a terminal shows of some bytes, and which of them it is.
pub(crate) struct Shown {
    text: Vec<u8>,
    pieces: Vec<Piece>,
}

/// Reads all that a terminal is given. Rows as wide as the widest are taken for full.
pub(crate) fn shown(bytes: &[u8]) -> Shown {
    let mut mask = StreamMask::new(Arc::new(Detector::new(crate::Known::default())));
    mask.read(bytes);
    let rows = mask.text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let widest = rows
        .map(|row| row.iter().filter(|&&byte| byte & 0xc0 != 0x80).count())
        .max();
    if let Some(columns) = widest.filter(|columns| WIDTHS.contains(columns)) {
        let detector = mask.detector.clone();
        mask = StreamMask::new(detector).with_columns(columns);
        mask.read(bytes);
    }
    mask.end_turn(false);
    Shown {
        text: mask.text,
        pieces: mask.pieces.into(),
    }
}

/// How wide terminals are.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=400;

impl Shown {
    /// Every secret of the text, with its place among the bytes.
    pub(crate) fn findings(&self, detector: &Detector) -> Vec<Finding> {
        let found = detector.scan(&self.text).into_iter();
        let placed = found.filter_map(|finding| {
            Some(Finding {
                start: self.place(finding.start)?,
                secret: self.place(finding.secret)?,
                end: self.place(finding.end - 1)? + 1,
                ..finding
            })
        });
        placed.collect()
    }

    /// Where the byte of the text, or the first behind it, is among those that were read.
    fn place(&self, text: usize) -> Option<usize> {
        let after = self
            .pieces
            .partition_point(|piece| piece.text + piece.length <= text);
        let piece = self.pieces.get(after)?;
        Some(piece.held + text.saturating_sub(piece.text))
    }
}

fn of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.')
}
