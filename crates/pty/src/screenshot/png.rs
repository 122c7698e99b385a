//! Pictures as PNG, drawn one row of cells at a time, so that the largest
//! picture needs the memory of one row.

use std::io::Write;

use alacritty_terminal::vte::ansi::Rgb;
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

use super::font::Font;
use super::mask::{BASELINE, CELL_HEIGHT, CELL_WIDTH, Mask};
use super::picture::{Glyph, Picture, Shown, Underline, blend};

/// Where the line through struck text runs.
const STRIKE: usize = BASELINE - 4;
const UNDERLINE: usize = BASELINE + 2;

pub(super) fn render(picture: &Picture) -> Result<Vec<u8>, EncodingError> {
    let width = CELL_WIDTH * usize::from(picture.size.columns);
    let height = CELL_HEIGHT * usize::from(picture.size.rows);
    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, width as u32, height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    // Cells repeat from row to row and side to side; differences do not.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let mut font = Font::new();
    let mut strip = Strip::new(width);
    for row in 0..picture.rows.len() {
        for (column, glyph, shown) in picture.shown(row) {
            strip.draw(column * CELL_WIDTH, glyph, shown, &mut font);
        }
        stream.write_all(&strip.pixels)?;
    }
    stream.finish()?;
    writer.finish()?;
    Ok(encoded)
}

/// The pixels of one row of cells.
struct Strip {
    width: usize,
    pixels: Vec<u8>,
}

impl Strip {
    fn new(width: usize) -> Self {
        Self {
            width,
            pixels: vec![0; width * CELL_HEIGHT * 3],
        }
    }

    fn draw(&mut self, left: usize, glyph: &Glyph, shown: Shown, font: &mut Font) {
        let width = CELL_WIDTH * usize::from(glyph.columns);
        for y in 0..CELL_HEIGHT {
            for x in left..left + width {
                self.set(x, y, shown.paper);
            }
        }
        if glyph.is_blank() {
            return;
        }
        if glyph.character != ' ' || !glyph.marks.is_empty() {
            self.stamp(left, font.mask(glyph), shown.ink, shown.paper);
        }
        if let Some(underline) = glyph.underline {
            let ink = glyph.underline_paint.map_or(shown.ink, |paint| paint.rgb);
            for x in left..left + width {
                for y in underlined(underline, x) {
                    self.set(x, y, ink);
                }
            }
        }
        if glyph.strike {
            for x in left..left + width {
                self.set(x, STRIKE, shown.ink);
            }
        }
    }

    fn stamp(&mut self, left: usize, mask: &Mask, ink: Rgb, paper: Rgb) {
        for (y, line) in mask.rows().enumerate() {
            for (x, &coverage) in line.iter().enumerate() {
                if coverage > 0 {
                    self.set(left + x, y, blend(ink, paper, coverage));
                }
            }
        }
    }

    fn set(&mut self, x: usize, y: usize, colour: Rgb) {
        let start = (y * self.width + x) * 3;
        self.pixels[start..start + 3].copy_from_slice(&[colour.r, colour.g, colour.b]);
    }
}

/// The rows an underline covers in a column of pixels of the whole picture, so
/// that patterns go on from cell to cell.
fn underlined(underline: Underline, x: usize) -> impl Iterator<Item = usize> {
    let (first, second) = match underline {
        Underline::Single => (Some(UNDERLINE), None),
        Underline::Double => (Some(UNDERLINE - 1), Some(UNDERLINE + 1)),
        Underline::Curly => (Some(UNDERLINE + [0, 0, 1, 2, 2, 1][x % 6] - 1), None),
        Underline::Dotted => ((x % 2 == 0).then_some(UNDERLINE), None),
        Underline::Dashed => ((x % 6 < 4).then_some(UNDERLINE), None),
    };
    first.into_iter().chain(second)
}
