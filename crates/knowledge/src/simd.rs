//! Loops over many numbers, compiled for the widest registers the machine has:
//! which ones there are is asked when the program runs.

#![expect(
    clippy::needless_range_loop,
    reason = "what an iterator calls is compiled on its own, and not for these registers"
)]

use rten_simd::{Isa, SimdOp};

use crate::sign_bits::BLOCK;

/// A sum in parts: eight lanes, and eight of them side by side, because in one alone
/// each addition waits for the one before it.
type Lanes = [[f32; 8]; 8];

/// Numbers that are added to [`Lanes`] at once.
const CHUNK: usize = 64;

/// The sum of products, added up in the same order whatever the registers are, so
/// that every machine gets the same number.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    Dot { a, b }.dispatch()
}

/// The same of bytes, as they are, with a query.
pub(crate) fn int8_dot_f32(bytes: &[i8], query: &[f32]) -> f32 {
    Dot { a: bytes, b: query }.dispatch()
}

struct Dot<'a, T> {
    a: &'a [T],
    b: &'a [f32],
}

impl<T: Copy> SimdOp for Dot<'_, T>
where
    f32: From<T>,
{
    type Output = f32;

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) -> f32 {
        let mut sums = Lanes::default();
        let (a_pieces, a_rest) = self.a.as_chunks::<CHUNK>();
        let (b_pieces, b_rest) = self.b.as_chunks::<CHUNK>();
        for (x, y) in a_pieces.iter().zip(b_pieces) {
            for sum in 0..8 {
                for lane in 0..8 {
                    let at = 8 * sum + lane;
                    sums[sum][lane] += f32::from(x[at]) * y[at];
                }
            }
        }
        let products = a_rest.iter().zip(b_rest);
        let rest: f32 = products.map(|(&x, y)| f32::from(x) * y).sum();
        sum_lanes(&sums) + rest
    }
}

#[inline(always)]
fn sum_lanes(sums: &Lanes) -> f32 {
    let mut lanes = sums[0];
    for sum in 1..8 {
        for lane in 0..8 {
            lanes[lane] += sums[sum][lane];
        }
    }
    lanes.iter().sum()
}

/// The sums of the products of each row with one query: `rows` are rows of the
/// query's length, one after the other.
pub(crate) fn int8_dots(rows: &[i8], query: &[i16], out: &mut Vec<i32>) {
    Int8Dots { rows, query, out }.dispatch();
}

struct Int8Dots<'a> {
    rows: &'a [i8],
    query: &'a [i16],
    out: &'a mut Vec<i32>,
}

impl SimdOp for Int8Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        if self.query.is_empty() {
            return;
        }
        // Loops, not iterators: what an iterator calls is compiled on its own, and
        // not for these registers.
        for row in self.rows.chunks_exact(self.query.len()) {
            self.out.push(int8_dot(row, self.query));
        }
    }
}

/// In pieces long enough that adding up the lanes at the end of each is little.
#[inline(always)]
fn int8_dot(a: &[i8], b: &[i16]) -> i32 {
    let (a_chunks, a_rest) = a.as_chunks::<192>();
    let (b_chunks, b_rest) = b.as_chunks::<192>();
    let mut sum = 0;
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for at in 0..192 {
            sum += i32::from(x[at]) * i32::from(y[at]);
        }
    }
    for (&x, &y) in a_rest.iter().zip(b_rest) {
        sum += i32::from(x) * i32::from(y);
    }
    sum
}

/// In how many signs each row of these blocks differs from a query ([`BLOCK`]).
pub(crate) fn hamming_distances(blocks: &[u64], signs: &[u64], out: &mut Vec<u16>) {
    HammingDistances { blocks, signs, out }.dispatch();
}

struct HammingDistances<'a> {
    blocks: &'a [u64],
    signs: &'a [u64],
    out: &'a mut Vec<u16>,
}

impl SimdOp for HammingDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        if self.signs.is_empty() {
            return;
        }
        for block in self.blocks.chunks_exact(BLOCK * self.signs.len()) {
            let (words, _) = block.as_chunks::<BLOCK>();
            let mut differ = [0_u64; BLOCK];
            for (word, sign) in words.iter().zip(self.signs) {
                for row in 0..BLOCK {
                    differ[row] += u64::from((word[row] ^ sign).count_ones());
                }
            }
            self.out
                .extend_from_slice(&differ.map(|count| count as u16));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whole_products_are_added_up_to_the_last_one(
            query in prop::collection::vec(-9000_i16..9000, 1..300),
            seed in any::<i8>(),
        ) {
            let value = |at: usize| seed.wrapping_mul(at as i8).wrapping_add(at as i8 / 3);
            let rows: Vec<i8> = (0..query.len() * 3).map(value).collect();
            let mut out = Vec::new();
            int8_dots(&rows, &query, &mut out);
            let one = |row: &[i8]| -> i32 {
                let products = row.iter().zip(&query);
                products.map(|(&x, &y)| i32::from(x) * i32::from(y)).sum()
            };
            let expected: Vec<i32> = rows.chunks_exact(query.len()).map(one).collect();
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn bytes_times_a_query_is_what_numbers_would_be(
            query in prop::collection::vec(-1.0_f32..1.0, 1..100),
        ) {
            let bytes: Vec<i8> = (0..query.len()).map(|at| (at * 37 % 255) as u8 as i8).collect();
            let numbers: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte)).collect();
            prop_assert_eq!(int8_dot_f32(&bytes, &query), dot(&numbers, &query));
        }
    }
}
