//! The signs of vectors, one bit a dimension: in how many of them two vectors
//! differ says about how far apart they are.

use crate::simd::hamming_distances;

/// Rows that lie together. Within a block all first words of its rows come first,
/// then all second ones: so one instruction counts the signs of several rows.
pub(crate) const BLOCK: usize = 64;

/// The signs of some rows, one after the other.
#[derive(Debug)]
pub(crate) struct SignBits {
    /// Words of each row.
    words: usize,
    rows: usize,
    blocks: Vec<u64>,
}

impl SignBits {
    pub(crate) const fn new(words: usize) -> Self {
        Self {
            words,
            rows: 0,
            blocks: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.blocks.capacity() * 8
    }

    pub(crate) fn push(&mut self, signs: &[u64]) {
        debug_assert_eq!(signs.len(), self.words);
        if self.rows.is_multiple_of(BLOCK) {
            self.blocks
                .resize(self.blocks.len() + BLOCK * self.words, 0);
        }
        let begin = self.begin(self.rows);
        for (word, signs) in signs.iter().enumerate() {
            self.blocks[begin + word * BLOCK] = *signs;
        }
        self.rows += 1;
    }

    /// The rows in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vec<u64>> {
        (0..self.rows).map(|row| {
            let words = 0..self.words;
            let begin = self.begin(row);
            words
                .map(|word| self.blocks[begin + word * BLOCK])
                .collect()
        })
    }

    /// In how many signs each row differs from these, added to `out`.
    pub(crate) fn hamming_distances(&self, signs: &[u64], out: &mut Vec<u16>) {
        let end = out.len() + self.rows;
        hamming_distances(&self.blocks, signs, out);
        // The last block may have room for more rows than there are.
        out.truncate(end);
    }

    fn begin(&self, row: usize) -> usize {
        row / BLOCK * BLOCK * self.words + row % BLOCK
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn differences_are_counted_row_by_row(
            signs in prop::collection::vec(any::<u64>(), 1..20),
            rows in 0_usize..150,
            seed in any::<u64>(),
        ) {
            let row = |row: usize| -> Vec<u64> {
                let value = |at: usize| seed.wrapping_mul(((row * 31 + at) as u64) | 1);
                (0..signs.len()).map(value).collect()
            };
            let mut all = SignBits::new(signs.len());
            (0..rows).for_each(|at| all.push(&row(at)));
            let mut found = vec![7];
            all.hamming_distances(&signs, &mut found);
            let differ = |at: usize| -> u16 {
                let row = row(at);
                let pairs = row.iter().zip(&signs);
                pairs.map(|(a, b)| (a ^ b).count_ones() as u16).sum()
            };
            let expected: Vec<u16> = std::iter::once(7).chain((0..rows).map(differ)).collect();
            prop_assert_eq!(found, expected);
            prop_assert!(all.iter().eq((0..rows).map(row)));
        }
    }
}
