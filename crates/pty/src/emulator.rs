//! What the emulator is given of ours, and what its cells are in our words.

use std::sync::Arc;
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor, Timeout};
use missiond_semantic::{Size, Style};
use parking_lot::Mutex;

pub(crate) struct Grid(pub Size);

impl Dimensions for Grid {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.0.rows.into()
    }

    fn columns(&self) -> usize {
        self.0.columns.into()
    }
}

/// Tells the emulator whether an update is open; time itself is ours to keep.
#[derive(Debug, Default)]
pub(crate) struct SyncClock {
    pub armed: bool,
    pub generation: u64,
}

impl Timeout for SyncClock {
    fn set_timeout(&mut self, _: Duration) {
        self.armed = true;
        self.generation += 1;
    }

    fn clear_timeout(&mut self) {
        self.armed = false;
    }

    fn pending_timeout(&self) -> bool {
        self.armed
    }
}

#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub(crate) fn drain(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl EventListener for Events {
    fn send_event(&self, event: Event) {
        if matches!(
            event,
            Event::MouseCursorDirty | Event::Wakeup | Event::CursorBlinkingChange
        ) {
            return;
        }
        self.0.lock().push(event);
    }
}

pub(crate) fn style_of(cell: &Cell) -> Style {
    let mut style = Style::default();
    for (flag, is) in [
        (Flags::BOLD, Style::BOLD),
        (Flags::DIM, Style::DIM),
        (Flags::INVERSE, Style::INVERSE),
    ] {
        if cell.flags.contains(flag) {
            style = style.with(is);
        }
    }
    if cell.fg != Color::Named(NamedColor::Foreground) {
        style = style.with(Style::COLOURED);
    }
    if cell.bg != Color::Named(NamedColor::Background) {
        style = style.with(Style::FILLED);
    }
    style
}

pub(crate) fn paint_of(cell: &Cell) -> u64 {
    u64::from(colour_code(cell.fg)) << 32 | u64::from(colour_code(cell.bg))
}

fn colour_code(colour: Color) -> u32 {
    match colour {
        Color::Named(name) => 0x0100_0000 | name as u32,
        Color::Spec(rgb) => {
            u32::from(rgb.r) << 16 | u32::from(rgb.g) << 8 | u32::from(rgb.b) | 0x0200_0000
        }
        Color::Indexed(index) => 0x0300_0000 | u32::from(index),
    }
}
