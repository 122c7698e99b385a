//! Whether two texts say the same: one holds the other, or nearly all of their
//! words stand in the same order.

use std::collections::HashSet;

/// Of the runs of words of both texts, so many in a hundred are shared.
const ALIKE: usize = 85;
/// Words in a run.
const RUN: usize = 3;
/// Texts of fewer words are compared whole only: two short sentences may differ
/// in the one word that matters.
const FEWEST_WORDS: usize = 12;

/// A text as it is compared.
#[derive(Debug)]
pub(crate) struct Likeness {
    /// Its words in small letters, one blank between them and around them.
    plain: String,
    runs: HashSet<u64>,
}

impl Likeness {
    pub(crate) fn of(text: &str) -> Self {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let runs = if words.len() < FEWEST_WORDS {
            HashSet::new()
        } else {
            words.windows(RUN).map(hash).collect()
        };
        Self {
            plain: format!(" {} ", words.join(" ")),
            runs,
        }
    }

    /// Whether this says nothing that `other` does not.
    pub(crate) fn is_contained_in(&self, other: &Self) -> bool {
        if self.plain.trim().is_empty() || other.plain.contains(&self.plain) {
            return true;
        }
        if self.runs.is_empty() || other.runs.is_empty() {
            return false;
        }
        let shared = self.runs.intersection(&other.runs).count();
        let all = self.runs.len() + other.runs.len() - shared;
        shared * 100 >= all * ALIKE
    }
}

/// FNV-1a: the same in every run of the program, unlike the hasher of a map.
fn hash(words: &[String]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_said(text: &str, other: &str) -> bool {
        Likeness::of(text).is_contained_in(&Likeness::of(other))
    }

    #[test]
    fn what_stands_in_another_text_is_said_by_it() {
        let long = "# Rules\n\n- Deploys go through `make ship`.\n- Tests first.";
        assert!(is_said("deploys go through make ship", long));
        assert!(!is_said("deploys go through make shipping", long));
        assert!(!is_said(long, "deploys go through make ship"));
        assert!(is_said("  ", "anything"));
    }

    #[test]
    fn a_number_that_differs_is_another_statement() {
        assert!(!is_said(
            "the queue holds 64 jobs",
            "the queue holds 32 jobs"
        ));
    }

    #[test]
    fn a_long_text_with_a_word_changed_is_the_same() {
        let words: Vec<String> = (0..80).map(|number| format!("word{number}")).collect();
        let mut changed = words.clone();
        changed[40] = "other".to_owned();
        assert!(is_said(&words.join(" "), &changed.join(" ")));
    }
}
