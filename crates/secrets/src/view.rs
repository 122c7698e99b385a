//! The piece of a text that one decision may look at: a bounded way back and ahead of
//! where a literal was found. What is decided therefore depends on these bytes alone,
//! and on how the text was cut into chunks not at all; a decision that met the end of
//! what has arrived so far is known as such and is taken again when there is more.

use std::cell::Cell;

/// How far ahead of a literal a decision looks.
pub(crate) const AHEAD: usize = 1024;
/// How far before it.
pub(crate) const BACK: usize = 128;

pub(crate) struct View<'a> {
    pub(crate) text: &'a [u8],
    from: usize,
    to: usize,
    /// Whether nothing stands behind `to` for this decision.
    complete: bool,
    met_end: Cell<bool>,
}

impl<'a> View<'a> {
    /// What may be seen from a literal that ends at `at`.
    pub(crate) fn new(text: &'a [u8], at: usize, complete: bool) -> Self {
        let limit = at.saturating_add(AHEAD);
        Self {
            text,
            from: at.saturating_sub(BACK),
            to: limit.min(text.len()),
            complete: complete || limit <= text.len(),
            met_end: Cell::new(false),
        }
    }

    /// Whether the end of what has arrived was looked at, so that more could change
    /// what was decided.
    pub(crate) fn met_end(&self) -> bool {
        self.met_end.get()
    }

    pub(crate) fn at(&self, at: usize) -> Option<u8> {
        if at < self.to {
            return Some(self.text[at]);
        }
        self.end();
        None
    }

    /// The byte before `at`.
    pub(crate) fn before(&self, at: usize) -> Option<u8> {
        (at > self.from).then(|| self.text[at - 1])
    }

    /// Where the bytes from `at` on stop being such, at most `most` later.
    pub(crate) fn run(&self, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let stop = at.saturating_add(most).min(self.to).max(at);
        let end = self.text[at.min(stop)..stop]
            .iter()
            .position(|&byte| !is(byte))
            .map_or(stop, |length| at + length);
        if end == self.to && end < at.saturating_add(most) {
            self.end();
        }
        end
    }

    /// Where such bytes before `at` begin, at most `most` earlier.
    pub(crate) fn run_back(&self, at: usize, most: usize, is: impl Fn(u8) -> bool) -> usize {
        let stop = at.saturating_sub(most).max(self.from);
        self.text[stop..at]
            .iter()
            .rposition(|&byte| !is(byte))
            .map_or(stop, |kept| stop + kept + 1)
    }

    pub(crate) fn starts_with(&self, at: usize, expected: &[u8]) -> bool {
        expected
            .iter()
            .enumerate()
            .all(|(offset, &byte)| self.at(at + offset) == Some(byte))
    }

    pub(crate) fn starts_with_ignoring_case(&self, at: usize, expected: &[u8]) -> bool {
        expected.iter().enumerate().all(|(offset, byte)| {
            self.at(at + offset)
                .is_some_and(|found| found.eq_ignore_ascii_case(byte))
        })
    }

    /// Where the colours of a terminal that begin here end, also as they are escaped in JSON
    /// and in programs.
    pub(crate) fn colours(&self, at: usize) -> usize {
        const BEGINS: [&[u8]; 5] = [b"\x1b[", b"\\u001b[", b"\\x1b[", b"\\033[", b"\\e["];
        let mut at = at;
        for _ in 0..4 {
            let next = self.at(at);
            if !matches!(next, Some(0x1b | b'\\')) {
                return at;
            }
            let Some(begin) = BEGINS.iter().find(|begin| self.starts_with(at, begin)) else {
                return at;
            };
            let number = |byte: u8| byte.is_ascii_digit() || byte == b';';
            let end = self.run(at + begin.len(), 24, number);
            if self.at(end) != Some(b'm') {
                return at;
            }
            at = end + 1;
        }
        at
    }

    /// The bytes of the same line before `at` that may be seen.
    pub(crate) fn line_before(&self, at: usize) -> &'a [u8] {
        let start = self.run_back(at, BACK, |byte| byte != b'\n' && byte != b'\r');
        &self.text[start..at]
    }

    /// Where the view ends.
    pub(crate) fn limit(&self) -> usize {
        self.to
    }

    fn end(&self) {
        if !self.complete {
            self.met_end.set(true);
        }
    }
}
