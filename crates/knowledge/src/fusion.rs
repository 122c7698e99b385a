//! Stage 2: two orders become one, by scores or by ranks.

use crate::keyword::DocNo;
use crate::profile::{Fusion, Profile};
use crate::search::{Paths, Scores};

/// A document on its way through the stages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) doc: DocNo,
    /// It is a turn of a conversation, indexed with its neighbours.
    pub(crate) turn: bool,
    pub(crate) scores: Scores,
}

impl Candidate {
    pub(crate) fn new(doc: DocNo, turn: bool) -> Self {
        Self {
            doc,
            turn,
            scores: Scores::default(),
        }
    }
}

/// What meaning still counts when the model cannot read the query: names and
/// numbers in it are read all the same.
const UNREAD: f32 = 0.2;

/// Gives every candidate its fused score, 0 to 1 when scores are combined.
///
/// Keyword scores are divided by the best. Similarities are measured from the
/// mean over all documents to the best: models put everything between 0.7 and
/// 0.9, or between 0 and 0.6, and only what lies above the mean says anything.
///
/// `trust` is how much of the query the model can read: what an English model
/// makes of Chinese says little, and most of its share goes to the keyword path.
///
/// `coverage` is how much of the query a document of a keyword score has: when
/// even the best document has few of the words, their order says less. Turns
/// are short and seldom have many.
pub(crate) fn fuse(
    candidates: &mut [Candidate],
    profile: &Profile,
    paths: Paths,
    mean: f32,
    trust: f32,
    coverage: &dyn Fn(f32) -> f32,
) {
    let best_keyword = max_score(candidates.iter().map(|c| c.scores.keyword));
    let best_vector = max_score(candidates.iter().filter_map(|c| c.scores.vector));
    let by_keyword = |scores: &Scores| {
        if best_keyword > 0.0 {
            scores.keyword / best_keyword
        } else {
            0.0
        }
    };
    // A single document is its own mean, and found all the same.
    let spread = best_vector - mean;
    let by_vector = |scores: &Scores| match (scores.vector, spread > 1e-6) {
        (Some(similarity), true) => ((similarity - mean) / spread).max(0.0),
        (Some(_), false) => 1.0,
        (None, _) => 0.0,
    };
    // What the model cannot read is left to the words, few or many.
    let covered = 1.0 - trust * (1.0 - coverage(best_keyword).sqrt());
    let has_vectors = candidates.iter().any(|c| c.scores.vector.is_some());
    for candidate in candidates {
        let turn = candidate.turn;
        let scores = &mut candidate.scores;
        scores.fused = match (paths, profile.fusion) {
            (Paths::Keyword, _) => by_keyword(scores),
            (Paths::Vector, _) => by_vector(scores),
            (
                Paths::Both,
                Fusion::Scores {
                    keyword,
                    keyword_of_turns,
                },
            ) => {
                let keyword = if turn { keyword_of_turns } else { keyword };
                let unread = (1.0 - keyword).min(UNREAD);
                let weight = match (best_keyword > 0.0, has_vectors) {
                    (true, true) => 1.0 - (1.0 - keyword) * trust - unread * (1.0 - trust),
                    (true, false) => 1.0,
                    (false, _) => 0.0,
                };
                let covered = if turn || weight >= 1.0 { 1.0 } else { covered };
                weight * covered * by_keyword(scores) + (1.0 - weight) * by_vector(scores)
            }
            (Paths::Both, Fusion::Ranks { keyword, vector, k }) => {
                let part = |weight: f32, rank: Option<usize>| {
                    rank.map_or(0.0, |rank| weight / (k + rank as f32 + 1.0))
                };
                part(keyword, scores.keyword_rank) + part(vector, scores.vector_rank)
            }
        };
    }
}

fn max_score(scores: impl Iterator<Item = f32>) -> f32 {
    scores.fold(0.0, f32::max)
}
