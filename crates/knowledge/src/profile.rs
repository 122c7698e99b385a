//! Every number of the search, in one place. `default` is the profile that
//! measures best on public sets (`docs/how/retrieval.md`);
//! `seed` has the parameters of the document the project began with, to the
//! letter, so that the two can be compared on any set.

use missiond_core::EntryCategory;
use serde::Serialize;

use crate::keyword::Bm25;
use crate::snippet::SNIPPET_TOKENS;

/// How the two paths become one order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// A weighted mean of scores that were brought to 0..1.
    Scores {
        /// The weight of the keyword path; the vector path has the rest.
        keyword: f32,
        /// The same for turns of a conversation: a turn is short, so its own
        /// vector says little, and its neighbours lend it words.
        keyword_of_turns: f32,
    },
    /// Reciprocal ranks, weighted: `keyword/(k+rank+1) + vector/(k+rank+1)`.
    Ranks { keyword: f32, vector: f32, k: f32 },
}

/// Something for each category.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ByCategory<T>([T; EntryCategory::ALL.len()]);

impl<T: Copy> ByCategory<T> {
    #[must_use]
    pub const fn of(&self, category: EntryCategory) -> T {
        self.0[category as usize]
    }

    pub const fn set(&mut self, category: EntryCategory, value: T) {
        self.0[category as usize] = value;
    }
}

/// After how many days an entry counts half; what has none never ages.
pub type HalfLives = ByCategory<Option<f32>>;

impl HalfLives {
    const fn usual() -> Self {
        let mut lives = Self([None; EntryCategory::ALL.len()]);
        let mut at = 0;
        while at < EntryCategory::ALL.len() {
            let category = EntryCategory::ALL[at];
            lives.set(category, category.half_life_days());
            at += 1;
        }
        lives
    }

    /// What is left of an entry's weight at this age.
    #[must_use]
    pub fn freshness(&self, category: EntryCategory, age_days: f32) -> f32 {
        self.of(category).map_or(1.0, |half_life| {
            (-std::f32::consts::LN_2 / half_life * age_days.max(0.0)).exp()
        })
    }
}

const fn usual_details() -> ByCategory<usize> {
    let mut shown = ByCategory([0; EntryCategory::ALL.len()]);
    let mut at = 0;
    while at < EntryCategory::ALL.len() {
        let category = EntryCategory::ALL[at];
        shown.set(category, category.detail_shown());
        at += 1;
    }
    shown
}

/// What turns of a conversation lend each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Context {
    /// What the terms of the turns one and two before count.
    pub before: [f32; 2],
    /// What the terms of the turns one and two after count.
    pub after: [f32; 2],
    /// As `before`, for vectors.
    pub vector_before: [f32; 2],
    /// As `after`, for vectors.
    pub vector_after: [f32; 2],
    /// What the best turns of the same conversation add to each of its turns.
    pub conversation: f32,
    /// What the words of the day it was said count.
    pub said: f32,
}

/// All parameters of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    pub name: &'static str,
    pub bm25: Bm25,
    pub context: Option<Context>,
    /// The most candidates of the keyword path.
    pub keyword_candidates: usize,
    /// Candidates of the vector path for each hit wanted, and at least so many.
    pub vector_per_hit: usize,
    pub vector_candidates: usize,
    /// Cosines below this are no candidates; 0 leaves it to the fusion.
    pub similarity_floor: f32,
    pub fusion: Fusion,
    /// What the best documents of a first fusion add to the query's vector before
    /// a second one; 0 leaves it at the first.
    pub feedback: f32,
    /// How many those are.
    pub feedback_hits: usize,
    pub decay: bool,
    pub half_lives: HalfLives,
    /// Hits below this share of the best are dropped.
    pub drop_off: f32,
    /// A document that has every identifier and phrase of the query comes first.
    pub exact_first: bool,
    /// In explore mode: what relevance counts; likeness to what was chosen
    /// counts the rest.
    pub relevance: f32,
    /// Words of a snippet.
    pub snippet_tokens: usize,
    /// How many characters of the detail a hit shows.
    pub detail_shown: ByCategory<usize>,
}

/// Hits on a page when nobody says otherwise.
pub const DEFAULT_PAGE: usize = 10;

/// The largest page.
pub const LARGEST_PAGE: usize = 50;

impl Profile {
    /// The profile that measures best.
    #[must_use]
    pub const fn best() -> Self {
        Self {
            name: "default",
            bm25: Bm25 {
                k1: 1.2,
                b: 0.6,
                filler: 0.3,
                character: 0.7,
            },
            context: Some(Context {
                before: [0.6, 0.3],
                after: [0.4, 0.2],
                vector_before: [0.4, 0.15],
                vector_after: [0.2, 0.05],
                conversation: 0.3,
                said: 1.0,
            }),
            keyword_candidates: 100,
            vector_per_hit: 3,
            vector_candidates: 100,
            similarity_floor: 0.0,
            fusion: Fusion::Scores {
                keyword: 0.15,
                keyword_of_turns: 0.65,
            },
            feedback: 0.25,
            feedback_hits: 4,
            decay: true,
            half_lives: HalfLives::usual(),
            drop_off: 0.0,
            exact_first: true,
            relevance: 0.7,
            snippet_tokens: SNIPPET_TOKENS,
            detail_shown: usual_details(),
        }
    }

    /// The parameters of the source document.
    #[must_use]
    pub const fn seed() -> Self {
        Self {
            name: "seed",
            bm25: Bm25 {
                k1: 1.2,
                b: 0.75,
                filler: 1.0,
                character: 0.0,
            },
            context: None,
            keyword_candidates: 100,
            vector_per_hit: 3,
            vector_candidates: 60,
            similarity_floor: 0.3,
            fusion: Fusion::Ranks {
                keyword: 0.4,
                vector: 0.6,
                k: 60.0,
            },
            feedback: 0.0,
            feedback_hits: 1,
            decay: true,
            half_lives: HalfLives::usual(),
            drop_off: 0.5,
            exact_first: false,
            relevance: 0.7,
            snippet_tokens: SNIPPET_TOKENS,
            detail_shown: usual_details(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_lives_halve() {
        let lives = HalfLives::usual();
        let near = |category, age, left: f32| {
            let found = lives.freshness(category, age);
            assert!((found - left).abs() < 1e-6, "{category} {age}: {found}");
        };
        near(EntryCategory::Debug, 14.0, 0.5);
        near(EntryCategory::Feature, 180.0, 0.25);
        near(EntryCategory::Policy, 10_000.0, 1.0);
        // A clock that runs ahead.
        near(EntryCategory::Ops, -3.0, 1.0);
        for category in EntryCategory::ALL {
            assert_eq!(lives.of(category), category.half_life_days());
        }
    }
}
