//! How much of this machine a program is let see and touch, in one word.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// From no wall to the thickest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// No sandbox: the program is this user.
    Open,
    /// The folder it works in is writable, toolchains and caches are read-only, everything
    /// else is absent; the network is what the configuration says.
    Guarded,
    /// The same without any network, without logins and with the person's git
    /// configuration hidden.
    Sealed,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Open, Self::Guarded, Self::Sealed];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Guarded => "guarded",
            Self::Sealed => "sealed",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("`{text}` is no profile: open, guarded or sealed"))
    }
}
