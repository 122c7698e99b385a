//! The folders a person names, as the daemon is asked about them: it has another
//! working directory.

use std::path::{Path, PathBuf};

use missiond_core::{AbsolutePath, ErrorCode};

use crate::failure::{Failure, parameter};

/// The folder a command is about: the one named, or this one. It need not be there.
pub(crate) fn or_this(named: Option<&Path>) -> Result<AbsolutePath, Failure> {
    as_text(&from_here(named.unwrap_or(Path::new("")))?)
}

/// A folder that is there, by its real path.
pub(crate) fn real(folder: &Path) -> Result<AbsolutePath, Failure> {
    let found = folder.canonicalize().map_err(|error| {
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

fn from_here(folder: &Path) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()?;
    Ok(if folder.as_os_str().is_empty() {
        here
    } else {
        here.join(folder)
    })
}

fn as_text(folder: &Path) -> Result<AbsolutePath, Failure> {
    let text = folder.to_str().ok_or_else(|| {
        let shown = folder.display();
        let message = format!("{shown} is not UTF-8, which the daemon is asked in");
        Failure::new(ErrorCode::InvalidParams, message)
    })?;
    parameter("the folder", AbsolutePath::new(text))
}
