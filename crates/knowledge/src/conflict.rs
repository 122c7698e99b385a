//! What a new entry is to one that is already there: the same, more exact,
//! in its place, or against it. Numbers, dates, negation, words of change and
//! who speaks decide, and the reasons are kept with the edge.

use std::collections::BTreeSet;

use missiond_core::{AuthorTier, EdgeKind};

use crate::tokens::{TermKind, tokens};

/// One of two entries that are compared.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'s> {
    pub text: &'s str,
    pub tier: AuthorTier,
}

/// What the newer of two entries is to the older one.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub kind: EdgeKind,
    /// A sentence with what was seen.
    pub reason: String,
    /// What is left of the newer one's confidence.
    pub newer_keeps: f64,
    /// What is left of the older one's.
    pub older_keeps: f64,
}

/// Words in common for two entries to be about the same thing at all. A little
/// less is enough when their vectors are alike.
const TOPIC_OVERLAP: f32 = 0.5;
const TOPIC_OVERLAP_WHEN_ALIKE: f32 = 0.3;

/// Compares a newer entry with an older one. `alike` says whether their vectors
/// are nearer than the model's calibrated line, `None` without vectors.
#[must_use]
pub fn classify(
    newer: Statement<'_>,
    older: Statement<'_>,
    alike: Option<bool>,
) -> Option<Verdict> {
    let (new, old) = (Assertion::of(newer.text), Assertion::of(older.text));
    let overlap = overlap(&new.words, &old.words);
    let verdict = |kind, reason: String, newer_keeps, older_keeps| {
        Some(Verdict {
            kind,
            reason,
            newer_keeps,
            older_keeps,
        })
    };
    if new == old {
        return verdict(EdgeKind::Duplicate, "the same words".into(), 1.0, 1.0);
    }
    let needed = if alike == Some(true) {
        TOPIC_OVERLAP_WHEN_ALIKE
    } else {
        TOPIC_OVERLAP
    };
    if overlap < needed {
        return None;
    }
    let share = format!("{:.0} % of the words in common", overlap * 100.0);
    let difference = new.difference_from(&old);
    if let Some(difference) = difference {
        let reason = format!("{share}; {difference}");
        if newer.tier < older.tier {
            let reason = format!("{reason}; the older one is of {}", author_noun(older.tier));
            return verdict(EdgeKind::Contradicts, reason, 0.5, 1.0);
        }
        if let Some(word) = new.change.first() {
            let reason = format!("{reason}; the newer one says `{word}`");
            return verdict(EdgeKind::Supersedes, reason, 1.0, 0.5);
        }
        if newer.tier > older.tier {
            let reason = format!("{reason}; the newer one is of {}", author_noun(newer.tier));
            return verdict(EdgeKind::Supersedes, reason, 1.0, 0.5);
        }
        // Nothing says which of the two is right.
        return verdict(EdgeKind::Contradicts, reason, 0.7, 0.7);
    }
    if overlap >= 0.85 {
        return verdict(EdgeKind::Duplicate, share, 1.0, 1.0);
    }
    let inside = |small: &BTreeSet<String>, large: &BTreeSet<String>| {
        small.intersection(large).count() as f32 >= 0.9 * small.len() as f32
    };
    if inside(&old.words, &new.words) {
        let more = new.words.len() - old.words.len();
        return verdict(
            EdgeKind::Refines,
            format!("{share}; {more} words more"),
            1.0,
            1.0,
        );
    }
    None
}

/// Who said it, as a sentence says it.
const fn author_noun(tier: AuthorTier) -> &'static str {
    match tier {
        AuthorTier::Machine => "a machine",
        AuthorTier::Agent => "an agent",
        AuthorTier::Person => "a person",
    }
}

/// What of a text bears on whether it contradicts another.
#[derive(Debug, PartialEq)]
struct Assertion {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
    negated: bool,
    change: Vec<String>,
}

