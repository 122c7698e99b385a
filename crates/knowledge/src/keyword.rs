//! The keyword path: an inverted index in memory, scored by BM25.
//!
//! An entry that is a turn of a conversation is indexed with the terms of the
//! turns around it at a lower weight, so a turn that answers "yes, on Friday"
//! is found by what was asked before it. A document is never changed: it is
//! removed and added again under a new number, so postings stay in order.

use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::tokens::{TermKind, Token};

/// The number of a document within one index.
pub type DocNo = u32;

/// The parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Bm25 {
    /// How soon more occurrences of a term stop to matter.
    pub k1: f32,
    /// How much a long document is held against it.
    pub b: f32,
    /// What a word such as "the" counts, beside 1 for others.
    pub filler: f32,
    /// What one character of Chinese, Japanese or Korean counts, beside 1 for two.
    pub character: f32,
}

/// The terms of one document with how much each occurs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermWeights {
    weights: HashMap<String, f32>,
    length: f32,
}

impl TermWeights {
    /// Adds the terms of a text, each occurrence counting `weight`.
    pub fn add(&mut self, tokens: &[Token], weight: f32) {
        for token in tokens {
            *self.weights.entry(term_key(token)).or_default() += weight;
            if !matches!(token.kind, TermKind::Identifier | TermKind::Character) {
                self.length += weight;
            }
        }
    }
}

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    pub doc: DocNo,
    pub score: f32,
}

/// Which documents a search may return.
pub type DocFilter<'a> = &'a dyn Fn(DocNo) -> bool;

#[derive(Debug, Default)]
pub struct KeywordIndex {
    terms: HashMap<String, u32>,
    postings: Vec<Postings>,
    lengths: Vec<f32>,
    removed: Vec<bool>,
    live: usize,
    live_length: f64,
}

/// The documents of one term, in order, with its weight in each.
#[derive(Debug, Default)]
struct Postings {
    docs: Vec<DocNo>,
    weights: Vec<u16>,
    /// What no posting goes beyond.
    all: Extremes,
    /// The same for each [`BLOCK`] postings; the last may still be growing.
    blocks: Vec<Extremes>,
    removed: u32,
}

/// The largest weight and the shortest document of some postings: together they
/// bound what the term is worth in any of them, whatever the parameters are.
#[derive(Debug, Clone, Copy)]
struct Extremes {
    largest: u16,
    shortest: f32,
}

/// Postings that share a bound.
const BLOCK: usize = 128;

/// Documents that are scored together.
const WINDOW: usize = 2048;

/// Bounds are raised by this, so that no order of addition puts a document above
/// its own.
const BOUND_SLACK: f32 = 1.0 + 1e-5;

/// Weights are kept in eighths: neighbours count halves and quarters.
const WEIGHT_STEPS: f32 = 8.0;

impl Default for Extremes {
    fn default() -> Self {
        Self {
            largest: 0,
            shortest: f32::INFINITY,
        }
    }
}

impl Extremes {
    fn merge(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            shortest: self.shortest.min(other.shortest),
        }
    }
}

impl Postings {
    fn push(&mut self, doc: DocNo, weight: u16, length: f32) {
        let own = Extremes {
            largest: weight,
            shortest: length,
        };
        self.all = self.all.merge(own);
        // Most terms are in few documents, and one bound is enough for them.
        if self.docs.len() >= BLOCK {
            if self.blocks.is_empty() {
                self.blocks.push(self.all);
            }
            if self.docs.len().is_multiple_of(BLOCK) {
                self.blocks.push(own);
            } else if let Some(last) = self.blocks.last_mut() {
                *last = last.merge(own);
            }
        }
        self.docs.push(doc);
        self.weights.push(weight);
    }

    /// How many documents have the term.
    fn living(&self) -> f32 {
        self.docs.len() as f32 - self.removed as f32
    }

    /// Bounds the postings in these places.
    fn extremes(&self, from: usize, to: usize) -> Extremes {
        if self.blocks.is_empty() || from >= to {
            return self.all;
        }
        let blocks = &self.blocks[from / BLOCK..=(to - 1) / BLOCK];
        blocks
            .iter()
            .fold(Extremes::default(), |sum, block| sum.merge(*block))
    }
}

