//! The plan of one sandbox, as plain data: what is seen inside and how, which network
//! there is, and how much may be used. Whoever starts a program makes it; the stages
//! that build the wall ([`crate::stages`]) do what it says and decide nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::profile::Profile;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    pub profile: Profile,
    /// Where the program begins.
    pub folder: PathBuf,
    /// What is seen, none of it twice. What is not named does not exist inside.
    pub view: Vec<Entry>,
    pub network: Network,
    /// Sockets of the machine that answer at the same path inside.
    pub doors: Vec<PathBuf>,
    /// Ports of the loopback inside at which a Unix socket of the machine answers; of a
    /// network of its own alone.
    #[serde(default)]
    pub ports: Vec<(u16, PathBuf)>,
    pub limits: Limits,
    pub nesting: Nesting,
    /// Set, or with nothing removed, in the environment the program is given.
    pub environment: BTreeMap<String, Option<String>>,
    /// What stands before the sentence when no wall could be built. Only who started the
    /// program knows it, so the program cannot say the same of itself.
    pub refusal_mark: String,
}

/// One path inside, and what it is. Paths are absolute and have no links on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub path: PathBuf,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What the machine has there, to read and to run.
    Read,
    /// What the machine has there, to change as well.
    Write,
    /// An empty folder in memory that may be written, and is gone afterwards.
    Private,
    /// A folder of the machine that is empty inside, or a file that holds nothing.
    Hidden,
    /// A file with what the machine's holds now; what is changed in it is gone afterwards.
    Copy,
    /// A link to another path inside.
    Link(PathBuf),
}

impl Kind {
    /// Whether something of the machine's is seen.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_of_machine(&self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Copy)
    }
}

impl Entry {
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, kind: Kind) -> Self {
        let path = path.into();
        Self { path, kind }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// That of the machine.
    Host,
    /// A loopback of its own, and nobody on it.
    None,
    /// A loopback of its own, on which the proxy behind this Unix socket answers.
    Proxy(PathBuf),
}

/// Where the proxy answers inside.
pub const PROXY_PORT: u16 = 3128;

/// The most that may be used, all processes together where the system counts so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub memory_mb: u64,
    pub processes: u64,
    /// The longest file.
    pub file_mb: u64,
    /// All files in memory of one folder.
    pub private_mb: u64,
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mb: 8 << 10,
            processes: 4096,
            file_mb: 16 << 10,
            private_mb: 2 << 10,
            open_files: 16 << 10,
        }
    }
}

/// Whether the program may build sandboxes of its own inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nesting {
    Refused,
    /// For agent CLIs that confine what they run: namespaces are theirs to make, and the
    /// second wall (Landlock), inside which none could be made, is not put up.
    Allowed,
}

impl Wall {
    /// The entry that says what a path is: the deepest that it is in.
    #[must_use]
    pub fn covering(&self, path: &Path) -> Option<&Entry> {
        let above = self.view.iter().filter(|one| path.starts_with(&one.path));
        above.max_by_key(|one| one.path.components().count())
    }

    /// Whether a file of this path exists inside, as on the machine.
    #[must_use]
    pub fn shows(&self, path: &Path) -> bool {
        self.covering(path)
            .is_some_and(|one| matches!(one.kind, Kind::Read | Kind::Write))
    }
}
