//! The checksums of a release, and the signature under them.
//!
//! One signature over one list stands for every file. It has minisign's format in its
//! hashed form, which `minisign -V` and the crate minisign-verify read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign::{PublicKey, SecretKey, SecretKeyBox};

use super::at_path;

pub(super) const SUMS: &str = "SHA256SUMS";
pub(super) const SIGNATURE: &str = "SHA256SUMS.minisig";

/// The file of the public key, beside the signature.
pub(super) const PUBLIC_KEY: &str = "missiond.pub";

/// The public key that programs are built with, as the program reads it at build time.
pub(super) const RELEASE_KEY: &str = "MISSION_RELEASE_KEY";

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

/// Reads a key, before anything is built that it shall sign.
pub(super) fn read_key(file: &Path) -> Result<SecretKey, String> {
    let text = fs::read_to_string(file).map_err(|error| at_path(file, &error))?;
    let key = match std::env::var(PASSWORD) {
        Ok(password) => SecretKeyBox::from_string(&text)
            .and_then(|boxed| SecretKey::from_box(boxed, Some(password)))
            .map_err(|error| error.to_string()),
        Err(_) => without_password(&text),
    };
    key.map_err(|error| format!("{}: {error}", file.display()))
}

/// The public key of a release as one line of base64: that of the key it is signed with,
/// else the one that the environment names, so that who has not the secret one can build
/// the same bytes. Both must be the same: a program that is built with another key than
/// its successor is signed with could never be upgraded.
pub(super) fn release_key(
    secret: Option<&SecretKey>,
    named: Option<&str>,
) -> Result<Option<String>, String> {
    let named = named.map(str::trim).filter(|named| !named.is_empty());
    let named = named.map(one_line).transpose()?;
    let own = secret
        .map(|secret| PublicKey::from_secret_key(secret).map(|public| public.to_base64()))
        .transpose()
        .map_err(|error| format!("the signing key has no public key: {error}"))?;
    match (own, named) {
        (Some(own), Some(named)) if own != named => Err(format!(
            "{RELEASE_KEY} is not the public key of `--key`, which is {own}"
        )),
        (own, named) => Ok(own.or(named)),
    }
}

/// A key with the comment that minisign writes over it, or alone.
fn one_line(key: &str) -> Result<String, String> {
    let line = key.lines().last().unwrap_or_default().trim();
    PublicKey::from_base64(line)
        .map(|key| key.to_base64())
        .map_err(|error| format!("{RELEASE_KEY} is no public key of minisign: {error}"))
}

/// The file that `minisign -V -p` reads.
pub(super) fn public_key_file(key: &str) -> String {
    format!("untrusted comment: the key that releases of mission are signed with\n{key}\n")
}

/// Not by the crate's own way, which refuses what `minisign -G -W` writes: that leaves
/// out the checksum of a key without a password.
fn without_password(text: &str) -> Result<SecretKey, String> {
    let line = text.lines().nth(1).unwrap_or_default();
    let bytes = STANDARD.decode(line).map_err(|error| error.to_string())?;
    let key = SecretKey::from_bytes(&bytes).map_err(|error| error.to_string())?;
    if key.is_encrypted() {
        return Err(format!("the key has a password: set {PASSWORD}"));
    }
    Ok(key)
}

/// Signs the list. A signature is the one file that is another each time, because
/// randomness is part of it; the list it is over is not.
pub(super) fn sign(
    list: &str,
    key: &SecretKey,
    version: &str,
    epoch: u64,
) -> Result<String, String> {
    let trusted = format!("timestamp:{epoch}\tfile:{SUMS}\tversion:{version}\thashed");
    // With the public key, the signature is verified at once: a key that is broken
    // shows here and not at those who download.
    PublicKey::from_secret_key(key)
        .and_then(|public| {
            let list = Cursor::new(list);
            minisign::sign(Some(&public), key, list, Some(&trusted), Some("mission"))
        })
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
        let file = folder.path().join("key");
        fs::write(&file, pair.sk.to_box(None).unwrap().into_string()).unwrap();
        let list = list(&BTreeMap::from([("a".to_owned(), "00".to_owned())]));
        assert_eq!(list, "00  a\n");
        let signature = sign(&list, &read_key(&file).unwrap(), "1.2.3", 7).unwrap();
        let public = minisign_verify::PublicKey::from_base64(&pair.pk.to_base64()).unwrap();
        let signature = minisign_verify::Signature::decode(&signature).unwrap();
        assert_eq!(
            signature.trusted_comment(),
            "timestamp:7\tfile:SHA256SUMS\tversion:1.2.3\thashed"
        );
        public.verify(list.as_bytes(), &signature, false).unwrap();
        assert!(public.verify(b"00  b\n", &signature, false).is_err());
    }

    #[test]
    fn a_program_is_built_with_the_key_that_signs_it() {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let other = KeyPair::generate_unencrypted_keypair().unwrap();
        let public = pair.pk.to_base64();
        assert_eq!(release_key(None, None).unwrap(), None);
        assert_eq!(release_key(None, Some(" ")).unwrap(), None);
        let derived = release_key(Some(&pair.sk), None).unwrap();
        assert_eq!(derived.as_ref(), Some(&public));
        let file = public_key_file(&public);
        assert_eq!(release_key(None, Some(&file)).unwrap(), derived);
        assert_eq!(release_key(Some(&pair.sk), Some(&public)).unwrap(), derived);
        assert!(release_key(Some(&other.sk), Some(&public)).is_err());
        assert!(release_key(None, Some("no key")).is_err());
        minisign_verify::PublicKey::decode(&file).unwrap();
    }

    #[test]
    fn keys_are_read_as_the_tool_writes_them_and_no_others() {
        let written = |bytes: &[u8]| format!("comment\n{}\n", STANDARD.encode(bytes));
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let mut bytes = pair.sk.to_bytes();
        // Two bytes each for three algorithms, salt, two limits, number, key, checksum.
        let key = 6 + 32 + 8 + 8 + 8;
        bytes[key + 64..].fill(0);
        let signed = |bytes: &[u8]| {
            let key = without_password(&written(bytes)).unwrap();
            sign("", &key, "1.2.3", 7)
        };
        assert!(signed(&bytes).is_ok());
        bytes[key] ^= 1;
        assert!(signed(&bytes).is_err());
        let encrypted = [b"EdScB2".as_slice(), &bytes[6..]].concat();
        assert!(without_password(&written(&encrypted)).is_err());
        assert!(without_password("a\nb\n").is_err());
        assert!(without_password("").is_err());
    }
}
