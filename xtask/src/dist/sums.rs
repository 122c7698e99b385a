//! The checksums of a release, and the signature under them.
//!
//! One signature over one list stands for every file. It has minisign's format in its
//! hashed form, which `minisign -V` and the crate minisign-verify read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use minisign::{SecretKey, SecretKeyBox};

use super::at_path;

pub(super) const SUMS: &str = "SHA256SUMS";
pub(super) const SIGNATURE: &str = "SHA256SUMS.minisig";

/// The password of the key, for keys that have one.
const PASSWORD: &str = "MISSION_SIGNING_PASSWORD";

/// As `sha256sum --check` reads it.
pub(super) fn list(sums: &BTreeMap<String, String>) -> String {
    let mut list = String::new();
    for (name, sum) in sums {
        // Writing to a text cannot fail.
        let _ = writeln!(list, "{sum}  {name}");
    }
    list
}

/// Signs the list. A signature is the one file that is another each time, because
/// randomness is part of it; the list it is over is not.
pub(super) fn sign(list: &str, key: &Path, version: &str, epoch: u64) -> Result<String, String> {
    let text = fs::read_to_string(key).map_err(|error| at_path(key, &error))?;
    let wrong = |error| format!("{}: {error}", key.display());
    let boxed = SecretKeyBox::from_string(&text).map_err(wrong)?;
    let key = match std::env::var(PASSWORD) {
        Ok(password) => SecretKey::from_box(boxed, Some(password)).map_err(wrong)?,
        Err(_) => SecretKey::from_unencrypted_box(boxed)
            .map_err(|error| format!("{}; {PASSWORD} names its password", wrong(error)))?,
    };
    let trusted = format!("timestamp:{epoch}\tfile:{SUMS}\tversion:{version}\thashed");
    minisign::sign(
        None,
        &key,
        Cursor::new(list),
        Some(&trusted),
        Some("mission"),
    )
    .map(|signature| signature.into_string())
    .map_err(|error| format!("{SUMS} cannot be signed: {error}"))
}

#[cfg(test)]
mod tests {
    use minisign::KeyPair;

    use super::*;

    #[test]
    fn what_is_signed_can_be_verified_without_this_crate() {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        fs::write(&key, pair.sk.to_box(None).unwrap().into_string()).unwrap();
        let list = list(&BTreeMap::from([("a".to_owned(), "00".to_owned())]));
        assert_eq!(list, "00  a\n");
        let signature = sign(&list, &key, "1.2.3", 7).unwrap();
        let public = minisign_verify::PublicKey::from_base64(&pair.pk.to_base64()).unwrap();
        let signature = minisign_verify::Signature::decode(&signature).unwrap();
        assert_eq!(
            signature.trusted_comment(),
            "timestamp:7\tfile:SHA256SUMS\tversion:1.2.3\thashed"
        );
        public.verify(list.as_bytes(), &signature, false).unwrap();
        assert!(public.verify(b"00  b\n", &signature, false).is_err());
    }
}
