//! A recording as one moving picture: an SVG that plays by itself wherever an image is
//! shown, without a script, a font or anything else from outside.
//!
//! Reading a recording into frames is in `film`, writing them down in `document`, the
//! colours in `theme`. Everything is bounded: a recording may come from anywhere.

mod document;
mod film;
mod theme;

#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::time::Duration;

use missiond_semantic::Size;

use super::error::PictureError;
use crate::cast::{CastError, CastReader};

pub use film::Speed;
pub use theme::AnimationTheme;

/// The largest terminal that is drawn, in cells.
const MAX_CELLS: Size = Size {
    columns: 300,
    rows: 100,
};
/// The most output that is read from a recording.
const MAX_OUTPUT: usize = 64 << 20;
const MAX_FRAMES: usize = 2000;
const MAX_LENGTH: Duration = Duration::from_mins(10);
/// Larger files are not shown by the sites that people put them on.
const MAX_SVG: usize = 8 << 20;

/// How a recording is played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnimationOptions {
    pub speed: Speed,
    /// A longer pause of the recording is cut to this, before the speed is applied.
    pub longest_pause: Duration,
    pub theme: AnimationTheme,
}

/// A moving picture.
#[derive(Debug)]
pub struct Animation {
    /// Cells of the largest screen in it.
    pub size: Size,
    pub frames: usize,
    /// One round, with the pause at its end.
    pub length: Duration,
    pub svg: String,
}

#[derive(Debug, thiserror::Error)]
pub enum AnimationError {
    #[error(transparent)]
    Recording(#[from] CastError),
    #[error(
        "a moving picture has at most {}x{} cells, this recording has {}x{}",
        MAX_CELLS.columns, MAX_CELLS.rows, .0.columns, .0.rows
    )]
    TooManyCells(Size),
    #[error(
        "the recording has more than {} MiB of output: record a shorter one",
        MAX_OUTPUT >> 20
    )]
    TooMuchOutput,
    #[error("the picture would have more than {MAX_FRAMES} frames: raise the speed")]
    TooManyFrames,
    #[error(
        "the picture would play for more than {} minutes: raise the speed, or shorten the \
         longest pause",
        MAX_LENGTH.as_secs() / 60
    )]
    TooLong,
    #[error(
        "the picture would be larger than {} MiB: record fewer changes, or raise the speed",
        MAX_SVG >> 20
    )]
    TooLarge,
}

impl From<PictureError> for AnimationError {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::TooLarge(size) => Self::TooManyCells(size),
            PictureError::Recording(error) => Self::Recording(error),
            // Of pixels, and none are made here.
            PictureError::Encoding(_) => Self::TooLarge,
        }
    }
}

/// Makes a moving picture of a whole recording.
pub fn animate<R: BufRead>(
    cast: CastReader<R>,
    options: &AnimationOptions,
) -> Result<Animation, AnimationError> {
    let film = film::Film::read(cast, options)?;
    let svg = document::write(&film, options.theme)?;
    Ok(Animation {
        size: film.size(),
        frames: film.frames().len(),
        length: film.length(),
        svg,
    })
}
