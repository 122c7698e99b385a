//! The documents that can be found, with both of their indexes, all in memory.
//!
//! A document that is a turn of a conversation is indexed together with its
//! neighbours; when one of them changes, those around it are indexed again. A
//! corpus holds vectors of one model only: another model is another corpus.

use std::collections::{BTreeMap, HashMap};

use missiond_core::{EntryCategory, Timestamp};

use crate::keyword::{DocNo, KeywordIndex, TermWeights};
use crate::profile::Context;
use crate::tokens::tokens;
use crate::vectors::VectorIndex;

/// Something that can be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name, unique within the corpus.
    pub id: String,
    pub text: String,
    pub category: EntryCategory,
    /// The project it belongs to; none belongs to all.
    pub scope: Option<String>,
    /// When it was last known to be true.
    pub at: Timestamp,
    pub position: Option<TurnPosition>,
    /// The day it was said, in words, so that a question about a day finds it.
    pub spoken_day: Option<String>,
}

/// Where in a conversation a document was said.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnPosition {
    pub conversation: String,
    pub turn: i64,
}

#[derive(Debug)]
pub struct Corpus {
    context: Option<Context>,
    pub(crate) keyword: KeywordIndex,
    pub(crate) vectors: Option<VectorIndex>,
    documents: Vec<Option<Document>>,
    numbers: HashMap<String, DocNo>,
    conversations: HashMap<String, BTreeMap<i64, String>>,
    /// The vectors of turns without what their neighbours lend.
    own_vectors: HashMap<String, Vec<f32>>,
}

/// How far neighbours reach.
const CONTEXT_TURNS: usize = 2;

impl Corpus {
    /// An empty corpus. `dimension` is that of the model, `None` without one.
    #[must_use]
    pub fn new(context: Option<Context>, dimension: Option<usize>) -> Self {
        Self {
            context,
            keyword: KeywordIndex::default(),
            vectors: dimension.map(VectorIndex::new),
            documents: Vec::new(),
            numbers: HashMap::new(),
            conversations: HashMap::new(),
            own_vectors: HashMap::new(),
        }
    }

    /// A corpus of these documents, each turn indexed once.
    #[must_use]
    pub fn of(
        documents: Vec<(Document, Option<Vec<f32>>)>,
        context: Option<Context>,
        dimension: Option<usize>,
    ) -> Self {
        let mut corpus = Self::new(context, dimension);
        let mut turns = Vec::new();
        for (document, vector) in documents {
            match corpus.context.and(document.position.clone()) {
                Some(position) => {
                    let turn = corpus
                        .conversations
                        .entry(position.conversation)
                        .or_default();
                    turn.insert(position.turn, document.id.clone());
                    if let Some(vector) = vector {
                        corpus.own_vectors.insert(document.id.clone(), vector);
                    }
                    turns.push(document);
                }
                None => corpus.put(document, vector),
            }
        }
        // Numbers first: what a turn borrows is read from its neighbours.
        let mut texts: HashMap<String, String> = HashMap::with_capacity(turns.len());
        for turn in &turns {
            texts.insert(turn.id.clone(), turn.text.clone());
        }
        for turn in turns {
            let terms = corpus.terms_of(&turn, &|id| texts.get(id).map(String::as_str));
            let number = corpus.keyword.add(terms);
            corpus.add_vector_of_turn(number, &turn);
            corpus.insert(number, turn);
        }
        if let Some(vectors) = &mut corpus.vectors {
            vectors.partition();
        }
        corpus
    }

    /// Adds a document or replaces the one of the same id.
    pub fn put(&mut self, document: Document, vector: Option<Vec<f32>>) {
        self.remove(&document.id);
        let position = self.context.and(document.position.clone());
        if let Some(position) = &position {
            let turns = self
                .conversations
                .entry(position.conversation.clone())
                .or_default();
            turns.insert(position.turn, document.id.clone());
        }
        let id = document.id.clone();
        let terms = self.terms_of(&document, &|id| self.text(id));
        let number = self.keyword.add(terms);
        match (&position, vector) {
            (Some(_), Some(vector)) => {
                self.own_vectors.insert(id.clone(), vector);
                self.add_vector_of_turn(number, &document);
            }
            (None, Some(vector)) => {
                if let Some(vectors) = &mut self.vectors {
                    vectors.add(number, &vector);
                }
            }
            (_, None) => {}
        }
        self.insert(number, document);
        self.reindex_neighbours(&id);
    }

    /// Gives a document its vector, which may come later than its text.
    pub fn set_vector(&mut self, id: &str, vector: Vec<f32>) {
        let Some(&number) = self.numbers.get(id) else {
            return;
        };
        let Some(document) = self.documents[number as usize].clone() else {
            return;
        };
        if self.context.is_some() && document.position.is_some() {
            self.own_vectors.insert(id.to_owned(), vector);
            self.add_vector_of_turn(number, &document);
            for neighbour in self.neighbours(&document) {
                if let Some(&number) = self.numbers.get(&neighbour)
                    && let Some(document) = self.documents[number as usize].clone()
                {
                    self.add_vector_of_turn(number, &document);
                }
            }
        } else if let Some(vectors) = &mut self.vectors {
            vectors.add(number, &vector);
        }
    }

