//! Whether a release is what its makers made: its checksum in the list, and their
//! signature under the list.

use std::path::Path;

use minisign_verify::{PublicKey, Signature};
use missiond_core::ErrorCode;
use missiond_os::hex;
use sha2::{Digest, Sha256};

use super::source::Source;
use crate::args::UpgradeArgs;
use crate::failure::Failure;

pub(super) const SUMS: &str = "SHA256SUMS";
const SIGNATURE_SUFFIX: &str = ".minisig";

/// A list has a line for each file of a release.
pub(super) const SUMS_LIMIT: usize = 1 << 20;
const SIGNATURE_LIMIT: usize = 16 << 10;

/// The key releases are signed with, where the build was told of one: the base64 line
/// of a minisign key.
const RELEASE_KEY: Option<&str> = option_env!("MISSION_RELEASE_KEY");

/// What is known of who made a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assurance {
    /// Signed with the key.
    Signed,
    /// It arrived whole, and the person asked for no more.
    ChecksumOnly,
}

/// Verifies what was read from a source; nothing of it was used before. `configured` is
/// the key of the configuration, if there is one.
pub(super) fn verify(
    args: &UpgradeArgs,
    configured: &str,
    source: &Source,
    bytes: &[u8],
) -> Result<Assurance, Failure> {
    let key = key(
        args.key.as_deref(),
        configured,
        built_in_key().unwrap_or_default(),
    )?;
    let name = source
        .name()
        .ok_or_else(|| refused(format!("{source} has no name that checksums could list")))?;
    let place = match &args.sums {
        Some(sums) => Source::parse(sums)?,
        None => source.beside(SUMS)?,
    };
    let list = place.read(SUMS_LIMIT)?.ok_or_else(|| {
        Failure::new(ErrorCode::NotFound, format!("{place} is not there"))
            .hint("--sums FILE names the checksums of the release")
    })?;
    let assurance = signature(args, &place, &list, key.as_ref())?;
    let list = std::str::from_utf8(&list)
        .map_err(|_| refused(format!("{place} is not a list of checksums")))?;
    let listed =
        sum_of(list, name).ok_or_else(|| refused(format!("{place} has no checksum of {name}")))?;
    if listed != <[u8; 32]>::from(Sha256::digest(bytes)) {
        let message = format!("{source} is not what {place} lists: it is damaged or another file");
        return Err(refused(message));
    }
    Ok(assurance)
}

/// The signature comes before the list is believed.
fn signature(
    args: &UpgradeArgs,
    place: &Source,
    list: &[u8],
    key: Option<&PublicKey>,
) -> Result<Assurance, Failure> {
    let Some(key) = key else {
        return if args.unsigned {
            Ok(Assurance::ChecksumOnly)
        } else {
            let message = "this program was built without a release key and none was named, so \
                           only the checksum can be verified: that the archive arrived whole, not \
                           who made it";
            Err(refused(message).hint(
                "--key FILE (or `upgrade.key`) names the minisign key of its makers; --unsigned \
                 is content with the checksum",
            ))
        };
    };
    let name = place.name().unwrap_or(SUMS);
    let beside = place.beside(&format!("{name}{SIGNATURE_SUFFIX}"))?;
    let Some(signature) = beside.read(SIGNATURE_LIMIT)? else {
        return if args.unsigned {
            Ok(Assurance::ChecksumOnly)
        } else {
            let message = format!("{beside}, the signature of the release, is not there");
            Err(refused(message).hint("--unsigned is content with the checksum"))
        };
    };
    let wrong = |why: &dyn std::fmt::Display| {
        refused(format!(
            "{beside} is not a signature of {place} by the key of the release: {why}"
        ))
    };
    let signature = String::from_utf8(signature).map_err(|error| wrong(&error))?;
    let signature = Signature::decode(&signature).map_err(|error| wrong(&error))?;
    key.verify(list, &signature, false)
        .map_err(|error| wrong(&error))?;
    Ok(Assurance::Signed)
}

/// The key that this program was built with, if it was.
pub(in crate::commands) fn built_in_key() -> Option<&'static str> {
    RELEASE_KEY.filter(|key| !key.is_empty())
}

/// The key of the command line, else of the configuration, else of the build.
fn key(
    file: Option<&Path>,
    configured: &str,
    built_in: &str,
) -> Result<Option<PublicKey>, Failure> {
    let named = Path::new(configured);
    let file = file.or_else(|| named.is_absolute().then_some(named));
    let (text, place) = match (file, configured, built_in) {
        (Some(file), _, _) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                let message = format!("{}: {error}", file.display());
                Failure::new(ErrorCode::NotFound, message)
            })?;
            (text, file.display().to_string())
        }
        (None, "", "") => return Ok(None),
        (None, "", key) => (key.to_owned(), "the build".to_owned()),
        (None, key, _) => (key.to_owned(), "`upgrade.key`".to_owned()),
    };
    // With its comment, as minisign writes it, or the key alone.
    PublicKey::decode(&text)
        .or_else(|_| PublicKey::from_base64(text.trim()))
        .map(Some)
        .map_err(|error| refused(format!("the key of {place} is no minisign key: {error}")))
}

/// The checksums and names of a list as `sha256sum` writes it.
pub(super) fn entries(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = list.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(sum, file)| (sum, file.strip_prefix([' ', '*']).unwrap_or(file)))
}

/// The checksum of a file in such a list. One that is listed twice
/// with two checksums has none.
fn sum_of(list: &str, name: &str) -> Option<[u8; 32]> {
    let mut found = None;
    for (sum, _) in entries(list).filter(|(_, file)| *file == name) {
        let sum = hex::decode_array::<32>(sum)?;
        if found.is_some_and(|other| other != sum) {
            return None;
        }
        found = Some(sum);
    }
    found
}

fn refused(message: impl std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Forbidden, format!("not installed: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_named_comes_before_the_one_of_the_build() {
        let keys = ["one", "two", "three"].map(|_| {
            let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
            pair.pk.to_base64()
        });
        let [named, configured, built_in] = &keys;
        let of = |text: &str| PublicKey::from_base64(text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.pub");
        std::fs::write(&file, named).unwrap();
        assert_eq!(
            key(Some(&file), configured, built_in).unwrap(),
            Some(of(named))
        );
        assert_eq!(
            key(None, configured, built_in).unwrap(),
            Some(of(configured))
        );
        assert_eq!(key(None, "", built_in).unwrap(), Some(of(built_in)));
        assert_eq!(key(None, "", "").unwrap(), None);
        let wrong = key(None, "", "nonsense").unwrap_err();
        assert!(wrong.message.contains("the build"), "{}", wrong.message);
    }

    #[test]
    fn a_checksum_is_that_of_the_whole_name_and_the_only_one() {
        let (one, two) = ("11".repeat(32), "22".repeat(32));
        let list = format!("{one}  mission.tar.gz\n{two} *mission\n");
        assert_eq!(sum_of(&list, "mission.tar.gz"), Some([0x11; 32]));
        assert_eq!(sum_of(&list, "mission"), Some([0x22; 32]));
        assert_eq!(sum_of(&list, "tar.gz"), None);
        assert_eq!(sum_of("zz  mission", "mission"), None);
        let twice = format!("{one}  mission\n{two}  mission\n");
        assert_eq!(sum_of(&twice, "mission"), None);
    }
}
