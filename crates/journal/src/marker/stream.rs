//! Markers in plain output, as it arrives: any pieces, any bytes, bounded memory.

use super::envelope::decode;
use super::{Expected, ParsedMarker, after_ornament, is_edge, object_end};
use crate::catalogue::{DiagnosticCode, limits};

/// Room for the ornament and the prefix beside the largest marker.
const LINE: usize = limits::SIGNAL_BYTES + 256;

/// What becomes of a marker that is not whole on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// It is none.
    Refused,
    /// The program may have broken it over rows of a screen: whoever reads the
    /// screen judges it.
    LeftToTheScreen,
}

/// Finds markers line by line. Escape sequences are left out; one that moves the
/// cursor ends a line, because what follows it stands elsewhere.
#[derive(Debug)]
pub struct StreamDecoder {
    expected: Expected,
    broken: Broken,
    line: Vec<u8>,
    /// The line is longer than any marker: the rest is dropped.
    overlong: bool,
    /// The cursor is at the beginning of the line again.
    returned: bool,
    escape: Escape,
}

const BACKSPACE: u8 = 0x08;
/// Last bytes of control sequences after which the next character stands where
/// it would have stood without them: colours, modes, questions, erasing.
const LEAVES_THE_CURSOR: [u8; 8] = *b"mhlnctqK";

/// Where in an escape sequence the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Outside,
    Begun,
    /// Between `ESC [` and its final byte.
    Control,
    /// Between `ESC ]` and its terminator; likewise the other strings.
    Text,
    /// An `ESC` within such a string, perhaps of its terminator.
    TextEnd,
    /// Before the last byte of the choice of a character set.
    Charset,
}

impl StreamDecoder {
    #[must_use]
    pub fn new(expected: Expected, broken: Broken) -> Self {
        Self {
            expected,
            broken,
            returned: false,
            line: Vec::new(),
            overlong: false,
            escape: Escape::Outside,
        }
    }

    /// Takes in the next piece of output and returns what was found in it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ParsedMarker> {
        let mut found = Vec::new();
        for &byte in bytes {
            self.escape = match (self.escape, byte) {
                (_, b'\n') => {
                    found.extend(self.end_line());
                    Escape::Outside
                }
                (Escape::Outside, 0x1b) => Escape::Begun,
                (Escape::Outside, b'\r') => {
                    self.returned = true;
                    Escape::Outside
                }
                (Escape::Outside, BACKSPACE) => {
                    found.extend(self.end_line());
                    Escape::Outside
                }
                (Escape::Outside, byte) => {
                    if self.returned {
                        found.extend(self.end_line());
                    }
                    self.keep(byte);
                    Escape::Outside
                }
                (Escape::Begun, b'[') => Escape::Control,
                (Escape::Begun, b']' | b'P' | b'X' | b'^' | b'_') => Escape::Text,
                (Escape::Begun, b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ') => Escape::Charset,
                (Escape::Begun, _) => {
                    found.extend(self.end_line());
                    Escape::Outside
                }
                (Escape::Charset, _) => Escape::Outside,
                (Escape::Control, last @ 0x40..=0x7e) => {
                    if !LEAVES_THE_CURSOR.contains(&last) {
                        found.extend(self.end_line());
                    }
                    Escape::Outside
                }
                (Escape::Control, _) => Escape::Control,
                (Escape::Text, 0x07) => Escape::Outside,
                (Escape::Text, 0x1b) => Escape::TextEnd,
                (Escape::Text, _) => Escape::Text,
                (Escape::TextEnd, b'\\') => Escape::Outside,
                (Escape::TextEnd, _) => Escape::Text,
            };
        }
        found
    }

    /// The output has ended: what is left is its last line.
    pub fn finish(&mut self) -> Option<ParsedMarker> {
        self.end_line()
    }

    fn keep(&mut self, byte: u8) {
        if self.line.len() < LINE {
            self.line.push(byte);
        } else {
            self.overlong = true;
        }
    }

    fn end_line(&mut self) -> Option<ParsedMarker> {
        self.returned = false;
        let line = std::mem::take(&mut self.line);
        let overlong = std::mem::take(&mut self.overlong);
        let text = String::from_utf8_lossy(&line);
        let marker = after_ornament(text.trim_end())?;
        if overlong {
            let detail = format!("a marker longer than {} bytes", limits::SIGNAL_BYTES);
            return Some(ParsedMarker::refused(
                DiagnosticCode::Oversized,
                detail,
                marker,
            ));
        }
        let json = &marker[super::PREFIX.len()..];
        Some(match object_end(json) {
            Some(end) if is_edge(&json[end..]) => decode(&json[..end], &self.expected),
            _ if self.broken == Broken::LeftToTheScreen => return None,
            Some(_) => {
                let what = "a marker with other text on its line";
                ParsedMarker::refused(DiagnosticCode::Malformed, what, marker)
            }
            None => {
                let what = "a marker whose JSON does not end on its line";
                ParsedMarker::refused(DiagnosticCode::Malformed, what, marker)
            }
        })
    }
}
