//! Which release there is for this machine, by the list of checksums in the folder that the
//! configuration names. The list is only read for a name here; whether it is to be believed
//! is found out after, with that of every release ([`super::verify`]).

use missiond_core::ErrorCode;
use semver::Version;

use super::source::Source;
use super::verify::{SUMS, SUMS_LIMIT, entries};
use crate::failure::Failure;

/// The archive for this machine in a folder of releases.
pub(super) fn find(folder: &str) -> Result<Source, Failure> {
    if folder.is_empty() {
        let message = "which release? Name its archive, as a file or an address";
        return Err(Failure::new(ErrorCode::InvalidParams, message)
            .hint("`upgrade.url` in the configuration says where to look when none is named"));
    }
    let list = Source::parse(&format!("{}/{SUMS}", folder.trim_end_matches('/')))?;
    let text = list
        .read(SUMS_LIMIT)?
        .ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("{list} is not there")))?;
    let text = String::from_utf8_lossy(&text);
    let name = newest_in(&text).ok_or_else(|| {
        let message = format!("{list} lists no release for this machine ({})", suffix());
        Failure::new(ErrorCode::NotFound, message)
    })?;
    list.beside(name)
}

/// The version in the name of an archive: `mission-VERSION-MACHINE-SYSTEM.tar.gz`.
pub(super) fn version_of(name: &str) -> Option<Version> {
    let name = name.strip_prefix("mission-")?;
    Version::parse(name.strip_suffix(&suffix())?).ok()
}

fn suffix() -> String {
    use std::env::consts::{ARCH, OS};
    format!("-{ARCH}-{OS}.tar.gz")
}

fn newest_in(list: &str) -> Option<&str> {
    let names = entries(list).map(|(_, name)| name);
    let versions = names.filter_map(|name| Some((version_of(name)?, name)));
    // What comes before a release is installed by its name alone.
    let versions = versions.filter(|(version, _)| version.pre.is_empty());
    let newest = versions.max_by(|(one, _), (other, _)| one.cmp(other));
    newest.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_archive_for_this_machine_is_taken() {
        let end = suffix();
        let list = format!(
            "00  mission_2.0.0_amd64.deb\n11  mission-1.9.0{end}\n22 *mission-1.10.0{end}\n\
             33  mission-3.0.0-other-linux.tar.gz\n55  mission-2.0.0-beta.1{end}\n44  ../mission-9.0.0{end}\n"
        );
        assert_eq!(
            newest_in(&list),
            Some(format!("mission-1.10.0{end}").as_str())
        );
        assert_eq!(newest_in("00  notes.txt\n"), None);
    }
}
