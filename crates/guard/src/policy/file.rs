//! What one file says, and what is wrong with it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::HostPattern;
use super::rule::{Layer, PolicyRule};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyProblem {
    /// `policy.toml`, `.mission/policy.toml` or `starter`.
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub problem: String,
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

/// Whose policy it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// `policy.toml` beside the person's configuration.
    Person,
    /// `.mission/policy.toml` of a repository: it can only narrow.
    Repository,
    /// The one that the program brings.
    Starter,
}

impl PolicySource {
    /// What its rules are named after.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Person => "policy.toml",
            Self::Repository => ".mission/policy.toml",
            Self::Starter => "starter",
        }
    }
}

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub source: PolicySource,
    /// The starter policy counts as well.
    pub starter: bool,
    pub rules: Vec<PolicyRule>,
    /// Hosts with rules on requests that may be reached where requests cannot be seen.
    pub opaque: Vec<HostPattern>,
    /// Rules that contradict each other or can never match.
    pub warnings: Vec<PolicyProblem>,
}

impl Policy {
    #[must_use]
    pub const fn empty(source: PolicySource) -> Self {
        Self {
            source,
            starter: false,
            rules: Vec::new(),
            opaque: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn speaks_of_networks(&self) -> bool {
        let networks = |rule: &PolicyRule| matches!(rule.layer(), Layer::Network | Layer::Rest);
        self.rules.iter().any(networks)
    }
}
