//! Pictures of a terminal, as text, ANSI, SVG or PNG, and a recording as one moving
//! picture.
//!
//! A [`Picture`] is a copy of the emulator's grid with every colour resolved, so
//! that it can be rendered elsewhere and later. No renderer asks a browser, the
//! system's fonts or a graphics card: equal pictures give equal bytes on every
//! machine.

mod animation;
mod error;
mod font;
mod lines;
mod mask;
mod picture;
mod png;
mod shapes;
mod svg;
mod svg_row;
mod text;

#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::time::Duration;

use crate::cast::{CastReader, EventKind};
use crate::terminal::Terminal;

pub use animation::{Animation, AnimationError, AnimationOptions, AnimationTheme, Speed, animate};
pub use error::{MAX_PICTURE, PictureError};
pub use picture::{Glyph, Paint, Picture, Source, Underline};

/// How a picture is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An image.
    Png,
    /// The characters alone.
    Text,
    /// The characters with the escape sequences that colour them.
    Ansi,
    /// A drawing whose text stays text.
    Svg,
}

impl Picture {
    /// Writes the picture down. Everything but a PNG is UTF-8.
    pub fn render(&self, format: Format) -> Result<Vec<u8>, PictureError> {
        match format {
            Format::Png => Ok(png::render(self)?),
            Format::Text => Ok(text::plain(self).into_bytes()),
            Format::Ansi => Ok(text::ansi(self).into_bytes()),
            Format::Svg => Ok(svg::render(self).into_bytes()),
        }
    }
}

/// What a recording showed at a moment, or at its end.
pub fn of_recording<R: BufRead>(
    cast: CastReader<R>,
    until: Option<Duration>,
) -> Result<Picture, PictureError> {
    let mut terminal = Terminal::new(cast.header().size());
    let mut latest = Duration::ZERO;
    for event in cast {
        let event = event?;
        if until.is_some_and(|until| event.at > until) {
            break;
        }
        latest = event.at;
        match event.kind {
            EventKind::Output(data) => terminal.feed(data.as_bytes(), latest),
            EventKind::Resize(size) => terminal.resize(size, latest),
            EventKind::Input(_) | EventKind::Marker(_) => {}
        }
    }
    match until {
        Some(until) => terminal.advance_to(until),
        None => terminal.finish(latest),
    }
    terminal.picture()
}
