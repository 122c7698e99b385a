//! The folders a person names, as the daemon is asked about them: it has another
//! working directory.

use std::path::{Path, PathBuf};

use missiond_core::{AbsolutePath, ErrorCode};
use missiond_os::expand_home;

use crate::failure::{Failure, parameter};

/// The folder a command is about: the one named, or this one. It need not be there.
pub(crate) fn or_this(named: Option<&Path>) -> Result<AbsolutePath, Failure> {
    as_text(&from_here(named.unwrap_or(Path::new("")))?)
}

/// A folder that is there, by its real path.
pub(crate) fn real(folder: &Path) -> Result<AbsolutePath, Failure> {
    let found = expand_home(folder).canonicalize().map_err(|error| {
        let message = format!("there is no folder {}: {error}", folder.display());
        Failure::new(ErrorCode::NotFound, message)
    })?;
    as_text(&found)
}

/// A folder by its real path, also one that is gone.
pub(crate) fn past(folder: &Path) -> Result<AbsolutePath, Failure> {
    let folder = from_here(folder)?;
    as_text(&folder.canonicalize().unwrap_or(folder))
}

/// Where a folder is, seen from this one. A shell leaves the `~` in `--repository=~/x`.
pub(crate) fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    Ok(std::path::absolute(expand_home(folder))?)
}

fn from_here(folder: &Path) -> Result<PathBuf, Failure> {
    if folder.as_os_str().is_empty() {
        Ok(std::env::current_dir()?)
    } else {
        absolute(folder)
    }
}

fn as_text(folder: &Path) -> Result<AbsolutePath, Failure> {
    let text = folder.to_str().ok_or_else(|| {
        let shown = folder.display();
        let message = format!("{shown} is not UTF-8, which the daemon is asked in");
        Failure::new(ErrorCode::InvalidParams, message)
    })?;
    parameter("the folder", AbsolutePath::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_and_the_rest_is_seen_from_here() {
        let here = std::env::current_dir().unwrap();
        let home = std::env::var_os("HOME").map_or_else(|| here.join("~"), PathBuf::from);
        for (written, meant) in [
            ("~/calc", home.join("calc")),
            ("calc", here.join("calc")),
            ("/srv/calc", PathBuf::from("/srv/calc")),
        ] {
            assert_eq!(absolute(Path::new(written)).unwrap(), meant, "{written}");
            let sent = or_this(Some(Path::new(written))).unwrap();
            assert_eq!(sent.as_path(), meant, "{written}");
        }
    }
}
