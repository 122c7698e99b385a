//! Vectors in a form that a million of them fit and are searched in
//! milliseconds: signs (one bit a dimension, around the middle of the set) to
//! choose candidates, bytes to order them, and partitions so that only the
//! part of the set near the query is looked at.

use crate::vectors::{dot, keep_best, normalised};

/// How many candidates the signs choose for each row that is wanted.
const CANDIDATES_PER_ROW: usize = 8;

/// At least so many candidates are ordered by their bytes.
const FEWEST_CANDIDATES: usize = 512;

/// Partitions on each of the two levels.
const FAN_OUT: usize = 32;

/// Which share of the partitions is looked into.
const PROBED: usize = 10;

/// Vectors the centres are computed from.
const SAMPLE: usize = 16_384;

const ROUNDS: usize = 5;

#[derive(Debug)]
pub(crate) struct Codes {
    dimension: usize,
    words: usize,
    middle: Vec<f32>,
    signs: Vec<u64>,
    bytes: Vec<i8>,
    /// What a byte of 1 stands for, per row.
    scales: Vec<f32>,
    partitions: Option<Partitions>,
}

#[derive(Debug)]
struct Partitions {
    centres: Vec<f32>,
    members: Vec<Vec<u32>>,
    /// Rows below this are in a partition.
    arranged: usize,
}

impl Codes {
    /// The codes of vectors of length 1, one after the other.
    pub(crate) fn of(rows: &[f32], dimension: usize) -> Self {
        let count = rows.len() / dimension;
        let mut middle = vec![0.0_f32; dimension];
        for row in rows.chunks_exact(dimension) {
            for (sum, value) in middle.iter_mut().zip(row) {
                *sum += value / count as f32;
            }
        }
        let mut codes = Self {
            dimension,
            words: dimension.div_ceil(64),
            middle,
            signs: Vec::new(),
            bytes: Vec::new(),
            scales: Vec::new(),
            partitions: None,
        };
        for row in rows.chunks_exact(dimension) {
            codes.add(row);
        }
        codes
    }

    pub(crate) fn add(&mut self, vector: &[f32]) {
        let signs = self.signs_of(vector);
        self.signs.extend(signs);
        let largest = vector
            .iter()
            .fold(1e-9_f32, |most, value| most.max(value.abs()));
        let scale = largest / 127.0;
        self.scales.push(scale);
        self.bytes
            .extend(vector.iter().map(|value| (value / scale).round() as i8));
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let partitions = self.partitions.as_ref().map_or(0, |partitions| {
            partitions.centres.len() * 4
                + partitions
                    .members
                    .iter()
                    .map(|list| list.capacity() * 4)
                    .sum::<usize>()
        });
        self.signs.capacity() * 8 + self.bytes.capacity() + self.scales.capacity() * 4 + partitions
    }

    pub(crate) fn vector(&self, row: usize) -> Option<Vec<f32>> {
        let bytes = self
            .bytes
            .get(row * self.dimension..(row + 1) * self.dimension)?;
        let scale = self.scales[row];
        normalised(
            &bytes
                .iter()
                .map(|&byte| f32::from(byte) * scale)
                .collect::<Vec<_>>(),
        )
    }

    pub(crate) fn similarity(&self, row: usize, query: &[f32]) -> f32 {
        let bytes = &self.bytes[row * self.dimension..][..self.dimension];
        let mut lanes = [0.0_f32; 8];
        let (chunks, rest) = bytes.as_chunks::<8>();
        let (query_chunks, query_rest) = query.as_chunks::<8>();
        for (x, y) in chunks.iter().zip(query_chunks) {
            for lane in 0..8 {
                lanes[lane] += f32::from(x[lane]) * y[lane];
            }
        }
        let rest: f32 = rest
            .iter()
            .zip(query_rest)
            .map(|(&x, y)| f32::from(x) * y)
            .sum();
        (lanes.iter().sum::<f32>() + rest) * self.scales[row]
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
        let wanted = (limit * CANDIDATES_PER_ROW).max(FEWEST_CANDIDATES);
        let signs = self.signs_of(query);
        let mut near: Vec<(u32, u16)> = Vec::new();
        let mut offer = |row: u32| {
            let code = &self.signs[row as usize * self.words..][..self.words];
            let distance: u32 = code
                .iter()
                .zip(&signs)
                .map(|(a, b)| (a ^ b).count_ones())
                .sum();
            near.push((row, distance as u16));
        };
        let arranged = match &self.partitions {
            Some(partitions) => {
                for partition in partitions.nearest_to(query, self.dimension) {
                    partitions.members[partition]
                        .iter()
                        .for_each(|&row| offer(row));
                }
                partitions.arranged
            }
            None => 0,
        };
        (arranged as u32..self.len() as u32).for_each(offer);
        // Rows that may not be returned must not use up the places.
        near.retain(|(row, _)| admitted(*row as usize));
        let within = distance_of(&near, wanted);
        let candidates = near.iter().filter(|(_, distance)| *distance <= within);
        let scores =
            candidates.map(|&(row, _)| (row as usize, self.similarity(row as usize, query)));
        keep_best(scores, limit)
    }

