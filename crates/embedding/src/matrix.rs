//! Products of matrices, compiled for the widest registers the machine has: which
//! ones there are is asked when the program runs.
//!
//! The right factor is kept in [`Panels`], in the order in which it is read. A tile
//! of the product stays in registers while a stretch of both factors is multiplied,
//! and the stretch of the panel stays in the nearest cache for all rows.

use std::ops::Range;

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Isa, SimdOp};

/// Columns of the right factor that lie together.
pub(crate) const PANEL: usize = 32;

/// Rows of a panel that are multiplied before the next tile: with their columns a
/// good half of the nearest cache.
const STRETCH: usize = 192;

/// Some columns of a matrix that lies row by row.
#[derive(Debug, Clone)]
pub(crate) struct Rows<'a> {
    values: &'a [f32],
    /// From one row to the next.
    stride: usize,
    columns: Range<usize>,
}

impl<'a> Rows<'a> {
    /// All columns.
    pub(crate) fn new(values: &'a [f32], columns: usize) -> Self {
        Self::with_columns(values, columns, 0..columns)
    }

    pub(crate) fn with_columns(values: &'a [f32], stride: usize, columns: Range<usize>) -> Self {
        Self {
            values,
            stride,
            columns,
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'a [f32]> {
        let rows = self.values.chunks_exact(self.stride);
        rows.map(|row| &row[self.columns.clone()])
    }

    fn count(&self) -> usize {
        self.values.len() / self.stride
    }
}

/// The right factor of a product.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    rows: usize,
    /// Panel by panel, and in each row by row; columns that the last one lacks are
    /// zero.
    values: Vec<f32>,
}

impl Panels {
    /// A matrix of so many rows, and for the time being no columns.
    pub(crate) fn with_rows(rows: usize) -> Self {
        Self {
            rows,
            values: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Becomes a matrix without columns again. Its memory is kept.
    pub(crate) fn clear(&mut self, rows: usize) {
        self.rows = rows;
        self.values.clear();
    }

    /// Adds columns on the right. They begin a panel.
    pub(crate) fn push(&mut self, matrix: &Rows<'_>) {
        let width = matrix.columns.len();
        let panels = width.div_ceil(PANEL);
        self.values.reserve_exact(panels * PANEL * self.rows);
        for from in (0..width).step_by(PANEL) {
            let columns = from..width.min(from + PANEL);
            for row in matrix.iter() {
                self.values.extend_from_slice(&row[columns.clone()]);
                let missing = PANEL - columns.len();
                self.values.extend(std::iter::repeat_n(0.0, missing));
            }
        }
    }

    /// Adds the rows of a matrix as columns on the right. They begin a panel.
    pub(crate) fn push_transposed(&mut self, matrix: &Rows<'_>) {
        let begin = self.values.len();
        let panels = matrix.count().div_ceil(PANEL);
        self.values.resize(begin + panels * PANEL * self.rows, 0.0);
        for (number, row) in matrix.iter().enumerate() {
            let (panel, column) = (number / PANEL, number % PANEL);
            let panel = &mut self.values[begin + panel * PANEL * self.rows..];
            for (to, value) in panel.chunks_exact_mut(PANEL).zip(row) {
                to[column] = *value;
            }
        }
    }
}

/// Where a product is added to: from `column` on, in rows that are `stride` apart.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) column: usize,
}

/// Adds a product to what is in `sums`, which has room for whole panels. `scratch`
/// is memory that the next call can use again.
pub(crate) fn add_product(left: &Rows<'_>, right: &Panels, sums: Sums<'_>, scratch: &mut Vec<f32>) {
    debug_assert_eq!(left.columns.len(), right.rows);
    Product {
        left,
        right,
        sums,
        scratch,
    }
    .dispatch();
}

struct Product<'a> {
    left: &'a Rows<'a>,
    right: &'a Panels,
    sums: Sums<'a>,
    scratch: &'a mut Vec<f32>,
}

impl SimdOp for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (rows, depth) = (self.left.count(), self.right.rows);
        if rows == 0 || depth == 0 {
            return;
        }
        // Two registers for each row of a tile and three for the factors are as many
        // as there are.
        let lanes = isa.f32().len();
        let tallest = if lanes >= 16 || cfg!(target_arch = "aarch64") {
            12
        } else {
            6
        };
        // Tiles of one height: a low one at the end would load as much as a tall one.
        let height = rows.div_ceil(rows.div_ceil(tallest));
        interleave(self.left, height, self.scratch);
        for (number, panel) in self.right.values.chunks_exact(PANEL * depth).enumerate() {
            let column = self.sums.column + number * PANEL;
            let (panel, _) = panel.as_chunks::<PANEL>();
            for from in (0..depth).step_by(STRETCH) {
                let stretch = from..depth.min(from + STRETCH);
                for first in (0..rows).step_by(height) {
                    let height = height.min(rows - first);
                    let left = &self.scratch[first * depth..][..height * depth];
                    let left = &left[stretch.start * height..stretch.end * height];
                    let begin = first * self.sums.stride + column;
                    let tile = Tile {
                        left,
                        right: &panel[stretch.clone()],
                        stride: self.sums.stride,
                        sums: &mut self.sums.values[begin..],
                    };
                    match height {
                        1 => tile.add::<I, 1>(isa),
                        2 => tile.add::<I, 2>(isa),
                        3 => tile.add::<I, 3>(isa),
                        4 => tile.add::<I, 4>(isa),
                        5 => tile.add::<I, 5>(isa),
                        6 => tile.add::<I, 6>(isa),
                        7 => tile.add::<I, 7>(isa),
                        8 => tile.add::<I, 8>(isa),
                        9 => tile.add::<I, 9>(isa),
                        10 => tile.add::<I, 10>(isa),
                        11 => tile.add::<I, 11>(isa),
                        _ => tile.add::<I, 12>(isa),
                    }
                }
            }
        }
    }
}

