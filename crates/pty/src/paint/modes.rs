//! The modes of a terminal that a person in front of another one depends on.

use std::fmt::Write;

use alacritty_terminal::term::TermMode;
use alacritty_terminal::vte::ansi::{CursorShape, CursorStyle};

use super::Keys;
use crate::cell_style::keyboard_flags;
use crate::terminal::Terminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes {
    switches: Switches,
    mouse: Mouse,
    keypad: bool,
    /// Flags of the keyboard protocol of kitty.
    keyboard: u32,
    /// Parameter of DECSCUSR.
    cursor: u8,
}

/// Private modes that are on or off by themselves.
const SWITCHES: [(u16, TermMode); 6] = [
    (1, TermMode::APP_CURSOR),
    (1004, TermMode::FOCUS_IN_OUT),
    (1005, TermMode::UTF8_MOUSE),
    (1006, TermMode::SGR_MOUSE),
    (1007, TermMode::ALTERNATE_SCROLL),
    (2004, TermMode::BRACKETED_PASTE),
];

type Switches = [bool; SWITCHES.len()];

/// Which movements are reported. Setting one of these modes ends the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mouse {
    Off,
    Click,
    Drag,
    Motion,
}

impl Modes {
    pub(super) fn of(terminal: &Terminal, keys: Keys) -> Self {
        let mut mode = terminal.mode();
        // Elsewhere than on the alternate screen the wheel scrolls; on the
        // other terminal it would press arrow keys.
        if !mode.contains(TermMode::ALT_SCREEN) {
            mode.remove(TermMode::ALTERNATE_SCROLL);
        }
        if keys == Keys::NotSent {
            mode = TermMode::NONE;
        }
        let mouse = if mode.contains(TermMode::MOUSE_MOTION) {
            Mouse::Motion
        } else if mode.contains(TermMode::MOUSE_DRAG) {
            Mouse::Drag
        } else if mode.contains(TermMode::MOUSE_REPORT_CLICK) {
            Mouse::Click
        } else {
            Mouse::Off
        };
        Self {
            switches: SWITCHES.map(|(_, switch)| mode.contains(switch)),
            mouse,
            keypad: mode.contains(TermMode::APP_KEYPAD),
            keyboard: keyboard_flags(mode),
            cursor: cursor_parameter(terminal.cursor_style()),
        }
    }

    /// What leads from the modes before to these; from unknown ones, all.
    pub(super) fn change(&self, before: Option<&Self>, out: &mut String) {
        for (place, (number, _)) in SWITCHES.iter().enumerate() {
            let on = self.switches[place];
            if before.is_none_or(|before| before.switches[place] != on) {
                let _ = write!(out, "\x1b[?{number}{}", if on { 'h' } else { 'l' });
            }
        }
        if before.is_none_or(|before| before.mouse != self.mouse) {
            out.push_str("\x1b[?1000l\x1b[?1002l\x1b[?1003l");
            out.push_str(match self.mouse {
                Mouse::Off => "",
                Mouse::Click => "\x1b[?1000h",
                Mouse::Drag => "\x1b[?1002h",
                Mouse::Motion => "\x1b[?1003h",
            });
        }
        if before.is_none_or(|before| before.keypad != self.keypad) {
            out.push_str(if self.keypad { "\x1b=" } else { "\x1b>" });
        }
        if before.is_none_or(|before| before.keyboard != self.keyboard) {
            let _ = write!(out, "\x1b[={};1u", self.keyboard);
        }
        if before.is_none_or(|before| before.cursor != self.cursor) {
            let _ = write!(out, "\x1b[{} q", self.cursor);
        }
    }
}

fn cursor_parameter(style: CursorStyle) -> u8 {
    let steady = u8::from(!style.blinking);
    match style.shape {
        // The program did not choose one: the person's own.
        _ if style == CursorStyle::default() => 0,
        CursorShape::Block | CursorShape::HollowBlock | CursorShape::Hidden => 1 + steady,
        CursorShape::Underline => 3 + steady,
        CursorShape::Beam => 5 + steady,
    }
}
