//! The vector path: the nearest vectors by cosine, in memory.
//!
//! Up to [`EXACT_UP_TO`] vectors every one is compared: first as bytes, which says
//! between which bounds the similarity lies, then in full where it may be among
//! the best. Beyond, each vector is kept as signs (one bit a dimension) and as
//! bytes: signs choose candidates, bytes order them, and partitions around centres
//! keep the scan short. What that loses is measured by `mission bench kb --entries`.

use crate::inverted_lists::IvfIndex;
use crate::keyword::{DocFilter, DocNo, Scored};
use crate::quantized::{QuantizedQuery, QuantizedVectors};

pub use crate::simd::dot;

/// The largest number of vectors that are all compared in full.
pub const EXACT_UP_TO: usize = 20_000;

/// Vectors of one length, each of one document.
#[derive(Debug)]
pub struct VectorIndex {
    dimension: usize,
    /// The document of each row, and the row of each document.
    docs: Vec<DocNo>,
    rows: Vec<Option<u32>>,
    storage: Storage,
    /// The sum of all rows: one product with it gives the mean similarity.
    sum: Vec<f32>,
    live: usize,
    removed: Vec<bool>,
}

#[derive(Debug)]
enum Storage {
    Full(FullVectors),
    Ivf(IvfIndex),
}

/// Vectors to the last digit, and as whole numbers.
#[derive(Debug)]
struct FullVectors {
    dimension: usize,
    rows: Vec<f32>,
    quantized: QuantizedVectors,
}

impl VectorIndex {
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            docs: Vec::new(),
            rows: Vec::new(),
            storage: Storage::Full(FullVectors::new(dimension)),
            sum: vec![0.0; dimension],
            live: 0,
            removed: Vec::new(),
        }
    }

    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    #[must_use]
    pub const fn len(&self) -> usize {
        self.live
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        let storage = match &self.storage {
            Storage::Full(full) => full.bytes(),
            Storage::Ivf(index) => index.bytes(),
        };
        storage + self.docs.capacity() * 5 + self.rows.capacity() * 8
    }

    /// Adds the vector of a document. Its length is made 1. One that is all
    /// zeros, or not a number somewhere, is not added: nothing is near it.
    pub fn add(&mut self, doc: DocNo, vector: &[f32]) {
        debug_assert_eq!(vector.len(), self.dimension);
        let Some(vector) = normalised(vector) else {
            return;
        };
        self.remove(doc);
        let row = self.docs.len() as u32;
        for (sum, value) in self.sum.iter_mut().zip(&vector) {
            *sum += value;
        }
        match &mut self.storage {
            Storage::Full(full) => full.add(&vector),
            Storage::Ivf(index) => index.add(&vector),
        }
        if self.rows.len() <= doc as usize {
            self.rows.resize(doc as usize + 1, None);
        }
        self.rows[doc as usize] = Some(row);
        self.docs.push(doc);
        self.removed.push(false);
        self.live += 1;
        if self.docs.len() > EXACT_UP_TO
            && let Storage::Full(full) = &self.storage
        {
            self.storage = Storage::Ivf(IvfIndex::of(&full.rows, self.dimension));
        }
    }

    pub fn remove(&mut self, doc: DocNo) {
        let Some(row) = self.rows.get_mut(doc as usize).and_then(Option::take) else {
            return;
        };
        if let Some(vector) = self.row(row) {
            for (sum, value) in self.sum.iter_mut().zip(&vector) {
                *sum -= value;
            }
        }
        self.removed[row as usize] = true;
        self.live -= 1;
    }

    /// Arranges a large index for searching. Without it everything is found
    /// too, more slowly; vectors added later are searched one by one.
    pub fn partition(&mut self) {
        if let Storage::Ivf(index) = &mut self.storage {
            index.partition();
        }
    }

    /// The document has a vector.
    #[must_use]
    pub fn has(&self, doc: DocNo) -> bool {
        self.rows.get(doc as usize).is_some_and(Option::is_some)
    }

    /// The vector of a document, of length 1.
    #[must_use]
    pub fn vector(&self, doc: DocNo) -> Option<Vec<f32>> {
        self.row((*self.rows.get(doc as usize)?)?)
    }

    /// How alike a document and a query of length 1 are.
    #[must_use]
    pub fn similarity(&self, doc: DocNo, query: &[f32]) -> Option<f32> {
        let row = (*self.rows.get(doc as usize)?)? as usize;
        Some(match &self.storage {
            Storage::Full(full) => dot(full.row(row), query),
            Storage::Ivf(index) => index.similarity(row, query),
        })
    }

    /// The mean of the similarities of all documents with a query.
    #[must_use]
    pub fn mean_similarity(&self, query: &[f32]) -> f32 {
        dot(&self.sum, query) / self.live.max(1) as f32
    }

    /// The nearest documents, the nearest first; of equal ones the older first.
    #[must_use]
    pub fn nearest(&self, query: &[f32], limit: usize, admits: DocFilter<'_>) -> Vec<Scored> {
        let admitted = |row: usize| !self.removed[row] && admits(self.docs[row]);
        let rows = match &self.storage {
            Storage::Full(full) => full.nearest(query, limit, &admitted),
            Storage::Ivf(index) => index.nearest(query, limit, &admitted),
        };
        let mut nearest: Vec<Scored> = rows
            .into_iter()
            .map(|(row, score)| Scored {
                doc: self.docs[row],
                score,
            })
            .collect();
        nearest.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        nearest
    }

    fn row(&self, row: u32) -> Option<Vec<f32>> {
        let row = row as usize;
        match &self.storage {
            Storage::Full(full) => Some(full.row(row).to_vec()),
            Storage::Ivf(index) => index.vector(row),
        }
    }
}