impl KeywordIndex {
    /// Adds a document and returns its number.
    pub fn add(&mut self, terms: TermWeights) -> DocNo {
        let doc = self.lengths.len() as DocNo;
        for (term, weight) in terms.weights {
            let next = self.postings.len() as u32;
            let number = *self.terms.entry(term).or_insert(next);
            if number == next {
                self.postings.push(Postings::default());
            }
            let postings = &mut self.postings[number as usize];
            let weight = (weight * WEIGHT_STEPS)
                .round()
                .clamp(1.0, f32::from(u16::MAX)) as u16;
            postings.push(doc, weight, terms.length);
        }
        self.lengths.push(terms.length);
        self.removed.push(false);
        self.live += 1;
        self.live_length += f64::from(terms.length);
        doc
    }

    /// Takes a document out of every answer. `terms` are those it was added
    /// with, so that how rare a term is stays right.
    pub fn remove(&mut self, doc: DocNo, terms: &TermWeights) {
        if std::mem::replace(&mut self.removed[doc as usize], true) {
            return;
        }
        self.live -= 1;
        self.live_length -= f64::from(self.lengths[doc as usize]);
        for term in terms.weights.keys() {
            // What its neighbours lend may have changed since it was added.
            if let Some(&number) = self.terms.get(term)
                && self.postings[number as usize]
                    .docs
                    .binary_search(&doc)
                    .is_ok()
            {
                self.postings[number as usize].removed += 1;
            }
        }
    }

    /// Documents that can be found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many bytes the postings take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let postings: usize = self
            .postings
            .iter()
            .map(|list| {
                list.docs.capacity() * 4 + list.weights.capacity() * 2 + list.blocks.capacity() * 8
            })
            .sum();
        let terms: usize = self.terms.keys().map(|term| term.capacity() + 40).sum();
        postings + terms + self.lengths.capacity() * 5
    }

    /// Prepares the terms of a query for this index.
    #[must_use]
    pub fn query(&self, tokens: &[Token], parameters: Bm25) -> KeywordQuery<'_> {
        let mut seen = std::collections::HashSet::new();
        let mut lists = Vec::new();
        let mut whole = 0.0;
        for token in tokens {
            let name = term_key(token);
            let number = self.terms.get(&name).copied();
            if !seen.insert(name) {
                continue;
            }
            let importance = match token.kind {
                TermKind::Filler => parameters.filler,
                TermKind::Character => parameters.character,
                TermKind::Word | TermKind::Identifier => 1.0,
            };
            // What counts nothing finds nothing.
            if importance <= 0.0 {
                continue;
            }
            let postings = number.map(|number| &self.postings[number as usize]);
            let containing = postings.map_or(0.0, Postings::living);
            let rarity = rarity(self.live, containing);
            whole += rarity.max(0.0) * importance;
            let Some(postings) = postings else {
                continue;
            };
            lists.push(QueryTerm {
                postings,
                gain: rarity.max(0.0) * importance,
                bound: 0.0,
            });
        }
        let average = (self.live_length / self.live.max(1) as f64).max(1.0) as f32;
        let mut query = KeywordQuery {
            index: self,
            lists,
            parameters,
            average,
            whole,
        };
        let bounds: Vec<f32> = query
            .lists
            .iter()
            .map(|list| query.bound(list, list.postings.all))
            .collect();
        for (list, bound) in query.lists.iter_mut().zip(bounds) {
            list.bound = bound;
        }
        query.lists.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        query
    }

    /// How rare a term is among at least so many documents; one that no document has
    /// is as rare as one of a single document.
    pub(crate) fn rarity(&self, term: &str, documents: usize) -> f32 {
        let number = self.terms.get(term);
        let living = number.map_or(0.0, |&number| self.postings[number as usize].living());
        rarity(self.live.max(documents), living.max(1.0))
    }

    /// How rare a term is that one in √n of at least so many documents has.
    pub(crate) fn rarity_of_one_in_root(&self, documents: usize) -> f32 {
        let documents = self.live.max(documents);
        rarity(documents, (documents as f32).sqrt())
    }

    /// The documents that contain this identifier as it is written.
    pub fn with_identifier(&self, identifier: &str) -> impl Iterator<Item = DocNo> {
        let number = self.terms.get(&format!("={identifier}"));
        let docs = number.map_or(&[][..], |&number| &self.postings[number as usize].docs[..]);
        docs.iter()
            .copied()
            .filter(|&doc| !self.removed[doc as usize])
    }
}

