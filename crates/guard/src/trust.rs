//! How far tools, servers, engines and skills are trusted: a number from 0 to 1000, made of
//! what is on record about them and of nothing else.
//!
//! Only facts are stored; the score is this formula over them, so that it can be explained
//! fact by fact and a better formula needs no new records. `docs/how/trust.md` publishes it,
//! and a test holds the page to the numbers here.

use std::fmt;
use std::str::FromStr;

use missiond_core::Timestamp;

use crate::permissions::{Effect, Verdict};

/// What somebody begins with of whom nothing is known.
pub const BEGINNING: i64 = 500;
/// Below this a person is asked.
pub const ASK_BELOW: u32 = 300;
/// Below this it is denied.
pub const DENY_BELOW: u32 = 100;
/// A fact of this age counts half.
pub const HALF_LIFE_DAYS: u64 = 30;

const DAY_MICROS: f64 = 86_400e6;

/// What can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SubjectKind {
    Engine,
    Server,
    Skill,
    /// A tool of a server: `docs__search`.
    Tool,
}

impl SubjectKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Server => "server",
            Self::Skill => "skill",
            Self::Tool => "tool",
        }
    }
}

/// Whom a fact is about: `server:docs`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    pub kind: SubjectKind,
    pub name: String,
}

impl Subject {
    #[must_use]
    pub fn new(kind: SubjectKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not engine:NAME, server:NAME, skill:NAME or tool:SERVER__NAME")]
pub struct InvalidSubject(String);

impl FromStr for Subject {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let invalid = || InvalidSubject(text.chars().take(80).collect());
        let (kind, name) = text.split_once(':').ok_or_else(invalid)?;
        let kinds = [
            SubjectKind::Engine,
            SubjectKind::Server,
            SubjectKind::Skill,
            SubjectKind::Tool,
        ];
        let kind = kinds.into_iter().find(|known| known.as_str() == kind);
        match kind {
            Some(kind) if !name.is_empty() && name.len() <= 256 => Ok(Self::new(kind, name)),
            _ => Err(invalid()),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKind {
    /// Work that it took part in passed its checks.
    Verified,
    /// Such work failed, stalled or was lost.
    Failed,
    /// A call was answered.
    Answered,
    /// A call failed.
    Errored,
    /// It is not what it was.
    Drifted,
    /// A person took it as it is now: what drifted before counts little.
    Accepted,
    /// It was put on the list, perhaps instead of another one: what was good before is
    /// not its own.
    Registered,
    /// A person began anew: nothing before counts.
    Reset,
}

impl FactKind {
    pub const ALL: [Self; 8] = [
        Self::Verified,
        Self::Failed,
        Self::Answered,
        Self::Errored,
        Self::Drifted,
        Self::Accepted,
        Self::Registered,
        Self::Reset,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Failed => "failed",
            Self::Answered => "answered",
            Self::Errored => "errored",
            Self::Drifted => "drifted",
            Self::Accepted => "accepted",
            Self::Registered => "registered",
            Self::Reset => "reset",
        }
    }

    /// Points for one of today, and the most that all of them come to.
    #[must_use]
    pub const fn weight(self) -> (i64, i64) {
        match self {
            Self::Verified => (30, 400),
            Self::Failed => (-60, -500),
            Self::Answered => (2, 100),
            Self::Errored => (-4, -150),
            Self::Drifted => (-250, -1000),
            Self::Accepted | Self::Registered | Self::Reset => (0, 0),
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    const fn is_good(self) -> bool {
        matches!(self, Self::Verified | Self::Answered)
    }
}

/// A drift that a person accepted counts this part of one that nobody did.
pub const ACCEPTED_DRIFT: f64 = 0.1;

/// Something on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    pub kind: FactKind,
    pub at: Timestamp,
    /// How often, of what is counted together.
    pub count: u32,
}

/// What the score of a subject does to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Trusted,
    /// A person is asked.
    Doubted,
    Denied,
}

impl Standing {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Doubted => "ask",
            Self::Denied => "deny",
        }
    }
}

/// What the facts of one kind come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub kind: FactKind,
    pub count: u32,
    pub points: i64,
}

/// A score and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    pub score: u32,
    /// Those that count, in the order of [`FactKind`].
    pub parts: Vec<Part>,
}

impl Score {
    #[must_use]
    pub const fn standing(&self) -> Standing {
        match self.score {
            0..DENY_BELOW => Standing::Denied,
            DENY_BELOW..ASK_BELOW => Standing::Doubted,
            _ => Standing::Trusted,
        }
    }
}

/// The score that facts come to, whatever their order.
#[must_use]
pub fn score(facts: &[Fact], now: Timestamp) -> Score {
    let last = |kind: FactKind| {
        let of_kind = facts.iter().filter(|fact| fact.kind == kind);
        of_kind.map(|fact| fact.at).max()
    };
    let (reset, accepted) = (last(FactKind::Reset), last(FactKind::Accepted));
    let registered = last(FactKind::Registered);
    let counts = |fact: &&Fact| {
        let before = |moment: Option<Timestamp>| moment.is_some_and(|moment| fact.at <= moment);
        !(before(reset) || fact.kind.is_good() && before(registered))
    };
    let mut parts = Vec::new();
    let mut total = BEGINNING;
    for kind in FactKind::ALL {
        let (each, most) = kind.weight();
        if each == 0 {
            continue;
        }
        let (mut points, mut count) = (0.0, 0_u32);
        for fact in facts.iter().filter(|fact| fact.kind == kind).filter(counts) {
            let days = now.since(fact.at).as_micros() as f64 / DAY_MICROS;
            let age = 0.5_f64.powf(days / HALF_LIFE_DAYS as f64);
            let is_accepted =
                kind == FactKind::Drifted && accepted.is_some_and(|moment| fact.at <= moment);
            let part = if is_accepted { ACCEPTED_DRIFT } else { 1.0 };
            points += each as f64 * f64::from(fact.count) * age * part;
            count = count.saturating_add(fact.count);
        }
        if count == 0 {
            continue;
        }
        let points = points.round() as i64;
        let points = if most < 0 {
            points.max(most)
        } else {
            points.min(most)
        };
        total += points;
        parts.push(Part {
            kind,
            count,
            points,
        });
    }
    Score {
        score: u32::try_from(total.clamp(0, 1000)).unwrap_or(0),
        parts,
    }
}

