//! The key that the daemon signs with: a file in `identity/` of the data folder that only
//! its owner can read. It is made when there is none.
//!
//! Another key takes its place in three steps, each of which a crash may follow: it is
//! written beside the old one, its record is on disk in the log with both signatures, and it
//! is renamed over the old one. Whoever opens the log finds which of both signs by the log.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use missiond_core::AuditedKey;
use missiond_os::{files, hex};

use crate::keys::{FOR_KEY, PublicKey, SigningKey};
use crate::verify::key_change;

/// No key of ours comes near this.
const LONGEST: u64 = 1024;

/// The keys of a home.
#[derive(Debug)]
pub struct Identity {
    folder: PathBuf,
    pub(crate) key: SigningKey,
}

impl Identity {
    /// The key in this folder; a new one where there is none.
    pub fn load_or_make(folder: &Path) -> io::Result<Self> {
        own_dir(folder).map_err(|error| with_path(folder, &error))?;
        let path = folder.join(KEY);
        let key = match load(&path)? {
            Some(key) => key,
            None => make(&path)?,
        };
        Ok(Self {
            folder: folder.to_owned(),
            key,
        })
    }

    /// The public key of this folder, for whoever only looks; none where there is none.
    pub fn public_of(folder: &Path) -> io::Result<Option<PublicKey>> {
        Ok(load(&folder.join(KEY))?.map(|key| key.public()))
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.key.public()
    }

    /// The bytes that nobody else may see, for whoever masks them.
    pub fn secret(folder: &Path) -> io::Result<Option<Vec<u8>>> {
        read(&folder.join(KEY))
    }

    /// What makes this key known at the beginning of a log.
    pub(crate) fn introduction(&self) -> AuditedKey {
        let key = self.key.public();
        AuditedKey {
            key: key.to_string(),
            signature: hex::encode(&self.key.sign(FOR_KEY, &key_change(None, key))),
            before: None,
            signature_before: None,
        }
    }

    /// Makes another key beside this one, and what both sign to put it in its place.
    pub(crate) fn prepare_next(&self) -> io::Result<(SigningKey, AuditedKey)> {
        let next = make(&self.folder.join(NEXT))?;
        let (before, key) = (self.key.public(), next.public());
        let message = key_change(Some(before), key);
        let change = AuditedKey {
            key: key.to_string(),
            signature: hex::encode(&next.sign(FOR_KEY, &message)),
            before: Some(before.to_string()),
            signature_before: Some(hex::encode(&self.key.sign(FOR_KEY, &message))),
        };
        Ok((next, change))
    }

    /// The key that waits beside this one takes its place.
    pub(crate) fn take_next(&mut self, next: SigningKey) -> io::Result<()> {
        fs::rename(self.folder.join(NEXT), self.folder.join(KEY))?;
        files::sync_dir(&self.folder)?;
        self.key = next;
        Ok(())
    }

    /// Ends a change that was under way: the log says which key signs.
    pub(crate) fn settle(&mut self, signs: &str) -> io::Result<()> {
        let waiting = self.folder.join(NEXT);
        let Some(next) = load(&waiting)? else {
            return Ok(());
        };
        if next.public().name() == signs {
            self.take_next(next)
        } else {
            fs::remove_file(&waiting)
        }
    }
}

/// Makes a folder that is still there after a loss of power.
pub(crate) fn own_dir(folder: &Path) -> io::Result<()> {
    files::create_private_dir(folder)?;
    folder.parent().map_or(Ok(()), files::sync_dir)
}

const KEY: &str = "audit.key";
const NEXT: &str = "audit.key.next";

fn make(path: &Path) -> io::Result<SigningKey> {
    let bytes = SigningKey::generate().map_err(io::Error::other)?;
    files::replace_private(path, &bytes).map_err(|error| with_path(path, &error))?;
    SigningKey::from_pkcs8(&bytes).ok_or_else(|| unusable(path))
}

fn load(path: &Path) -> io::Result<Option<SigningKey>> {
    let Some(bytes) = read(path)? else {
        return Ok(None);
    };
    let key = SigningKey::from_pkcs8(&bytes).ok_or_else(|| unusable(path))?;
    Ok(Some(key))
}

/// The bytes of a key's file, which must be a file of this user that nobody else can read.
/// It is looked at after it was opened, so that it cannot be exchanged in between.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(with_path(path, &error)),
        Ok(found) if !found.is_file() => return Err(refused(path, "is not a file")),
        Ok(_) => {}
    }
    let file = fs::File::open(path).map_err(|error| with_path(path, &error))?;
    let found = file.metadata().map_err(|error| with_path(path, &error))?;
    if found.mode() & 0o077 != 0 {
        return Err(refused(
            path,
            "can be read by others; `chmod 600` closes it",
        ));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| with_path(path, &error))?;
    Ok(Some(bytes))
}

fn unusable(path: &Path) -> io::Error {
    refused(
        path,
        "is no key; put it back from a copy: with another one the audit would no longer be the \
         one that was signed",
    )
}

fn refused(path: &Path, why: &str) -> io::Error {
    let message = format!("{} {why}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_private_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("identity");
        let first = Identity::load_or_make(&place).unwrap().public();
        assert_eq!(Identity::load_or_make(&place).unwrap().public(), first);
        assert_eq!(Identity::public_of(&place).unwrap(), Some(first));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place), mode(&place.join(KEY))), (0o700, 0o600));

        fs::set_permissions(place.join(KEY), fs::Permissions::from_mode(0o640)).unwrap();
        let error = Identity::load_or_make(&place).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        fs::remove_file(place.join(KEY)).unwrap();
        std::os::unix::fs::symlink("/dev/null", place.join(KEY)).unwrap();
        assert!(Identity::load_or_make(&place).is_err());
    }
}
