//! The recordings and manifests that a command is told to read with: opened, or the
//! sentence that says why not.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use missiond_core::ErrorCode;
use missiond_pty::{CastError, CastHeader, CastReader, ManifestFileError, load_catalogue};
use missiond_semantic::{Catalogue, Manifest};

use crate::failure::Failure;
use crate::output::Output;

pub fn open(file: &Path) -> Result<CastReader<BufReader<File>>, Failure> {
    let opened = File::open(file).map_err(|error| {
        let message = format!("{} could not be opened: {error}", file.display());
        Failure::new(ErrorCode::NotFound, message)
    })?;
    CastReader::new(BufReader::new(opened)).map_err(|error| broken(file, &error))
}

/// The recording cannot be read on.
#[must_use]
pub fn broken(file: &Path, error: &CastError) -> Failure {
    let message = format!("{}: {error}", file.display());
    Failure::new(ErrorCode::InvalidRequest, message)
}

/// The manifests there are, with those of a folder. An engine that was asked for and
/// has none is said.
pub fn catalogue(
    folder: Option<&Path>,
    engine: Option<&str>,
    output: &mut Output,
) -> Result<Catalogue, Failure> {
    let catalogue = load_catalogue(folder)?;
    if let Some(asked) = engine
        && catalogue.get(asked).is_none()
    {
        let known: Vec<_> = catalogue.engines().collect();
        output.notice(&format!(
            "No manifest for `{asked}`, so the generic one reads it. There are: {}.",
            known.join(", ")
        ));
    }
    Ok(catalogue)
}

/// The manifest a recording is read with: that of the engine that was asked for,
/// else of the one it was made of.
pub fn manifest_for(
    catalogue: &Catalogue,
    engine: Option<&str>,
    header: &CastHeader,
) -> Result<Arc<Manifest>, Failure> {
    let manifest = catalogue.for_engine(engine.or(header.engine()));
    manifest.cloned().ok_or_else(|| {
        let message = "there is no manifest for this engine";
        Failure::new(ErrorCode::InvalidConfig, message)
    })
}

impl From<ManifestFileError> for Failure {
    fn from(error: ManifestFileError) -> Self {
        let code = match error {
            ManifestFileError::Unreadable { .. } => ErrorCode::NotFound,
            ManifestFileError::TooLarge { .. } | ManifestFileError::Invalid { .. } => {
                ErrorCode::InvalidConfig
            }
        };
        Self::new(code, error.to_string())
    }
}