fn rarity(documents: usize, containing: f32) -> f32 {
    (1.0 + (documents as f32 - containing + 0.5) / (containing + 0.5)).ln()
}

/// A query against one index.
#[derive(Debug)]
pub struct KeywordQuery<'i> {
    index: &'i KeywordIndex,
    /// The least valuable first.
    lists: Vec<QueryTerm<'i>>,
    parameters: Bm25,
    average: f32,
    /// What all terms are worth, those included that no document has.
    whole: f32,
}

#[derive(Debug)]
struct QueryTerm<'i> {
    postings: &'i Postings,
    gain: f32,
    /// No document gets more from this term.
    bound: f32,
}

impl KeywordQuery<'_> {
    /// The best documents, the best first; of equal ones the older first.
    ///
    /// Documents are scored in windows. Lists whose terms together cannot lift a
    /// document of the window into the best are only looked into for documents
    /// the other lists bring up, and a window none of whose documents can be among
    /// the best is passed over.
    #[must_use]
    pub fn best(&self, limit: usize, admits: DocFilter<'_>) -> Vec<Scored> {
        let count = self.lists.len();
        if limit == 0 || count == 0 {
            return Vec::new();
        }
        let mut walk = WindowWalk::new(self, limit);
        // Of the lists before this one all together are worth too little anywhere.
        let mut essential = 0;
        loop {
            while essential < count && walk.is_below_threshold(walk.everywhere[essential]) {
                essential += 1;
            }
            let next = (essential..count)
                .filter_map(|i| self.lists[i].postings.docs.get(walk.cursors[i]).copied())
                .min();
            let Some(first) = next else { break };
            walk.score_window(first, essential, admits);
        }
        let mut best: Vec<Scored> = walk.best.into_iter().map(|worst| worst.0).collect();
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        best
    }

    /// The score of one document, whether it is among the best or not.
    #[must_use]
    pub fn score(&self, doc: DocNo) -> f32 {
        let of_list = |list: &QueryTerm<'_>| {
            let at = list.postings.docs.binary_search(&doc).ok()?;
            Some(self.gain(list, at, doc))
        };
        // In the order in which a walk adds, so that both give the same number.
        self.lists.iter().rev().filter_map(of_list).sum()
    }

    /// How much of the query a document of this score has, 0 to 1.
    #[must_use]
    pub fn coverage(&self, score: f32) -> f32 {
        (score / self.whole.max(1e-9)).clamp(0.0, 1.0)
    }

    fn gain(&self, list: &QueryTerm<'_>, at: usize, doc: DocNo) -> f32 {
        let length = self.index.lengths[doc as usize];
        self.scorer(list).score(list.postings.weights[at], length)
    }

    fn bound(&self, list: &QueryTerm<'_>, extremes: Extremes) -> f32 {
        self.scorer(list).score(extremes.largest, extremes.shortest) * BOUND_SLACK
    }

    fn scorer(&self, list: &QueryTerm<'_>) -> TermScorer {
        TermScorer {
            gain: list.gain,
            k1: self.parameters.k1,
            b: self.parameters.b,
            average: self.average,
        }
    }
}

/// What a term is worth in a document. It borrows nothing, so that a loop over many
/// documents reads these numbers once.
#[derive(Clone, Copy)]
struct TermScorer {
    gain: f32,
    k1: f32,
    b: f32,
    average: f32,
}

impl TermScorer {
    fn score(self, weight: u16, length: f32) -> f32 {
        let Self { gain, k1, b, .. } = self;
        let weight = f32::from(weight) / WEIGHT_STEPS;
        let length = length / self.average;
        gain * weight * (k1 + 1.0) / (weight + k1 * (1.0 - b + b * length))
    }
}

/// A walk through the lists of a query in the order of the documents.
struct WindowWalk<'q, 'i> {
    query: &'q KeywordQuery<'i>,
    limit: usize,
    cursors: Vec<usize>,
    /// What each list and those before it are worth at most, in all documents and
    /// in those of the window.
    everywhere: Vec<f32>,
    here: Vec<f32>,
    scores: Box<[f32; WINDOW]>,
    /// A bit for each document of the window that has a score.
    touched: [u64; WINDOW / 64],
    best: BinaryHeap<WorstFirst>,
    /// The worst of the best, once there are as many as are wanted.
    threshold: Option<f32>,
}

