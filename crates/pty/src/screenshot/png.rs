//! Pictures as PNG, drawn one row of cells at a time, so that the largest
//! picture needs the memory of one row.

use std::collections::HashMap;
use std::io::Write;

use alacritty_terminal::vte::ansi::Rgb;
use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

use super::font::Font;
use super::mask::{BASELINE, CELL_HEIGHT, CELL_WIDTH, Mask};
use super::picture::{Glyph, GlyphColours, Picture, Underline, blend};

/// Where the line through struck text runs.
const STRIKE: usize = BASELINE - 4;
const UNDERLINE: usize = BASELINE + 2;

pub(super) fn render(picture: &Picture) -> Result<Vec<u8>, EncodingError> {
    let width = CELL_WIDTH * usize::from(picture.size.columns);
    let height = CELL_HEIGHT * usize::from(picture.size.rows);
    let mut font = Font::new();
    let colours = Colours::of(picture, &mut font);
    let mut encoded = Vec::new();
    let mut encoder = Encoder::new(&mut encoded, width as u32, height as u32);
    encoder.set_depth(BitDepth::Eight);
    match &colours {
        Colours::Few(few) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(few.palette());
        }
        Colours::Many => encoder.set_color(ColorType::Rgb),
    }
    encoder.set_compression(Compression::Balanced);
    // Cells repeat from row to row and side to side; differences do not.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let mut strip = Strip::new(width);
    let mut bytes = Vec::new();
    for row in 0..picture.rows.len() {
        strip.draw_row(picture, row, &mut font);
        bytes.clear();
        match &colours {
            Colours::Few(few) => bytes.extend(strip.pixels.iter().map(|&pixel| few.index(pixel))),
            Colours::Many => bytes.extend(strip.pixels.iter().flat_map(|p| [p.r, p.g, p.b])),
        }
        stream.write_all(&bytes)?;
    }
    stream.finish()?;
    writer.finish()?;
    Ok(encoded)
}

/// Whether the picture can do with a palette, which takes a third of the room.
enum Colours {
    Few(IndexedColours),
    Many,
}

/// The colours in the order in which they first appear.
#[derive(Default)]
struct IndexedColours {
    numbers: HashMap<(u8, u8, u8), u8>,
    order: Vec<Rgb>,
}

impl Colours {
    fn of(picture: &Picture, font: &mut Font) -> Self {
        let mut few = IndexedColours::default();
        let mut strip = Strip::new(CELL_WIDTH * usize::from(picture.size.columns));
        for row in 0..picture.rows.len() {
            strip.draw_row(picture, row, font);
            // Neighbours are mostly alike.
            for alike in strip.pixels.chunk_by(|a, b| a == b) {
                if !few.insert(alike[0]) {
                    return Self::Many;
                }
            }
        }
        Self::Few(few)
    }
}

impl IndexedColours {
    /// Whether the colour has a number now.
    fn insert(&mut self, colour: Rgb) -> bool {
        let key = (colour.r, colour.g, colour.b);
        if self.numbers.contains_key(&key) {
            return true;
        }
        let Ok(number) = u8::try_from(self.order.len()) else {
            return false;
        };
        self.numbers.insert(key, number);
        self.order.push(colour);
        true
    }

    fn index(&self, colour: Rgb) -> u8 {
        let number = self.numbers.get(&(colour.r, colour.g, colour.b));
        number.copied().unwrap_or_default()
    }

    fn palette(&self) -> Vec<u8> {
        self.order.iter().flat_map(|c| [c.r, c.g, c.b]).collect()
    }
}

/// The pixels of one row of cells.
struct Strip {
    width: usize,
    pixels: Vec<Rgb>,
}

impl Strip {
    fn new(width: usize) -> Self {
        Self {
            width,
            pixels: vec![Rgb::default(); width * CELL_HEIGHT],
        }
    }

    fn draw_row(&mut self, picture: &Picture, row: usize, font: &mut Font) {
        for (column, glyph, colours) in picture.coloured_glyphs(row) {
            self.draw(column * CELL_WIDTH, glyph, colours, font);
        }
    }

    fn draw(&mut self, left: usize, glyph: &Glyph, colours: GlyphColours, font: &mut Font) {
        let width = CELL_WIDTH * usize::from(glyph.columns);
        for y in 0..CELL_HEIGHT {
            for x in left..left + width {
                self.set(x, y, colours.paper);
            }
        }
        if glyph.is_blank() {
            return;
        }
        if glyph.character != ' ' || !glyph.marks.is_empty() {
            self.stamp(left, font.mask(glyph), colours.ink, colours.paper);
        }
        if let Some(underline) = glyph.underline {
            let ink = glyph.underline_paint.map_or(colours.ink, |paint| paint.rgb);
            for x in left..left + width {
                for y in underlined(underline, x) {
                    self.set(x, y, ink);
                }
            }
        }
        if glyph.strike {
            for x in left..left + width {
                self.set(x, STRIKE, colours.ink);
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
        self.pixels[y * self.width + x] = colour;
    }
}

/// The rows an underline covers in a column of pixels of the whole picture, so
/// that patterns go on from cell to cell.
fn underlined(underline: Underline, x: usize) -> impl Iterator<Item = usize> {
    let (first, second) = match underline {
        Underline::Single => (Some(UNDERLINE), None),
        Underline::Double => (Some(UNDERLINE - 1), Some(UNDERLINE + 1)),
        Underline::Curly => (Some(UNDERLINE + [0, 0, 1, 2, 2, 1][x % 6] - 1), None),
        Underline::Dotted => (x.is_multiple_of(2).then_some(UNDERLINE), None),
        Underline::Dashed => ((x % 6 < 4).then_some(UNDERLINE), None),
    };
    first.into_iter().chain(second)
}
