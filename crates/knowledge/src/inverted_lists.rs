//! Vectors in a form that a million of them fit and are searched in
//! milliseconds: signs (one bit a dimension, around the middle of the set) to
//! choose candidates, bytes to order them, and partitions so that only the
//! part of the set near the query is looked at.

use std::borrow::Cow;

use crate::quantized::{QuantizedQuery, QuantizedVectors};
use crate::sign_bits::{BLOCK, SignBits};
use crate::simd::dot;
use crate::vectors::top_k;

/// How many candidates the signs choose for each row that is wanted.
const CANDIDATES_PER_ROW: usize = 8;

/// At least so many candidates are ordered by their bytes.
const FEWEST_CANDIDATES: usize = 512;

/// Partitions on each of the two levels.
const FAN_OUT: usize = 32;

/// Which share of the partitions is looked into.
const PROBED_SHARE: usize = 20;

/// Vectors the centres are computed from.
const TRAINING_SAMPLE: usize = 16_384;

const KMEANS_ROUNDS: usize = 5;

#[derive(Debug)]
pub(crate) struct IvfIndex {
    dimension: usize,
    /// Words of signs of each row.
    words: usize,
    middle: Vec<f32>,
    quantized: QuantizedVectors,
    partitions: Option<Partitions>,
    /// The signs of the rows that are in no partition, in their order.
    signs: SignBits,
}

#[derive(Debug)]
struct Partitions {
    centres: Vec<f32>,
    /// Half of the squared length of each centre.
    halves: Vec<f32>,
    /// What is in each of them.
    lists: Vec<InvertedList>,
    /// How many rows are in one.
    partitioned: usize,
}

/// The rows of a partition and their signs in the same order: what is looked at
/// together lies together.
#[derive(Debug)]
struct InvertedList {
    rows: Vec<u32>,
    signs: SignBits,
}

/// Rows, and in how many signs each differs from a query.
#[derive(Debug)]
struct ProbedRows<'c> {
    /// Those of each partition, where they are: few of them are read.
    parts: Vec<Cow<'c, [u32]>>,
    /// The distances of all parts, one after the other.
    distances: Vec<u16>,
}

impl IvfIndex {
    /// An index of vectors of length 1, one after the other.
    pub(crate) fn of(rows: &[f32], dimension: usize) -> Self {
        let count = rows.len() / dimension;
        let mut middle = vec![0.0_f32; dimension];
        for row in rows.chunks_exact(dimension) {
            for (sum, value) in middle.iter_mut().zip(row) {
                *sum += value / count as f32;
            }
        }
        let mut index = Self {
            dimension,
            words: dimension.div_ceil(64),
            middle,
            quantized: QuantizedVectors::new(dimension),
            partitions: None,
            signs: SignBits::new(dimension.div_ceil(64)),
        };
        for row in rows.chunks_exact(dimension) {
            index.add(row);
        }
        index
    }

    pub(crate) fn add(&mut self, vector: &[f32]) {
        let signs = self.sign_bits_of(vector);
        self.signs.push(&signs);
        self.quantized.add(vector);
    }

    pub(crate) fn len(&self) -> usize {
        self.quantized.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let partitions = self.partitions.as_ref().map_or(0, |partitions| {
            let members = partitions.lists.iter();
            let members: usize = members
                .map(|members| members.rows.capacity() * 4 + members.signs.bytes())
                .sum();
            members + (partitions.centres.len() + partitions.halves.len()) * 4
        });
        self.signs.bytes() + self.quantized.bytes() + partitions
    }

    pub(crate) fn vector(&self, row: usize) -> Option<Vec<f32>> {
        self.quantized.vector(row)
    }

    pub(crate) fn similarity(&self, row: usize, query: &[f32]) -> f32 {
        self.quantized.similarity(row, query)
    }

    pub(crate) fn nearest(
        &self,
        query: &[f32],
        limit: usize,
        admitted: &dyn Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        if limit == 0 {
            return Vec::new();
        }
        let near = self.probe(query);
        let wanted = (limit * CANDIDATES_PER_ROW).max(FEWEST_CANDIDATES);
        // Rows that may not be returned must not use up the places, and whether
        // one may is asked of few: it costs more than comparing signs.
        let mut tried = wanted;
        let candidates = loop {
            let candidates = near.nearest(tried, admitted);
            if candidates.len() >= wanted || tried >= near.distances.len() {
                break candidates;
            }
            tried *= 4;
        };
        let scores = self
            .quantized
            .similarities_of(&candidates, &QuantizedQuery::of(query));
        top_k(candidates.into_iter().zip(scores), limit)
    }

