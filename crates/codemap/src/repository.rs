//! Which folder a person means: the checkout a path lies in, and the repository
//! that several checkouts share.

use std::path::{Path, PathBuf};

use crate::error::CodeError;

/// A folder that is read as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Checkout {
    /// The folder itself, without links in its path.
    pub root: PathBuf,
    /// What its worktrees have in common: git's folder, or the root itself when
    /// there is none.
    pub family: PathBuf,
    pub git: bool,
}

impl Checkout {
    /// The checkout `path` lies in: the nearest folder above it with `.git`, or
    /// else the folder itself.
    pub fn of(path: &Path) -> Result<Self, CodeError> {
        let no_folder = |source| CodeError::NoFolder {
            path: path.to_owned(),
            source,
        };
        let mut start = path.canonicalize().map_err(no_folder)?;
        if !start.is_dir() {
            start.pop();
        }
        let found = start
            .ancestors()
            .find(|folder| folder.join(".git").exists());
        let checkout = match found {
            Some(root) => Self {
                root: root.to_owned(),
                family: family(root),
                git: true,
            },
            None => Self {
                root: start.clone(),
                family: start,
                git: false,
            },
        };
        if checkout.root.parent().is_none() {
            return Err(CodeError::TooWide(checkout.root));
        }
        Ok(checkout)
    }
}

/// A worktree's `.git` is a file that names its folder below the common one.
fn family(root: &Path) -> PathBuf {
    let dot_git = root.join(".git");
    let named = std::fs::read_to_string(&dot_git).ok().and_then(|text| {
        let folder = text.strip_prefix("gitdir:")?.trim();
        let common = std::fs::read_to_string(root.join(folder).join("commondir")).ok()?;
        root.join(folder).join(common.trim()).canonicalize().ok()
    });
    named.unwrap_or_else(|| dot_git.canonicalize().unwrap_or(dot_git))
}
