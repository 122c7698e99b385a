//! The key of a home, with which secrets are hashed. It is made once, in a file
//! that only its owner can read; without it every login and token is void.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use missiond_os::{files, hex};
use missiond_secrets::Detector;
use sha2::{Digest, Sha256};

use super::Secret;

const BYTES: usize = 32;

pub(super) struct Key {
    bytes: [u8; BYTES],
    /// What rows made with it are known by.
    name: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Key {
    pub(super) fn load_or_make(folder: &Path) -> io::Result<Self> {
        files::create_private_dir(folder).map_err(|error| with_path(folder, &error))?;
        let path = folder.join("key");
        let bytes = match read(&path)? {
            Some(bytes) => bytes,
            None => {
                let mut bytes = [0; BYTES];
                getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
                write_private(&path, &bytes)?;
                bytes
            }
        };
        Detector::learn([bytes]);
        let name =
            hex::encode(&Sha256::digest([b"missiond home ", bytes.as_slice()].concat())[..8]);
        Ok(Self { bytes, name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn hash(&self, secret: &Secret) -> String {
        self.keyed(b"secret ", secret)
    }

    pub(super) fn csrf(&self, session: &Secret) -> String {
        self.keyed(b"csrf ", session)
    }

    fn keyed(&self, purpose: &[u8], secret: &Secret) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.bytes).expect("HMAC takes a key of any length");
        mac.update(purpose);
        mac.update(secret.reveal().as_bytes());
        hex::encode(&mac.finalize().into_bytes())
    }
}

/// Whether two texts are the same, found out in a time that depends on their
/// lengths alone.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    let differences = one
        .iter()
        .zip(other)
        .fold(0, |sum: u8, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

/// The key in the file. One that is cut short (a full disk, a crash) is made
/// anew by removing the file, which the error says.
fn read(path: &Path) -> io::Result<Option<[u8; BYTES]>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(with_path(path, &error)),
    };
    let mut bytes = Vec::with_capacity(BYTES);
    file.take(BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| with_path(path, &error))?;
    let bytes = bytes.try_into().map_err(|_| {
        let message = format!(
            "{} is not a key; remove it to have a new one, which logs every browser and program out",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    })?;
    Ok(Some(bytes))
}

pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::replace_private(path, bytes).map_err(|error| with_path(path, &error))
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_private_stays_and_is_refused_when_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("http");
        let secret = Secret::shown("a").unwrap();
        let first = Key::load_or_make(&home).unwrap();
        let again = Key::load_or_make(&home).unwrap();
        assert_eq!(first.hash(&secret), again.hash(&secret));
        assert_ne!(first.hash(&secret), first.csrf(&secret));
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&home), 0o700);
            assert_eq!(mode(&home.join("key")), 0o600);
        }
        fs::write(home.join("key"), b"short").unwrap();
        let error = Key::load_or_make(&home).unwrap_err().to_string();
        assert!(error.contains("remove it"), "{error}");

        let other = Key::load_or_make(&folder.path().join("other")).unwrap();
        assert_ne!(first.name(), other.name());
        assert_ne!(first.hash(&secret), other.hash(&secret));
    }

    #[test]
    fn only_equal_texts_are_the_same() {
        assert!(same(b"", b"") && same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"abc", b"ab") && !same(b"", b"a"));
    }
}
