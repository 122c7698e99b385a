//! The six stages of a search: recall on two paths, fusion, decay, drop-off,
//! diversity, page. Each stage leaves its number on the hit, so that any
//! order can be explained; any stage can be left out, so that what it brings
//! can be measured.

use std::collections::HashMap;

use missiond_core::{EntryCategory, Timestamp};
use serde::Serialize;

use crate::corpus::Corpus;
use crate::embedder::Reads;
use crate::fusion::{Candidate, fuse};
use crate::keyword::{DocNo, KeywordQuery, Scored};
use crate::profile::{LARGEST_PAGE, Profile};
use crate::simd::dot;
use crate::snippet::{Snippet, snippet};
use crate::tokens::{ExactParts, exact_parts, plain, tokens};
use crate::vectors::normalised;

/// Which paths a search takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paths {
    #[default]
    Both,
    Keyword,
    Vector,
}

/// How hits are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The most relevant.
    #[default]
    Relevance,
    /// Relevant, and unlike each other.
    Explore,
}

/// What is asked of a corpus.
#[derive(Debug)]
pub struct Request<'r> {
    pub query: &'r str,
    /// The query's vector, when a model is there.
    pub vector: Option<&'r [f32]>,
    pub model_reads: Reads,
    pub profile: &'r Profile,
    pub paths: Paths,
    pub mode: Mode,
    pub now: Timestamp,
    /// Only this project's documents and those of all projects.
    pub scope: Option<&'r str>,
    /// Only these categories; empty means all.
    pub categories: &'r [EntryCategory],
    pub limit: usize,
    pub offset: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    /// More would come on the next page.
    pub more: bool,
    pub vectors_used: bool,
    pub counts: StageCounts,
}

/// How many documents passed the stages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageCounts {
    /// Candidates of the keyword path.
    pub by_words: usize,
    /// Candidates of the vector path.
    pub by_meaning: usize,
    /// Candidates that only an identifier or a phrase brought up.
    pub by_letter: usize,
    /// What the drop-off took away.
    pub dropped: usize,
}

/// One document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: String,
    pub snippet: Snippet,
    pub scores: Scores,
}

/// What each stage gave a hit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Scores {
    /// BM25, and the place among the keyword path's candidates, from 0.
    pub keyword: f32,
    pub keyword_rank: Option<usize>,
    /// Cosine, and the place among the vector path's candidates, from 0.
    pub vector: Option<f32>,
    pub vector_rank: Option<usize>,
    /// Both paths in one number, before the query moved towards the best
    /// documents; nothing when it did not.
    pub first_fused: Option<f32>,
    /// What the best turns of its conversation changed in that number.
    pub lent: f32,
    /// Both paths in one number, all told.
    pub fused: f32,
    /// What age leaves of it.
    pub freshness: f32,
    /// Which share of the query's identifiers and phrases it has to the letter.
    pub exact: f32,
    /// What hits are ordered by.
    pub relevance: f32,
    /// In explore mode: how alike the most alike hit before it is.
    pub likeness: Option<f32>,
}

/// The longest query that is read; the rest is left out.
pub const LONGEST_QUERY: usize = 8 * 1024;

/// An identifier that more documents than this have says nothing exact.
const COMMON_IDENTIFIER: usize = 20;

