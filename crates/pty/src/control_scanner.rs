//! Reads the control strings the emulator drops.
//!
//! A second, much smaller reader of the same bytes. It looks only for operating
//! system commands, device control strings and a few private requests, skips
//! everything else at the speed of a byte search, and remembers an unfinished
//! sequence between writes. Lengths are capped: what is longer is skipped whole.

use std::ops::Range;

/// A longer control string is read past and dropped, and the emulator, which
/// would keep all of it, is given no more than this.
const MAX_STRING: usize = 2048;
const MAX_PARAMS: usize = 32;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// A control sequence that ended at `end` in the bytes given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedControl {
    pub(crate) end: usize,
    pub(crate) control: Control,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// `ESC ] … ST`, without introducer and terminator.
    Osc(Vec<u8>),
    /// `ESC P … ST`.
    Dcs(Vec<u8>),
    /// A query with a private marker (`CSI > … q`, `CSI ? … n`): parameters with
    /// the marker, then the final byte.
    Csi { params: Vec<u8>, last: u8 },
}

/// What a scan found, in the order of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScanEvent {
    Control(ScannedControl),
    /// Bytes of an over-long string that must not reach the emulator.
    Surplus(Range<usize>),
}

#[derive(Debug, Default)]
pub(crate) struct ControlScanner {
    state: State,
    buffer: Vec<u8>,
    overflowed: bool,
    updates_ended: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After `ESC [`: only a private marker makes the rest worth reading.
    CsiStart,
    Csi,
    Osc,
    Dcs,
    /// SOS, PM, APC: nothing in them is for us.
    Ignored,
}

impl ControlScanner {
    /// How often the end of a synchronized update was seen.
    pub(crate) fn updates_ended(&self) -> u64 {
        self.updates_ended
    }

    pub(crate) fn scan(&mut self, bytes: &[u8], found: &mut Vec<ScanEvent>) {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                State::Ground => match memchr::memchr(ESC, &bytes[at..]) {
                    Some(offset) => {
                        at += offset + 1;
                        self.state = State::Escape;
                    }
                    None => return,
                },
                State::Escape => {
                    self.begin(bytes[at]);
                    at += 1;
                }
                State::CsiStart => {
                    self.state = match bytes[at] {
                        b'>' | b'?' => {
                            self.buffer.push(bytes[at]);
                            State::Csi
                        }
                        ESC => State::Escape,
                        _ => State::Ground,
                    };
                    at += 1;
                }
                State::Csi => {
                    self.csi(bytes[at], at + 1, found);
                    at += 1;
                }
                State::Osc | State::Dcs | State::Ignored => {
                    at += self.string(&bytes[at..], at, found);
                }
            }
        }
    }

    fn begin(&mut self, byte: u8) {
        self.buffer.clear();
        self.overflowed = false;
        self.state = match byte {
            b'[' => State::CsiStart,
            b']' => State::Osc,
            b'P' => State::Dcs,
            b'X' | b'^' | b'_' => State::Ignored,
            ESC => State::Escape,
            _ => State::Ground,
        };
    }

    fn csi(&mut self, byte: u8, end: usize, found: &mut Vec<ScanEvent>) {
        match byte {
            ESC => self.state = State::Escape,
            CAN | SUB => self.state = State::Ground,
            0x40..=0x7e => {
                if byte == b'l' && self.buffer == b"?2026" {
                    self.updates_ended += 1;
                }
                // Queries alone matter; modes set and reset are the emulator's.
                if matches!(byte, b'q' | b'n') && !self.overflowed {
                    let params = std::mem::take(&mut self.buffer);
                    found.push(ScanEvent::Control(ScannedControl {
                        end,
                        control: Control::Csi { params, last: byte },
                    }));
                }
                self.state = State::Ground;
            }
            0x20..=0x3f if self.buffer.len() < MAX_PARAMS => self.buffer.push(byte),
            0x20..=0x3f => self.overflowed = true,
            _ => {}
        }
    }

    /// Reads on in a control string and returns how many bytes it took.
    fn string(&mut self, bytes: &[u8], base: usize, found: &mut Vec<ScanEvent>) -> usize {
        let stop = bytes
            .iter()
            .position(|&b| matches!(b, ESC | BEL | CAN | SUB));
        let body = &bytes[..stop.unwrap_or(bytes.len())];
        if self.state != State::Ignored {
            let room = MAX_STRING.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&body[..body.len().min(room)]);
            if body.len() > room {
                self.overflowed = true;
                found.push(ScanEvent::Surplus(base + room..base + body.len()));
            }
        }
        let Some(stop) = stop else { return bytes.len() };
        match bytes[stop] {
            // Only an OSC ends at BEL; elsewhere it is part of the string.
            BEL if self.state != State::Osc => {}
            BEL => {
                self.finish(base + stop + 1, found);
                self.state = State::Ground;
            }
            ESC => {
                self.finish(base + stop + 1, found);
                self.state = State::Escape;
            }
            _ => self.state = State::Ground,
        }
        stop + 1
    }

    fn finish(&mut self, end: usize, found: &mut Vec<ScanEvent>) {
        let body = std::mem::take(&mut self.buffer);
        let control = match self.state {
            _ if self.overflowed => return,
            // Titles and colours are the emulator's; these it drops.
            State::Osc
                if [&b"9;"[..], b"777;", b"7501;"]
                    .iter()
                    .any(|n| body.starts_with(n)) =>
            {
                Control::Osc(body)
            }
            State::Dcs => Control::Dcs(body),
            _ => return,
        };
        found.push(ScanEvent::Control(ScannedControl { end, control }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controls(chunks: &[&[u8]]) -> Vec<Control> {
        let mut scanner = ControlScanner::default();
        let mut found = Vec::new();
        for chunk in chunks {
            scanner.scan(chunk, &mut found);
        }
        let control = |found| match found {
            ScanEvent::Control(tapped) => Some(tapped.control),
            ScanEvent::Surplus(_) => None,
        };
        found.into_iter().filter_map(control).collect()
    }

    #[test]
    fn finds_the_same_controls_however_the_bytes_are_split() {
        let bytes = b"text\x1b]9;4;3;0\x07more\x1b[>0q\x1bP+q4d73\x1b\\\x1b]7501;state=idle\x1b\\";
        let whole = controls(&[bytes]);
        assert_eq!(
            whole,
            [
                Control::Osc(b"9;4;3;0".to_vec()),
                Control::Csi {
                    params: b">0".to_vec(),
                    last: b'q'
                },
                Control::Dcs(b"+q4d73".to_vec()),
                Control::Osc(b"7501;state=idle".to_vec()),
            ]
        );
        for cut in 0..bytes.len() {
            assert_eq!(
                controls(&[&bytes[..cut], &bytes[cut..]]),
                whole,
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn an_endless_string_is_dropped_and_the_next_one_is_read() {
        let mut bytes = b"\x1b]9;".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 1 << 20));
        bytes.extend(b"\x07\x1b]9;4;0\x07");
        assert_eq!(controls(&[&bytes]), [Control::Osc(b"9;4;0".to_vec())]);
    }

    #[test]
    fn cancel_ends_a_string_without_a_result() {
        assert_eq!(
            controls(&[b"\x1b]9;4;3\x18\x1b]9;4;0\x07"]),
            [Control::Osc(b"9;4;0".to_vec())]
        );
    }
}
