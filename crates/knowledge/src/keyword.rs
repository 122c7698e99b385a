//! The keyword path: an inverted index in memory, scored by BM25.
//!
//! An entry that is a turn of a conversation is indexed with the terms of the
//! turns around it at a lower weight, so a turn that answers "yes, on Friday"
//! is found by what was asked before it. A document is never changed: it is
//! removed and added again under a new number, so postings stay in order.

use std::collections::{BinaryHeap, HashMap};

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
            *self.weights.entry(key(token)).or_default() += weight;
            if token.kind != TermKind::Identifier {
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
pub type Admits<'a> = &'a dyn Fn(DocNo) -> bool;

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
    largest: u16,
    removed: u32,
}

/// Weights are kept in eighths: neighbours count halves and quarters.
const STEP: f32 = 8.0;

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
            let weight = (weight * STEP).round().clamp(1.0, f32::from(u16::MAX)) as u16;
            postings.docs.push(doc);
            postings.weights.push(weight);
            postings.largest = postings.largest.max(weight);
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

    #[must_use]
    pub fn is_removed(&self, doc: DocNo) -> bool {
        self.removed.get(doc as usize).copied().unwrap_or(true)
    }

    /// How many bytes the postings take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let postings: usize = self
            .postings
            .iter()
            .map(|list| list.docs.capacity() * 4 + list.weights.capacity() * 2)
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
            let name = key(token);
            let number = self.terms.get(&name).copied();
            if !seen.insert(name) {
                continue;
            }
            let importance = match token.kind {
                TermKind::Filler => parameters.filler,
                TermKind::Word | TermKind::Identifier => 1.0,
            };
            let postings = number.map(|number| &self.postings[number as usize]);
            let containing = postings.map_or(0.0, |postings| {
                postings.docs.len() as f32 - postings.removed as f32
            });
            let rarity = (1.0 + (self.live as f32 - containing + 0.5) / (containing + 0.5)).ln();
            whole += rarity.max(0.0) * importance;
            let Some(postings) = postings else {
                continue;
            };
            let largest = f32::from(postings.largest) / STEP;
            let bound =
                largest * (parameters.k1 + 1.0) / (largest + parameters.k1 * (1.0 - parameters.b));
            let gain = rarity.max(0.0) * importance;
            lists.push(QueryTerm {
                postings,
                gain,
                bound: gain * bound,
            });
        }
        lists.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        let average = (self.live_length / self.live.max(1) as f64).max(1.0) as f32;
        KeywordQuery {
            index: self,
            lists,
            parameters,
            average,
            whole,
        }
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
    /// Lists whose terms together cannot lift a document into the best are
    /// only looked into for documents the other lists bring up.
    #[must_use]
    pub fn best(&self, limit: usize, admits: Admits<'_>) -> Vec<Scored> {
        if limit == 0 || self.lists.is_empty() {
            return Vec::new();
        }
        let mut reach = Vec::with_capacity(self.lists.len());
        let mut sum = 0.0;
        for list in &self.lists {
            sum += list.bound;
            reach.push(sum);
        }
        let mut cursors = vec![0_usize; self.lists.len()];
        let mut best: BinaryHeap<Worst> = BinaryHeap::with_capacity(limit + 1);
        let mut threshold = 0.0_f32;
        let mut essential = 0;
        loop {
            while essential < self.lists.len()
                && best.len() == limit
                && reach[essential] <= threshold
            {
                essential += 1;
            }
            if essential == self.lists.len() {
                break;
            }
            let next = (essential..self.lists.len())
                .filter_map(|i| self.lists[i].postings.docs.get(cursors[i]).copied())
                .min();
            let Some(doc) = next else { break };
            let mut score = 0.0;
            for (list, cursor) in self.lists.iter().zip(&mut cursors).skip(essential) {
                if list.postings.docs.get(*cursor) == Some(&doc) {
                    score += self.gain(list, *cursor, doc);
                    *cursor += 1;
                }
            }
            if self.index.removed[doc as usize] {
                continue;
            }
            let mut hopeless = false;
            for i in (0..essential).rev() {
                if best.len() == limit && score + reach[i] <= threshold {
                    hopeless = true;
                    break;
                }
                let docs = &self.lists[i].postings.docs;
                cursors[i] = seek(docs, cursors[i], doc);
                if docs.get(cursors[i]) == Some(&doc) {
                    score += self.gain(&self.lists[i], cursors[i], doc);
                }
            }
            if hopeless || (best.len() == limit && score <= threshold) || !admits(doc) {
                continue;
            }
            best.push(Worst(Scored { doc, score }));
            if best.len() > limit {
                best.pop();
            }
            if best.len() == limit {
                threshold = best.peek().map_or(0.0, |worst| worst.0.score);
            }
        }
        let mut best: Vec<Scored> = best.into_iter().map(|worst| worst.0).collect();
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
        self.lists.iter().filter_map(of_list).sum()
    }

    /// How much of the query a document of this score has, 0 to 1.
    #[must_use]
    pub fn coverage(&self, score: f32) -> f32 {
        (score / self.whole.max(1e-9)).clamp(0.0, 1.0)
    }

    fn gain(&self, list: &QueryTerm<'_>, at: usize, doc: DocNo) -> f32 {
        let Bm25 { k1, b, .. } = self.parameters;
        let weight = f32::from(list.postings.weights[at]) / STEP;
        let length = self.index.lengths[doc as usize] / self.average;
        list.gain * weight * (k1 + 1.0) / (weight + k1 * (1.0 - b + b * length))
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
fn key(token: &Token) -> String {
    match token.kind {
        TermKind::Identifier => format!("={}", token.term),
        TermKind::Word | TermKind::Filler => token.term.clone(),
    }
}

/// Ordered so that a heap gives the worst first.
#[derive(Debug, PartialEq)]
struct Worst(Scored);

impl Eq for Worst {}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Worst {
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
