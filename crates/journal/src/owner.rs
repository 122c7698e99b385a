//! Whom an execution belongs to. One reference for every kind of owner: a
//! journal looks the same whoever owns it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{SignalType, limits};
use missiond_core::Text;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OwnerEntity {
    System,
    Repository,
    Mission,
    Task,
    Artifact,
}

impl OwnerEntity {
    /// The signals an execution of this owner may send. What asks for a
    /// verification is for owners that verify.
    #[must_use]
    pub fn signals(self) -> Vec<SignalType> {
        let all = SignalType::ALL.iter().copied();
        all.filter(|&signal| self.accepts(signal)).collect()
    }

    #[must_use]
    pub(crate) const fn accepts(self, signal: SignalType) -> bool {
        match self {
            Self::Mission | Self::Task | Self::Artifact => true,
            Self::System | Self::Repository => !matches!(signal, SignalType::ReadyForVerification),
        }
    }
}

/// The daemon's word on who owns an execution; an agent never supplies it.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct OwnerRef {
    pub entity: OwnerEntity,
    /// What the owner calls itself: an id, or the root of a repository.
    pub id: Text<{ limits::PATH }>,
}

impl fmt::Display for OwnerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entity = match self.entity {
            OwnerEntity::System => "system",
            OwnerEntity::Repository => "repository",
            OwnerEntity::Mission => "mission",
            OwnerEntity::Task => "task",
            OwnerEntity::Artifact => "artifact",
        };
        write!(f, "{entity}/{}", self.id)
    }
}
