//! The glyph of any character: letters from Noto Sans Mono, figures by
//! geometry, everything else from GNU Unifont, and a frame for what nobody
//! draws. Both fonts are in the program; nothing is looked for on the system.

use std::collections::HashMap;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};
use unifont_bitmap::Unifont;

use super::mask::{BASELINE, CELL_HEIGHT, CELL_WIDTH, Mask};
use super::picture::Glyph;
use super::shapes;

/// Rows and columns of a wide Unifont glyph.
const SQUARE: usize = 16;
/// The lowest row of Unifont's letters that stand on the line.
const UNIFONT_BASELINE: usize = 13;
/// Different glyphs kept; a screen rarely has a hundred.
const MAX_KEPT: usize = 4096;

/// Glyphs already drawn, and the font with the pages already unpacked.
pub(super) struct Font {
    unifont: Box<Unifont>,
    /// What Unifont gives for a character it does not have.
    missing: Vec<u8>,
    kept: HashMap<Key, Mask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    character: char,
    marks: String,
    columns: u16,
    bold: bool,
    italic: bool,
}

impl Font {
    pub(super) fn new() -> Self {
        let mut unifont = Box::new(Unifont::open());
        let replacement = u32::from(char::REPLACEMENT_CHARACTER);
        let missing = unifont.load_bitmap(replacement).get_bytes().to_vec();
        Self {
            unifont,
            missing,
            kept: HashMap::new(),
        }
    }

    pub(super) fn mask(&mut self, glyph: &Glyph) -> &Mask {
        let key = Key {
            character: glyph.character,
            marks: glyph.marks.clone(),
            columns: glyph.columns,
            bold: glyph.bold,
            italic: glyph.italic,
        };
        if !self.kept.contains_key(&key) {
            if self.kept.len() >= MAX_KEPT {
                self.kept.clear();
            }
            let mask = self.draw(&key);
            self.kept.insert(key.clone(), mask);
        }
        &self.kept[&key]
    }

    fn draw(&mut self, key: &Key) -> Mask {
        let mut mask = match shapes::draw(key.character, key.columns) {
            // A line does not lean, and its weight is its own.
            Some(figure) => figure,
            None => {
                let upright = self.letter(key);
                if key.italic {
                    upright.slanted()
                } else {
                    upright
                }
            }
        };
        for mark in key.marks.chars().filter(|&mark| !is_invisible(mark)) {
            match self.bitmap(mark) {
                Some(bitmap) => blit(&bitmap, &mut mask),
                None => mask.frame(),
            }
        }
        mask
    }

    fn letter(&mut self, key: &Key) -> Mask {
        let mut mask = Mask::of_columns(key.columns);
        if key.character.is_whitespace() || is_invisible(key.character) {
            return mask;
        }
        let weight = if key.bold {
            FontWeight::Bold
        } else {
            FontWeight::Regular
        };
        if key.columns == 1
            && let Some(raster) = get_raster(key.character, weight, RasterHeight::Size20)
            && key.character != char::REPLACEMENT_CHARACTER
        {
            for (y, line) in raster.rows().enumerate() {
                for (x, &coverage) in line.iter().enumerate() {
                    mask.cover(x as isize, y as isize, coverage);
                }
            }
            return mask;
        }
        if let Some(bitmap) = self.bitmap(key.character) {
            blit(&bitmap, &mut mask);
        }
        if mask.is_empty() {
            mask.frame();
        }
        if key.bold { mask.emboldened() } else { mask }
    }

    fn bitmap(&mut self, character: char) -> Option<Bitmap> {
        let bitmap = self.unifont.load_bitmap(u32::from(character));
        let bytes = bitmap.get_bytes();
        let known = bytes != self.missing || character == char::REPLACEMENT_CHARACTER;
        known.then(|| Bitmap {
            width: if bitmap.is_wide() { SQUARE } else { SQUARE / 2 },
            bytes: bytes.to_vec(),
        })
    }
}

/// One bit per pixel, sixteen rows.
struct Bitmap {
    width: usize,
    bytes: Vec<u8>,
}

impl Bitmap {
    fn has(&self, x: usize, y: usize) -> bool {
        let byte = self.bytes[y * self.width / 8 + x / 8];
        byte & (0x80 >> (x % 8)) != 0
    }

    fn pixels(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..SQUARE).flat_map(move |y| {
            (0..self.width)
                .filter(move |&x| self.has(x, y))
                .map(move |x| (x, y))
        })
    }
}

/// On the baseline and in the middle; smaller where the cell is too narrow.
fn blit(bitmap: &Bitmap, mask: &mut Mask) {
    if bitmap.width > mask.width() {
        shrink(bitmap, mask);
        return;
    }
    let left = (mask.width() - bitmap.width) / 2;
    for (x, y) in bitmap.pixels() {
        let y = y + BASELINE - UNIFONT_BASELINE;
        mask.cover((x + left) as isize, y as isize, u8::MAX);
    }
}

/// Many symbols of one column are drawn as wide as two. Only their ink is
/// scaled, so that they stay as large as the cell allows.
fn shrink(bitmap: &Bitmap, mask: &mut Mask) {
    let Some((left, right)) = extent(bitmap.pixels().map(|(x, _)| x)) else {
        return;
    };
    let Some((top, bottom)) = extent(bitmap.pixels().map(|(_, y)| y)) else {
        return;
    };
    let (ink_width, ink_height) = ((right - left + 1) as f32, (bottom - top + 1) as f32);
    let scale = (CELL_WIDTH as f32 / ink_width).min(1.0);
    let (width, height) = (ink_width * scale, ink_height * scale);
    let origin_x = (mask.width() as f32 - width) / 2.0;
    // The middle of the ink stays where it is on the line.
    let middle = (top + bottom + 1) as f32 / 2.0 + (BASELINE - UNIFONT_BASELINE) as f32;
    let origin_y = (middle - height / 2.0).clamp(0.0, CELL_HEIGHT as f32 - height);
    let (origin_x, origin_y) = (origin_x.round(), origin_y.round());
    mask.figure(|x, y| {
        let at = |place: f32, cell: usize, origin: f32, start: usize| {
            ((place * cell as f32 - origin) / scale).floor() as isize + start as isize
        };
        let x = at(x, CELL_WIDTH, origin_x, left);
        let y = at(y, CELL_HEIGHT, origin_y, top);
        match (usize::try_from(x), usize::try_from(y)) {
            (Ok(x), Ok(y)) => x <= right && y <= bottom && bitmap.has(x, y),
            _ => false,
        }
    });
}

fn extent(values: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    values.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    })
}

/// Characters that only tell how others are to be shown. The font has pictures
/// of their names.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}
