//! Answers to the questions programs ask their terminal.
//!
//! An unanswered query is a start-up delay or a different way of drawing, so
//! they are answered at once and in order. What is printed can come from anyone
//! (a file shown with `cat`), and every answer is typed into the program: so
//! answers are few per second, short, and never contain text the program sent.

use std::time::Duration;

use alacritty_terminal::vte::ansi::{NamedColor, Rgb};

use crate::control_scanner::Control;

/// Answers allowed within one window of time; start-up bursts of real programs
/// stay under fifty.
const PER_WINDOW: u32 = 128;
const WINDOW: Duration = Duration::from_secs(1);
const MAX_PENDING: usize = 16 << 10;
const VERSION: &str = concat!("missiond(", env!("CARGO_PKG_VERSION"), ")");

#[derive(Debug)]
pub(crate) struct Replies {
    pending: Vec<u8>,
    theme: Theme,
    window_start: Duration,
    in_window: u32,
}

/// The colours answered to OSC 4, 10, 11 and 12.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    pub foreground: Rgb,
    pub background: Rgb,
    pub cursor: Rgb,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            foreground: Rgb {
                r: 0xd8,
                g: 0xd8,
                b: 0xd8,
            },
            background: Rgb {
                r: 0x18,
                g: 0x18,
                b: 0x18,
            },
            cursor: Rgb {
                r: 0xd8,
                g: 0xd8,
                b: 0xd8,
            },
        }
    }
}

impl Theme {
    pub(crate) fn colour(&self, index: usize) -> Option<Rgb> {
        const FOREGROUND: usize = NamedColor::Foreground as usize;
        const BACKGROUND: usize = NamedColor::Background as usize;
        const CURSOR: usize = NamedColor::Cursor as usize;
        match index {
            0..=255 => Some(palette(index)),
            FOREGROUND => Some(self.foreground),
            BACKGROUND => Some(self.background),
            CURSOR => Some(self.cursor),
            _ => None,
        }
    }
}

impl Replies {
    pub(crate) fn new(theme: Theme) -> Self {
        Self {
            pending: Vec::new(),
            theme,
            window_start: Duration::ZERO,
            in_window: 0,
        }
    }

    pub(crate) fn theme(&self) -> &Theme {
        &self.theme
    }

    pub(crate) fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    pub(crate) fn push(&mut self, reply: &[u8], at: Duration) {
        if at.saturating_sub(self.window_start) >= WINDOW {
            self.window_start = at;
            self.in_window = 0;
        }
        let full = self.in_window >= PER_WINDOW || self.pending.len() + reply.len() > MAX_PENDING;
        if !full {
            self.in_window += 1;
            self.pending.extend_from_slice(reply);
        }
    }

    /// Answers what the emulator itself does not.
    pub(crate) fn answer_control(&mut self, control: &Control, at: Duration) {
        match control {
            Control::Csi { params, last: b'q' } if matches!(&params[..], b">" | b">0") => {
                self.push(format!("\x1bP>|{VERSION}\x1b\\").as_bytes(), at);
            }
            Control::Csi { params, last: b'n' } if params == b"?996" => {
                let scheme = if luminance(self.theme.background) < 128 {
                    1
                } else {
                    2
                };
                self.push(format!("\x1b[?997;{scheme}n").as_bytes(), at);
            }
            Control::Dcs(body) => {
                if let Some(names) = body.strip_prefix(b"+q") {
                    for name in names.split(|&b| b == b';').take(16) {
                        self.push(&capability(name), at);
                    }
                } else if body.starts_with(b"$q") {
                    self.push(b"\x1bP0$r\x1b\\", at);
                }
            }
            Control::Osc(body) if body == b"7501;?" => self.push(b"\x1b]7501;?\x1b\\", at),
            Control::Osc(_) | Control::Csi { .. } => {}
        }
    }
}

/// Answers XTGETTCAP for the few names whose value is certain. The request is
/// not echoed unless it is one of them.
fn capability(hex: &[u8]) -> Vec<u8> {
    let known = [
        ("544e", "787465726d2d323536636f6c6f72"),
        ("436f", "323536"),
        ("524742", "38"),
    ];
    let name = String::from_utf8_lossy(hex).to_ascii_lowercase();
    match known.iter().find(|(known, _)| *known == name) {
        Some((name, value)) => format!("\x1bP1+r{name}={value}\x1b\\").into_bytes(),
        None => b"\x1bP0+r\x1b\\".to_vec(),
    }
}

fn luminance(colour: Rgb) -> u32 {
    (u32::from(colour.r) * 299 + u32::from(colour.g) * 587 + u32::from(colour.b) * 114) / 1000
}

/// The usual 256 colours: 16 named, a 6×6×6 cube, 24 greys.
fn palette(index: usize) -> Rgb {
    const NAMED: [(u8, u8, u8); 16] = [
        (0x18, 0x18, 0x18),
        (0xac, 0x42, 0x42),
        (0x90, 0xa9, 0x59),
        (0xf4, 0xbf, 0x75),
        (0x6a, 0x9f, 0xb5),
        (0xaa, 0x75, 0x9f),
        (0x75, 0xb5, 0xaa),
        (0xd8, 0xd8, 0xd8),
        (0x6b, 0x6b, 0x6b),
        (0xc5, 0x55, 0x55),
        (0xaa, 0xc4, 0x74),
        (0xfe, 0xca, 0x88),
        (0x82, 0xb8, 0xc8),
        (0xc2, 0x8c, 0xb8),
        (0x93, 0xd3, 0xc3),
        (0xf8, 0xf8, 0xf8),
    ];
    let level = |step: usize| if step == 0 { 0 } else { 55 + 40 * step as u8 };
    let (r, g, b) = match index {
        0..16 => NAMED[index],
        16..232 => {
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        _ => {
            let grey = 8 + 10 * (index.min(255) - 232) as u8;
            (grey, grey, grey)
        }
    };
    Rgb { r, g, b }
}
