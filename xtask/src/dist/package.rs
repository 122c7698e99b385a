//! From a release to its files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use minisign::SecretKey;
use sha2::{Digest, Sha256};

use super::recipes::FLAKE;
use super::release::{Program, Release};
use super::sums::{self, PUBLIC_KEY, SIGNATURE, SUMS};
use super::{at_path, deb, npm, oci, recipes, sbom, tarball};

/// Names of the files and their sizes.
pub(super) type Files = BTreeMap<String, u64>;

/// Writes every file of the release into a folder. What an earlier one left there is
/// removed, because it would look like a part of this one; anything else is an error.
pub(super) fn package(
    release: &Release,
    out: &Path,
    key: Option<&SecretKey>,
) -> Result<Files, String> {
    fs::create_dir_all(out).map_err(|error| at_path(out, &error))?;
    remove_earlier(out)?;
    let mut writer = Writer {
        out,
        files: Files::new(),
        sums: BTreeMap::new(),
    };
    // Nearly all of the time goes into compressing, and each archive is its own.
    let archives = thread::scope(|scope| {
        let mut making = Vec::new();
        for program in &release.programs {
            for (name, archive) in KINDS {
                let name = name(release, program);
                making.push((name, scope.spawn(move || archive(release, program))));
            }
        }
        making.push((oci::name(release), scope.spawn(|| oci::archive(release))));
        making
            .into_iter()
            .map(|(name, thread)| match thread.join() {
                Ok(Ok(bytes)) => Ok((name, bytes)),
                Ok(Err(error)) => Err(format!("{name}: {error}")),
                Err(_) => Err(format!("{name}: the command itself failed, see above")),
            })
            .collect::<Result<Vec<_>, String>>()
    })?;
    for (name, bytes) in archives {
        writer.listed(name, &bytes)?;
    }
    let sums = writer.sums.clone();
    let named: Vec<recipes::Archive<'_>> = release
        .programs
        .iter()
        .filter_map(|program| {
            Some((
                program,
                sums.get(&tarball::name(release, program))?.as_str(),
            ))
        })
        .collect();
    writer.listed(
        recipes::FORMULA.to_owned(),
        recipes::formula(release, &named).as_bytes(),
    )?;
    writer.listed(FLAKE.to_owned(), recipes::flake(release, &named).as_bytes())?;
    writer.listed(sbom::name(release), &sbom::document(release)?)?;
    if let Some(public) = &release.key {
        let file = sums::public_key_file(public);
        writer.listed(PUBLIC_KEY.to_owned(), file.as_bytes())?;
    }
    let list = sums::list(&writer.sums);
    writer.write(SUMS.to_owned(), list.as_bytes())?;
    if let Some(key) = key {
        let signature = sums::sign(&list, key, &release.version, release.epoch)?;
        writer.write(SIGNATURE.to_owned(), signature.as_bytes())?;
    }
    Ok(writer.files)
}

fn remove_earlier(out: &Path) -> Result<(), String> {
    let failed = |error: io::Error| at_path(out, &error);
    let mut earlier = Vec::new();
    for entry in fs::read_dir(out).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.starts_with("mission") || [SUMS, SIGNATURE, FLAKE].contains(&&*name);
        if !is_ours || !entry.file_type().map_err(failed)?.is_file() {
            let folder = out.display();
            return Err(format!(
                "{folder} has something else than a release in it: {name}; name another with `--out`"
            ));
        }
        earlier.push(entry.path());
    }
    for file in earlier {
        fs::remove_file(&file).map_err(|error| at_path(&file, &error))?;
    }
    Ok(())
}

type Name = fn(&Release, &Program) -> String;
type Archive = fn(&Release, &Program) -> io::Result<Vec<u8>>;

/// The packages that are made for each kind of machine.
const KINDS: [(Name, Archive); 3] = [
    (tarball::name, tarball::archive),
    (deb::name, deb::archive),
    (npm::name, npm::archive),
];

struct Writer<'a> {
    out: &'a Path,
    files: Files,
    sums: BTreeMap<String, String>,
}

impl Writer<'_> {
    /// A file that is in the list of checksums.
    fn listed(&mut self, name: String, bytes: &[u8]) -> Result<(), String> {
        let sum = super::hex(&Sha256::digest(bytes));
        self.sums.insert(name.clone(), sum);
        self.write(name, bytes)
    }

    fn write(&mut self, name: String, bytes: &[u8]) -> Result<(), String> {
        let file = self.out.join(&name);
        fs::write(&file, bytes).map_err(|error| at_path(&file, &error))?;
        self.files.insert(name, bytes.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_release_is_removed_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for name in [SUMS, FLAKE, "mission-1.0.0-oci.tar"] {
            fs::write(file(name), "").unwrap();
        }
        remove_earlier(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        for name in [SUMS, "letter.txt"] {
            fs::write(file(name), "").unwrap();
        }
        assert!(remove_earlier(folder.path()).is_err());
        assert!(file(SUMS).is_file() && file("letter.txt").is_file());
    }
}
