//! How much of each pixel of a cell a glyph covers.

/// Pixels of one cell; the size of the letters decides it.
pub(super) const CELL_WIDTH: usize = 9;
pub(super) const CELL_HEIGHT: usize = 20;
/// The lowest row of letters that stand on the line.
pub(super) const BASELINE: usize = 15;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mask {
    width: usize,
    coverage: Vec<u8>,
}

impl Mask {
    /// Nothing covered, for a glyph of so many columns.
    pub(super) fn of_columns(columns: u16) -> Self {
        let width = CELL_WIDTH * usize::from(columns);
        Self {
            width,
            coverage: vec![0; width * CELL_HEIGHT],
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.coverage.chunks_exact(self.width)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.coverage.iter().all(|&coverage| coverage == 0)
    }

    /// Covers a pixel at least this much; what lies outside the cell is cut off.
    pub(super) fn cover(&mut self, x: isize, y: isize, coverage: u8) {
        let inside =
            |value: isize, limit: usize| usize::try_from(value).ok().filter(|&v| v < limit);
        if let (Some(x), Some(y)) = (inside(x, self.width), inside(y, CELL_HEIGHT)) {
            let pixel = &mut self.coverage[y * self.width + x];
            *pixel = (*pixel).max(step(coverage));
        }
    }

    /// Covers a rectangle, without its ends.
    pub(super) fn fill(&mut self, x: std::ops::Range<usize>, y: std::ops::Range<usize>) {
        for y in y.start..y.end.min(CELL_HEIGHT) {
            let line = &mut self.coverage[y * self.width..(y + 1) * self.width];
            let end = x.end.min(self.width);
            line[x.start.min(end)..end].fill(u8::MAX);
        }
    }

    /// Covers all pixels alike.
    pub(super) fn shade(&mut self, coverage: u8) {
        self.coverage.fill(coverage);
    }

    /// Covers each pixel by the share of it that is inside a figure. The cell
    /// reaches from 0 to 1 in both directions.
    pub(super) fn figure(&mut self, inside: impl Fn(f32, f32) -> bool) {
        const SAMPLES: usize = 4;
        let (width, height) = (self.width as f32, CELL_HEIGHT as f32);
        for (index, pixel) in self.coverage.iter_mut().enumerate() {
            let (left, top) = (index % self.width, index / self.width);
            let at = |start: usize, sample: usize, length: f32| {
                (start as f32 + (sample as f32 + 0.5) / SAMPLES as f32) / length
            };
            let hits = (0..SAMPLES * SAMPLES)
                .filter(|sample| {
                    inside(
                        at(left, sample % SAMPLES, width),
                        at(top, sample / SAMPLES, height),
                    )
                })
                .count();
            let coverage = (hits * 255 / (SAMPLES * SAMPLES)) as u8;
            *pixel = (*pixel).max(step(coverage));
        }
    }

    /// The frame that stands for what cannot be drawn.
    pub(super) fn frame(&mut self) {
        let (right, top, bottom) = (self.width - 1, 4, BASELINE + 1);
        self.fill(1..right, top..top + 1);
        self.fill(1..right, bottom - 1..bottom);
        self.fill(1..2, top..bottom);
        self.fill(right - 1..right, top..bottom);
    }

    /// The same one pixel wider to the right.
    pub(super) fn emboldened(&self) -> Self {
        let mut bold = self.clone();
        for (y, line) in self.rows().enumerate() {
            for (x, &coverage) in line.iter().enumerate() {
                bold.cover(x as isize + 1, y as isize, coverage);
            }
        }
        bold
    }

    /// The same leaning to the right.
    pub(super) fn slanted(&self) -> Self {
        let mut slanted = Self {
            width: self.width,
            coverage: vec![0; self.coverage.len()],
        };
        for (y, line) in self.rows().enumerate() {
            let shift = (14 - y as isize).div_euclid(5);
            for (x, &coverage) in line.iter().enumerate() {
                slanted.cover(x as isize + shift, y as isize, coverage);
            }
        }
        slanted
    }
}

/// The nearest of sixteen steps. The eye sees no difference, and a picture with
/// fewer colours is smaller.
fn step(coverage: u8) -> u8 {
    (coverage / 17 * 17).saturating_add(if coverage % 17 > 8 { 17 } else { 0 })
}