/// A decision, where whoever takes part in what is asked for is trusted less than it needs:
/// trust makes it stricter, never milder.
#[must_use]
pub fn limit(verdict: Verdict, subject: &Subject, score: &Score) -> Verdict {
    let effect = match score.standing() {
        Standing::Trusted => return verdict,
        Standing::Doubted => Effect::Ask,
        Standing::Denied => Effect::Deny,
    };
    if verdict.effect >= effect {
        return verdict;
    }
    let line = match effect {
        Effect::Deny => format!("denied below {DENY_BELOW}"),
        _ => format!("asked below {ASK_BELOW}"),
    };
    Verdict {
        effect,
        rules: vec![format!("trust:{subject}")],
        reason: format!(
            "the trust in {subject} is {} of 1000, and what it takes part in is {line} \
             (`mission trust explain {subject}`)",
            score.score
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_micros(2_000_000_000_000_000)
    }

    fn days_ago(days: u64) -> Timestamp {
        now().minus(Duration::from_secs(days * 86_400))
    }

    fn fact(kind: FactKind, count: u32, days: u64) -> Fact {
        Fact {
            kind,
            at: days_ago(days),
            count,
        }
    }

    fn of(facts: &[Fact]) -> u32 {
        score(facts, now()).score
    }

    #[test]
    fn the_score_is_what_the_facts_come_to() {
        use FactKind::{Accepted, Answered, Drifted, Errored, Failed, Registered, Reset, Verified};
        let cases: &[(&[Fact], u32)] = &[
            (&[], 500),
            (&[fact(Verified, 1, 0)], 530),
            (&[fact(Verified, 1, 30)], 515),
            (&[fact(Verified, 100, 0)], 900),
            // Calls are cheap: nobody earns much with them.
            (&[fact(Answered, 10_000, 0)], 600),
            (&[fact(Failed, 3, 0)], 320),
            (&[fact(Failed, 4, 0)], 260),
            (&[fact(Failed, 20, 0)], 0),
            (&[fact(Errored, 5, 0)], 480),
            (&[fact(Drifted, 1, 0)], 250),
            (&[fact(Drifted, 2, 0)], 0),
            (&[fact(Drifted, 1, 2), fact(Accepted, 1, 1)], 476),
            (&[fact(Drifted, 1, 1), fact(Accepted, 1, 2)], 256),
            // What was good belongs to who had the name before; what was bad stays.
            (&[fact(Verified, 9, 3), fact(Registered, 1, 2)], 500),
            (&[fact(Failed, 4, 0), fact(Registered, 1, 0)], 260),
            (&[fact(Failed, 9, 3), fact(Reset, 1, 1)], 500),
        ];
        for (facts, expected) in cases {
            assert_eq!(of(facts), *expected, "{facts:?}");
        }
        let explained = score(&[fact(Verified, 2, 0), fact(Failed, 1, 0)], now());
        let points: Vec<_> = explained.parts.iter().map(|part| part.points).collect();
        assert_eq!((explained.score, points), (500, vec![60, -60]));
    }

    #[test]
    fn little_trust_makes_a_decision_stricter_and_much_never_milder() {
        let subject = Subject::new(SubjectKind::Server, "docs");
        let verdict = |effect| Verdict {
            effect,
            rules: vec!["P-1".to_owned()],
            reason: "P-1".to_owned(),
        };
        for (score, given, expected) in [
            (300, Effect::Allow, Effect::Allow),
            (299, Effect::Allow, Effect::Ask),
            (100, Effect::Allow, Effect::Ask),
            (99, Effect::Allow, Effect::Deny),
            (99, Effect::Ask, Effect::Deny),
            (299, Effect::Deny, Effect::Deny),
            (1000, Effect::Ask, Effect::Ask),
        ] {
            let score = Score {
                score,
                parts: Vec::new(),
            };
            let limited = limit(verdict(given), &subject, &score);
            assert_eq!(limited.effect, expected, "{score:?} {given:?}");
            let said = limited.reason.contains("server:docs");
            assert_eq!(said, expected != given);
        }
    }

    #[test]
    fn a_subject_is_written_as_it_is_read() {
        for text in [
            "server:docs",
            "tool:docs__search",
            "engine:claude",
            "skill:a:b",
        ] {
            assert_eq!(text.parse::<Subject>().unwrap().to_string(), text);
        }
        for text in ["docs", "server:", "person:me", ""] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_page_says_the_same_numbers() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how/trust.md");
        let page = std::fs::read_to_string(page).unwrap();
        for kind in FactKind::ALL {
            let (each, most) = kind.weight();
            if each != 0 {
                let row = format!("| `{}` | {each} | {most} |", kind.as_str());
                assert!(page.contains(&row), "{row}");
            }
        }
        for number in [
            format!("begins with {BEGINNING}"),
            format!("below {ASK_BELOW}"),
            format!("below {DENY_BELOW}"),
            format!("{HALF_LIFE_DAYS} days"),
        ] {
            assert!(page.contains(&number), "{number}");
        }
    }
}