impl<'q, 'i> WindowWalk<'q, 'i> {
    fn new(query: &'q KeywordQuery<'i>, limit: usize) -> Self {
        let mut sum = 0.0;
        let everywhere = query.lists.iter().map(|list| {
            sum += list.bound;
            sum
        });
        Self {
            query,
            limit,
            cursors: vec![0; query.lists.len()],
            everywhere: everywhere.collect(),
            here: vec![0.0; query.lists.len()],
            scores: Box::new([0.0; WINDOW]),
            touched: [0; WINDOW / 64],
            best: BinaryHeap::with_capacity(limit + 1),
            threshold: None,
        }
    }

    /// A document that is worth no more than this is not among the best.
    fn is_below_threshold(&self, worth: f32) -> bool {
        self.threshold.is_some_and(|threshold| worth <= threshold)
    }

    /// Scores the documents from `first` on. Cursors of the lists from `essential`
    /// on are behind the window afterwards.
    fn score_window(&mut self, first: DocNo, essential: usize, admits: DocFilter<'_>) {
        let query = self.query;
        let behind = first.saturating_add(WINDOW as DocNo);
        let mut ends = self.cursors.clone();
        let mut sum = essential.checked_sub(1).map_or(0.0, |i| self.everywhere[i]);
        self.here[..essential].copy_from_slice(&self.everywhere[..essential]);
        for (i, list) in query.lists.iter().enumerate().skip(essential) {
            let docs = &list.postings.docs;
            self.cursors[i] = seek(docs, self.cursors[i], first);
            ends[i] = seek(docs, self.cursors[i], behind);
            if self.cursors[i] < ends[i] {
                let extremes = list.postings.extremes(self.cursors[i], ends[i]);
                sum += query.bound(list, extremes);
            }
            self.here[i] = sum;
        }
        let count = query.lists.len();
        let mut summed = essential;
        while summed < count && self.is_below_threshold(self.here[summed]) {
            summed += 1;
        }
        if summed < count {
            // From the last list to the first: every document is added up in the
            // same order, whatever its window leaves out.
            for i in (summed..count).rev() {
                self.add_up(&query.lists[i], self.cursors[i]..ends[i], first);
            }
            self.choose(first, summed, admits);
        }
        self.cursors[essential..].copy_from_slice(&ends[essential..]);
    }

    /// Adds what these postings are worth to the documents of the window.
    fn add_up(&mut self, list: &QueryTerm<'_>, range: Range<usize>, first: DocNo) {
        let scorer = self.query.scorer(list);
        let lengths = self.query.index.lengths.as_slice();
        let docs = &list.postings.docs[range.clone()];
        let weights = &list.postings.weights[range];
        for (&doc, &weight) in docs.iter().zip(weights) {
            let slot = (doc - first) as usize % WINDOW;
            self.scores[slot] += scorer.score(weight, lengths[doc as usize]);
            self.touched[slot / 64] |= 1 << (slot % 64);
        }
    }

    /// Takes what is good enough of the window, and clears it.
    fn choose(&mut self, first: DocNo, summed: usize, admits: DocFilter<'_>) {
        let lent = summed.checked_sub(1).map_or(0.0, |i| self.here[i]);
        for word in 0..self.touched.len() {
            let mut left = std::mem::take(&mut self.touched[word]);
            while left != 0 {
                let slot = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let score = std::mem::take(&mut self.scores[slot]);
                let doc = first + slot as DocNo;
                if !self.is_below_threshold(score + lent) {
                    self.offer(doc, score, summed, admits);
                }
            }
        }
    }

    /// Adds what the lists before `summed` are worth in a document, and keeps it
    /// if it is good enough.
    fn offer(&mut self, doc: DocNo, mut score: f32, summed: usize, admits: DocFilter<'_>) {
        let query = self.query;
        for i in (0..summed).rev() {
            if self.is_below_threshold(score + self.here[i]) {
                return;
            }
            let list = &query.lists[i];
            self.cursors[i] = seek(&list.postings.docs, self.cursors[i], doc);
            if list.postings.docs.get(self.cursors[i]) == Some(&doc) {
                score += query.gain(list, self.cursors[i], doc);
            }
        }
        // Asked last, because the answer is seldom in the cache.
        if self.is_below_threshold(score) || query.index.removed[doc as usize] || !admits(doc) {
            return;
        }
        self.best.push(WorstFirst(Scored { doc, score }));
        if self.best.len() > self.limit {
            self.best.pop();
        }
        if self.best.len() == self.limit {
            self.threshold = self.best.peek().map(|worst| worst.0.score);
        }
    }
}