impl Assertion {
    fn of(text: &str) -> Self {
        const NEGATIONS: &[&str] = &[
            "no", "not", "never", "cannot", "without", "dont", "doesnt", "isnt", "wont", "cant",
            "shouldnt", "arent",
        ];
        const CHANGE: &[&str] = &[
            "now",
            "longer",
            "instead",
            "replaced",
            "migrated",
            "deprecated",
            "renamed",
            "moved",
            "changed",
            "switched",
        ];
        let mut assertion = Self {
            words: BTreeSet::new(),
            numbers: BTreeSet::new(),
            negated: false,
            change: Vec::new(),
        };
        for token in tokens(text) {
            let raw = text[token.start..token.end]
                .to_lowercase()
                .replace(['\'', '’'], "");
            if token.kind == TermKind::Identifier {
                continue;
            }
            if raw.contains(|c: char| c.is_ascii_digit()) {
                assertion.numbers.insert(raw);
                continue;
            }
            let negation = NEGATIONS.contains(&raw.as_str())
                || matches!(raw.as_str(), "不" | "没有" | "禁止" | "不要" | "不能");
            assertion.negated ^= negation;
            let change = CHANGE.contains(&raw.as_str());
            if change {
                assertion.change.push(raw);
            }
            if !negation && !change && token.kind == TermKind::Word {
                assertion.words.insert(token.term);
            }
        }
        assertion
    }

    fn difference_from(&self, older: &Self) -> Option<String> {
        if self.negated != older.negated {
            return Some("one of them is negated".into());
        }
        let (new, old) = (&self.numbers, &older.numbers);
        if !new.is_empty() && !old.is_empty() && !new.is_subset(old) && !old.is_subset(new) {
            let list =
                |numbers: &BTreeSet<String>| numbers.iter().cloned().collect::<Vec<_>>().join(", ");
            return Some(format!("{} where the older says {}", list(new), list(old)));
        }
        None
    }
}

fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let both = a.intersection(b).count() as f32;
    let either = a.union(b).count() as f32;
    if either == 0.0 { 0.0 } else { both / either }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(
        newer: &str,
        older: &str,
        newer_tier: AuthorTier,
        older_tier: AuthorTier,
    ) -> Option<EdgeKind> {
        let newer = Statement {
            text: newer,
            tier: newer_tier,
        };
        let older = Statement {
            text: older,
            tier: older_tier,
        };
        classify(newer, older, None).map(|verdict| verdict.kind)
    }

    #[test]
    fn each_relation_is_told_from_the_others() {
        use AuthorTier::{Agent, Person};
        let cases = [
            (
                "The daemon listens on port 8080",
                "the daemon listens on port 8080",
                Some(EdgeKind::Duplicate),
            ),
            (
                "The daemon listens on port 9090",
                "The daemon listens on port 8080",
                Some(EdgeKind::Contradicts),
            ),
            (
                "The daemon now listens on port 9090",
                "The daemon listens on port 8080",
                Some(EdgeKind::Supersedes),
            ),
            (
                "Never force-push to the main branch",
                "Force-push to the main branch",
                Some(EdgeKind::Contradicts),
            ),
            (
                "The daemon listens on a unix socket in the runtime folder of the user",
                "The daemon listens on a unix socket",
                Some(EdgeKind::Refines),
            ),
            (
                "Bananas are yellow",
                "The daemon listens on port 8080",
                None,
            ),
            (
                "Release 1.4 shipped the board",
                "The board shows release notes for people",
                None,
            ),
        ];
        for (newer, older, expected) in cases {
            assert_eq!(
                kind(newer, older, Agent, Agent),
                expected,
                "{newer} / {older}"
            );
        }
        let (a, b) = ("The limit is 20 requests", "The limit is 10 requests");
        assert_eq!(kind(a, b, Person, Agent), Some(EdgeKind::Supersedes));
        assert_eq!(kind(a, b, Agent, Person), Some(EdgeKind::Contradicts));
    }

    #[test]
    fn the_penalty_goes_to_the_less_authoritative() {
        let new = Statement {
            text: "The limit is 20 requests",
            tier: AuthorTier::Machine,
        };
        let old = Statement {
            text: "The limit is 10 requests",
            tier: AuthorTier::Person,
        };
        let verdict = classify(new, old, None).unwrap();
        assert!(
            verdict.newer_keeps < 1.0 && (verdict.older_keeps - 1.0).abs() < 1e-9,
            "{verdict:?}"
        );
        assert!(
            verdict.reason.contains("20 where the older says 10"),
            "{}",
            verdict.reason
        );
    }
}
