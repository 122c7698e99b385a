//! Which words stand in which nodes, and how much each says about its node.
//!
//! BM25 over several fields: the weight of a word in a node is the sum over the
//! fields it stands in, each with its own importance and usual length. The index
//! knows nodes by number alone; those that are gone stay in it until
//! [`TextIndex::purge`], and whoever asks passes over them.

use std::collections::HashMap;

use crate::words::words;

/// Where in a node a text stands. The usual length is a round figure for code,
/// fixed so that adding a file changes no other weight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    importance: f32,
    usual_words: f32,
    /// How much a longer text counts less.
    slope: f32,
}

pub(crate) const NAME: Field = field(4.0, 3.0, 0.5);
pub(crate) const CONTAINER: Field = field(1.2, 2.0, 0.5);
pub(crate) const PATH: Field = field(1.0, 6.0, 0.5);
pub(crate) const SIGNATURE: Field = field(1.0, 12.0, 0.6);
pub(crate) const DOC: Field = field(1.8, 20.0, 0.6);
pub(crate) const BODY: Field = field(0.7, 30.0, 0.5);

const fn field(importance: f32, usual_words: f32, slope: f32) -> Field {
    Field {
        importance,
        usual_words,
        slope,
    }
}

/// How soon more of the same word says nothing new.
const SATURATION: f32 = 1.6;

#[derive(Debug, Default)]
pub(crate) struct TextIndex {
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Vec<Posting>>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    node: u32,
    weight: f32,
}

/// What a search for words came to, by the number of the node.
#[derive(Debug)]
pub(crate) struct Scores {
    /// Zero where no word was found.
    pub(crate) score: Vec<f32>,
    /// The share of the query that was found, by how rare its words are.
    pub(crate) covered: Vec<f32>,
}

impl TextIndex {
    pub(crate) fn add(&mut self, node: u32, texts: &[(Field, &str)]) {
        let mut weights: HashMap<u32, f32> = HashMap::new();
        for (field, text) in texts {
            let mut counts: HashMap<u32, f32> = HashMap::new();
            let mut length = 0.0;
            words(text, |word| {
                let term = self.term(word);
                *counts.entry(term).or_default() += 1.0;
                length += 1.0;
            });
            let norm = 1.0 - field.slope + field.slope * length / field.usual_words;
            for (term, count) in counts {
                *weights.entry(term).or_default() += field.importance * count / norm;
            }
        }
        for (term, weight) in weights {
            self.postings[term as usize].push(Posting { node, weight });
        }
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.terms.get(word) {
            return *term;
        }
        let term = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        self.terms.insert(word.into(), term);
        self.postings.push(Vec::new());
        term
    }

    /// Scores all nodes for these words. `nodes` is how many numbers there are,
    /// `living` how many of them stand for something.
    pub(crate) fn score(&self, query: &[String], nodes: usize, living: usize) -> Scores {
        let mut scores = Scores {
            score: vec![0.0; nodes],
            covered: vec![0.0; nodes],
        };
        let rarity = |found: usize| {
            let (all, found) = (living as f32, (found as f32).min(living as f32));
            ((all - found + 0.5) / (found + 0.5)).ln_1p()
        };
        let mut whole = 0.0;
        for word in query {
            let postings = self
                .terms
                .get(word.as_str())
                .map(|term| &self.postings[*term as usize]);
            let rarity = rarity(postings.map_or(0, Vec::len));
            whole += rarity;
            for posting in postings.into_iter().flatten() {
                let node = posting.node as usize;
                let gain = posting.weight * (SATURATION + 1.0) / (posting.weight + SATURATION);
                scores.score[node] += rarity * gain;
                scores.covered[node] += rarity;
            }
        }
        if whole > 0.0 {
            scores.covered.iter_mut().for_each(|share| *share /= whole);
        }
        scores
    }

    /// Forgets the nodes of which `is_gone` says so; their numbers are free then.
    pub(crate) fn purge(&mut self, is_gone: impl Fn(u32) -> bool) {
        for postings in &mut self.postings {
            postings.retain(|posting| !is_gone(posting.node));
            postings.shrink_to_fit();
        }
    }
}