    /// Sorts the rows into partitions around centres, in two levels: 32
    /// centres, and 32 around each.
    pub(crate) fn partition(&mut self) {
        let stride = (self.len() / SAMPLE).max(1);
        let sample: Vec<Vec<f32>> = (0..self.len())
            .step_by(stride)
            .filter_map(|row| self.vector(row))
            .collect();
        let upper = centres_of(&sample.iter().collect::<Vec<_>>(), FAN_OUT);
        let mut below: Vec<Vec<&Vec<f32>>> = vec![Vec::new(); upper.len()];
        for vector in &sample {
            below[nearest_centre(&upper, vector)].push(vector);
        }
        let lower: Vec<Vec<Vec<f32>>> = below
            .iter()
            .map(|members| centres_of(members, FAN_OUT))
            .collect();
        let mut first = Vec::with_capacity(lower.len());
        let mut centres = Vec::new();
        for group in &lower {
            first.push(centres.len() / self.dimension);
            centres.extend(group.iter().flatten());
        }
        let mut members = vec![Vec::new(); centres.len() / self.dimension];
        for row in 0..self.len() {
            let Some(vector) = self.vector(row) else {
                continue;
            };
            let group = nearest_centre(&upper, &vector);
            let partition = first[group] + nearest_centre(&lower[group], &vector);
            members[partition].push(row as u32);
        }
        self.partitions = Some(Partitions {
            centres,
            members,
            arranged: self.len(),
        });
    }

    fn signs_of(&self, vector: &[f32]) -> Vec<u64> {
        let mut signs = vec![0_u64; self.words];
        for (at, (value, middle)) in vector.iter().zip(&self.middle).enumerate() {
            signs[at / 64] |= u64::from(value > middle) << (at % 64);
        }
        signs
    }
}

impl Partitions {
    fn nearest_to(&self, query: &[f32], dimension: usize) -> Vec<usize> {
        let count = self.members.len();
        let closeness = self
            .centres
            .chunks_exact(dimension)
            .map(|centre| dot(centre, query) - dot(centre, centre) / 2.0)
            .enumerate();
        let best = keep_best(closeness, (count / PROBED).max(FAN_OUT).min(count));
        best.into_iter().map(|(partition, _)| partition).collect()
    }
}

/// The distance within which there are at least `wanted` rows.
fn distance_of(near: &[(u32, u16)], wanted: usize) -> u16 {
    let mut counts = vec![0_usize; near.iter().map(|n| usize::from(n.1) + 1).max().unwrap_or(1)];
    for (_, distance) in near {
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

/// Up to `count` centres of these vectors, by k-means from evenly spaced ones.
fn centres_of(vectors: &[&Vec<f32>], count: usize) -> Vec<Vec<f32>> {
    let Some(first) = vectors.first() else {
        return Vec::new();
    };
    let count = count.min(vectors.len());
    let mut centres: Vec<Vec<f32>> = (0..count)
        .map(|n| vectors[n * vectors.len() / count].clone())
        .collect();
    for _ in 0..ROUNDS {
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
                *centre = sum.into_iter().map(|value| value / size as f32).collect();
            }
        }
    }
    centres
}

fn nearest_centre(centres: &[Vec<f32>], vector: &[f32]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (at, centre) in centres.iter().enumerate() {
        let closeness = dot(centre, vector) - dot(centre, centre) / 2.0;
        if closeness > best.1 {
            best = (at, closeness);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut codes = Codes::of(&rows, dimension);
        codes.partition();
        codes.add(&rows[..dimension]);
        let (mut found, mut wanted) = (0, 0);
        for query in rows.chunks_exact(dimension).step_by(300) {
            let all = rows
                .chunks_exact(dimension)
                .map(|row| dot(row, query))
                .enumerate();
            let exact = keep_best(all, 10);
            let near = codes.nearest(query, 10, &|row| row < 6000);
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
        let mut codes = Codes::of(&rows[..1999 * dimension], dimension);
        codes.partition();
        let last = &rows[1999 * dimension..];
        codes.add(last);
        assert_eq!(codes.nearest(last, 1, &|_| true)[0].0, 1999);
    }
}