impl Corpus {
    /// Finds what answers a request.
    #[must_use]
    pub fn search(&self, request: &Request<'_>) -> SearchResult {
        let text = beginning(request.query, LONGEST_QUERY);
        let query_tokens = tokens(text);
        let query = self.keyword.query(&query_tokens, request.profile.bm25);
        let wanted = request.offset + request.limit.min(LARGEST_PAGE);
        // What is gone is in neither index, so mostly there is nothing to ask.
        let all = request.scope.is_none() && request.categories.is_empty();
        let admits = |doc: DocNo| all || self.admits(doc, request);

        let vector = request
            .vector
            .filter(|_| request.paths != Paths::Keyword)
            .and_then(normalised);
        let mut candidates = self.recall(request, &query, vector.as_deref(), wanted, &admits);
        let mut counts = StageCounts {
            by_words: count(&candidates, |scores| scores.keyword_rank.is_some()),
            by_meaning: count(&candidates, |scores| scores.vector_rank.is_some()),
            ..StageCounts::default()
        };
        let exact = exact_parts(text);
        if request.profile.exact_first && request.paths != Paths::Vector {
            let known = candidates.len();
            self.recall_exact(&exact, &query, vector.as_deref(), &admits, &mut candidates);
            counts.by_letter = candidates.len() - known;
        }
        let mean = match (&self.vectors, &vector) {
            (Some(vectors), Some(vector)) => vectors.mean_similarity(vector),
            _ => 0.0,
        };
        let trust = request.model_reads.share_of(text);
        let fuse_all = |candidates: &mut [Candidate], mean: f32| {
            let coverage = |score| query.coverage(score);
            fuse(
                candidates,
                request.profile,
                request.paths,
                mean,
                trust,
                &coverage,
            );
            self.lend_within_conversations(candidates, request.profile);
        };
        fuse_all(&mut candidates, mean);
        if trust > 0.5
            && let Some(moved) =
                self.relevance_feedback(vector.as_deref(), &candidates, request.profile)
        {
            for candidate in &mut candidates {
                candidate.scores.first_fused = Some(candidate.scores.fused);
                candidate.scores.vector = self.similarity(candidate.doc, Some(&moved));
            }
            let mean = self.vectors.as_ref();
            fuse_all(
                &mut candidates,
                mean.map_or(0.0, |vectors| vectors.mean_similarity(&moved)),
            );
        }
        self.decay(&mut candidates, request);
        let mut ranked = self.rank(candidates);
        let before = ranked.len();
        drop_off(&mut ranked, request.profile.drop_off);
        counts.dropped = before - ranked.len();
        if request.mode == Mode::Explore {
            ranked = self.diversify(ranked, request.profile.relevance, wanted);
        }
        let more = ranked.len() > wanted;
        let page = ranked
            .into_iter()
            .skip(request.offset)
            .take(wanted - request.offset);
        let hits = page
            .filter_map(|candidate| {
                let document = self.document(candidate.doc)?;
                Some(Hit {
                    id: document.id.clone(),
                    snippet: snippet(
                        &document.text,
                        &query_tokens,
                        request.profile.snippet_tokens,
                    ),
                    scores: candidate.scores,
                })
            })
            .collect();
        SearchResult {
            hits,
            more,
            vectors_used: vector.is_some() && self.vectors.as_ref().is_some_and(|v| !v.is_empty()),
            counts,
        }
    }

    /// Stage 1: candidates of both paths. What one path brought up gets the
    /// score of the other too: a document is not worse for being 101st.
    fn recall(
        &self,
        request: &Request<'_>,
        query: &KeywordQuery<'_>,
        vector: Option<&[f32]>,
        wanted: usize,
        admits: &dyn Fn(DocNo) -> bool,
    ) -> Vec<Candidate> {
        let profile = request.profile;
        let by_keyword = match request.paths {
            Paths::Vector => Vec::new(),
            Paths::Both | Paths::Keyword => {
                query.best(profile.keyword_candidates.max(wanted + 1), admits)
            }
        };
        let by_vector = match (&self.vectors, vector) {
            (Some(vectors), Some(vector)) => {
                let count = (wanted * profile.vector_per_hit).max(profile.vector_candidates);
                let mut near = vectors.nearest(vector, count, admits);
                near.retain(|hit| hit.score >= profile.similarity_floor);
                near
            }
            _ => Vec::new(),
        };
        let mut positions: HashMap<DocNo, usize> = HashMap::new();
        let mut candidates: Vec<Candidate> = Vec::with_capacity(by_keyword.len() + by_vector.len());
        for (rank, Scored { doc, score }) in by_keyword.into_iter().enumerate() {
            positions.insert(doc, candidates.len());
            candidates.push(self.candidate(doc));
            let scores = &mut candidates[rank].scores;
            scores.keyword = score;
            scores.keyword_rank = Some(rank);
            scores.vector = self.similarity(doc, vector);
        }
        for (rank, Scored { doc, score }) in by_vector.into_iter().enumerate() {
            let at = *positions.entry(doc).or_insert_with(|| {
                candidates.push(self.candidate(doc));
                candidates.len() - 1
            });
            let scores = &mut candidates[at].scores;
            scores.vector = Some(score);
            scores.vector_rank = Some(rank);
            if scores.keyword_rank.is_none() && request.paths == Paths::Both {
                scores.keyword = query.score(doc);
            }
        }
        candidates
    }

