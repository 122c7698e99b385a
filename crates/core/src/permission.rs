//! What an agent may do without asking, in the words of the command line and of
//! the store.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// It asks before edits and commands.
    #[default]
    Ask,
    /// It edits files in its folder without asking.
    AcceptEdits,
    /// It reads and plans only.
    Plan,
    /// It never asks.
    Bypass,
}

/// The text is none of the permissions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a permission: use ask, accept-edits, plan or bypass")]
pub struct InvalidPermission(String);

impl Permission {
    pub const ALL: &'static [Self] = &[Self::Ask, Self::AcceptEdits, Self::Plan, Self::Bypass];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Plan => "plan",
            Self::Bypass => "bypass",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = InvalidPermission;

    fn from_str(text: &str) -> Result<Self, InvalidPermission> {
        let mut all = Self::ALL.iter();
        let named = all.find(|permission| permission.as_str() == text);
        named
            .copied()
            .ok_or_else(|| InvalidPermission(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_has_one_word_everywhere() {
        for permission in Permission::ALL {
            let word = permission.as_str();
            assert_eq!(word.parse(), Ok(*permission));
            assert_eq!(serde_json::to_value(permission).unwrap(), word);
        }
        let error = "all".parse::<Permission>().unwrap_err().to_string();
        assert!(error.starts_with("`all` is not a permission"), "{error}");
    }
}
