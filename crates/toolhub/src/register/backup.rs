//! What a file was before we changed it, on disk before the change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use missiond_os::files::{create_private_dir, replace_private};
use missiond_os::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::RegisterError;
use crate::import::Client;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backup {
    pub(super) client: Client,
    pub(super) file: PathBuf,
    /// Nothing when there was no file.
    pub(super) original: Option<String>,
    /// The digest of what we made of it.
    pub(super) after: String,
    /// Folders that were made for it, the innermost first.
    pub(super) made_folders: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnDisk {
    file: PathBuf,
    original: Option<String>,
    after: String,
    made_folders: Vec<PathBuf>,
}

impl Backup {
    pub(super) fn load(folder: &Path, client: Client) -> Result<Option<Self>, RegisterError> {
        let path = path(folder, client);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RegisterError::Unreadable { path, source }),
        };
        let on_disk: OnDisk =
            serde_json::from_str(&text).map_err(|error| RegisterError::Record {
                path,
                why: error.to_string(),
            })?;
        Ok(Some(Self {
            client,
            file: on_disk.file,
            original: on_disk.original,
            after: on_disk.after,
            made_folders: on_disk.made_folders,
        }))
    }

    /// Written whole and synced, before the file it is about is touched.
    pub(super) fn store(&self, folder: &Path) -> Result<(), RegisterError> {
        let path = path(folder, self.client);
        let on_disk = OnDisk {
            file: self.file.clone(),
            original: self.original.clone(),
            after: self.after.clone(),
            made_folders: self.made_folders.clone(),
        };
        let text = serde_json::to_vec_pretty(&on_disk).map_err(io::Error::other);
        create_private_dir(folder)
            .and(text)
            .and_then(|text| replace_private(&path, &text))
            .map_err(|source| RegisterError::Unwritable { path, source })
    }

    pub(super) fn forget(&self, folder: &Path) -> Result<(), RegisterError> {
        let path = path(folder, self.client);
        fs::remove_file(&path).map_err(|source| RegisterError::Unwritable { path, source })
    }

    /// Nobody has touched it since.
    pub(super) fn is_as_we_left(&self, now: Option<&str>) -> bool {
        now.is_some_and(|now| digest(now) == self.after)
    }
}

pub(super) fn digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes()))
}

fn path(folder: &Path, client: Client) -> PathBuf {
    folder.join(format!("{}.json", client.name()))
}
