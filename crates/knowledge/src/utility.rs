//! How useful an entry has been, and which ones may go. Being read in full or
//! told to an agent counts as use, and most of all that work was verified by
//! somebody who was told it; that a search showed an entry says nothing about it.
//! What goes is archived, never deleted.

use missiond_core::Timestamp;

/// What a new entry starts with: time to be of use before it is judged.
pub const FIRST_UTILITY: f64 = 0.3;

/// How an entry was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It was chosen for an agent, which may not have cared.
    Told,
    /// It was read in full.
    Read,
    /// An agent that was told it named it when its work was verified.
    Cited,
    /// The work of an agent that was told it was verified.
    Helped,
}

impl Use {
    /// What it adds of what is missing to 1.
    const fn weight(self) -> f64 {
        match self {
            Self::Told => 0.02,
            Self::Read | Self::Cited => 0.15,
            Self::Helped => 0.1,
        }
    }

    /// The utility after this use; it comes nearer to 1 and never reaches it.
    #[must_use]
    pub fn after(self, utility: f64) -> f64 {
        let utility = utility.clamp(0.0, 1.0);
        utility + self.weight() * (1.0 - utility)
    }
}

/// What is judged when space is made.
#[derive(Debug, Clone, Copy)]
pub struct RetentionFacts {
    /// How fast its category ages.
    pub half_life_days: Option<f32>,
    pub utility: f64,
    pub confidence: f64,
    pub verified_at: Timestamp,
    pub used_at: Option<Timestamp>,
    /// Another entry in use is a duplicate of it or supersedes it.
    pub replaced: bool,
}

/// Why an entry may go, or `None` when it stays.
#[must_use]
pub fn archive_reason(entry: &RetentionFacts, now: Timestamp) -> Option<&'static str> {
    const DAY: f64 = 86_400.0 * 1e6;
    let last = entry
        .used_at
        .map_or(entry.verified_at, |used| used.max(entry.verified_at));
    let idle_days = (now.as_micros() - last.as_micros()) as f64 / DAY;
    if entry.replaced && idle_days > 30.0 {
        return Some("another entry stands in its place, and it was not used for 30 days");
    }
    // After four half-lives a sixteenth is left.
    let faded = entry
        .half_life_days
        .is_some_and(|days| idle_days > 4.0 * f64::from(days));
    if faded && entry.utility < 0.5 {
        return Some("its kind of knowledge has aged, and it was of little use");
    }
    if entry.confidence < 0.3 && entry.utility < 0.5 && idle_days > 90.0 {
        return Some("it is hardly believed and was of little use");
    }
    None
}

#[cfg(test)]
mod tests {
    use missiond_core::EntryCategory;

    use super::*;

    fn days(count: i64) -> Timestamp {
        Timestamp::from_micros(count * 86_400_000_000)
    }

    fn facts(category: EntryCategory) -> RetentionFacts {
        RetentionFacts {
            half_life_days: category.half_life_days(),
            utility: FIRST_UTILITY,
            confidence: 0.8,
            verified_at: days(0),
            used_at: None,
            replaced: false,
        }
    }

    #[test]
    fn use_brings_utility_nearer_to_one() {
        assert!((Use::Read.after(0.0) - 0.15).abs() < 1e-9);
        assert!(Use::Cited.after(0.999) < 1.0);
        assert!(Use::Told.after(0.5) < Use::Helped.after(0.5));
        let out_of_range = Use::Read.after(7.0);
        assert!((out_of_range - 1.0).abs() < 1e-9, "{out_of_range}");
    }

    #[test]
    fn only_what_aged_unused_goes() {
        assert_eq!(archive_reason(&facts(EntryCategory::Debug), days(50)), None);
        assert!(archive_reason(&facts(EntryCategory::Debug), days(57)).is_some());
        let used = RetentionFacts {
            used_at: Some(days(40)),
            ..facts(EntryCategory::Debug)
        };
        assert_eq!(archive_reason(&used, days(57)), None);
        assert_eq!(
            archive_reason(&facts(EntryCategory::Policy), days(5000)),
            None
        );
        let replaced = RetentionFacts {
            replaced: true,
            ..facts(EntryCategory::Policy)
        };
        assert!(archive_reason(&replaced, days(31)).is_some());
    }
}
