//! Vectors as whole numbers, a byte a dimension: a quarter of the size, and
//! compared several times as fast. How far any is from what it stands for is kept,
//! so that a comparison can say between which bounds the true one lies.

use crate::simd::{int8_dot_f32, int8_dots};
use crate::vectors::normalised;

/// Vectors of length 1, one after the other.
#[derive(Debug, Default)]
pub(crate) struct QuantizedVectors {
    dimension: usize,
    values: Vec<i8>,
    /// What a value of 1 stands for, per vector.
    units: Vec<f32>,
    /// The most that rounding took away from any vector.
    error: f32,
}

/// A query to compare them with, in steps so fine that it is nearly itself.
#[derive(Debug)]
pub(crate) struct QuantizedQuery {
    values: Vec<i16>,
    unit: f32,
    error: f32,
}

/// What adding floating-point numbers in another order may change.
const SUMMATION_ERROR: f32 = 1e-5;

impl QuantizedQuery {
    pub(crate) fn of(vector: &[f32]) -> Self {
        // The sum of all products must fit 32 bits, also of the largest vectors.
        let most = i32::MAX / 128 / (vector.len().max(1) as i32);
        let most = most.min(i32::from(i16::MAX)) as f32;
        let unit = max_abs(vector) / most;
        let values: Vec<i16> = vector
            .iter()
            .map(|value| (value / unit).round() as i16)
            .collect();
        let error = distance(vector, values.iter().map(|&value| f32::from(value) * unit));
        Self {
            values,
            unit,
            error,
        }
    }
}

impl QuantizedVectors {
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            dimension,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.values.capacity() + self.units.capacity() * 4
    }

    pub(crate) fn add(&mut self, vector: &[f32]) {
        let unit = max_abs(vector) / 127.0;
        let begin = self.values.len();
        self.values
            .extend(vector.iter().map(|value| (value / unit).round() as i8));
        let rounded = self.values[begin..]
            .iter()
            .map(|&value| f32::from(value) * unit);
        self.error = self.error.max(distance(vector, rounded));
        self.units.push(unit);
    }

    /// The vector of a row, about what was added, with length 1.
    pub(crate) fn vector(&self, row: usize) -> Option<Vec<f32>> {
        let unit = *self.units.get(row)?;
        let vector: Vec<f32> = self
            .values(row)
            .iter()
            .map(|&value| f32::from(value) * unit)
            .collect();
        normalised(&vector)
    }

    /// How alike each row and a query are, all of them in order.
    pub(crate) fn similarities(&self, query: &QuantizedQuery) -> Vec<f32> {
        let mut products = Vec::with_capacity(self.len());
        int8_dots(&self.values, &query.values, &mut products);
        let similarities = products.iter().zip(&self.units);
        similarities
            .map(|(&product, unit)| product as f32 * unit * query.unit)
            .collect()
    }

    /// The same of some rows.
    pub(crate) fn similarities_of(&self, rows: &[usize], query: &QuantizedQuery) -> Vec<f32> {
        let mut products = Vec::with_capacity(rows.len());
        for &row in rows {
            int8_dots(self.values(row), &query.values, &mut products);
        }
        let similarities = products.iter().zip(rows);
        similarities
            .map(|(&product, &row)| product as f32 * self.units[row] * query.unit)
            .collect()
    }

    /// The same of one row with a query as it is.
    pub(crate) fn similarity(&self, row: usize, query: &[f32]) -> f32 {
        int8_dot_f32(self.values(row), query) * self.units[row]
    }

    fn values(&self, row: usize) -> &[i8] {
        &self.values[row * self.dimension..][..self.dimension]
    }

    /// How far any of [`QuantizedVectors::similarities`] may be from the true one, for
    /// a query of length 1.
    pub(crate) fn error_bound(&self, query: &QuantizedQuery) -> f32 {
        let own = self.error;
        own + (1.0 + own) * query.error + SUMMATION_ERROR
    }
}

/// The largest value, never nothing.
fn max_abs(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(1e-9, |most, value| most.max(value.abs()))
}

fn distance(vector: &[f32], other: impl Iterator<Item = f32>) -> f32 {
    let squares = vector.iter().zip(other).map(|(x, y)| (x - y) * (x - y));
    squares.sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::dot;

    proptest! {
        /// What is left out because of a bound must not be among the nearest.
        #[test]
        fn the_true_similarity_is_within_the_error(
            pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..900),
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let (Some(a), Some(b)) = (normalised(&a), normalised(&b)) else {
                return Ok(());
            };
            let mut vectors = QuantizedVectors::new(a.len());
            vectors.add(&a);
            let query = QuantizedQuery::of(&b);
            let off = (vectors.similarities(&query)[0] - dot(&a, &b)).abs();
            prop_assert!(off <= vectors.error_bound(&query), "{off}");
        }
    }

    #[test]
    fn the_largest_vectors_do_not_overflow() {
        let flat = normalised(&vec![1.0; 16_384]).unwrap();
        let mut vectors = QuantizedVectors::new(flat.len());
        vectors.add(&flat);
        let similarity = vectors.similarities(&QuantizedQuery::of(&flat))[0];
        assert!((similarity - 1.0).abs() < 0.01, "{similarity}");
    }
}