/// The first place at or after `from` whose document is not before `doc`.
fn seek(docs: &[DocNo], from: usize, doc: DocNo) -> usize {
    let mut step = 1;
    let mut low = from;
    while low + step < docs.len() && docs[low + step] < doc {
        low += step;
        step *= 2;
    }
    let high = (low + step + 1).min(docs.len());
    low + docs[low.min(docs.len())..high].partition_point(|&other| other < doc)
}

/// Identifiers have names of their own, so that `db` the word and `db` the
/// identifier count apart.
pub(crate) fn term_key(token: &Token) -> String {
    match token.kind {
        TermKind::Identifier => format!("={}", token.term),
        TermKind::Word | TermKind::Character | TermKind::Filler => token.term.clone(),
    }
}

/// Ordered so that a heap gives the worst first.
#[derive(Debug, PartialEq)]
struct WorstFirst(Scored);

impl Eq for WorstFirst {}

impl PartialOrd for WorstFirst {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WorstFirst {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_score = other.0.score.total_cmp(&self.0.score);
        by_score.then(self.0.doc.cmp(&other.0.doc))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::tokens;

    const PARAMETERS: Bm25 = Bm25 {
        k1: 1.2,
        b: 0.75,
        filler: 0.3,
        character: 0.5,
    };

    fn terms(text: &str) -> TermWeights {
        let mut weights = TermWeights::default();
        weights.add(&tokens(text), 1.0);
        weights
    }

    fn index(texts: &[&str]) -> KeywordIndex {
        let mut index = KeywordIndex::default();
        for text in texts {
            index.add(terms(text));
        }
        index
    }

    fn found(index: &KeywordIndex, query: &str) -> Vec<DocNo> {
        let query = index.query(&tokens(query), PARAMETERS).best(10, &|_| true);
        query.into_iter().map(|hit| hit.doc).collect()
    }

    #[test]
    fn the_rarer_word_decides() {
        let index = index(&["the deploy failed", "the deploy went well", "the weather"]);
        assert_eq!(found(&index, "did the deployment fail"), [0, 1, 2]);
    }

    #[test]
    fn what_is_removed_is_not_found_and_does_not_count() {
        let mut index = index(&["red apple", "red pear"]);
        index.remove(0, &terms("red apple"));
        assert_eq!(found(&index, "red apple"), [1]);
        assert_eq!(index.len(), 1);
    }

    proptest! {
        /// Leaving lists out of the walk must not change the answer.
        #[test]
        fn the_best_are_those_of_scoring_everything(
            texts in prop::collection::vec(prop::collection::vec(0_u8..12, 1..9), 1..60),
            query in prop::collection::vec(0_u8..12, 1..6),
            limit in 1_usize..8,
        ) {
            let word = |n: &u8| if *n == 0 { "the".to_owned() } else { format!("w{}", "x".repeat(*n as usize)) };
            let text = |words: &Vec<u8>| words.iter().map(word).collect::<Vec<_>>().join(" ");
            let mut index = KeywordIndex::default();
            for words in &texts {
                index.add(terms(&text(words)));
            }
            let query = index.query(&tokens(&text(&query)), PARAMETERS).best(limit, &|_| true);
            let prepared = index.query(&tokens(&text(&texts[0])), PARAMETERS);
            for hit in prepared.best(limit, &|_| true) {
                prop_assert!((prepared.score(hit.doc) - hit.score).abs() < 1e-4);
            }
            prop_assert!(query.len() <= limit);
            let mut all: Vec<f32> = (0..texts.len() as u32).map(|doc| prepared.score(doc)).filter(|s| *s > 0.0).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            all.truncate(limit);
            let best: Vec<f32> = prepared.best(limit, &|_| true).iter().map(|hit| hit.score).collect();
            prop_assert_eq!(best.len(), all.len());
            for (a, b) in best.iter().zip(&all) {
                prop_assert!((a - b).abs() < 1e-4);
            }
        }
    }
}
