//! Manifests from a folder, put over the shipped ones.

use std::path::{Path, PathBuf};

use missiond_semantic::{Catalogue, Manifest, ManifestError};

/// Larger files are no manifests.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ManifestFileError {
    #[error("{} could not be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is larger than a manifest can be ({MAX_BYTES} bytes)", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is not a valid manifest:\n{source}", path.display())]
    Invalid {
        path: PathBuf,
        source: ManifestError,
    },
}

/// Reads one manifest.
pub fn load_manifest(path: &Path) -> Result<Manifest, ManifestFileError> {
    let unreadable = |source| ManifestFileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
        return Err(ManifestFileError::TooLarge {
            path: path.to_owned(),
        });
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Manifest::parse(&text).map_err(|source| ManifestFileError::Invalid {
        path: path.to_owned(),
        source,
    })
}

/// The manifests of a folder, in the order they are put over one another.
pub fn manifest_files(folder: &Path) -> Result<Vec<PathBuf>, ManifestFileError> {
    let unreadable = |source| ManifestFileError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The shipped manifests with every `*.yaml` of a folder put over them.
pub fn load_catalogue(folder: Option<&Path>) -> Result<Catalogue, ManifestFileError> {
    let mut catalogue = Catalogue::shipped().map_err(|source| ManifestFileError::Invalid {
        path: PathBuf::from("the built-in manifests"),
        source,
    })?;
    if let Some(folder) = folder {
        for file in manifest_files(folder)? {
            catalogue.put(load_manifest(&file)?);
        }
    }
    Ok(catalogue)
}