    /// The rows of the partitions nearest to a query and those that are in none.
    fn probe(&self, query: &[f32]) -> ProbedRows<'_> {
        let signs = self.sign_bits_of(query);
        let mut near: Vec<&InvertedList> = Vec::new();
        let mut partitioned = 0;
        if let Some(partitions) = &self.partitions {
            let nearest = partitions.nearest_to(query, self.dimension);
            near.extend(nearest.into_iter().map(|at| &partitions.lists[at]));
            partitioned = partitions.partitioned;
        }
        let unpartitioned: Vec<u32> = (partitioned as u32..self.len() as u32).collect();
        let count = near.iter().map(|members| members.rows.len()).sum::<usize>();
        let mut distances = Vec::with_capacity(count + unpartitioned.len() + BLOCK);
        for members in &near {
            members.signs.hamming_distances(&signs, &mut distances);
        }
        self.signs.hamming_distances(&signs, &mut distances);
        let parts = near.into_iter().map(|members| Cow::from(&members.rows));
        ProbedRows {
            parts: parts.chain([Cow::from(unpartitioned)]).collect(),
            distances,
        }
    }

    /// Sorts the rows into partitions around centres, in two levels: 32 centres, and
    /// 32 around each.
    pub(crate) fn partition(&mut self) {
        let stride = (self.len() / TRAINING_SAMPLE).max(1);
        let sample: Vec<Vec<f32>> = (0..self.len())
            .step_by(stride)
            .filter_map(|row| self.vector(row))
            .collect();
        let upper = centres_of(&sample.iter().collect::<Vec<_>>(), FAN_OUT);
        let mut below: Vec<Vec<&Vec<f32>>> = vec![Vec::new(); upper.len()];
        for vector in &sample {
            below[nearest_centre(&upper, vector)].push(vector);
        }
        let lower: Vec<Vec<Centre>> = below
            .iter()
            .map(|members| centres_of(members, FAN_OUT))
            .collect();
        let mut first = Vec::with_capacity(lower.len());
        let mut centres = Vec::new();
        for group in &lower {
            first.push(centres.len() / self.dimension);
            centres.extend(group.iter().flat_map(|centre| &centre.vector));
        }
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); centres.len() / self.dimension];
        for row in 0..self.len() {
            // What was added has a direction, and bytes keep it.
            let vector = self.vector(row).unwrap_or_default();
            members[nearest_partition(&upper, &lower, &first, &vector)].push(row as u32);
        }
        let signs = self.sign_bits_by_row();
        self.signs = SignBits::new(self.words);
        self.partitions = Some(Partitions::of(centres, self.dimension, members, &signs));
    }

    /// The signs of all rows, by their numbers.
    fn sign_bits_by_row(&self) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::new(); self.len()];
        let mut partitioned = 0;
        if let Some(partitions) = &self.partitions {
            for InvertedList { rows, signs } in &partitions.lists {
                for (&row, signs) in rows.iter().zip(signs.iter()) {
                    all[row as usize] = signs;
                }
            }
            partitioned = partitions.partitioned;
        }
        for (place, signs) in all[partitioned..].iter_mut().zip(self.signs.iter()) {
            *place = signs;
        }
        all
    }

    fn sign_bits_of(&self, vector: &[f32]) -> Vec<u64> {
        let mut signs = vec![0_u64; self.words];
        for (at, (value, middle)) in vector.iter().zip(&self.middle).enumerate() {
            signs[at / 64] |= u64::from(value > middle) << (at % 64);
        }
        signs
    }
}

impl Partitions {
    fn of(centres: Vec<f32>, dimension: usize, members: Vec<Vec<u32>>, signs: &[Vec<u64>]) -> Self {
        let together = |rows: Vec<u32>| {
            let mut own = SignBits::new(dimension.div_ceil(64));
            for &row in &rows {
                own.push(&signs[row as usize]);
            }
            InvertedList { rows, signs: own }
        };
        Self {
            halves: centres
                .chunks_exact(dimension)
                .map(|centre| dot(centre, centre) / 2.0)
                .collect(),
            centres,
            lists: members.into_iter().map(together).collect(),
            partitioned: signs.len(),
        }
    }

    fn nearest_to(&self, query: &[f32], dimension: usize) -> Vec<usize> {
        let count = self.halves.len();
        let closeness = self
            .centres
            .chunks_exact(dimension)
            .zip(&self.halves)
            .map(|(centre, half)| dot(centre, query) - half)
            .enumerate();
        let best = top_k(closeness, (count / PROBED_SHARE).max(FAN_OUT).min(count));
        best.into_iter().map(|(partition, _)| partition).collect()
    }
}

impl ProbedRows<'_> {
    /// The admitted of the nearest `wanted` rows, and of those that are as near.
    fn nearest(&self, wanted: usize, admitted: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let within = self.distance_threshold(wanted);
        let mut near = Vec::new();
        let mut distances = self.distances.as_slice();
        for rows in &self.parts {
            let (own, others) = distances.split_at(rows.len());
            append_within(rows, own, within, &mut near);
            distances = others;
        }
        near.retain(|row| admitted(*row));
        near
    }

    /// The distance within which there are at least `wanted` rows.
    fn distance_threshold(&self, wanted: usize) -> u16 {
        let furthest = self.distances.iter().copied().max().unwrap_or(0);
        let mut counts = vec![0_usize; usize::from(furthest) + 1];
        for distance in &self.distances {
            counts[usize::from(*distance)] += 1;
        }
        let mut total = 0;
        for (distance, count) in counts.iter().enumerate() {
            total += count;
            if total >= wanted {
                return distance as u16;
            }
        }
        u16::MAX
    }
}