    pub fn remove(&mut self, id: &str) {
        let Some(number) = self.numbers.remove(id) else {
            return;
        };
        let Some(document) = self.documents[number as usize].take() else {
            return;
        };
        let terms = self.terms_of(&document, &|id| self.text(id));
        self.keyword.remove(number, &terms);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(number);
        }
        self.own_vectors.remove(id);
        let neighbours = self.neighbours(&document);
        if let Some(position) = &document.position
            && let Some(turns) = self.conversations.get_mut(&position.conversation)
        {
            turns.remove(&position.turn);
        }
        for neighbour in neighbours {
            self.reindex(&neighbour);
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.keyword.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keyword.is_empty()
    }

    /// Documents with a vector, and the dimension of the model.
    #[must_use]
    pub fn vectors(&self) -> Option<&VectorIndex> {
        self.vectors.as_ref()
    }

    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts: usize = self
            .documents
            .iter()
            .flatten()
            .map(|d| d.text.len() + d.id.len() + 120)
            .sum();
        texts + self.keyword.bytes() + self.vectors.as_ref().map_or(0, VectorIndex::bytes)
    }

    /// Arranges a large set of vectors for fast searching.
    pub fn partition(&mut self) {
        if let Some(vectors) = &mut self.vectors {
            vectors.partition();
        }
    }

    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Document> {
        self.document(*self.numbers.get(id)?)
    }

    /// Documents with their vectors; when there are more than `most`, so many of
    /// them, evenly taken from the oldest to the newest.
    #[must_use]
    pub fn sample(&self, most: usize) -> Vec<(&Document, Vec<f32>)> {
        let Some(vectors) = &self.vectors else {
            return Vec::new();
        };
        let known: Vec<DocNo> = (0..self.documents.len() as DocNo)
            .filter(|number| self.document(*number).is_some() && vectors.has(*number))
            .collect();
        let taken = known.len().min(most);
        (0..taken)
            .map(|nth| known[nth * known.len() / taken])
            .filter_map(|number| Some((self.document(number)?, vectors.vector(number)?)))
            .collect()
    }

    /// Turns are indexed with their neighbours.
    pub(crate) const fn has_context(&self) -> bool {
        self.context.is_some()
    }

    pub(crate) fn document(&self, number: DocNo) -> Option<&Document> {
        self.documents.get(number as usize)?.as_ref()
    }

    fn text(&self, id: &str) -> Option<&str> {
        self.get(id).map(|document| document.text.as_str())
    }

    fn insert(&mut self, number: DocNo, document: Document) {
        if self.documents.len() <= number as usize {
            self.documents.resize(number as usize + 1, None);
        }
        self.numbers.insert(document.id.clone(), number);
        self.documents[number as usize] = Some(document);
    }

    fn terms_of<'t>(
        &self,
        document: &Document,
        text: &dyn Fn(&str) -> Option<&'t str>,
    ) -> TermWeights {
        let mut terms = TermWeights::default();
        terms.add(&tokens(&document.text), 1.0);
        if let Some(context) = self.context {
            if let Some(day) = &document.spoken_day {
                terms.add(&tokens(day), context.said);
            }
            for (id, weight) in self.around(document, context.before, context.after) {
                if let Some(text) = text(&id) {
                    terms.add(&tokens(text), weight);
                }
            }
        }
        terms
    }

    fn add_vector_of_turn(&mut self, number: DocNo, document: &Document) {
        let (Some(context), Some(own)) = (self.context, self.own_vectors.get(&document.id)) else {
            return;
        };
        let mut vector = own.clone();
        for (id, weight) in self.around(document, context.vector_before, context.vector_after) {
            if let Some(neighbour) = self.own_vectors.get(&id) {
                for (value, lent) in vector.iter_mut().zip(neighbour) {
                    *value += weight * lent;
                }
            }
        }
        if let Some(vectors) = &mut self.vectors {
            vectors.add(number, &vector);
        }
    }

    /// The neighbours of a document with what each lends.
    fn around(
        &self,
        document: &Document,
        before: [f32; CONTEXT_TURNS],
        after: [f32; CONTEXT_TURNS],
    ) -> Vec<(String, f32)> {
        let Some(position) = &document.position else {
            return Vec::new();
        };
        let Some(turns) = self.conversations.get(&position.conversation) else {
            return Vec::new();
        };
        let earlier = turns
            .range(..position.turn)
            .rev()
            .map(|turn| turn.1.clone())
            .zip(before);
        let later = turns
            .range(position.turn + 1..)
            .map(|turn| turn.1.clone())
            .zip(after);
        earlier
            .chain(later)
            .filter(|(_, weight)| *weight > 0.0)
            .collect()
    }

    fn neighbours(&self, document: &Document) -> Vec<String> {
        if self.context.is_none() {
            return Vec::new();
        }
        let around = self.around(document, [1.0; CONTEXT_TURNS], [1.0; CONTEXT_TURNS]);
        around.into_iter().map(|(id, _)| id).collect()
    }

    fn reindex_neighbours(&mut self, id: &str) {
        let Some(document) = self.get(id) else { return };
        for neighbour in self.neighbours(document) {
            self.reindex(&neighbour);
        }
    }

    /// Gives a document whose neighbours changed a new number.
    fn reindex(&mut self, id: &str) {
        let Some(old) = self.numbers.get(id).copied() else {
            return;
        };
        let Some(document) = self.documents[old as usize].take() else {
            return;
        };
        let terms = self.terms_of(&document, &|id| self.text(id));
        self.keyword.remove(old, &terms);
        let new = self.keyword.add(terms);
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(old);
        }
        self.add_vector_of_turn(new, &document);
        self.insert(new, document);
    }
}