/// Puts the rows of each tile in the order in which they are multiplied: all first
/// numbers, then all second ones.
fn interleave(matrix: &Rows<'_>, height: usize, out: &mut Vec<f32>) {
    let depth = matrix.columns.len();
    out.resize(matrix.count() * depth, 0.0);
    let mut rows = matrix.iter();
    for tile in out.chunks_mut(height * depth) {
        let height = tile.len() / depth;
        for (number, row) in rows.by_ref().take(height).enumerate() {
            for (to, value) in tile[number..].iter_mut().step_by(height).zip(row) {
                *to = *value;
            }
        }
    }
}

/// A part of the product that fits into registers.
struct Tile<'a> {
    /// Of each row one number, then the next of each.
    left: &'a [f32],
    right: &'a [[f32; PANEL]],
    sums: &'a mut [f32],
    stride: usize,
}

impl Tile<'_> {
    #[expect(
        clippy::needless_range_loop,
        reason = "what an iterator calls is compiled on its own, and not for these registers"
    )]
    #[inline(always)]
    fn add<I: Isa, const HEIGHT: usize>(self, isa: I) {
        let ops = isa.f32();
        let lanes = ops.len();
        let (left, _) = self.left.as_chunks::<HEIGHT>();
        for column in (0..PANEL).step_by(2 * lanes) {
            let mut sums = [[ops.zero(); 2]; HEIGHT];
            for row in 0..HEIGHT {
                let at = row * self.stride + column;
                sums[row] = ops.load_many(&self.sums[at..]);
            }
            for (numbers, values) in left.iter().zip(self.right) {
                let values: [_; 2] = ops.load_many(&values[column..]);
                for row in 0..HEIGHT {
                    let number = ops.splat(numbers[row]);
                    sums[row][0] = ops.mul_add(number, values[0], sums[row][0]);
                    sums[row][1] = ops.mul_add(number, values[1], sums[row][1]);
                }
            }
            for row in 0..HEIGHT {
                let at = row * self.stride + column;
                let (first, second) = self.sums[at..at + 2 * lanes].split_at_mut(lanes);
                ops.store(sums[row][0], first);
                ops.store(sums[row][1], second);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_product_is_the_sum_of_its_products(
            (rows, depth, columns) in (1_usize..30, 1_usize..430, 1_usize..70),
            seed in any::<u32>(),
        ) {
            // Small whole numbers, so that every order of adding them gives the same.
            let number = |at: usize| ((at as u32).wrapping_mul(2_654_435_761) ^ seed) >> 29;
            let left: Vec<f32> = (0..rows * (depth + 1)).map(|at| number(at) as f32).collect();
            let right: Vec<f32> = (0..depth * columns).map(|at| number(at + 9) as f32).collect();
            let transposed: Vec<f32> = (0..columns * depth)
                .map(|at| right[at % depth * columns + at / depth])
                .collect();
            // The first column of the left factor is none of it.
            let left_rows = Rows::with_columns(&left, depth + 1, 1..depth + 1);
            let mut by_rows = Panels::with_rows(depth);
            by_rows.push(&Rows::new(&right, columns));
            let mut by_columns = Panels::with_rows(depth);
            by_columns.push_transposed(&Rows::new(&transposed, depth));
            prop_assert_eq!(&by_rows.values, &by_columns.values);

            let stride = columns.next_multiple_of(PANEL) + 3;
            let mut found = vec![5.0; rows * stride];
            let sums = Sums { values: &mut found, stride, column: 3 };
            add_product(&left_rows, &by_rows, sums, &mut Vec::new());
            let expected: Vec<f32> = (0..rows * stride)
                .map(|at| {
                    let (row, column) = (at / stride, (at % stride).checked_sub(3));
                    let Some(column) = column.filter(|&column| column < columns) else {
                        return 5.0;
                    };
                    let products = (0..depth)
                        .map(|k| left[row * (depth + 1) + 1 + k] * right[k * columns + column]);
                    5.0 + products.sum::<f32>()
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
