//! Answers to the terminal queries of a program that no daemon watches.
//!
//! A program that starts or redraws while the daemon is away would hang on a
//! question nobody answers. What the terminal is (its attributes, version,
//! colours, capabilities, size) is answered here, by the same terminal the
//! daemon uses, so the answers do not differ. What depends on what was drawn
//! (cursor position, modes, keyboard flags) is not answered: the host draws
//! nothing, and an answer that comes when the daemon is back would be read as
//! typed keys.

use std::time::{Duration, Instant};

use missiond_semantic::Size;

use crate::terminal::Terminal;

/// A longer sequence is none of the questions answered here.
const MAX_QUERY: usize = 512;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// Reads output and collects answers from the moment it is made.
#[derive(Debug)]
pub(super) struct Unattended {
    terminal: Terminal,
    begun: Instant,
    /// A sequence from its ESC on, while it is not complete.
    sequence: Vec<u8>,
}

impl Unattended {
    pub(super) fn new(size: Size) -> Self {
        Self {
            terminal: Terminal::new(size),
            begun: Instant::now(),
            sequence: Vec::new(),
        }
    }

    /// The answers to what the program asks in this output.
    pub(super) fn answers(&mut self, output: &[u8]) -> Vec<u8> {
        self.answers_at(output, self.begun.elapsed())
    }

    fn answers_at(&mut self, output: &[u8], at: Duration) -> Vec<u8> {
        let mut rest = output;
        while !rest.is_empty() {
            if self.sequence.is_empty() {
                match memchr::memchr(ESC, rest) {
                    Some(begin) => rest = &rest[begin..],
                    None => break,
                }
            }
            let (&byte, later) = match rest.split_first() {
                Some(split) => split,
                None => break,
            };
            rest = later;
            if byte == ESC && !is_string(&self.sequence) {
                self.sequence.clear();
            }
            self.sequence.push(byte);
            // Any other sequence breaks off a control string.
            if let [ESC, b']' | b'P', .., ESC, begun] = self.sequence[..]
                && begun != b'\\'
            {
                self.sequence = vec![ESC, begun];
            }
            if is_complete(&self.sequence) {
                if is_answerable(&self.sequence) {
                    self.terminal.feed(&self.sequence, at);
                }
                self.sequence.clear();
            } else if self.sequence.len() > MAX_QUERY {
                self.sequence.clear();
            }
        }
        self.terminal.take_replies()
    }
}

/// A control string has begun: it ends with ST or, for an OSC, with BEL.
fn is_string(sequence: &[u8]) -> bool {
    matches!(sequence, [ESC, b']' | b'P', ..])
}

fn is_complete(sequence: &[u8]) -> bool {
    match sequence {
        [ESC] => false,
        [ESC, b'[', .., last] => sequence.len() > 2 && (0x40..=0x7e).contains(last),
        [ESC, b'['] => false,
        [ESC, b']', .., BEL] => true,
        [ESC, b']' | b'P', .., ESC, b'\\'] => true,
        [ESC, b']' | b'P', ..] => false,
        _ => true,
    }
}

/// A question whose answer is the same whatever was drawn.
fn is_answerable(sequence: &[u8]) -> bool {
    let strip_end = |body: &'_ [u8]| -> Vec<u8> {
        let body = body.strip_suffix(b"\x1b\\").unwrap_or(body);
        body.strip_suffix(&[BEL]).unwrap_or(body).to_vec()
    };
    match sequence {
        [ESC, b'[', body @ ..] => matches!(
            body,
            b"c" | b"0c" | b">c" | b">0c" | b">q" | b">0q" | b"5n" | b"?996n" | b"14t" | b"18t"
        ),
        [ESC, b'P', body @ ..] => body.starts_with(b"+q") || body.starts_with(b"$q"),
        [ESC, b']', body @ ..] => {
            let body = strip_end(body);
            match body.split(|&b| b == b';').collect::<Vec<_>>()[..] {
                [b"10" | b"11" | b"12" | b"7501", b"?"] => true,
                [b"4", index, b"?"] => index.iter().all(u8::is_ascii_digit),
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        columns: 80,
        rows: 24,
    };

    fn terminal_answers(query: &[u8]) -> Vec<u8> {
        let mut terminal = Terminal::new(SIZE);
        terminal.feed(query, Duration::ZERO);
        terminal.take_replies()
    }

    #[test]
    fn what_the_terminal_is_gets_the_same_answer_as_from_the_daemon() {
        let queries: [&[u8]; 11] = [
            b"\x1b[c",
            b"\x1b[>c",
            b"\x1b[>0q",
            b"\x1b[5n",
            b"\x1b[?996n",
            b"\x1b[18t",
            b"\x1b]11;?\x1b\\",
            b"\x1b]10;?\x07",
            b"\x1b]4;5;?\x07",
            b"\x1bP+q544e\x1b\\",
            b"\x1b]7501;?\x1b\\",
        ];
        for query in queries {
            let expected = terminal_answers(query);
            let shown = query.escape_ascii();
            assert!(!expected.is_empty(), "{shown}");
            let output = [b"some \x1b[1;31mtext\x1b(B ", query, b"\x1b[2K more"].concat();
            for cut in 0..output.len() {
                let mut unattended = Unattended::new(SIZE);
                let mut answers = unattended.answers_at(&output[..cut], Duration::ZERO);
                answers.extend(unattended.answers_at(&output[cut..], Duration::ZERO));
                assert_eq!(answers, expected, "{shown} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_depends_on_what_was_drawn_is_not_answered() {
        for query in [&b"\x1b[6n"[..], b"\x1b[?2026$p", b"\x1b[?u", b"\x1b[?6n"] {
            let answers = Unattended::new(SIZE).answers_at(query, Duration::ZERO);
            assert!(answers.is_empty(), "{}", query.escape_ascii());
        }
    }

    #[test]
    fn an_endless_sequence_does_not_grow() {
        let mut unattended = Unattended::new(SIZE);
        let mut output = b"\x1b]52;c;".to_vec();
        output.extend(std::iter::repeat_n(b'x', 1 << 20));
        unattended.answers_at(&output, Duration::ZERO);
        assert!(unattended.sequence.len() <= MAX_QUERY + 1);
    }
}