    /// Documents that have an identifier or a quoted phrase of the query to the
    /// letter are candidates whatever their scores are.
    fn recall_exact(
        &self,
        exact: &ExactParts,
        query: &KeywordQuery<'_>,
        vector: Option<&[f32]>,
        admits: &dyn Fn(DocNo) -> bool,
        candidates: &mut Vec<Candidate>,
    ) {
        let parts = exact.identifiers.len() + exact.phrases.len();
        if parts == 0 {
            return;
        }
        let mut found: HashMap<DocNo, usize> = HashMap::new();
        for identifier in &exact.identifiers {
            // A turn has the identifiers of its neighbours too, so more
            // documents are looked at than may have it themselves.
            let most = COMMON_IDENTIFIER * 5;
            let mut docs: Vec<DocNo> = self
                .keyword
                .with_identifier(identifier)
                .filter(|&doc| admits(doc))
                .take(most + 1)
                .collect();
            if docs.len() <= most {
                docs.retain(|&doc| self.has_own(doc, identifier));
                if docs.len() <= common_limit(identifier) {
                    docs.into_iter()
                        .for_each(|doc| *found.entry(doc).or_default() += 1);
                }
            }
        }
        for phrase in &exact.phrases {
            let words = self
                .keyword
                .query(&tokens(phrase), crate::profile::Profile::best().bm25);
            let near = words.best(200, admits);
            for Scored { doc, .. } in near {
                if self.has_own(doc, phrase) {
                    *found.entry(doc).or_default() += 1;
                }
            }
        }
        for (doc, count) in found {
            let share = count as f32 / parts as f32;
            if let Some(known) = candidates.iter_mut().find(|candidate| candidate.doc == doc) {
                known.scores.exact = share;
            } else {
                let mut candidate = self.candidate(doc);
                candidate.scores.exact = share;
                candidate.scores.keyword = query.score(doc);
                candidate.scores.vector = self.similarity(doc, vector);
                candidates.push(candidate);
            }
        }
    }

    fn candidate(&self, doc: DocNo) -> Candidate {
        let turn = self.has_context() && self.document(doc).is_some_and(|d| d.position.is_some());
        Candidate::new(doc, turn)
    }

    /// What neighbours lend is not the document's own word.
    fn has_own(&self, doc: DocNo, wanted: &str) -> bool {
        self.document(doc)
            .is_some_and(|document| plain(&document.text).contains(wanted))
    }

    fn similarity(&self, doc: DocNo, vector: Option<&[f32]>) -> Option<f32> {
        self.vectors.as_ref()?.similarity(doc, vector?)
    }

    fn admits(&self, doc: DocNo, request: &Request<'_>) -> bool {
        let Some(document) = self.document(doc) else {
            return false;
        };
        let in_scope = match (request.scope, &document.scope) {
            (Some(wanted), Some(scope)) => wanted == scope,
            _ => true,
        };
        in_scope
            && (request.categories.is_empty() || request.categories.contains(&document.category))
    }

    /// The best turns of a conversation lift its other turns a little.
    fn lend_within_conversations(&self, candidates: &mut [Candidate], profile: &Profile) {
        let Some(share) = profile.context.map(|context| context.conversation) else {
            return;
        };
        if !candidates.iter().any(|candidate| candidate.turn) {
            return;
        }
        let mut best: HashMap<&str, Vec<f32>> = HashMap::new();
        let conversation = |doc: DocNo| {
            let position = self.document(doc)?.position.as_ref()?;
            Some(position.conversation.as_str())
        };
        for candidate in candidates.iter() {
            if let Some(name) = conversation(candidate.doc) {
                best.entry(name).or_default().push(candidate.scores.fused);
            }
        }
        for scores in best.values_mut() {
            scores.sort_by(|a, b| b.total_cmp(a));
            scores.truncate(3);
        }
        for candidate in candidates {
            if let Some(scores) = conversation(candidate.doc).and_then(|name| best.get(name)) {
                let own = candidate.scores.fused;
                let lent = scores.iter().sum::<f32>() / 3.0;
                candidate.scores.fused = (own + share * lent) / (1.0 + share);
                candidate.scores.lent = candidate.scores.fused - own;
            }
        }
    }

