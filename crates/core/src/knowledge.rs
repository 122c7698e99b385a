//! The words of knowledge: what an entry is about, how entries stand to each
//! other, and who said them.

mod entry;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bounded, Limit};

pub use entry::{Entry, EntryEdge, EntryRevision};

/// How many hits a page of a search has.
pub type HitLimit = Bounded<1, 50>;

/// How many entries the map of the knowledge base has.
pub type EntryMapLimit = Limit<3000, 500>;

/// The kinds of knowledge.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EntryCategory {
    /// How the system is built.
    Architecture,
    /// What must be done, or never.
    Policy,
    /// What a person likes.
    Preference,
    /// How something is operated.
    Ops,
    /// What was found while looking for an error.
    Debug,
    /// An error and what put it right.
    Bugfix,
    /// Something that was built.
    Feature,
    /// Anything else.
    #[default]
    Note,
}

impl EntryCategory {
    pub const ALL: [Self; 8] = [
        Self::Architecture,
        Self::Policy,
        Self::Preference,
        Self::Ops,
        Self::Debug,
        Self::Bugfix,
        Self::Feature,
        Self::Note,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Architecture => "architecture",
            Self::Policy => "policy",
            Self::Preference => "preference",
            Self::Ops => "ops",
            Self::Debug => "debug",
            Self::Bugfix => "bugfix",
            Self::Feature => "feature",
            Self::Note => "note",
        }
    }

    /// After so many days an entry counts half unless told otherwise; `None`
    /// never ages.
    #[must_use]
    pub const fn half_life_days(self) -> Option<f32> {
        match self {
            Self::Debug => Some(14.0),
            Self::Ops => Some(21.0),
            Self::Bugfix => Some(30.0),
            Self::Feature => Some(90.0),
            Self::Architecture | Self::Policy | Self::Preference | Self::Note => None,
        }
    }

    /// How many characters of the detail a hit shows unless told otherwise.
    #[must_use]
    pub const fn detail_shown(self) -> usize {
        match self {
            Self::Architecture => 0,
            Self::Policy => 2000,
            _ => 800,
        }
    }
}

impl fmt::Display for EntryCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no category: one of architecture, policy, preference, ops, debug, bugfix, feature, note"
)]
pub struct InvalidEntryCategory(String);

impl FromStr for EntryCategory {
    type Err = InvalidEntryCategory;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .into_iter()
            .find(|category| category.name() == text);
        found.ok_or_else(|| InvalidEntryCategory(text.to_owned()))
    }
}

/// How one entry stands to another.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The other must be known first.
    Prerequisite,
    /// It holds instead of the other.
    Supersedes,
    /// Both cannot hold.
    Contradicts,
    /// It says the same, and more.
    Refines,
    /// It says the same.
    Duplicate,
}

impl EdgeKind {
    pub const ALL: [Self; 5] = [
        Self::Prerequisite,
        Self::Supersedes,
        Self::Contradicts,
        Self::Refines,
        Self::Duplicate,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prerequisite => "prerequisite",
            Self::Supersedes => "supersedes",
            Self::Contradicts => "contradicts",
            Self::Refines => "refines",
            Self::Duplicate => "duplicate",
        }
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no kind of edge: one of prerequisite, supersedes, contradicts, refines, duplicate"
)]
pub struct InvalidEdgeKind(String);

impl FromStr for EdgeKind {
    type Err = InvalidEdgeKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| InvalidEdgeKind(text.to_owned()))
    }
}

/// Who said something, the least to be believed first.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuthorTier {
    /// Extracted or imported by a program.
    Machine,
    /// Said by an agent.
    #[default]
    Agent,
    /// Said by a person.
    Person,
}

impl AuthorTier {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Agent => "agent",
            Self::Person => "person",
        }
    }

    /// How far what is said is believed, before anything speaks against it.
    #[must_use]
    pub const fn trust(self) -> f64 {
        match self {
            Self::Machine => 0.6,
            Self::Agent => 0.8,
            Self::Person => 1.0,
        }
    }
}

impl FromStr for AuthorTier {
    type Err = InvalidAuthorTier;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "machine" => Ok(Self::Machine),
            "agent" => Ok(Self::Agent),
            "person" => Ok(Self::Person),
            other => Err(InvalidAuthorTier(other.to_owned())),
        }
    }
}

/// A word that names no author tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no tier: one of person, agent, machine")]
pub struct InvalidAuthorTier(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for category in EntryCategory::ALL {
            assert_eq!(category.name().parse(), Ok(category));
        }
        for kind in EdgeKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        for tier in [AuthorTier::Machine, AuthorTier::Agent, AuthorTier::Person] {
            assert_eq!(tier.name().parse(), Ok(tier));
        }
    }
}