impl FullVectors {
    fn new(dimension: usize) -> Self {
        Self {
            dimension,
            rows: Vec::new(),
            quantized: QuantizedVectors::new(dimension),
        }
    }

    fn add(&mut self, vector: &[f32]) {
        self.rows.extend_from_slice(vector);
        self.quantized.add(vector);
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.rows[row * self.dimension..][..self.dimension]
    }

    fn bytes(&self) -> usize {
        self.rows.capacity() * 4 + self.quantized.bytes()
    }

    /// The nearest of all. Bytes are compared first; what their bounds leave in
    /// doubt is compared in full.
    fn nearest(
        &self,
        query: &[f32],
        limit: usize,
        admitted: &dyn Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        if limit == 0 {
            return Vec::new();
        }
        let quantized = QuantizedQuery::of(query);
        let about = self.quantized.similarities(&quantized);
        let best = top_k_filtered(about.iter().copied().enumerate(), limit, admitted);
        let line = match best.last() {
            // The true one of the last may be lower by the error, and that of
            // another higher.
            Some(last) if best.len() == limit => {
                last.1 - 2.0 * self.quantized.error_bound(&quantized)
            }
            _ => f32::NEG_INFINITY,
        };
        let in_doubt = about
            .iter()
            .enumerate()
            .filter(|(_, about)| **about >= line)
            .map(|(row, _)| (row, dot(self.row(row), query)));
        top_k_filtered(in_doubt, limit, admitted)
    }
}

/// The same direction with length 1, unless there is none.
#[must_use]
pub fn normalised(vector: &[f32]) -> Option<Vec<f32>> {
    let length = dot(vector, vector).sqrt();
    (length.is_finite() && length > 1e-9)
        .then(|| vector.iter().map(|value| value / length).collect())
}

/// Keeps the best `limit` of what is offered; of equal ones the first.
pub(crate) fn top_k(scores: impl Iterator<Item = (usize, f32)>, limit: usize) -> Vec<(usize, f32)> {
    top_k_filtered(scores, limit, &|_| true)
}

/// Keeps the best `limit` of those that are admitted. Whether a row is, is asked
/// only of those that are good enough.
pub(crate) fn top_k_filtered(
    scores: impl Iterator<Item = (usize, f32)>,
    limit: usize,
    admitted: &dyn Fn(usize) -> bool,
) -> Vec<(usize, f32)> {
    let mut kept: Vec<(usize, f32)> = Vec::with_capacity(limit * 2);
    let mut least = f32::NEG_INFINITY;
    for (row, score) in scores {
        if score <= least || !admitted(row) {
            continue;
        }
        kept.push((row, score));
        if kept.len() >= limit * 2 {
            kept.select_nth_unstable_by(limit - 1, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            kept.truncate(limit);
            least = kept[limit - 1].1;
        }
    }
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    kept.truncate(limit);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Looking at bytes first must not change the answer.
        #[test]
        fn the_nearest_are_those_of_comparing_everything(
            rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 12), 1..80),
            query in prop::collection::vec(-1.0_f32..1.0, 12),
            limit in 1_usize..9,
        ) {
            let Some(query) = normalised(&query) else { return Ok(()) };
            let mut index = VectorIndex::new(12);
            for (doc, row) in rows.iter().enumerate() {
                index.add(doc as DocNo, row);
            }
            let is_even = |doc: DocNo| doc.is_multiple_of(2);
            let found = index.nearest(&query, limit, &is_even);
            let all = rows.iter().enumerate().filter_map(|(at, row)| {
                Some((at, dot(&normalised(row)?, &query)))
            });
            let expected = top_k(all.filter(|(at, _)| is_even(*at as DocNo)), limit);
            let found: Vec<(usize, f32)> =
                found.into_iter().map(|hit| (hit.doc as usize, hit.score)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
