//! How much of what is asked a text is about: the bar for what an agent is told
//! unasked. A search orders what it finds, and something is always best; whether the
//! best has anything to do with the question, its score does not say.

use std::collections::{HashMap, HashSet};

use crate::keyword::{KeywordIndex, term_key};
use crate::tokens::{TermKind, Token, tokens};

/// A text that has so much more of the query than chance would bring is wholly about
/// it. Chosen so that a quarter of it is the least that is told.
const WHOLE: f32 = 2.5;

/// Where little was said, every word of it is in a large part of what was said, and
/// tells something all the same.
const FEWEST: usize = 30;

/// The terms of a query that say what it is about, with how rare each is among what
/// could be found.
#[derive(Debug, Clone)]
pub struct TellingTerms {
    rarity: HashMap<String, f32>,
    whole: f32,
    /// What a text shares with the query must be as rare as this in all.
    least: f32,
}

impl TellingTerms {
    /// Words such as "the" tell nothing. What is nowhere in the index is as rare as
    /// what stands there once.
    #[must_use]
    pub fn of(query: &[Token], index: &KeywordIndex) -> Self {
        let telling = query
            .iter()
            .filter(|token| matches!(token.kind, TermKind::Word | TermKind::Identifier));
        let rarity: HashMap<String, f32> = telling
            .map(|token| {
                let term = term_key(token);
                let rarity = index.rarity(&term, FEWEST);
                (term, rarity)
            })
            .collect();
        Self {
            whole: rarity.values().sum(),
            least: index.rarity_of_one_in_root(FEWEST),
            rarity,
        }
    }

    /// How much of the query a text has, 0 to 1.
    ///
    /// A question of two words is about both; one of thirty has many that stand there
    /// by the way, and nobody's answer has them all. How many a text must have grows
    /// with the root of how many there are, and a rare one counts more. Words that
    /// many texts have, such as "look" in "look again", are nobody's subject, also where
    /// the query has no others.
    #[must_use]
    pub fn share_in(&self, text: &str) -> f32 {
        if self.whole <= 0.0 {
            return 0.0;
        }
        let present: HashSet<String> = tokens(text).iter().map(term_key).collect();
        let found: f32 = self
            .rarity
            .iter()
            .filter(|(term, _)| present.contains(*term))
            .map(|(_, rarity)| rarity)
            .sum();
        if found < self.least {
            return 0.0;
        }
        let count = self.rarity.len() as f32;
        (found / self.whole * count.sqrt() / WHOLE).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyword::TermWeights;

    /// What is told is at least this much about the query.
    const BAR: f32 = 0.25;

    fn index(texts: &[&str]) -> KeywordIndex {
        let mut index = KeywordIndex::default();
        for text in texts {
            let mut terms = TermWeights::default();
            terms.add(&tokens(text), 1.0);
            index.add(terms);
        }
        index
    }

    #[test]
    fn a_common_word_or_a_small_part_of_a_long_question_is_not_enough() {
        let talk = [
            "document every function of the service",
            "the service needs a health check",
            "restart the service after a crash",
            "how do we deploy to staging",
            "the parser of the service fails on tabs",
            "rename the flag of the service",
            "add a test for the login",
            "keep the test short",
            "add a line to the test of the cache",
        ];
        let index = index(&talk);
        let about = |query: &str, text: &str| {
            TellingTerms::of(&tokens(query), &index).share_in(text) >= BAR
        };
        let deploy = "deploy the service";
        assert!(about(deploy, "how do we deploy to staging"));
        assert!(about(deploy, "Deploying a service: use make ship"));
        assert!(!about(deploy, "document every function of the service"));
        assert!(!about(deploy, "the the the"));
        let long = "The parser of configuration files fails on tabs. Find out why it stops at the \
                    first tab of a line, mend it, add a test with mixed indentation, and keep the \
                    messages as they are.";
        assert!(about(
            long,
            "the parser of configuration stops at tabs in a line"
        ));
        assert!(!about(long, "add a test for the health check"));
        assert!(!about("", "anything") && !about("the of", "the of"));
    }

    #[test]
    fn a_word_that_many_use_is_not_what_a_short_request_is_about() {
        let mut talk = vec!["the build of the shop", "look at the parcels"];
        talk.resize(60, "look again, the page is still wrong");
        let index = index(&talk);
        let share =
            |query: &str, text: &str| TellingTerms::of(&tokens(query), &index).share_in(text);
        assert_eq!(
            share("look again", "look again, the page is still wrong"),
            0.0
        );
        assert!(share("parcels", "look at the parcels") >= BAR);
        assert!(share("look at the parcels", "look at the parcels") >= BAR);
    }
}