    /// The query's vector, moved towards the best documents: what they share is
    /// what the query is about, said in other words. Turns are left alone; each is
    /// about something else, and their neighbours lend them words already.
    fn relevance_feedback(
        &self,
        query: Option<&[f32]>,
        candidates: &[Candidate],
        profile: &Profile,
    ) -> Option<Vec<f32>> {
        let (query, vectors) = (query?, self.vectors.as_ref()?);
        if profile.feedback <= 0.0 {
            return None;
        }
        let mut best: Vec<&Candidate> = candidates.iter().collect();
        best.sort_by(|a, b| b.scores.fused.total_cmp(&a.scores.fused));
        best.truncate(profile.feedback_hits);
        let mut sum = vec![0.0_f32; query.len()];
        let mut weight = 0.0;
        for candidate in best {
            if candidate.turn {
                return None;
            }
            let share = candidate.scores.fused;
            weight += share;
            for (sum, value) in sum.iter_mut().zip(vectors.vector(candidate.doc)?) {
                *sum += share * value;
            }
        }
        let scale = profile.feedback / weight.max(1e-9);
        let moved: Vec<f32> = sum
            .iter()
            .zip(query)
            .map(|(sum, own)| sum * scale + own)
            .collect();
        normalised(&moved)
    }

    /// Stage 3: what is old counts less, as its category ages.
    fn decay(&self, candidates: &mut [Candidate], request: &Request<'_>) {
        const DAY: f32 = 86_400.0 * 1e6;
        for candidate in candidates {
            let scores = &mut candidate.scores;
            scores.freshness = 1.0;
            if request.profile.decay
                && let Some(document) = self.document(candidate.doc)
            {
                let age = (request.now.as_micros() - document.at.as_micros()) as f32 / DAY;
                let lives = &request.profile.half_lives;
                scores.freshness = lives.freshness(document.category, age);
            }
            // To the letter beats any similarity: fused scores are at most 1.
            scores.relevance = scores.fused * scores.freshness + scores.exact;
        }
    }

    /// Of equal ones the smaller id first: numbers depend on how the index came
    /// to be, and a restart must not change an order.
    fn rank(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        candidates.retain(|candidate| candidate.scores.relevance > 0.0);
        let id = |candidate: &Candidate| self.document(candidate.doc).map(|found| &found.id);
        candidates.sort_by(|a, b| {
            let by_relevance = b.scores.relevance.total_cmp(&a.scores.relevance);
            by_relevance.then_with(|| id(a).cmp(&id(b)))
        });
        candidates
    }

    /// Stage 5: one after the other, the most relevant that is least like what
    /// was chosen before. Relevance is brought to 0..1 first, as likeness is.
    fn diversify(&self, mut rest: Vec<Candidate>, weight: f32, wanted: usize) -> Vec<Candidate> {
        let top = rest
            .first()
            .map_or(1.0, |best| best.scores.relevance.max(1e-9));
        let mut chosen: Vec<Candidate> = Vec::new();
        let mut vectors: Vec<Option<Vec<f32>>> = rest
            .iter()
            .map(|c| self.vectors.as_ref()?.vector(c.doc))
            .collect();
        let mut likeness = vec![0.0_f32; rest.len()];
        while chosen.len() <= wanted && !rest.is_empty() {
            let value = |at: usize| {
                weight * rest[at].scores.relevance / top - (1.0 - weight) * likeness[at]
            };
            let mut best = 0;
            for at in 1..rest.len() {
                if value(at) > value(best) {
                    best = at;
                }
            }
            let mut candidate = rest.remove(best);
            candidate.scores.likeness = Some(likeness.remove(best));
            if let Some(vector) = vectors.remove(best) {
                for (most, other) in likeness.iter_mut().zip(&vectors) {
                    if let Some(other) = other {
                        *most = most.max(dot(&vector, other));
                    }
                }
            }
            chosen.push(candidate);
        }
        chosen.extend(rest);
        chosen
    }
}

fn count(candidates: &[Candidate], which: impl Fn(&Scores) -> bool) -> usize {
    let passing = candidates
        .iter()
        .filter(|candidate| which(&candidate.scores));
    passing.count()
}

/// Stage 4: hits far below the best are noise, unless they are exact.
fn drop_off(ranked: &mut Vec<Candidate>, share: f32) {
    let own = |candidate: &Candidate| candidate.scores.relevance - candidate.scores.exact;
    let top = ranked.iter().map(own).fold(0.0, f32::max);
    ranked.retain(|candidate| candidate.scores.exact > 0.0 || own(candidate) >= share * top);
}

/// From how many documents on an identifier says nothing exact. A word with a
/// digit behind it is as often the name of a thing (python3) as of this thing.
fn common_limit(identifier: &str) -> usize {
    let name = identifier.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_word = name.chars().all(char::is_alphabetic);
    if is_word && name.len() + 1 == identifier.len() {
        COMMON_IDENTIFIER / 5
    } else {
        COMMON_IDENTIFIER
    }
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