/// Adds the rows whose distance is at most `within`.
fn append_within(rows: &[u32], distances: &[u16], within: u16, near: &mut Vec<usize>) {
    const GROUP: usize = 16;
    for (rows, distances) in rows.chunks(GROUP).zip(distances.chunks(GROUP)) {
        // Most groups have nothing near. This has no way out of its loop, so that
        // wide registers tell it of a group at once.
        let any = distances
            .iter()
            .fold(false, |any, distance| any | (*distance <= within));
        if any {
            let pairs = rows.iter().zip(distances);
            let pairs = pairs.filter(|(_, distance)| **distance <= within);
            near.extend(pairs.map(|(row, _)| *row as usize));
        }
    }
}

/// The middle of some vectors.
#[derive(Debug, Clone)]
struct Centre {
    vector: Vec<f32>,
    /// Half of its squared length.
    half: f32,
}

impl Centre {
    fn new(vector: Vec<f32>) -> Self {
        Self {
            half: dot(&vector, &vector) / 2.0,
            vector,
        }
    }

    /// Larger for a nearer centre, of those that are compared with one vector.
    fn closeness(&self, vector: &[f32]) -> f32 {
        dot(&self.vector, vector) - self.half
    }
}

/// Up to `count` centres of these vectors, by k-means from evenly spaced ones.
fn centres_of(vectors: &[&Vec<f32>], count: usize) -> Vec<Centre> {
    let Some(first) = vectors.first() else {
        return Vec::new();
    };
    let count = count.min(vectors.len());
    let mut centres: Vec<Centre> = (0..count)
        .map(|n| Centre::new(vectors[n * vectors.len() / count].clone()))
        .collect();
    for _ in 0..KMEANS_ROUNDS {
        let mut sums = vec![vec![0.0_f32; first.len()]; count];
        let mut sizes = vec![0_usize; count];
        for vector in vectors {
            let nearest = nearest_centre(&centres, vector);
            sizes[nearest] += 1;
            for (sum, value) in sums[nearest].iter_mut().zip(*vector) {
                *sum += value;
            }
        }
        for ((centre, sum), size) in centres.iter_mut().zip(sums).zip(sizes) {
            if size > 0 {
                let middle = sum.into_iter().map(|value| value / size as f32);
                *centre = Centre::new(middle.collect());
            }
        }
    }
    centres
}

/// Upper centres below which the nearest lower one is looked for: what lies between
/// two of them would otherwise be cut in half.
const UPPER_PROBES: usize = 4;

fn nearest_partition(
    upper: &[Centre],
    lower: &[Vec<Centre>],
    first: &[usize],
    vector: &[f32],
) -> usize {
    let groups = upper.iter().map(|centre| centre.closeness(vector));
    let groups = top_k(groups.enumerate(), UPPER_PROBES);
    let partitions = groups.into_iter().flat_map(|(group, _)| {
        let centres = lower[group].iter().enumerate();
        centres.map(move |(at, centre)| (first[group] + at, centre.closeness(vector)))
    });
    top_k(partitions, 1).first().map_or(0, |best| best.0)
}

fn nearest_centre(centres: &[Centre], vector: &[f32]) -> usize {
    let all = centres.iter().map(|centre| centre.closeness(vector));
    top_k(all.enumerate(), 1).first().map_or(0, |best| best.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::normalised;

    fn rows(count: usize, dimension: usize) -> Vec<f32> {
        let mut state = 7_u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / 8_388_608.0) - 1.0
        };
        let centres: Vec<Vec<f32>> = (0..40)
            .map(|_| (0..dimension).map(|_| next()).collect())
            .collect();
        let mut rows = Vec::with_capacity(count * dimension);
        for n in 0..count {
            let near: Vec<f32> = centres[n % 40].iter().map(|c| c + 0.7 * next()).collect();
            rows.extend(normalised(&near).unwrap());
        }
        rows
    }

    #[test]
    fn codes_find_nearly_what_comparing_everything_finds() {
        let dimension = 128;
        let rows = rows(6000, dimension);
        let mut index = IvfIndex::of(&rows, dimension);
        index.partition();
        index.add(&rows[..dimension]);
        let (mut found, mut wanted) = (0, 0);
        for query in rows.chunks_exact(dimension).step_by(300) {
            let all = rows
                .chunks_exact(dimension)
                .map(|row| dot(row, query))
                .enumerate();
            let exact = top_k(all, 10);
            let near = index.nearest(query, 10, &|row| row < 6000);
            wanted += exact.len();
            found += exact
                .iter()
                .filter(|e| near.iter().any(|n| n.0 == e.0))
                .count();
        }
        assert!(found * 100 >= wanted * 90, "{found} of {wanted}");
    }

    #[test]
    fn what_was_added_after_arranging_is_found() {
        let dimension = 128;
        let rows = rows(2000, dimension);
        let mut index = IvfIndex::of(&rows[..1999 * dimension], dimension);
        index.partition();
        let last = &rows[1999 * dimension..];
        index.add(last);
        assert_eq!(index.nearest(last, 1, &|_| true)[0].0, 1999);
    }
}
